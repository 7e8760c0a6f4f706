// The one scheduler: flush presence, renew leases, watch for silence, sweep commands, prune
// uploads. Each job runs at its own pace, one at a time; a job that fails is logged and tried again
// at its next turn.

import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';

export interface Job {
  readonly name: string;
  readonly everyMs: number;
  readonly run: () => Promise<void>;
}

export class Upkeep {
  readonly #jobs: readonly Job[];
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #stop = new AbortController();
  #loops: Promise<void>[] = [];

  constructor(jobs: readonly Job[], clock: Clock, log: Logger) {
    this.#jobs = jobs;
    this.#clock = clock;
    this.#log = log;
  }

  start(): void {
    this.#loops = this.#jobs.map((job) => this.#loop(job));
  }

  /** Runs every job once, now; for tests that own the clock. Rejects with the first fault. */
  async round(): Promise<void> {
    for (const job of this.#jobs) await job.run();
  }

  /** Ends the loops after the jobs that are under way. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#loops);
  }

  async #loop(job: Job): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await this.#clock.sleep(job.everyMs, signal);
      if (signal.aborted) return;
      try {
        await job.run();
      } catch (error) {
        this.#log.error({ err: error, job: job.name }, 'upkeep failed');
      }
    }
  }
}

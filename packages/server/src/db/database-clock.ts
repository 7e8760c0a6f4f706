// One time for all nodes: that of the database they share (docs/adr/0014). A node's own clock says how much time has
// passed, the database what time it is; the difference is measured at the start and every few seconds. An embedded
// database serves one process, whose clock is the only one. Made by main.ts and by each ingest thread.

import type { Clock } from '../lib/clock.ts';
import type { Database } from './db.ts';
import { databaseNowMs } from './dialect.ts';

/** A machine's clock drifts by less than a millisecond in this time; a step of it holds for no longer. */
export const ALIGN_EVERY_MS = 10_000;

export class DatabaseClock implements Clock {
  readonly #database: Database;
  readonly #own: Clock;
  #offsetMs = 0;
  #measuredAtMs = -Infinity;

  constructor(database: Database, own: Clock) {
    this.#database = database;
    this.#own = own;
  }

  /** Measures, unless that was done lately. Rejects when the database can't be asked; what was measured before stays. */
  async align(): Promise<void> {
    const askedMs = this.#own.monotonicMs();
    if (askedMs - this.#measuredAtMs < ALIGN_EVERY_MS) return;
    const askedAtMs = this.#own.nowMs();
    const theirsMs = await databaseNowMs(this.#database.system());
    const tookMs = this.#own.monotonicMs() - askedMs;
    this.#measuredAtMs = askedMs;
    if (theirsMs === null) return;
    // The answer is from some moment while it was asked for: within that, what is known already is as good.
    const offsetMs = Math.round(theirsMs - askedAtMs - tookMs / 2);
    if (Math.abs(offsetMs - this.#offsetMs) > tookMs / 2 + 1) this.#offsetMs = offsetMs;
  }

  nowMs(): number {
    return this.#own.nowMs() + this.#offsetMs;
  }

  monotonicMs(): number {
    return this.#own.monotonicMs();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#own.sleep(ms, signal);
  }
}

// The heartbeat: sends what the runner reports of itself, at the pace that the server advises, and
// obeys the answer. It goes on until the last work has ended, also while the runner stops:
// otherwise leases would end under finished work.

import { endpoints, type HeartbeatReply } from '@muster/contract';
import type { Connection } from './connection.ts';
import { hostName } from './lib/machine.ts';
import type { Timing } from './lib/timing.ts';
import { pauseMs, retrying } from './retry.ts';

export interface Tool {
  readonly name: string;
  readonly version?: string;
}

/**
 * The properties that a runner announces. Commands that ask for something are offered only to
 * runners that announce it.
 */
export interface Announced {
  readonly name: string;
  readonly version: string;
  readonly scanners?: readonly string[];
  readonly collectors?: readonly string[];
  readonly capabilities?: readonly string[];
  readonly tools?: readonly Tool[];
}

interface HeartDeps {
  readonly connection: Connection;
  readonly timing: Timing;
  readonly announced: Announced;
  readonly instanceId: string | null;
  readonly slots: number;
  /** The commands that the runner holds now. */
  readonly running: () => readonly string[];
  readonly obey: (reply: HeartbeatReply) => void;
  readonly onFault: (what: string, error: unknown) => void;
  readonly stopping: AbortSignal;
}

/** For a server that advises nothing (RP §4.1). */
const INTERVAL_MS = 60_000;
/** RP §4.3: clients keep the advised interval within 5 s and 5 min. */
const INTERVAL_MS_MIN = 5000;
const INTERVAL_MS_MAX = 300_000;

export class Heart {
  readonly #deps: HeartDeps;
  #pauseMs = INTERVAL_MS;
  #failures = 0;

  constructor(deps: HeartDeps) {
    this.#deps = deps;
  }

  /** Beats until the signal aborts. Never rejects. */
  async run(until: AbortSignal): Promise<void> {
    const { timing, stopping, onFault } = this.#deps;
    while (!until.aborted) {
      await timing.sleep(this.#pauseMs, until);
      if (until.aborted) return;
      await this.beat(stopping.aborted ? 'stopping' : 'running').catch((error: unknown) =>
        onFault('heartbeat', error),
      );
    }
  }

  /** Sends one heartbeat, and obeys its answer. */
  async beat(status: 'running' | 'stopping' | 'stopped'): Promise<void> {
    const input = {
      body: this.#body(status),
      headers: { 'x-openctem-sensor-features': 'doorbell' },
    };
    const { connection, timing, obey } = this.#deps;
    try {
      const { body } = await connection.call(endpoints.heartbeat, input);
      const seconds = body.next_heartbeat_seconds;
      const advised = seconds === undefined ? INTERVAL_MS : seconds * 1000;
      this.#pauseMs = Math.min(Math.max(advised, INTERVAL_MS_MIN), INTERVAL_MS_MAX);
      this.#failures = 0;
      obey(body);
    } catch (error) {
      this.#failures += 1;
      this.#pauseMs = pauseMs(error, this.#failures, timing);
      throw error;
    }
  }

  /** The last message of this process; a server that can't be reached finds out by itself. */
  async sayStopped(): Promise<void> {
    const { timing, onFault } = this.#deps;
    try {
      await retrying(() => this.beat('stopped'), { timing });
    } catch (error) {
      onFault('heartbeat', error);
    }
  }

  #body(status: string) {
    const { announced, instanceId, slots, timing, stopping } = this.#deps;
    const running = this.#deps.running();
    const free = stopping.aborted ? 0 : Math.max(slots - running.length, 0);
    const { name, version, scanners, collectors, capabilities, tools } = announced;
    return {
      name,
      version,
      status,
      hostname: hostName(),
      sent_at: new Date(timing.nowMs()).toISOString(),
      ...(instanceId === null ? {} : { instance_id: instanceId }),
      running: [...running],
      queue: { running: running.length },
      active_jobs: running.length,
      max_concurrent_jobs: slots,
      capacity: { slots_total: slots, slots_free: free, active_jobs: running.length },
      ...(scanners === undefined ? {} : { scanners: [...scanners] }),
      ...(collectors === undefined ? {} : { collectors: [...collectors] }),
      ...(capabilities === undefined ? {} : { capabilities: [...capabilities] }),
      ...(tools === undefined
        ? {}
        : { tools: tools.map((tool) => ({ ...tool, installed: true })) }),
    };
  }
}

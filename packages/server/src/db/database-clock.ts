// One time for all nodes: the time of the database they share (docs/adr/0014). The database tells
// its time at the start and every few seconds, and the monotonic clock of the process tells how
// much has passed since. The process's own time of day, which anybody may set, counts for nothing.
// An embedded database serves one process, whose clock is the only one. Called by main.ts,
// admin.ts, app.ts and ingest.worker.ts.

import type { Clock } from '../lib/clock.ts';
import type { Database } from './db.ts';
import { databaseNowMs } from './dialect.ts';

/**
 * A machine's clock drifts by less than a millisecond in this time; after a suspension it is right
 * again within it.
 */
export const ALIGN_EVERY_MS = 10_000;

export class DatabaseClock implements Clock {
  readonly #database: Database;
  readonly #own: Clock;
  /**
   * The database's time at the zero of the monotonic clock; null: not measured, or there is nothing
   * to measure.
   */
  #zeroMs: number | null = null;
  #measuredAtMs = -Infinity;

  constructor(database: Database, own: Clock) {
    this.#database = database;
    this.#own = own;
  }

  /**
   * Measures, unless that was done lately. Rejects when the database can't be asked; the last
   * measurement then stays.
   */
  async align(): Promise<void> {
    const askedMs = this.#own.monotonicMs();
    if (askedMs - this.#measuredAtMs < ALIGN_EVERY_MS) return;
    const theirsMs = await databaseNowMs(this.#database.system());
    const tookMs = this.#own.monotonicMs() - askedMs;
    this.#measuredAtMs = askedMs;
    if (theirsMs === null) return;
    // The answer is from some moment of the request: a known zero within that span is as good.
    const zeroMs = theirsMs - askedMs - tookMs / 2;
    const isKnown = this.#zeroMs !== null && Math.abs(zeroMs - this.#zeroMs) <= tookMs / 2 + 1;
    if (!isKnown) this.#zeroMs = zeroMs;
  }

  nowMs(): number {
    if (this.#zeroMs === null) return this.#own.nowMs();
    return Math.round(this.#zeroMs + this.#own.monotonicMs());
  }

  monotonicMs(): number {
    return this.#own.monotonicMs();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#own.sleep(ms, signal);
  }
}

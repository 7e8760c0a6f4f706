// Remembers, in memory, which runner gave back which command. The command is not offered to that
// runner for a while, each time for longer: otherwise a runner that can't do the work would take
// the command and give it back for ever. Other runners may take it at once, and any claim is still
// granted. Losing this memory costs one claim that comes too soon.

interface Rest {
  readonly lastMs: number;
  readonly untilMs: number;
}

/**
 * As long as a runner takes to start again. Half of it would be a fast circle for a runner that
 * can't do its work.
 */
const REST_MS = 5000;

/**
 * A command that only one runner can take must not wait much longer once that runner can do it
 * again.
 */
const REST_MAX_MS = 5 * 60_000;

/** Pairs of runner and command, about 2 MB; beyond this number the oldest is forgotten. */
const RESTS_MAX = 10_000;

export class GivenBack {
  readonly #rests = new Map<string, Rest>();

  /**
   * The runner gave the command back. A repeat while the command rests changes nothing. `nowMs` is
   * monotonic, here and below.
   */
  gaveBack(runnerId: string, commandId: string, nowMs: number): void {
    if (this.restMs(runnerId, commandId, nowMs) > 0) return;
    const key = commandId + runnerId;
    const before = this.#rests.get(key);
    const isNew = before === undefined || nowMs - before.untilMs > REST_MAX_MS;
    const lastMs = isNew ? REST_MS : Math.min(2 * before.lastMs, REST_MAX_MS);
    this.#rests.delete(key);
    this.#rests.set(key, { lastMs, untilMs: nowMs + lastMs });
    if (this.#rests.size > RESTS_MAX) {
      const oldest = this.#rests.keys().next().value;
      if (oldest !== undefined) this.#rests.delete(oldest);
    }
  }

  /** How long the command is still withheld from this runner; 0: it may be offered. */
  restMs(runnerId: string, commandId: string, nowMs: number): number {
    const rest = this.#rests.get(commandId + runnerId);
    return rest === undefined ? 0 : Math.max(0, rest.untilMs - nowMs);
  }

  /** The runner moved the command on: a later return of it starts again with the shortest rest. */
  forget(runnerId: string, commandId: string): void {
    this.#rests.delete(commandId + runnerId);
  }
}

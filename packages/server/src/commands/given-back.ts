// Who gave back which command, in memory: it is not offered to that runner again for a while, each time for longer, or a
// runner that can't do it takes it and gives it back for ever. Others may take it at once, and whoever claims it has it.
// Losing it costs one claim that comes too soon.

interface Rest {
  readonly lastMs: number;
  readonly untilMs: number;
}

/** As long as it takes a runner to start again; half of it would be a fast circle of a runner that can't do its work. */
const REST_MS = 5000;

/** What nobody else can take must not wait for long once its runner can do it again. */
const REST_MAX_MS = 5 * 60_000;

/** Pairs of runner and command, about 2 MB; beyond, the oldest is forgotten. */
const RESTS_MAX = 10_000;

export class GivenBack {
  readonly #rests = new Map<string, Rest>();

  /** A repeat of giving it back, while it rests, changes nothing. `nowMs` is monotonic, here and below. */
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

  /** For how long it is not offered to this runner; 0: it may be. */
  restMs(runnerId: string, commandId: string, nowMs: number): number {
    const rest = this.#rests.get(commandId + runnerId);
    return rest === undefined ? 0 : Math.max(0, rest.untilMs - nowMs);
  }

  /** It did something with it: what it may give back later is a new matter. */
  forget(runnerId: string, commandId: string): void {
    this.#rests.delete(commandId + runnerId);
  }
}

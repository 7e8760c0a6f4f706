// A rate limit in memory: a burst, then one call for each interval. Bounded: the oldest idle
// buckets are dropped.

const BUCKETS_MAX = 50_000;

export class TokenBuckets {
  readonly #burst: number;
  readonly #everyMs: number;
  readonly #full = new Map<string, number>();

  /** `burst` calls at once, then one for each `everyMs`. */
  constructor(burst: number, everyMs: number) {
    this.#burst = burst;
    this.#everyMs = everyMs;
  }

  /**
   * Takes one token. Returns 0 when there was one, otherwise the milliseconds until the next. A
   * bucket is kept as the time at which it will be full again, so an idle bucket costs nothing
   * (generic cell rate algorithm). `nowMs` is monotonic: with the time of day, a clock that is set
   * back would lock everybody out.
   */
  take(key: string, nowMs: number): number {
    const next = Math.max(this.#full.get(key) ?? nowMs, nowMs) + this.#everyMs;
    const earliest = next - this.#burst * this.#everyMs;
    if (earliest > nowMs) return earliest - nowMs;
    this.#full.delete(key);
    this.#full.set(key, next);
    if (this.#full.size > BUCKETS_MAX) this.#drop(nowMs);
    return 0;
  }

  #drop(nowMs: number): void {
    for (const [key, fullAt] of this.#full) {
      if (fullAt <= nowMs || this.#full.size > BUCKETS_MAX) this.#full.delete(key);
      else break;
    }
  }
}

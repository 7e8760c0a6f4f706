// The keys of a runner: the one in use, and perhaps another that is good, too. A renewed key is
// used only when it is stored durably, because its first use ends the life of the old key, and a
// restart would find only the old one. While it can't be stored it is kept in memory, and takes
// over when the old key is refused.

/**
 * RP §4.3: `rotate_key` is obeyed once a minute at most; the server's budget is one renewal in two
 * minutes.
 */
const TEND_EVERY_MS = 60_000;

export class KeyRing {
  #current: string;
  #spare: string | null;
  #unsaved: string | null = null;
  #tendedAtMs = Number.NEGATIVE_INFINITY;
  readonly #save: ((key: string) => Promise<void>) | null;

  /**
   * `save` null: keys can't be kept, so they are never renewed. The spare key is tried when the
   * first is refused.
   */
  constructor(key: string, spare: string | null, save: ((key: string) => Promise<void>) | null) {
    this.#current = key;
    this.#spare = spare === key ? null : spare;
    this.#save = save;
  }

  get current(): string {
    return this.#current;
  }

  /**
   * Turns to the other key after a call with this one was refused. False: there is no other key to
   * try.
   */
  turnFrom(refused: string): boolean {
    if (this.#current !== refused) return true;
    if (this.#spare === null) return false;
    [this.#current, this.#spare] = [this.#spare, refused];
    return true;
  }

  /**
   * Renews when the server advises it, and stores a key that could not be stored before; both once
   * a minute at most. Rejects when it fails: then nothing has changed, and the next call tries
   * again.
   */
  async tend(isAdvised: boolean, nowMs: number, renew: () => Promise<string>): Promise<void> {
    if (this.#save === null || (this.#unsaved === null && !isAdvised)) return;
    if (nowMs - this.#tendedAtMs < TEND_EVERY_MS) return;
    this.#tendedAtMs = nowMs;
    // While a key waits to be stored, no further one is asked for (RP §10).
    if (this.#unsaved === null) this.#unsaved = this.#spare = await renew();
    const key = this.#unsaved;
    await this.#save(key);
    this.#unsaved = null;
    if (this.#current !== key) [this.#current, this.#spare] = [key, this.#current];
  }
}

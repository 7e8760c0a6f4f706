// The keys of a runner: the one in use, and another that is good, too, as far as known. A renewed key is used only when
// it is stored durably, because its first use ends the life of the old one, which is what a restart would find. While it
// can't be stored it is kept in memory, and takes over when the old key is refused.

/** RP §4.3: `rotate_key` is obeyed once a minute at most; the server's budget is one renewal in two minutes. */
const TEND_EVERY_MS = 60_000;

export class KeyRing {
  #current: string;
  #spare: string | null;
  #unsaved: string | null = null;
  #tendedAtMs = Number.NEGATIVE_INFINITY;
  readonly #save: ((key: string) => Promise<void>) | null;

  /** `save` null: keys can't be kept, so they are never renewed. The spare is tried when the first is refused. */
  constructor(key: string, spare: string | null, save: ((key: string) => Promise<void>) | null) {
    this.#current = key;
    this.#spare = spare === key ? null : spare;
    this.#save = save;
  }

  get current(): string {
    return this.#current;
  }

  /** A call with this key was refused. False: there is no other key to try. */
  turnFrom(refused: string): boolean {
    if (this.#current !== refused) return true;
    if (this.#spare === null) return false;
    [this.#current, this.#spare] = [this.#spare, refused];
    return true;
  }

  /**
   * Renews when it is advised, and stores what could not be stored before; both once a minute at most. Rejects when it
   * fails: then all is as it was, and the next call goes on from there.
   */
  async tend(isAdvised: boolean, nowMs: number, renew: () => Promise<string>): Promise<void> {
    if (this.#save === null || (this.#unsaved === null && !isAdvised)) return;
    if (nowMs - this.#tendedAtMs < TEND_EVERY_MS) return;
    this.#tendedAtMs = nowMs;
    // While one waits to be stored there is no further renewal (RP §10).
    if (this.#unsaved === null) this.#unsaved = this.#spare = await renew();
    const key = this.#unsaved;
    await this.#save(key);
    this.#unsaved = null;
    if (this.#current !== key) [this.#current, this.#spare] = [key, this.#current];
  }
}

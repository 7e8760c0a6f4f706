// A wait that other code ends: for a free slot, or for the end of a pause. A ring ends the waits
// that have begun, and no later one.

export class Bell {
  readonly #waiting = new Set<() => void>();

  /** Ends all waits that have begun. */
  ring(): void {
    for (const done of this.#waiting) done();
  }

  /** Resolves with the next ring, or when the signal aborts. */
  async wait(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        this.#waiting.delete(done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      this.#waiting.add(done);
      signal.addEventListener('abort', done);
    });
  }
}

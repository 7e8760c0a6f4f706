// The only place where the server asks for the time. Stories get a Clock, so that tests and the
// simulator control the time.

export interface Clock {
  /** Milliseconds since the epoch, UTC. */
  nowMs(): number;
  /** Milliseconds that never run backwards; only differences mean anything. */
  monotonicMs(): number;
  /** Resolves after `ms`; rejects never; resolves early when the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted === true) return resolve();
      const done = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal?.addEventListener('abort', done, { once: true });
    }),
};

// Time and chance of a runner, as one value. Every other file takes it as an argument, so that
// tests control both.

import { setTimeout as sleepFor } from 'node:timers/promises';

export interface Timing {
  /** Milliseconds since the epoch. */
  nowMs(): number;
  /** Resolves after `ms`, or early when the signal aborts. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** A number in [0, 1). */
  random(): number;
}

export const systemTiming: Timing = {
  nowMs: () => Date.now(),
  sleep: async (ms, signal) => {
    // The sleep rejects for one reason only: its signal aborted.
    await sleepFor(ms, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
  },
  random: () => Math.random(),
};

/**
 * Aborts a call that gets no answer for this time: a connection can be dead without any sign of it.
 */
export const deadline = (ms: number): AbortSignal => AbortSignal.timeout(ms);

// Time and chance of a runner, as one value: an argument everywhere else, so that tests own both.

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
    // It rejects for one reason only: that somebody wants to go on now.
    await sleepFor(ms, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
  },
  random: () => Math.random(),
};

/** Aborts a call that hears nothing for so long: a connection can be dead without anybody saying so. */
export const deadline = (ms: number): AbortSignal => AbortSignal.timeout(ms);

// Retries with growing pauses and jitter, obeying Retry-After. A client's mistake (4xx except 408
// and 429) is not retried, because it would be refused again. A refused key is no mistake of the
// call: a caller that keeps work waits for a better key.

import { ApiError } from '@muster/contract';
import { systemTiming, type Timing } from './lib/timing.ts';

export interface RetryOptions {
  /** Calls in all, the first one included. Default 4. */
  readonly attempts?: number;
  /** Also tries again when the key is refused: an operator may mend that. Default false. */
  readonly outlastsRefusedKeys?: boolean;
  /** After it aborts there is one more call at most, and no pause. */
  readonly signal?: AbortSignal;
  /** After it aborts, the usual number of failures ends the retries: the work is safe elsewhere. */
  readonly leave?: AbortSignal;
  readonly timing?: Timing;
}

const ATTEMPTS = 4;

/** RP §11.2: deployed clients begin with this pause, too. */
const BASE_MS = 2000;
/**
 * A server that comes back is found within this time. Double: work waits longer; half: a fleet asks
 * more often than it beats.
 */
const MAX_MS = 30_000;
/** A server is asked again within this time, whatever it says (RP §11.2). */
const WISH_MAX_MS = 300_000;

/** Whether the answer says that the key isn't good. */
export const isKeyRefused = (error: unknown): boolean =>
  error instanceof ApiError && (error.status === 401 || error.status === 403);

/**
 * Whether the same call may succeed later. It may after network faults, silence, 408, 429 and 5xx.
 */
export function isTransient(error: unknown): boolean {
  if (error instanceof ApiError)
    return error.status === 408 || error.status === 429 || error.status >= 500;
  // `fetch` rejects so when the network fails, and when a deadline has passed.
  return error instanceof TypeError || (error instanceof Error && error.name === 'TimeoutError');
}

/** The pause after so many failures in a row (1 is the first). */
export function pauseMs(error: unknown, failures: number, timing: Timing): number {
  const grown = Math.min(BASE_MS * 2 ** Math.min(failures - 1, 10), MAX_MS);
  const seconds = error instanceof ApiError ? (error.retryAfterSeconds ?? 0) : 0;
  // Half to full of the pause, so that a fleet doesn't come back in step.
  const own = grown / 2 + (grown / 2) * timing.random();
  return Math.max(Math.min(seconds * 1000, WISH_MAX_MS), own);
}

/**
 * Calls until it succeeds, fails for good, or the attempts are used up; then rejects with the last
 * error.
 */
export async function retrying<T>(call: () => Promise<T>, options: RetryOptions = {}): Promise<T> {
  const { attempts = ATTEMPTS, outlastsRefusedKeys = false, signal, leave } = options;
  const timing = options.timing ?? systemTiming;
  let late = 0;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call();
    } catch (error) {
      if (leave?.aborted === true) late += 1;
      const last = attempt >= attempts || late >= ATTEMPTS || signal?.aborted === true;
      const passes = isTransient(error) || (outlastsRefusedKeys && isKeyRefused(error));
      if (last || !passes) throw error;
      await timing.sleep(pauseMs(error, attempt, timing), signal);
    }
  }
}

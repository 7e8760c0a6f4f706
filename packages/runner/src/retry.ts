// Retries with growing pauses and jitter, obeying Retry-After. A client's mistake (4xx but 408 and 429) is not retried:
// it would be refused again.

import { ApiError } from '@muster/contract';

export interface RetryOptions {
  /** Calls in all; the first one counts. */
  readonly attempts: number;
  readonly baseMs: number;
  readonly maxMs: number;
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** A number in [0, 1). */
  readonly random: () => number;
  readonly signal?: AbortSignal;
}

/** May the same call succeed later? Network faults, 408, 429 and 5xx may. */
function isTransient(error: unknown): boolean {
  if (!(error instanceof ApiError)) return error instanceof TypeError;
  return error.status === 408 || error.status === 429 || error.status >= 500;
}

/** Calls until it succeeds, fails for good, or the attempts are used up; then rejects with the last error. */
export async function retrying<T>(call: () => Promise<T>, options: RetryOptions): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call();
    } catch (error) {
      const last = attempt >= options.attempts || options.signal?.aborted === true;
      if (last || !isTransient(error)) throw error;
      const grown = Math.min(options.baseMs * 2 ** (attempt - 1), options.maxMs);
      const wished = error instanceof ApiError ? (error.retryAfterSeconds ?? 0) * 1000 : 0;
      // Half to full of the pause, so that a fleet doesn't come back in step.
      const pause = Math.max(wished, grown / 2 + (grown / 2) * options.random());
      await options.sleep(pause, options.signal);
    }
  }
}

// The one place where a transaction is tried again: the whole body, a bounded number of times, and only for failures
// that a second attempt can cure (busy, serialization, deadlock). Bodies therefore contain SQL and nothing else, and
// may run more than once. Called by both backends' `transaction`.

import { setTimeout as delay } from 'node:timers/promises';
import { jitter } from '../lib/random.ts';
import type { Db } from './db.ts';
import { isRetryable } from './db-errors.ts';

// Deadlocks between batches end at the second attempt as a rule; at the fifth something is wrong that waiting won't
// cure, and the caller answers "unavailable, try later".
const ATTEMPTS_MAX = 5;

// Before the second attempt; doubled before each further one, and spread, so that two losers don't meet again.
const BACKOFF_MS = 5;

/** Runs `body` in a transaction of `db`, again when that can help; the last failure is thrown as it is. */
export async function runTransaction<T>(db: Db, body: (tx: Db) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await db.transaction().execute(body);
    } catch (error) {
      if (attempt === ATTEMPTS_MAX || !isRetryable(error)) throw error;
      await delay(BACKOFF_MS * 2 ** (attempt - 1) * jitter(0.5));
    }
  }
}

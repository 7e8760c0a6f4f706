// How transactions run on both backends: step by step, or sent as a whole. The one place where a
// transaction is tried again: the whole body, a bounded number of times, and only for failures that
// a second attempt can cure (busy, serialization, deadlock). Bodies therefore contain SQL and
// nothing else, and may run more than once. Called by postgres.ts and sqlite.ts.

import { setImmediate, setTimeout as delay } from 'node:timers/promises';
import { jitter } from '../lib/random.ts';
import type { Db } from './db.ts';
import { isRetryable } from './db-errors.ts';

// Deadlocks between batches usually end at the second attempt. At the fifth something is wrong that
// a wait won't cure, and the caller answers "unavailable, try later".
const ATTEMPTS_MAX = 5;

// The wait before the second attempt; doubled before each further one, and spread, so that two
// losers don't meet again.
const BACKOFF_MS = 5;

/**
 * Runs `body` in a transaction of `db`, and again where that can help; the last failure is thrown
 * as it is.
 */
export async function runTransaction<T>(db: Db, body: (tx: Db) => Promise<T>): Promise<T> {
  return await retried(() => db.transaction().execute(body));
}

/**
 * A transaction whose statements are sent as they are asked for, without waiting for each other's
 * answers.
 */
export interface OpenTransaction {
  readonly db: Db;
  /** Sends the end; later statements are refused. */
  end(op: 'commit' | 'rollback'): Promise<void>;
  /** Gives the connection back, whatever became of the transaction. */
  release(): void;
}

/**
 * Runs a transaction of statements that don't wait for each other, sent together with its COMMIT;
 * see Database.
 */
export async function runTogether(
  open: () => Promise<OpenTransaction>,
  body: (tx: Db) => Promise<unknown>,
): Promise<void> {
  await retried(async () => {
    const transaction = await open();
    try {
      let failure: { readonly error: unknown } | null = null;
      const statements = body(transaction.db).catch((error: unknown) => {
        failure ??= { error };
      });
      // Between a call and its statement Kysely lets some promises pass: after them all statements
      // have been sent, or one of them could not be, and then nothing may be committed.
      await setImmediate();
      const ended = await settled(transaction.end(failure === null ? 'commit' : 'rollback'));
      await statements;
      failure ??= ended;
      if (failure !== null) throw (failure as { readonly error: unknown }).error;
    } finally {
      transaction.release();
    }
  });
}

/** The failure of a promise; null when there was none. */
const settled = (promise: Promise<unknown>): Promise<{ readonly error: unknown } | null> =>
  promise.then(
    () => null,
    (error: unknown) => ({ error }),
  );

async function retried<T>(run: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run();
    } catch (error) {
      if (attempt === ATTEMPTS_MAX || !isRetryable(error)) throw error;
      await delay(BACKOFF_MS * 2 ** (attempt - 1) * jitter(0.5));
    }
  }
}

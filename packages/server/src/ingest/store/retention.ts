// Removes what isn't needed any more of uploads. A guarded statement makes sure first that nobody
// can want it; then it goes in small steps. Each step is one transaction that holds the upload, so
// that the writer is never held for long and two nodes never work on the same upload.

import { limits } from '@muster/contract/plain';
import type { Database, Db } from '../../db/db.ts';
import type { Clock } from '../../lib/clock.ts';
import {
  deleteGivenUp,
  deleteSomeChunks,
  deleteSomeDryRuns,
  deleteSomeRejections,
  forgetIdempotency,
  giveUp,
  giveUpQuiet,
  markRawDeleted,
  nextGivenUp,
  nextEndedDryRun,
  nextStale,
  type Unwanted,
  unwantedNow,
} from './retention.queries.ts';

/**
 * Chunks (limits.uploadChunkBytes) that one step deletes: 4 MiB take the writer a few milliseconds.
 */
const PIECES_PER_STEP = 16;

/**
 * Rejections that one step deletes: with items of the usual size about as many bytes as its chunks.
 */
const REJECTIONS_PER_STEP = 2000;

/** Dry runs that one step deletes, each a row with a receipt: about as many bytes again. */
const DRY_RUNS_PER_STEP = 250;

/** Chunks in one round of a minute: 1 GiB, or as many small uploads; a server takes in less. */
const PIECES_PER_ROUND = 4096;

interface Budget {
  pieces: number;
}

/**
 * Removes bodies that stopped arriving, bytes and rejections that were kept long enough, ended dry
 * runs, and old Idempotency-Keys. Receipts stay. Returns how many uploads it finished; what exceeds
 * the budget of the round waits for the next one.
 */
export async function pruneUploads(
  database: Database,
  clock: Clock,
  keepMs: number,
): Promise<number> {
  const nowMs = clock.nowMs();
  const db = database.system();
  await giveUpQuiet(db, nowMs - limits.uploadQuietMs, nowMs);
  const budget: Budget = { pieces: PIECES_PER_ROUND };
  const takeAllAway = async (next: (tx: Db) => Promise<Unwanted | undefined>): Promise<number> =>
    await takeAway(database, 'system', next, nowMs, budget);
  const removed =
    (await takeAllAway(nextGivenUp)) +
    (await takeAllAway(nextEndedDryRun)) +
    (await takeAllAway(async (tx) => nextStale(tx, nowMs - keepMs)));
  while (budget.pieces > 0) {
    budget.pieces -= PIECES_PER_STEP;
    const before = nowMs - limits.idempotencyMs;
    if ((await deleteSomeDryRuns(db, before, DRY_RUNS_PER_STEP)) < DRY_RUNS_PER_STEP) break;
  }
  await forgetIdempotency(db, nowMs - limits.idempotencyMs);
  return removed;
}

/**
 * Gives up a body that is not whole and removes it; an upload that was received whole stays as it
 * is.
 */
export async function discard(
  database: Database,
  clock: Clock,
  tenantId: string,
  uploadId: string,
): Promise<void> {
  await giveUp(database.tenant(tenantId), tenantId, uploadId, clock.nowMs());
  await takeAwayNow(database, clock, tenantId, uploadId);
}

/**
 * Removes at once what this upload doesn't need: what is left of a body that was given up, or the
 * bytes of a dry run.
 */
export async function takeAwayNow(
  database: Database,
  clock: Clock,
  tenantId: string,
  uploadId: string,
): Promise<void> {
  const next = async (tx: Db): Promise<Unwanted | undefined> => unwantedNow(tx, tenantId, uploadId);
  await takeAway(database, tenantId, next, clock.nowMs(), { pieces: Number.POSITIVE_INFINITY });
}

/**
 * For the start of the only process on a database: nobody can be sending to a process that has just
 * begun.
 */
export async function giveUpArriving(database: Database, clock: Clock): Promise<void> {
  await giveUpQuiet(database.system(), null, clock.nowMs());
}

/**
 * Runs step after step until there is no next upload or the budget is used; returns how many
 * uploads it finished.
 */
async function takeAway(
  database: Database,
  scope: string,
  next: (tx: Db) => Promise<Unwanted | undefined>,
  nowMs: number,
  budget: Budget,
): Promise<number> {
  let done = 0;
  while (budget.pieces > 0) {
    const step = await database.transaction(scope, async (tx) => {
      const upload = await next(tx);
      return upload === undefined ? null : await takeSome(tx, upload, nowMs);
    });
    if (step === null) break;
    budget.pieces -= step.pieces;
    if (step.isLast) done += 1;
  }
  return done;
}

/**
 * One step: deletes some of the chunks, then some of the rejections, and with the last of them the
 * row, or marks the row.
 */
async function takeSome(
  tx: Db,
  { tenant_id: tenantId, id, state }: Unwanted,
  nowMs: number,
): Promise<{ pieces: number; isLast: boolean }> {
  const pieces = await deleteSomeChunks(tx, tenantId, id, PIECES_PER_STEP);
  if (pieces === PIECES_PER_STEP) return { pieces, isLast: false };
  const rejections = await deleteSomeRejections(tx, tenantId, id, REJECTIONS_PER_STEP);
  if (rejections === REJECTIONS_PER_STEP) return { pieces: PIECES_PER_STEP, isLast: false };
  if (state === 'receiving') await deleteGivenUp(tx, tenantId, id);
  else await markRawDeleted(tx, tenantId, id, nowMs);
  return { pieces: Math.max(pieces, 1), isLast: true };
}

// What is taken away of uploads, and how: first it is settled, under a guard, that nobody can want it any more; then it
// goes in small steps, each one transaction that holds the upload, so that the writer is never held for long and two
// nodes never work on the same one. Called by upkeep for what is old, by receive.ts for what didn't arrive or repeats
// another upload, and by end.ts for dry runs.

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

/** Pieces (limits.uploadChunkBytes) that one step deletes: 4 MiB take the writer a few milliseconds. */
const PIECES_PER_STEP = 16;

/** About as many bytes as a step of pieces has, with items of the usual size. */
const REJECTIONS_PER_STEP = 2000;

/** Rows with a receipt each: likewise. */
const REHEARSALS_PER_STEP = 250;

/** In one round of a minute: 1 GiB, or as many small uploads; both are more than a server takes in. */
const PIECES_PER_ROUND = 4096;

interface Budget {
  pieces: number;
}

/**
 * Bodies that stopped arriving; raw bytes and rejections past their keeping; what is left of dry runs; old
 * Idempotency-Keys. Receipts stay. Returns how many uploads it came to the end of; what exceeds the round's budget waits
 * for the next one.
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
    if ((await deleteSomeDryRuns(db, before, REHEARSALS_PER_STEP)) < REHEARSALS_PER_STEP) break;
  }
  await forgetIdempotency(db, nowMs - limits.idempotencyMs);
  return removed;
}

/** Gives up a body that is not whole, and takes it away; an upload that was received whole stays as it is. */
export async function discard(
  database: Database,
  clock: Clock,
  tenantId: string,
  uploadId: string,
): Promise<void> {
  await giveUp(database.tenant(tenantId), tenantId, uploadId, clock.nowMs());
  await takeAwayNow(database, clock, tenantId, uploadId);
}

/** Takes away what may go of this upload at once: what is left of a body that was given up, the bytes of a dry run. */
export async function takeAwayNow(
  database: Database,
  clock: Clock,
  tenantId: string,
  uploadId: string,
): Promise<void> {
  const next = async (tx: Db): Promise<Unwanted | undefined> => unwantedNow(tx, tenantId, uploadId);
  await takeAway(database, tenantId, next, clock.nowMs(), { pieces: Number.POSITIVE_INFINITY });
}

/** At the start of the only process on a database: nobody can be sending to a process that has just begun. */
export async function giveUpArriving(database: Database, clock: Clock): Promise<void> {
  await giveUpQuiet(database.system(), null, clock.nowMs());
}

/** Step after step, until there is no next upload or the budget is used; returns how many uploads it came to the end of. */
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

/** One step: some of the bytes, then some of the rejections, and with the last of them the row or its mark. */
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

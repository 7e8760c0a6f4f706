// Uploads as operators see them, and what upkeep removes.

import { limits } from '@muster/contract';
import type { Database, Db } from '../db/db.ts';
import type { Clock } from '../lib/clock.ts';
import { parseId, type TenantId, type UploadId } from '../lib/ids.ts';
import { Problem } from '../lib/problem.ts';
import { type RejectionRow, rejectionsPage } from './rejection.queries.ts';
import {
  deleteReceiving,
  deleteSomeChunks,
  findUpload,
  forgetIdempotency,
  givenUp,
  giveUpReceiving,
  markRawDeleted,
  pageUploads,
  staleRaw,
  type UploadRow,
} from './upload.queries.ts';

export async function listUploads(
  database: Database,
  tenantId: TenantId,
  filter: { state?: UploadRow['state']; runner_id?: string },
  after: string | null,
  limit: number,
): Promise<UploadRow[]> {
  return await pageUploads(database.lists(tenantId), tenantId, {
    state: filter.state ?? null,
    runnerId: filter.runner_id ?? null,
    after,
    limit,
  });
}

/** Problem: not_found. */
export async function showUpload(
  database: Database,
  tenantId: TenantId,
  idText: string,
): Promise<UploadRow> {
  const id = parseId<UploadId>(idText);
  const row = id === null ? undefined : await findUpload(database.lists(tenantId), tenantId, id);
  if (row === undefined) throw new Problem('not_found', 'There is no such upload.');
  return row;
}

/** The items of one upload that could not be used, after the given one. Problem: not_found. */
export async function listRejections(
  database: Database,
  tenantId: TenantId,
  idText: string,
  afterSeq: number,
  limit: number,
): Promise<RejectionRow[]> {
  const { id } = await showUpload(database, tenantId, idText);
  // The cursor comes from outside: the column holds no larger numbers.
  const after = Math.max(-1, Math.min(afterSeq, limits.uploadRejectionsMax));
  return await rejectionsPage(database.lists(tenantId), tenantId, id, after, limit);
}

/** Looked at in one round. */
const UPLOADS_PER_ROUND = 100;

/** Deleted by one statement: 4 MiB, so that the writer is never held for long. */
const CHUNKS_PER_STEP = 16;

/** In one round of a minute: 1 GiB, more than a server takes in. */
const STEPS_PER_ROUND = 256;

/** Bodies that stopped arriving, raw bytes past their keeping, old Idempotency-Keys. The receipts stay. */
export async function pruneUploads(
  database: Database,
  clock: Clock,
  keepMs: number,
): Promise<number> {
  const nowMs = clock.nowMs();
  const db = database.system();
  const lists = database.systemLists();
  await giveUpReceiving(db, nowMs - limits.uploadReceivingMs, nowMs);
  const steps = { left: STEPS_PER_ROUND };
  let removed = 0;
  for (const { tenant_id: tenantId, id } of await givenUp(lists, UPLOADS_PER_ROUND)) {
    if (!(await deleteRaw(db, tenantId, id, steps))) break;
    await database.transaction('system', async (tx) => deleteReceiving(tx, tenantId, id));
    removed += 1;
  }
  for (const { tenant_id: tenantId, id } of await staleRaw(
    lists,
    nowMs - keepMs,
    UPLOADS_PER_ROUND,
  )) {
    if (!(await deleteRaw(db, tenantId, id, steps))) break;
    await markRawDeleted(db, tenantId, id, nowMs);
    removed += 1;
  }
  await forgetIdempotency(db, nowMs - limits.idempotencyMs);
  return removed;
}

/** Deletes the bytes of one upload in small steps; false: the steps of this round were too few, the next goes on. */
async function deleteRaw(
  db: Db,
  tenantId: string,
  uploadId: string,
  steps: { left: number },
): Promise<boolean> {
  while (steps.left > 0) {
    steps.left -= 1;
    const deleted = await deleteSomeChunks(db, tenantId, uploadId, CHUNKS_PER_STEP);
    if (deleted < CHUNKS_PER_STEP) return true;
  }
  return false;
}

// Uploads as operators see them, and what upkeep removes.

import { limits } from '@muster/contract';
import type { Database } from '../db/db.ts';
import type { Clock } from '../lib/clock.ts';
import { parseId, type TenantId, type UploadId } from '../lib/ids.ts';
import { Problem } from '../lib/problem.ts';
import {
  deleteChunks,
  deleteReceiving,
  findUpload,
  forgetIdempotency,
  pageUploads,
  staleReceiving,
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

/** Removed in one round: small steps, so that upkeep never holds the writer for long. */
const REMOVED_PER_ROUND = 20;

/** Bodies that stopped arriving, raw bytes past their keeping, old Idempotency-Keys. The receipts stay. */
export async function pruneUploads(
  database: Database,
  clock: Clock,
  keepMs: number,
): Promise<number> {
  const nowMs = clock.nowMs();
  const db = database.system();
  const abandoned = await staleReceiving(db, nowMs - limits.uploadReceivingMs, REMOVED_PER_ROUND);
  for (const upload of abandoned) {
    await database.transaction('system', async (tx) =>
      deleteReceiving(tx, upload.tenant_id, upload.id),
    );
  }
  const old = await staleRaw(database.systemLists(), nowMs - keepMs, REMOVED_PER_ROUND);
  for (const upload of old) await deleteChunks(db, upload.tenant_id, upload.id);
  await forgetIdempotency(db, nowMs - limits.idempotencyMs);
  return abandoned.length + old.length;
}

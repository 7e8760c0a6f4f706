// Uploads as operators see them, and one upload as the runner sees it that handed it in. Reads
// only; an upload of another tenant or another runner is not found.

import { limits } from '@muster/contract';
import type { Database } from '../db/db.ts';
import type { RunnerCaller } from '../keys/authenticate.ts';
import { parseId, type TenantId, type UploadId } from '../lib/ids.ts';
import { Problem } from '../lib/problem.ts';
import { type RejectionRow, rejectionsPage } from '../ingest/store/rejection.queries.ts';
import { findUpload, pageUploads, type UploadRow } from '../ingest/store/upload.queries.ts';

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

/**
 * The row of one upload of this runner. Problem: not_found, also for an upload of another runner.
 */
export async function uploadOfRunner(
  database: Database,
  caller: Pick<RunnerCaller, 'tenantId' | 'runnerId'>,
  uploadId: string,
): Promise<UploadRow> {
  const row = await findUpload(database.tenant(caller.tenantId), caller.tenantId, uploadId);
  if (row === undefined || row.runner_id !== caller.runnerId) {
    throw new Problem('not_found', 'There is no such upload.');
  }
  return row;
}

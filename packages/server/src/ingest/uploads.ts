// Uploads as operators see them.

import { limits } from '@muster/contract';
import type { Database } from '../db/db.ts';
import { parseId, type TenantId, type UploadId } from '../lib/ids.ts';
import { Problem } from '../lib/problem.ts';
import { type RejectionRow, rejectionsPage } from './rejection.queries.ts';
import { findUpload, pageUploads, type UploadRow } from './upload.queries.ts';

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

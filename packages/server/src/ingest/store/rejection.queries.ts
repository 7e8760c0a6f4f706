// SQL of the items that could not be used: the story of an upload writes them, operators read them
// page by page. A row is never changed.

import type { Selectable } from 'kysely';
import type { Db } from '../../db/db.ts';
import { insertRows } from '../../db/dialect.ts';
import type { UploadRejectionTable } from '../../db/tables.ts';

export type RejectionRow = Selectable<UploadRejectionTable>;

/**
 * Stores rejections; those that are stored already stay, because a re-run writes the same ones
 * again.
 */
export async function insertRejections(tx: Db, rows: readonly RejectionRow[]): Promise<void> {
  await insertRows(tx, 'upload_rejection', rows, {
    onConflict: { columns: ['tenant_id', 'upload_id', 'seq'] },
  });
}

/**
 * Rejections in the order of the document, after `afterSeq` (-1: from the first on). One more than
 * `limit` tells that there is another page.
 */
export async function rejectionsPage(
  db: Db,
  tenantId: string,
  uploadId: string,
  afterSeq: number,
  limit: number,
): Promise<RejectionRow[]> {
  return await db
    .selectFrom('upload_rejection')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('upload_id', '=', uploadId)
    .where('seq', '>', afterSeq)
    .orderBy('seq')
    .limit(limit + 1)
    .execute();
}

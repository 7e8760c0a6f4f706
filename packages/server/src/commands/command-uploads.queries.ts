// Uploads that say which command they were made for. The rows are ingest's; here they are only read, by command.

import type { Selectable } from 'kysely';
import type { Db } from '../db/db.ts';
import type { UploadTable } from '../db/tables.ts';

export type LinkedUpload = Pick<
  Selectable<UploadTable>,
  'id' | 'runner_id' | 'state' | 'tool' | 'received_at' | 'finished_at' | 'receipt'
>;

/** The newest first. */
export async function uploadsFor(
  db: Db,
  tenantId: string,
  commandId: string,
  runnerIds: readonly string[],
  limit: number,
): Promise<LinkedUpload[]> {
  return await db
    .selectFrom('upload')
    .select(['id', 'runner_id', 'state', 'tool', 'received_at', 'finished_at', 'receipt'])
    .where('tenant_id', '=', tenantId)
    .where('command_id', '=', commandId)
    .where('runner_id', 'in', runnerIds)
    // A dry run handed in nothing.
    .where('rehearsal', '=', 0)
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();
}

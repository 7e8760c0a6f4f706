// SQL that finds the uploads which say which command they were made for. The rows belong to ingest;
// here they are only read, by command.

import type { Selectable } from 'kysely';
import type { Db } from '../db/db.ts';
import type { UploadTable } from '../db/tables.ts';

export type LinkedUpload = Pick<
  Selectable<UploadTable>,
  'id' | 'runner_id' | 'state' | 'tool' | 'received_at' | 'finished_at' | 'receipt'
>;

/** Uploads of a command, newest first. */
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
    // A dry run hands in nothing.
    .where('rehearsal', '=', 0)
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();
}

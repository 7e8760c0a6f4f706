// SQL that removes commands which ended long ago, and their logs. Every deletion is bounded, so
// that no statement holds the writer for long.

import type { Db } from '../db/db.ts';
import { isAmong } from '../db/dialect.ts';
import type { CommandRow } from './command.queries.ts';

export type EndedCommand = Pick<CommandRow, 'tenant_id' | 'id' | 'completed_at' | 'log_lines'>;

/** Ended commands in the order of their end, from `after` on. */
export async function endedCommands(
  db: Db,
  endedBeforeMs: number,
  after: Pick<EndedCommand, 'completed_at' | 'id'> | null,
  limit: number,
): Promise<EndedCommand[]> {
  let query = db
    .selectFrom('command')
    .select(['tenant_id', 'id', 'completed_at', 'log_lines'])
    .where('completed_at', '<', endedBeforeMs)
    .orderBy('completed_at')
    .orderBy('id')
    .limit(limit);
  if (after !== null) {
    query = query
      .where('completed_at', '>=', after.completed_at)
      .where((eb) => eb.or([eb('completed_at', '>', after.completed_at), eb('id', '>', after.id)]));
  }
  return await query.execute();
}

/**
 * Deletes the rows of a log that hold its first kept lines, about `lines` of them. Returns zero
 * when no line is left.
 */
export async function deleteSomeLogLines(
  db: Db,
  tenantId: string,
  commandId: string,
  lines: number,
): Promise<number> {
  const result = await db
    .deleteFrom('command_log')
    .where('tenant_id', '=', tenantId)
    .where('command_id', '=', commandId)
    .where((eb) =>
      eb(
        'end_line',
        '<',
        eb
          .selectFrom('command_log as first')
          .select((first) => first(first.fn.min('first.end_line'), '+', lines).as('end'))
          .where('first.tenant_id', '=', tenantId)
          .where('first.command_id', '=', commandId),
      ),
    )
    .executeTakeFirst();
  return Number(result.numDeletedRows);
}

/** Marks the log as gone: its lines count as dropped from now on. */
export async function forgetLog(db: Db, tenantId: string, commandId: string): Promise<void> {
  await db
    .updateTable('command')
    .set((eb) => ({
      log_dropped: eb('log_dropped', '+', eb.ref('log_lines')),
      log_lines: 0,
      log_bytes: 0,
    }))
    .where('tenant_id', '=', tenantId)
    .where('id', '=', commandId)
    .where('log_lines', '>', 0)
    .execute();
}

/**
 * Deletes those of the commands for which no upload was handed in, with their attempts. Inside a
 * transaction.
 */
export async function deleteCommands(
  db: Db,
  tenantId: string,
  ids: readonly string[],
): Promise<number> {
  const gone = await db
    .deleteFrom('command')
    .where('tenant_id', '=', tenantId)
    .where(isAmong(db, 'id', ids))
    .where('completed_at', 'is not', null)
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('upload')
            .select('upload.id')
            .whereRef('upload.tenant_id', '=', 'command.tenant_id')
            .whereRef('upload.command_id', '=', 'command.id'),
        ),
      ),
    )
    .returning('id')
    .execute();
  if (gone.length === 0) return 0;
  const own = gone.map(({ id }) => id);
  await db
    .deleteFrom('command_attempt')
    .where('tenant_id', '=', tenantId)
    .where(isAmong(db, 'command_id', own))
    .execute();
  return own.length;
}

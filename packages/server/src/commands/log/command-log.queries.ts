// SQL of command logs: rows of lines in the order in which they were kept. A log grows only under
// the guard of the holder and attempt that it was judged by.

import type { Selectable } from 'kysely';
import type { Db } from '../../db/db.ts';
import type { CommandLogTable } from '../../db/tables.ts';
import type { CommandRow } from '../command.queries.ts';

export type LogRow = Selectable<CommandLogTable>;

/**
 * Guarded by the holder, the attempt and the log as they were judged. Returns zero when one of them
 * has changed.
 */
export async function growLog(
  db: Db,
  judged: CommandRow,
  lines: number,
  bytes: number,
  dropped: number,
): Promise<number> {
  const result = await db
    .updateTable('command')
    .set({ log_lines: lines, log_bytes: bytes, log_dropped: dropped })
    .where('tenant_id', '=', judged.tenant_id)
    .where('id', '=', judged.id)
    .where('status', '=', judged.status)
    .where('attempt', '=', judged.attempt)
    .where('holder_id', '=', judged.holder_id)
    .where('log_lines', '=', judged.log_lines)
    .where('log_dropped', '=', judged.log_dropped)
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}

export async function insertLogLines(db: Db, row: LogRow): Promise<void> {
  await db.insertInto('command_log').values(row).execute();
}

/**
 * The rows that hold the lines from `offset` on: enough rows for `lines` lines if each row holds
 * only one.
 */
export async function readLogLines(
  db: Db,
  tenantId: string,
  commandId: string,
  offset: number,
  lines: number,
): Promise<LogRow[]> {
  return await db
    .selectFrom('command_log')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('command_id', '=', commandId)
    .where('end_line', '>', offset)
    .where('end_line', '<=', offset + lines)
    .orderBy('end_line')
    .execute();
}

// SQL of commands; the SQL of waiting commands stands in pending.queries.ts. Every change of state
// is guarded by the state on which it was decided.

import type { CommandStatus } from '@muster/contract';
import { type Selectable, sql } from 'kysely';
import type { Db } from '../db/db.ts';
import { skipLocked, updateRows } from '../db/dialect.ts';
import type { CommandAttemptTable, CommandTable } from '../db/tables.ts';

/**
 * As literals, not parameters: the planner uses a partial index only when it sees that the
 * condition matches the index.
 */
const HELD = sql<'acknowledged' | 'running'>`('acknowledged', 'running')`;

export type CommandRow = Selectable<CommandTable>;
export type AttemptRow = Selectable<CommandAttemptTable>;

export async function insertCommand(db: Db, row: CommandRow): Promise<void> {
  await db.insertInto('command').values(row).execute();
}

export async function findCommand(
  db: Db,
  tenantId: string,
  id: string,
): Promise<CommandRow | undefined> {
  return await db
    .selectFrom('command')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id)
    .executeTakeFirst();
}

export async function lastAttemptOf(
  db: Db,
  tenantId: string,
  commandId: string,
  runnerId: string,
): Promise<AttemptRow | undefined> {
  return await db
    .selectFrom('command_attempt')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('command_id', '=', commandId)
    .where('runner_id', '=', runnerId)
    .orderBy('attempt', 'desc')
    .limit(1)
    .executeTakeFirst();
}

export async function attemptsOf(
  db: Db,
  tenantId: string,
  commandId: string,
): Promise<AttemptRow[]> {
  return await db
    .selectFrom('command_attempt')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('command_id', '=', commandId)
    .orderBy('attempt')
    .execute();
}

/**
 * The guarded UPDATE: applies `set` only while the row is still as it was judged. Returns zero when
 * the row has changed.
 */
export async function moveCommand(
  db: Db,
  judged: Pick<
    CommandRow,
    'tenant_id' | 'id' | 'status' | 'attempt' | 'holder_id' | 'cancel_requested_at'
  >,
  set: Partial<CommandRow>,
): Promise<number> {
  let query = db
    .updateTable('command')
    .set(set)
    .where('tenant_id', '=', judged.tenant_id)
    .where('id', '=', judged.id)
    .where('status', '=', judged.status)
    .where('attempt', '=', judged.attempt)
    // A wish to cancel that came in between changes what a release or failure means.
    .where('cancel_requested_at', judged.cancel_requested_at === null ? 'is' : 'is not', null);
  query =
    judged.holder_id === null
      ? query.where('holder_id', 'is', null)
      : query.where('holder_id', '=', judged.holder_id);
  return Number((await query.executeTakeFirst()).numUpdatedRows);
}

export async function insertAttempt(db: Db, row: AttemptRow): Promise<void> {
  await db.insertInto('command_attempt').values(row).execute();
}

/** Deletes the attempts that this runner gave back before that attempt. */
export async function forgetReleased(
  db: Db,
  command: Pick<CommandRow, 'tenant_id' | 'id'>,
  runnerId: string,
  before: number,
): Promise<void> {
  await db
    .deleteFrom('command_attempt')
    .where('tenant_id', '=', command.tenant_id)
    .where('command_id', '=', command.id)
    .where('runner_id', '=', runnerId)
    .where('outcome', '=', 'released')
    .where('attempt', '<', before)
    .execute();
}

export async function updateAttempt(
  db: Db,
  key: Pick<AttemptRow, 'tenant_id' | 'command_id' | 'attempt'>,
  set: Partial<AttemptRow>,
): Promise<void> {
  await db
    .updateTable('command_attempt')
    .set(set)
    .where('tenant_id', '=', key.tenant_id)
    .where('command_id', '=', key.command_id)
    .where('attempt', '=', key.attempt)
    .where('ended_at', 'is', null)
    .execute();
}

/**
 * For each of these runners, the number of commands it holds; runners that hold none are left out.
 */
export async function heldBy(
  db: Db,
  tenantId: string,
  runnerIds: readonly string[],
): Promise<Map<string, number>> {
  const rows = await db
    .selectFrom('command')
    .select(['holder_id', sql<number>`count(*)`.as('held')])
    .where('tenant_id', '=', tenantId)
    .where('holder_id', 'in', runnerIds)
    .where('status', 'in', HELD)
    .groupBy('holder_id')
    .execute();
  return new Map(rows.map((row) => [row.holder_id ?? '', Number(row.held)]));
}

/** The scans that a runner holds, the one it claimed last first. */
export async function heldScans(
  db: Db,
  tenantId: string,
  runnerId: string,
  limit: number,
): Promise<Pick<CommandRow, 'id' | 'payload'>[]> {
  return await db
    .selectFrom('command')
    .select(['id', 'payload'])
    .where('tenant_id', '=', tenantId)
    .where('holder_id', '=', runnerId)
    .where('status', 'in', HELD)
    .where('type', '=', 'scan')
    .orderBy('acknowledged_at', 'desc')
    .limit(limit)
    .execute();
}

/** Held commands that an operator wants canceled, with their holders. */
export async function cancelRequests(
  db: Db,
  tenantId: string,
): Promise<{ id: string; holder_id: string | null }[]> {
  return await db
    .selectFrom('command')
    .select(['id', 'holder_id'])
    .where('tenant_id', '=', tenantId)
    .where('status', 'in', HELD)
    .where('holder_id', 'is not', null)
    .where('cancel_requested_at', 'is not', null)
    .limit(10_000)
    .execute();
}

/** A held command's lease, with the columns that prove that the lease is still the same. */
export type LeaseRow = Pick<
  CommandRow,
  'tenant_id' | 'id' | 'status' | 'holder_id' | 'attempt' | 'lease_until'
>;

/** The leases of all held commands, across tenants. */
export async function heldLeases(db: Db): Promise<(LeaseRow & Pick<CommandRow, 'deadline_at'>)[]> {
  return await db
    .selectFrom('command')
    .select(['tenant_id', 'id', 'status', 'holder_id', 'attempt', 'lease_until', 'deadline_at'])
    .where('status', 'in', HELD)
    .where('lease_until', 'is not', null)
    .orderBy('lease_until')
    .execute();
}

/**
 * Extends these leases where they are still what was read. A lease that was extended further in
 * between stays as it is.
 */
export async function saveLeases(db: Db, leases: readonly LeaseRow[]): Promise<void> {
  const key = ['tenant_id', 'id', 'status', 'holder_id', 'attempt'] as const;
  await updateRows(db, 'command', key, leases, { dated: { lease_until: [] } });
}

/** Commands whose lease has ended; locked for the rest of the transaction. */
export async function lostCommands(db: Db, nowMs: number, limit: number): Promise<CommandRow[]> {
  return await skipLocked(
    db
      .selectFrom('command')
      .selectAll()
      .where('status', 'in', HELD)
      .where('lease_until', '<', nowMs)
      .orderBy('lease_until')
      .limit(limit),
  ).execute();
}

export interface CommandPageQuery {
  readonly status: CommandStatus | null;
  readonly type: string | null;
  readonly runnerId: string | null;
  readonly after: string | null;
  readonly limit: number;
}

/**
 * A page of commands, newest first. Returns one row more than `limit` when there is another page.
 */
export async function pageCommands(
  db: Db,
  tenantId: string,
  page: CommandPageQuery,
): Promise<CommandRow[]> {
  let query = db
    .selectFrom('command')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .orderBy('id', 'desc')
    .limit(page.limit + 1);
  if (page.status !== null) query = query.where('status', '=', page.status);
  if (page.type !== null) query = query.where('type', '=', page.type);
  const runnerId = page.runnerId;
  if (runnerId !== null) {
    query = query.where((eb) =>
      eb.or([eb('runner_id', '=', runnerId), eb('holder_id', '=', runnerId)]),
    );
  }
  if (page.after !== null) query = query.where('id', '<', page.after);
  return await query.execute();
}

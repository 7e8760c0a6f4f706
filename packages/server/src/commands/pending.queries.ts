// SQL of commands that wait. Commands pinned to a runner and commands for anybody have an index
// each, so a query for one runner costs the same whatever waits for the others.

import { type ExpressionBuilder, type SelectQueryBuilder, sql } from 'kysely';
import type { Db } from '../db/db.ts';
import { idValue, isAmong } from '../db/dialect.ts';
import type { Tables } from '../db/tables.ts';
import type { CommandRow } from './command.queries.ts';

/** As a literal, not a parameter: the planner must see that the partial indexes fit. */
const PENDING = sql<'pending'>`'pending'`;

/** The columns of a pending command that decide who may take it, and when. */
export type WaitingRow = Pick<
  CommandRow,
  'id' | 'priority' | 'runner_id' | 'target' | 'scheduled_at' | 'expires_at'
>;

type OfCommand = SelectQueryBuilder<Tables, 'command', object>;

const pinnedTo =
  (runnerId: string) =>
  (query: OfCommand): OfCommand =>
    query.where('runner_id', '=', runnerId);
const forAnybody = (query: OfCommand): OfCommand => query.where('runner_id', 'is', null);

const pendingOf = (db: Db, tenantId: string): OfCommand =>
  db.selectFrom('command').where('tenant_id', '=', tenantId).where('status', '=', PENDING);

const due = (nowMs: number) => (eb: ExpressionBuilder<Tables, 'command'>) =>
  eb.and([
    eb.or([eb('scheduled_at', 'is', null), eb('scheduled_at', '<=', nowMs)]),
    eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', nowMs)]),
  ]);

/**
 * Commands pinned to this runner or to nobody, due or not, most urgent first, then oldest; `after`
 * is the last row of the previous page. Reads `limit` rows of each kind at most; the caller sorts
 * out those that aren't due.
 */
export async function pendingFor(
  db: Db,
  tenantId: string,
  runnerId: string,
  after: Pick<WaitingRow, 'id' | 'priority'> | null,
  limit: number,
): Promise<WaitingRow[]> {
  const page = (pin: (query: OfCommand) => OfCommand) => {
    const query = pin(pendingOf(db, tenantId))
      .select(['id', 'priority', 'runner_id', 'target', 'scheduled_at', 'expires_at'])
      .orderBy('priority')
      .orderBy('id')
      .limit(limit);
    if (after === null) return query;
    const last = sql`(${after.priority}, ${idValue(db, after.id)})`;
    return query.where(sql<boolean>`(priority, id) > ${last}`);
  };
  const mine = db.selectFrom(page(pinnedTo(runnerId)).as('mine')).selectAll();
  const free = db.selectFrom(page(forAnybody).as('free')).selectAll();
  return await mine.unionAll(free).orderBy('priority').orderBy('id').limit(limit).execute();
}

/** Those of the commands that may still be claimed. */
export async function pendingByIds(
  db: Db,
  tenantId: string,
  ids: readonly string[],
  nowMs: number,
): Promise<CommandRow[]> {
  return await db
    .selectFrom('command')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('id', 'in', ids)
    .where('status', '=', PENDING)
    .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', nowMs)]))
    .execute();
}

/** Those of the commands that may be claimed now, with what says whom they are for. */
export async function dueAmong(
  db: Db,
  tenantId: string,
  ids: readonly string[],
  nowMs: number,
): Promise<Pick<CommandRow, 'id' | 'runner_id' | 'target'>[]> {
  return await pendingOf(db, tenantId)
    .select(['id', 'runner_id', 'target'])
    .where(isAmong(db, 'id', ids))
    .where(due(nowMs))
    .execute();
}

export interface WaitingGroup {
  readonly target: string | null;
  /** The number of due commands in the group. */
  readonly waiting: number;
  /** The number of rows that were read for the group. */
  readonly looked: number;
}

/**
 * Commands for anybody, grouped by what they ask of a runner. Reads `limit` rows at most; null: all
 * of them.
 */
export async function waitingGroups(
  db: Db,
  tenantId: string,
  nowMs: number,
  limit: number | null,
): Promise<WaitingGroup[]> {
  const all = forAnybody(pendingOf(db, tenantId)).select((eb) => [
    'target',
    eb.case().when(due(nowMs)(eb)).then(1).end().as('due'),
  ]);
  const rows = await db
    .selectFrom((limit === null ? all : all.limit(limit)).as('some'))
    .select(['target', sql<number>`count(due)`.as('waiting'), sql<number>`count(*)`.as('looked')])
    .groupBy('target')
    .execute();
  return rows.map(({ target, waiting, looked }) => ({
    target,
    waiting: Number(waiting),
    looked: Number(looked),
  }));
}

/**
 * The runners for which a command is pinned, due or not, and how many rows were read for each;
 * `limit` rows at most.
 */
export async function pinnedRunners(
  db: Db,
  tenantId: string,
  limit: number,
): Promise<{ runner_id: string; looked: number }[]> {
  const all = pendingOf(db, tenantId).select('runner_id').where('runner_id', 'is not', null);
  const rows = await db
    .selectFrom(all.limit(limit).as('some'))
    .select(['runner_id', sql<number>`count(*)`.as('looked')])
    .groupBy('runner_id')
    .execute();
  return rows.map(({ runner_id: id, looked }) => ({ runner_id: id ?? '', looked: Number(looked) }));
}

/** The number of due commands that are pinned to this runner, `limit` at most. */
export async function countPinned(
  db: Db,
  tenantId: string,
  runnerId: string,
  nowMs: number,
  limit: number,
): Promise<number> {
  const some = pinnedTo(runnerId)(pendingOf(db, tenantId)).select('id').where(due(nowMs));
  const row = await db
    .selectFrom(some.limit(limit).as('some'))
    .select(sql<number>`count(*)`.as('count'))
    .executeTakeFirst();
  return Number(row?.count ?? 0);
}

/** The number of pending commands, due or not; read from the indexes alone. */
export async function countPending(db: Db, tenantId: string): Promise<number> {
  const count = (query: OfCommand) => query.select(sql<number>`count(*)`.as('count'));
  const free = count(forAnybody(pendingOf(db, tenantId)));
  const pinned = count(pendingOf(db, tenantId).where('runner_id', 'is not', null));
  const rows = await free.unionAll(pinned).execute();
  return rows.reduce((sum, row) => sum + Number(row.count), 0);
}

type PendingKey = Pick<CommandRow, 'tenant_id' | 'id'>;

/**
 * Commands pinned to a runner that was revoked: nobody else may ever take them. A cross join,
 * because SQLite keeps the order of a cross join: from the few revoked runners to the commands that
 * wait for them.
 */
export async function orphaned(db: Db, limit: number): Promise<PendingKey[]> {
  return await db
    .selectFrom('runner')
    .crossJoin('command')
    .select(['command.tenant_id', 'command.id'])
    .where('runner.admin', '=', sql<'revoked'>`'revoked'`)
    .whereRef('command.tenant_id', '=', 'runner.tenant_id')
    .whereRef('command.runner_id', '=', 'runner.id')
    .where('command.status', '=', PENDING)
    .where('command.runner_id', 'is not', null)
    .limit(limit)
    .execute();
}

/** Commands past their `expires_at`, the oldest first. */
export async function outdated(db: Db, nowMs: number, limit: number): Promise<PendingKey[]> {
  return await db
    .selectFrom('command')
    .select(['tenant_id', 'id'])
    .where('status', '=', PENDING)
    .where('expires_at', '<=', nowMs)
    .orderBy('expires_at')
    .limit(limit)
    .execute();
}

/** Ends those commands of one tenant that are still pending. */
export async function endPending(
  db: Db,
  tenantId: string,
  ids: readonly string[],
  set: Pick<CommandRow, 'status' | 'reason' | 'completed_at'>,
): Promise<number> {
  const result = await db
    .updateTable('command')
    .set(set)
    .where('tenant_id', '=', tenantId)
    .where(isAmong(db, 'id', ids))
    .where('status', '=', PENDING)
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}

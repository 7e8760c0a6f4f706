// SQL of the runner row as an identity: created by an operator or an enrolment, paused, revoked. A
// revoked runner stays revoked.

import type { Selectable } from 'kysely';
import type { Db } from '../db/db.ts';
import { contains, forUpdate } from '../db/dialect.ts';
import type { RunnerTable } from '../db/tables.ts';
import { REVOKED, RUNNER_BEGINNING } from './runner.machine.ts';
import { limits } from '@muster/contract';

export type RunnerRow = Selectable<RunnerTable>;

export interface NewRunnerRow {
  readonly tenantId: string;
  readonly id: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly hostname: string | null;
  readonly version: string | null;
  readonly enrollmentId: string | null;
  readonly createdBy: string;
  readonly nowMs: number;
}

export async function insertRunner(db: Db, runner: NewRunnerRow): Promise<void> {
  await db
    .insertInto('runner')
    .values({
      tenant_id: runner.tenantId,
      id: runner.id,
      name: runner.name,
      admin: RUNNER_BEGINNING,
      labels: JSON.stringify(runner.labels),
      created_at: runner.nowMs,
      created_by: runner.createdBy,
      enrollment_id: runner.enrollmentId,
      presence: 'never',
      presence_since: runner.nowMs,
      last_seen_at: null,
      interval_ms: limits.heartbeatDefaultMs,
      version: runner.version,
      hostname: runner.hostname,
      region: null,
      reported: null,
      reported_at: null,
      is_ci: 0,
      clock_skew_ms: null,
      installation: null,
      cloned_until: null,
    })
    .execute();
}

export async function findRunner(
  db: Db,
  tenantId: string,
  id: string,
): Promise<RunnerRow | undefined> {
  return await db
    .selectFrom('runner')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id)
    .executeTakeFirst();
}

/**
 * Locks the runner's row for the rest of the transaction (on SQLite the transaction is the lock).
 */
export async function lockRunner(
  db: Db,
  tenantId: string,
  id: string,
): Promise<Pick<RunnerRow, 'cloned_until'> | undefined> {
  return await forUpdate(
    db
      .selectFrom('runner')
      .select('cloned_until')
      .where('tenant_id', '=', tenantId)
      .where('id', '=', id),
  ).executeTakeFirst();
}

export async function findByEnrollment(
  db: Db,
  tenantId: string,
  enrollmentId: string,
): Promise<Pick<RunnerRow, 'id' | 'created_by' | 'admin'> | undefined> {
  return await db
    .selectFrom('runner')
    .select(['id', 'created_by', 'admin'])
    .where('tenant_id', '=', tenantId)
    .where('enrollment_id', '=', enrollmentId)
    .executeTakeFirst();
}

/**
 * Guarded: a revoked runner stays revoked. Returns zero when the runner isn't there or is revoked.
 */
export async function setRunnerAdmin(
  db: Db,
  tenantId: string,
  id: string,
  admin: RunnerRow['admin'],
): Promise<number> {
  const result = await db
    .updateTable('runner')
    .set({ admin })
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id)
    .where('admin', '!=', REVOKED)
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}

export interface RunnerPageQuery {
  readonly admin: RunnerRow['admin'] | null;
  readonly presence: RunnerRow['presence'] | null;
  readonly namePart: string | null;
  readonly after: string | null;
  readonly limit: number;
}

/**
 * A page of runners, newest first. Returns one row more than `limit` when there is another page.
 */
export async function pageRunners(
  db: Db,
  tenantId: string,
  page: RunnerPageQuery,
): Promise<RunnerRow[]> {
  let query = db
    .selectFrom('runner')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .orderBy('id', 'desc')
    .limit(page.limit + 1);
  if (page.admin !== null) query = query.where('admin', '=', page.admin);
  if (page.presence !== null) query = query.where('presence', '=', page.presence);
  if (page.namePart !== null) query = query.where(contains(db, 'name', page.namePart));
  if (page.after !== null) query = query.where('id', '<', page.after);
  return await query.execute();
}

// SQL of scan sessions: insert, find, end, time out, delete, list. Only a running session is ended,
// so each session ends once.

import { type Selectable, sql } from 'kysely';
import type { Db } from '../db/db.ts';
import type { ScanSessionTable } from '../db/tables.ts';
import { SESSION_BEGINNING, SESSION_MOVES } from './scan-session.machine.ts';

export type SessionRow = Selectable<ScanSessionTable>;

/** As a literal, so that the planner sees that the partial index fits. */
const RUNNING = sql<typeof SESSION_BEGINNING>`${sql.lit(SESSION_BEGINNING)}`;

export async function insertSession(db: Db, row: SessionRow): Promise<void> {
  await db.insertInto('scan_session').values(row).execute();
}

export async function findSession(
  db: Db,
  tenantId: string,
  id: string,
): Promise<SessionRow | undefined> {
  return await db
    .selectFrom('scan_session')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id)
    .executeTakeFirst();
}

/** Sessions of this scanner on this branch of this asset, newest first. */
export async function sessionsOf(
  db: Db,
  { tenant_id: tenantId, place_digest: digest }: Pick<SessionRow, 'tenant_id' | 'place_digest'>,
  status: 'running' | 'completed',
  startedSinceMs: number,
  limit: number,
): Promise<SessionRow[]> {
  return await db
    .selectFrom('scan_session')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('place_digest', '=', digest)
    .where('status', '=', status)
    .where('started_at', '>=', startedSinceMs)
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();
}

/** Guarded: only a running session ends. Returns zero when it has already ended. */
export async function endSession(
  db: Db,
  tenantId: string,
  id: string,
  end: Pick<SessionRow, 'status' | 'answer' | 'completed_at'>,
): Promise<number> {
  const result = await db
    .updateTable('scan_session')
    .set(end)
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id)
    .where('status', '=', RUNNING)
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}

/** Ends sessions that nobody ended. */
export async function timeOutSessions(
  db: Db,
  startedBeforeMs: number,
  nowMs: number,
): Promise<number> {
  const result = await db
    .updateTable('scan_session')
    .set({ status: SESSION_MOVES.time_out.to, completed_at: nowMs })
    .where('status', '=', RUNNING)
    .where('started_at', '<', startedBeforeMs)
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}

/**
 * Deletes a bounded number of sessions that ended before that time, the oldest first. Returns the
 * number of deleted ones.
 */
export async function deleteSomeSessions(
  db: Db,
  endedBeforeMs: number,
  limit: number,
): Promise<number> {
  const result = await db
    .deleteFrom('scan_session')
    .where((eb) =>
      eb(
        eb.refTuple('tenant_id', 'id'),
        'in',
        eb
          .selectFrom('scan_session as old')
          .select(['old.tenant_id', 'old.id'])
          .where('old.completed_at', '<', endedBeforeMs)
          .orderBy('old.completed_at')
          .limit(limit)
          .$asTuple('tenant_id', 'id'),
      ),
    )
    .executeTakeFirst();
  return Number(result.numDeletedRows);
}

export interface SessionPageQuery {
  readonly status: SessionRow['status'] | null;
  readonly runnerId: string | null;
  readonly after: string | null;
  readonly limit: number;
}

/**
 * A page of sessions, newest first. Returns one row more than `limit` when there is another page.
 */
export async function pageSessions(
  db: Db,
  tenantId: string,
  page: SessionPageQuery,
): Promise<SessionRow[]> {
  let query = db
    .selectFrom('scan_session')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .orderBy('id', 'desc')
    .limit(page.limit + 1);
  if (page.status !== null) query = query.where('status', '=', page.status);
  if (page.runnerId !== null) query = query.where('runner_id', '=', page.runnerId);
  if (page.after !== null) query = query.where('id', '<', page.after);
  return await query.execute();
}

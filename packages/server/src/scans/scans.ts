// Scan sessions (RP §9.1): a runner opens a session, ends it once, and reads its own; operators
// read all. A session is only what the runner says, and decides nothing. Calls may be repeated: the
// same opening finds the same session, and the same end is a repeat.

import { hash } from 'node:crypto';
import { limits, type NewScanSession, type ScanEnd } from '@muster/contract';
import type { Database } from '../db/db.ts';
import type { Clock } from '../lib/clock.ts';
import { newId, parseId, type RunnerId, type TenantId } from '../lib/ids.ts';
import { takeTurn } from '../keys/runners.ts';
import { Problem } from '../lib/problem.ts';
import { cut } from '../lib/text.ts';
import { SESSION_BEGINNING } from './scan-session.machine.ts';
import {
  deleteSomeSessions,
  endSession,
  findSession,
  insertSession,
  pageSessions,
  type SessionRow,
  sessionsOf,
  timeOutSessions,
} from './scan-session.queries.ts';

export interface ScansDeps {
  readonly database: Database;
  readonly clock: Clock;
}

interface Owner {
  readonly tenantId: TenantId;
  readonly runnerId: RunnerId;
}

/** The new session, or the running one that this call repeats. */
export async function startScan(
  { database, clock }: ScansDeps,
  { tenantId, runnerId }: Owner,
  request: NewScanSession,
): Promise<SessionRow> {
  const nowMs = clock.nowMs();
  const text = (value: string | undefined): string | null =>
    value === undefined ? null : cut(value, limits.pathCharsMax);
  const commit = text(request.commit_sha);
  const what = {
    asset_type: cut(request.asset_type, limits.nameCharsMax),
    asset_value: cut(request.asset_value, limits.pathCharsMax),
    scanner_name: cut(request.scanner_name, limits.nameCharsMax),
    branch: text(request.branch),
  };
  const digest = hash('sha256', JSON.stringify(Object.values(what)), 'buffer');
  const place = { ...what, tenant_id: tenantId, place_digest: digest };
  return await database.transaction(tenantId, async (tx) => {
    await takeTurn(tx, tenantId, runnerId);
    const since = nowMs - limits.scanSessionRepeatMs;
    const running = await sessionsOf(tx, place, 'running', since, 100);
    const same = running.find(
      (session) => session.runner_id === runnerId && session.commit_sha === commit,
    );
    if (same !== undefined) return same;
    const [last] = await sessionsOf(tx, place, 'completed', 0, 1);
    const row: SessionRow = {
      ...place,
      id: newId<string>(nowMs),
      runner_id: runnerId,
      status: SESSION_BEGINNING,
      scanner_version: text(request.scanner_version),
      scanner_type: text(request.scanner_type),
      commit_sha: commit,
      base_commit_sha: last?.commit_sha ?? null,
      started_at: nowMs,
      completed_at: null,
      answer: null,
    };
    await insertSession(tx, row);
    return row;
  });
}

/** Problems: not_found (also for another runner's session), transition_conflict. */
export async function endScan(
  { database, clock }: ScansDeps,
  owner: Owner,
  idText: string,
  said: ScanEnd,
): Promise<void> {
  const { tenantId } = owner;
  const { status, error_message: message, ...counts } = said;
  const cutMessage =
    message === undefined ? {} : { error_message: cut(message, limits.messageCharsMax) };
  const answer = JSON.stringify({ ...counts, ...cutMessage });
  const end = { status, answer, completed_at: clock.nowMs() };
  await database.transaction(tenantId, async (tx) => {
    const id = parseId<string>(idText);
    const found = id === null ? undefined : await findSession(tx, tenantId, id);
    if (found?.runner_id !== owner.runnerId) throw notFound();
    if ((await endSession(tx, tenantId, found.id, end)) > 0) return;
    const now = await findSession(tx, tenantId, found.id);
    // A session that timed out may still have been scanned: the late end changes nothing, and the
    // answer says so.
    if (now?.status === status && now.answer === answer) return;
    const detail = `The session has ended as ${now?.status}.`;
    throw new Problem('transition_conflict', detail, { state: now?.status ?? 'running' });
  });
}

/** One session; with an owner, only one of the owner's. Problem: not_found. */
export async function showScan(
  { database }: ScansDeps,
  tenantId: TenantId,
  idText: string,
  ownerId: RunnerId | null,
): Promise<SessionRow> {
  const id = parseId<string>(idText);
  const row = id === null ? undefined : await findSession(database.tenant(tenantId), tenantId, id);
  if (row === undefined || (ownerId !== null && row.runner_id !== ownerId)) throw notFound();
  return row;
}

const notFound = (): Problem => new Problem('not_found', 'There is no such scan session.');

export async function listScans(
  { database }: ScansDeps,
  tenantId: TenantId,
  filter: { status?: SessionRow['status']; runner_id?: string },
  after: string | null,
  limit: number,
): Promise<SessionRow[]> {
  return await pageSessions(database.lists(tenantId), tenantId, {
    status: filter.status ?? null,
    runnerId: filter.runner_id ?? null,
    after,
    limit,
  });
}

/** Sessions that one step deletes, and the steps of a round: 20 000 sessions a minute. */
const SESSIONS_PER_STEP = 500;
const STEPS_PER_ROUND = 40;

/**
 * Times out sessions that nobody ended, and deletes sessions that ended longer ago than `keepMs`.
 * Run by upkeep.
 */
export async function sweepScans({ database, clock }: ScansDeps, keepMs: number): Promise<void> {
  const nowMs = clock.nowMs();
  const db = database.system();
  await timeOutSessions(db, nowMs - limits.scanSessionMs, nowMs);
  for (let step = 0; step < STEPS_PER_ROUND; step += 1) {
    const gone = await deleteSomeSessions(db, nowMs - keepMs, SESSIONS_PER_STEP);
    if (gone < SESSIONS_PER_STEP) return;
  }
}

// SQL of presence: what was last known, the flush, changes of state.

import type { Db } from '../db/db.ts';
import { updateRows } from '../db/dialect.ts';

export interface StoredPresence {
  readonly presence: 'never' | 'online' | 'late' | 'stopped' | 'offline';
  readonly last_seen_at: number | null;
  readonly interval_ms: number;
  readonly reported: string | null;
  readonly installation: string | null;
  readonly cloned_until: number | null;
  readonly clock_skew_ms: number | null;
}

export async function readPresence(
  db: Db,
  tenantId: string,
  runnerId: string,
): Promise<StoredPresence | undefined> {
  return await db
    .selectFrom('runner')
    .select(['presence', 'last_seen_at', 'interval_ms', 'reported'])
    .select(['installation', 'cloned_until', 'clock_skew_ms'])
    .where('tenant_id', '=', tenantId)
    .where('id', '=', runnerId)
    .executeTakeFirst();
}

/** A change of state, written at once. Zero: it was so already. A later sign of life, seen elsewhere, stays. */
export async function setPresence(
  db: Db,
  tenantId: string,
  runnerId: string,
  presence: 'online' | 'stopped',
  nowMs: number,
): Promise<number> {
  const result = await db
    .updateTable('runner')
    .set((eb) => ({
      presence,
      presence_since: nowMs,
      last_seen_at: eb
        .case()
        .when('last_seen_at', '>', nowMs)
        .then(eb.ref('last_seen_at'))
        .else(eb.val(nowMs))
        .end(),
    }))
    .where('tenant_id', '=', tenantId)
    .where('id', '=', runnerId)
    .where('presence', '!=', presence)
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}

export interface SignRow {
  tenant_id: string;
  id: string;
  presence: StoredPresence['presence'];
  last_seen_at: number;
  interval_ms: number;
  is_ci: 0 | 1;
}

export interface BeatRow extends SignRow {
  version: string | null;
  hostname: string | null;
  region: string | null;
  reported: string;
  reported_at: number;
  clock_skew_ms: number | null;
  installation: string | null;
  cloned_until: number | null;
}

const SIGN_COLUMNS = ['presence', 'interval_ms', 'is_ci'] as const;
const REPORT_COLUMNS = [
  'version',
  'hostname',
  'region',
  'reported',
  'clock_skew_ms',
  'installation',
  'cloned_until',
] as const;

/**
 * The flush: one statement for those who beat since the last, one for those who only called. Several nodes flush the
 * same runners, so nothing goes back: what is stored with a later date stays. Sorted by id, so that two nodes can't wait
 * for each other. Returns how many rows were found.
 */
export async function flushPresence(
  db: Db,
  beats: readonly BeatRow[],
  signs: readonly SignRow[],
): Promise<number> {
  const byId = (a: SignRow, b: SignRow): number => (a.id < b.id ? -1 : 1);
  const key = ['tenant_id', 'id'] as const;
  const beaten = await updateRows(db, 'runner', key, beats.toSorted(byId), {
    dated: { last_seen_at: SIGN_COLUMNS, reported_at: REPORT_COLUMNS },
  });
  const seen = await updateRows(db, 'runner', key, signs.toSorted(byId), {
    dated: { last_seen_at: SIGN_COLUMNS },
  });
  return beaten + seen;
}

/** Parameters of one statement; both databases take at least twice as many. */
const IDS_PER_READ = 10_000;

/** Where these runners of one tenant were heard last, on whichever node. */
export async function lastInstallations(
  db: Db,
  tenantId: string,
  runnerIds: readonly string[],
): Promise<{ id: string; installation: string | null; cloned_until: number | null }[]> {
  const found = [];
  for (let from = 0; from < runnerIds.length; from += IDS_PER_READ) {
    const rows = await db
      .selectFrom('runner')
      .select(['id', 'installation', 'cloned_until'])
      .where('tenant_id', '=', tenantId)
      .where('id', 'in', runnerIds.slice(from, from + IDS_PER_READ))
      .execute();
    found.push(...rows);
  }
  return found;
}

export async function flushKeyUse(
  db: Db,
  rows: readonly {
    tenant_id: string;
    key_id: string;
    last_used_at: number;
    last_used_from: string;
  }[],
): Promise<void> {
  await updateRows(db, 'api_key', ['tenant_id', 'key_id'], rows);
}

/** Runners that have been silent for longer than one of their intervals. */
export async function watchedRunners(
  db: Db,
  nowMs: number,
): Promise<
  {
    tenant_id: string;
    id: string;
    presence: 'never' | 'online' | 'late' | 'stopped' | 'offline';
    last_seen_at: number | null;
    interval_ms: number;
    is_ci: 0 | 1;
  }[]
> {
  return await db
    .selectFrom('runner')
    .select(['tenant_id', 'id', 'presence', 'last_seen_at', 'interval_ms', 'is_ci'])
    .where('presence', 'in', ['online', 'late'])
    .where((eb) => eb(eb('last_seen_at', '+', eb.ref('interval_ms')), '<', nowMs))
    .execute();
}

/** Guarded by what was judged: a heartbeat that came meanwhile wins. */
export async function markSilent(
  db: Db,
  runner: { tenant_id: string; id: string; last_seen_at: number | null },
  presence: 'late' | 'offline' | 'stopped',
  nowMs: number,
): Promise<number> {
  const result = await db
    .updateTable('runner')
    .set({ presence, presence_since: nowMs })
    .where('tenant_id', '=', runner.tenant_id)
    .where('id', '=', runner.id)
    .where('presence', 'in', ['online', 'late'])
    .where('presence', '!=', presence)
    .where('last_seen_at', '=', runner.last_seen_at)
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}

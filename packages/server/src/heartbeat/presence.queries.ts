// SQL of presence: reads what was last known, writes the flush, and writes changes of state. A
// value with a later date stays, unless a clock that was set back since had written it.

import type { Db } from '../db/db.ts';
import { forUpdate, isAmong, skipLocked, updateRows } from '../db/dialect.ts';

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

/**
 * Writes a change of state at once. Returns zero when the state was already so. A later sign of
 * life, seen by another node, stays.
 */
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
 * Writes the flush: one statement for runners that sent a heartbeat since the last flush, one for
 * runners that only made other calls. Several nodes flush the same runners, so nothing goes back:
 * stored values with a later date stay. The caller holds the locks of the rows (lockHeard). Returns
 * the number of rows found.
 */
export async function flushPresence(
  db: Db,
  beats: readonly BeatRow[],
  signs: readonly SignRow[],
): Promise<number> {
  const key = ['tenant_id', 'id'] as const;
  const beaten = await updateRows(db, 'runner', key, beats, {
    dated: { last_seen_at: SIGN_COLUMNS, reported_at: REPORT_COLUMNS },
  });
  const seen = await updateRows(db, 'runner', key, signs, {
    dated: { last_seen_at: SIGN_COLUMNS },
  });
  return beaten + seen;
}

export interface HeardRow {
  readonly id: string;
  readonly installation: string | null;
  readonly cloned_until: number | null;
  readonly reported_at: number | null;
}

/**
 * Reads what is stored of the last heartbeats of these runners, whichever node heard them. Locks
 * the rows to the end of the transaction, in the order of their ids: so two nodes that flush the
 * same runners can't each wait for the other.
 */
export async function lockHeard(
  db: Db,
  tenantId: string,
  runnerIds: readonly string[],
): Promise<HeardRow[]> {
  return await db
    .selectFrom('runner')
    .select(['id', 'installation', 'cloned_until', 'reported_at'])
    .where('tenant_id', '=', tenantId)
    .where(isAmong(db, 'id', runnerIds))
    .orderBy('id')
    .$call(forUpdate)
    .execute();
}

/**
 * Lengthens the grace of keys whose runners are seen to be cloned: the old key lives to the end of
 * the overlap, because the other installation knows nothing of the new key. A key whose grace is
 * over stays retired. The caller has locked the runners (lockHeard), as does everybody who waits
 * for more while holding a runner's key.
 */
export async function lengthenGrace(
  db: Db,
  tenantId: string,
  runnerIds: readonly string[],
  nowMs: number,
): Promise<void> {
  await db
    .updateTable('api_key')
    .set((eb) => ({ retires_at: eb.ref('overlap_until') }))
    .where('tenant_id', '=', tenantId)
    .where(isAmong(db, 'runner_id', runnerIds))
    .where('state', '=', 'proven')
    .where('retires_at', '>', nowMs)
    .whereRef('overlap_until', '>', 'retires_at')
    .execute();
}

export interface KeyUse {
  readonly tenant_id: string;
  readonly key_id: string;
  readonly last_used_at: number;
  readonly last_used_from: string;
}

/**
 * Writes when keys were last used; a later use, seen by another node, stays. Keys that a proof, a
 * renewal or a revocation has locked are passed over: an enrolment holds the key of its token while
 * it waits for a runner, so a transaction that holds runners must not wait for a key. Inside a
 * transaction. Returns the ids of the keys that were written.
 */
export async function flushKeyUse(db: Db, uses: readonly KeyUse[]): Promise<Set<string>> {
  const free = new Set<string>();
  for (const [tenantId, items] of Map.groupBy(uses, (use) => use.tenant_id)) {
    for (let from = 0; from < items.length; from += KEYS_PER_READ) {
      const ids = items.slice(from, from + KEYS_PER_READ).map((use) => use.key_id);
      const rows = await db
        .selectFrom('api_key')
        .select('key_id')
        .where('tenant_id', '=', tenantId)
        .where('key_id', 'in', ids)
        .$call(skipLocked)
        .execute();
      for (const { key_id: id } of rows) free.add(id);
    }
  }
  const written = uses.filter((use) => free.has(use.key_id));
  await updateRows(db, 'api_key', ['tenant_id', 'key_id'], written, {
    dated: { last_used_at: ['last_used_from'] },
  });
  return free;
}

/** Parameters of one statement; both databases take at least thirty times as many. */
const KEYS_PER_READ = 1000;

/**
 * Runners that have been silent for longer than one of their intervals, and runners heard after
 * `aheadMs`.
 */
export async function watchedRunners(
  db: Db,
  nowMs: number,
  aheadMs: number,
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
    .where((eb) =>
      eb.or([
        eb(eb('last_seen_at', '+', eb.ref('interval_ms')), '<', nowMs),
        eb('last_seen_at', '>', aheadMs),
      ]),
    )
    .execute();
}

/** Guarded by what was judged: a heartbeat that came in between wins. */
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

/**
 * Replaces times that lie in the future by now: a clock that has been set back since wrote them,
 * and they would win against every newer time for ever. Returns zero when somebody else did it.
 */
export async function bringBack(
  db: Db,
  { tenant_id: tenantId, id }: { readonly tenant_id: string; readonly id: string },
  nowMs: number,
): Promise<number> {
  const result = await db
    .updateTable('runner')
    .set((eb) => ({
      last_seen_at: nowMs,
      reported_at: eb
        .case()
        .when('reported_at', '>', nowMs)
        .then(eb.val(nowMs))
        .else(eb.ref('reported_at'))
        .end(),
      installation: null,
      cloned_until: null,
    }))
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id)
    .where('last_seen_at', '>', nowMs)
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}

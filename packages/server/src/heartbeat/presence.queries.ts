// SQL of presence: what was last known, the flush, changes of state.

import type { Db } from '../db/db.ts';
import { updateRows } from '../db/dialect.ts';

export interface StoredPresence {
  readonly presence: 'never' | 'online' | 'late' | 'stopped' | 'offline';
  readonly last_seen_at: number | null;
  readonly interval_ms: number;
  readonly reported: string | null;
}

export async function readPresence(
  db: Db,
  tenantId: string,
  runnerId: string,
): Promise<StoredPresence | undefined> {
  return await db
    .selectFrom('runner')
    .select(['presence', 'last_seen_at', 'interval_ms', 'reported'])
    .where('tenant_id', '=', tenantId)
    .where('id', '=', runnerId)
    .executeTakeFirst();
}

/** A change of state, written at once. Zero: it was so already. */
export async function setPresence(
  db: Db,
  tenantId: string,
  runnerId: string,
  presence: 'online' | 'stopped',
  nowMs: number,
): Promise<void> {
  await db
    .updateTable('runner')
    .set({ presence, presence_since: nowMs, last_seen_at: nowMs })
    .where('tenant_id', '=', tenantId)
    .where('id', '=', runnerId)
    .where('presence', '!=', presence)
    .execute();
}

export interface SignRow {
  tenant_id: string;
  id: string;
  presence: StoredPresence['presence'];
  last_seen_at: number;
  interval_ms: number;
}

export interface BeatRow extends SignRow {
  version: string | null;
  hostname: string | null;
  region: string | null;
  reported: string;
  reported_at: number;
}

/**
 * The flush: one statement for those who beat since the last, one for those who only called. Sorted by id, so that two
 * nodes that flush the same runners can't wait for each other.
 */
export async function flushPresence(
  db: Db,
  beats: readonly BeatRow[],
  signs: readonly SignRow[],
): Promise<void> {
  const byId = (a: SignRow, b: SignRow): number => (a.id < b.id ? -1 : 1);
  await updateRows(db, 'runner', ['tenant_id', 'id'], beats.toSorted(byId));
  await updateRows(db, 'runner', ['tenant_id', 'id'], signs.toSorted(byId));
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

/** Runners that could have gone silent. */
export async function watchedRunners(
  db: Db,
  seenBeforeMs: number,
): Promise<
  {
    tenant_id: string;
    id: string;
    presence: 'never' | 'online' | 'late' | 'stopped' | 'offline';
    last_seen_at: number | null;
    interval_ms: number;
  }[]
> {
  return await db
    .selectFrom('runner')
    .select(['tenant_id', 'id', 'presence', 'last_seen_at', 'interval_ms'])
    .where('presence', 'in', ['online', 'late'])
    .where('last_seen_at', '<', seenBeforeMs)
    .execute();
}

/** Guarded by what was judged: a heartbeat that came meanwhile wins. */
export async function markSilent(
  db: Db,
  runner: { tenant_id: string; id: string; last_seen_at: number | null },
  presence: 'late' | 'offline',
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

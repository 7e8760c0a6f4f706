// SQL of keys, and the look-up of a key by its id across tenants. Guarded updates return the number
// of changed rows; keys.ts decides what zero means.

import { type Selectable, sql } from 'kysely';
import type { Db } from '../db/db.ts';
import { forUpdate, skipLocked } from '../db/dialect.ts';
import type { ApiKeyTable } from '../db/tables.ts';
import type { KeyKind } from './key.format.ts';
import {
  ENDED_KEY_STATES,
  KEY_MOVES,
  LIVE_KEY_STATES,
  UNPROVEN_KEY_STATES,
} from './key.machine.ts';

export type KeyRow = Selectable<ApiKeyTable>;

/** Reads everything that authentication needs, by key id, across tenants (system scope). */
export async function findCredential(db: Db, keyId: string) {
  return await db
    .selectFrom('credential')
    .innerJoin('api_key', (join) =>
      join
        .onRef('api_key.tenant_id', '=', 'credential.tenant_id')
        .onRef('api_key.key_id', '=', 'credential.key_id'),
    )
    .leftJoin('runner', (join) =>
      join
        .onRef('runner.tenant_id', '=', 'api_key.tenant_id')
        .onRef('runner.id', '=', 'api_key.runner_id'),
    )
    .where('credential.key_id', '=', keyId)
    .selectAll('api_key')
    .select('runner.admin as runner_admin')
    .executeTakeFirst();
}

export async function insertKey(
  db: Db,
  row: Omit<
    KeyRow,
    'first_used_at' | 'last_used_at' | 'last_used_from' | 'retires_at' | 'overlap_until'
  >,
): Promise<void> {
  await db
    .insertInto('credential')
    .values({ key_id: row.key_id, tenant_id: row.tenant_id, kind: row.kind })
    .execute();
  await db
    .insertInto('api_key')
    .values({
      ...row,
      retires_at: null,
      overlap_until: null,
      first_used_at: null,
      last_used_at: null,
      last_used_from: null,
    })
    .execute();
}

/**
 * Candidate or superseded → proven. Returns zero when somebody else proved the key first, or it was
 * retired in between.
 */
export async function proveKey(
  db: Db,
  tenantId: string,
  keyId: string,
  nowMs: number,
): Promise<number> {
  const result = await db
    .updateTable('api_key')
    .set({ state: KEY_MOVES.prove.to, first_used_at: nowMs })
    .where('tenant_id', '=', tenantId)
    .where('key_id', '=', keyId)
    .where('state', 'in', KEY_MOVES.prove.from)
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}

export async function runnerKeys(db: Db, tenantId: string, runnerId: string): Promise<KeyRow[]> {
  return await db
    .selectFrom('api_key')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('runner_id', '=', runnerId)
    .execute();
}

/** Sets the keys to `retired`, whatever live state they were in. */
export async function retireKeys(db: Db, tenantId: string, keyIds: string[]): Promise<void> {
  if (keyIds.length === 0) return;
  await db
    .updateTable('api_key')
    .set({ state: KEY_MOVES.retire.to })
    .where('tenant_id', '=', tenantId)
    .where('key_id', 'in', keyIds)
    .where('state', 'in', KEY_MOVES.retire.from)
    .execute();
}

/**
 * Sets when a proven key retires. `overlap_until`: the later time to which this is moved once the
 * key's runner is seen to be cloned.
 */
export async function setRetirement(
  db: Db,
  tenantId: string,
  keyId: string,
  ends: { readonly retires_at: number; readonly overlap_until?: number },
): Promise<void> {
  await db
    .updateTable('api_key')
    .set(ends)
    .where('tenant_id', '=', tenantId)
    .where('key_id', '=', keyId)
    .where('state', '=', 'proven')
    .execute();
}

export async function supersedeCandidates(
  db: Db,
  tenantId: string,
  keyIds: string[],
): Promise<void> {
  if (keyIds.length === 0) return;
  await db
    .updateTable('api_key')
    .set({ state: KEY_MOVES.supersede.to })
    .where('tenant_id', '=', tenantId)
    .where('key_id', 'in', keyIds)
    .where('state', '=', KEY_MOVES.supersede.from[0])
    .execute();
}

/** Uses one use of an enrolment token. Returns zero when the token is used up. */
export async function takeEnrolmentUse(db: Db, tenantId: string, keyId: string): Promise<number> {
  const result = await db
    .updateTable('api_key')
    .set((eb) => ({ uses_left: eb('uses_left', '-', 1) }))
    .where('tenant_id', '=', tenantId)
    .where('key_id', '=', keyId)
    .where('uses_left', '>', 0)
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}

/**
 * Guarded: only a live key changes. Returns zero when the key isn't there, is retired or revoked.
 */
export async function changeKeyRow(
  db: Db,
  tenantId: string,
  keyId: string,
  change: Partial<Pick<KeyRow, 'expires_at' | 'allow_from'>>,
): Promise<number> {
  const result = await db
    .updateTable('api_key')
    .set(change)
    .where('tenant_id', '=', tenantId)
    .where('key_id', '=', keyId)
    .where('state', 'in', LIVE_KEY_STATES)
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}

/**
 * Revokes the key, and the keys that were made by presenting it and that nobody has used: whoever
 * else had the key may have those, too.
 */
export async function revokeKeyRow(db: Db, tenantId: string, keyId: string): Promise<void> {
  await db
    .updateTable('api_key')
    .set({ state: KEY_MOVES.revoke.to })
    .where('tenant_id', '=', tenantId)
    .where((eb) =>
      eb.or([
        eb('key_id', '=', keyId),
        eb.and([
          eb('parent_key_id', '=', keyId),
          eb('created_by', '=', `key:${keyId}`),
          eb('state', 'in', UNPROVEN_KEY_STATES),
        ]),
      ]),
    )
    .execute();
}

export async function revokeRunnerKeys(db: Db, tenantId: string, runnerId: string): Promise<void> {
  await db
    .updateTable('api_key')
    .set({ state: KEY_MOVES.revoke.to })
    .where('tenant_id', '=', tenantId)
    .where('runner_id', '=', runnerId)
    .execute();
}

export async function findKey(
  db: Db,
  tenantId: string,
  keyId: string,
): Promise<KeyRow | undefined> {
  return await db
    .selectFrom('api_key')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('key_id', '=', keyId)
    .executeTakeFirst();
}

/**
 * Takes the key's row lock for the rest of the transaction (on SQLite the transaction is the lock).
 */
export async function lockKey(db: Db, tenantId: string, keyId: string): Promise<void> {
  await forUpdate(
    db
      .selectFrom('api_key')
      .select('key_id')
      .where('tenant_id', '=', tenantId)
      .where('key_id', '=', keyId),
  ).executeTakeFirst();
}

/** As a literal, so that the planner sees that the partial index api_key_unused fits. */
const PROVEN = sql<typeof KEY_MOVES.prove.to>`${sql.lit(KEY_MOVES.prove.to)}`;

/**
 * Deletes successors that were never used and never can be: nothing was signed or handed in with
 * them. A key that has a successor itself stays. Inside a transaction; returns the number of
 * deleted keys.
 */
export async function deleteSomeUnusedKeys(
  db: Db,
  createdBeforeMs: number,
  nowMs: number,
  limit: number,
): Promise<number> {
  const rows = await db
    .selectFrom('api_key')
    .select(['tenant_id', 'key_id'])
    .where('first_used_at', 'is', null)
    .where('state', '<>', PROVEN)
    .where('created_at', '<', createdBeforeMs)
    .where('kind', '=', 'runner')
    // Keys that operators make by hand are proven without a first use, so they don't count as
    // unused.
    .where((eb) =>
      eb.or([eb('parent_key_id', 'is not', null), eb('created_by', 'like', 'enrolment:%')]),
    )
    .where((eb) => eb.or([eb('state', 'in', ENDED_KEY_STATES), eb('expires_at', '<', nowMs)]))
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('api_key as next')
            .select('next.key_id')
            .whereRef('next.tenant_id', '=', 'api_key.tenant_id')
            .whereRef('next.runner_id', '=', 'api_key.runner_id')
            .whereRef('next.parent_key_id', '=', 'api_key.key_id'),
        ),
      ),
    )
    .orderBy('created_at')
    .limit(limit)
    .$call(skipLocked)
    .execute();
  if (rows.length === 0) return 0;
  const ids = rows.map((row) => row.key_id);
  await db.deleteFrom('credential').where('key_id', 'in', ids).execute();
  for (const [tenantId, items] of Map.groupBy(rows, (row) => row.tenant_id)) {
    const own = items.map((row) => row.key_id);
    await db
      .deleteFrom('api_key')
      .where('tenant_id', '=', tenantId)
      .where('key_id', 'in', own)
      .execute();
  }
  return rows.length;
}

export interface KeyPageQuery {
  readonly kinds: readonly KeyKind[];
  readonly runnerId: string | null;
  readonly after: { createdAt: number; keyId: string } | null;
  readonly limit: number;
}

/** A page of keys, newest first. Returns one row more than `limit` when there is another page. */
export async function pageKeys(db: Db, tenantId: string, page: KeyPageQuery): Promise<KeyRow[]> {
  let query = db
    .selectFrom('api_key')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('kind', 'in', page.kinds)
    .orderBy('created_at', 'desc')
    .orderBy('key_id', 'desc')
    .limit(page.limit + 1);
  if (page.runnerId !== null) query = query.where('runner_id', '=', page.runnerId);
  const after = page.after;
  if (after !== null) {
    query = query.where((eb) =>
      eb(eb.refTuple('created_at', 'key_id'), '<', eb.tuple(after.createdAt, after.keyId)),
    );
  }
  return await query.execute();
}

// SQL of scopes: one upload at a time holds the scope that it is matched against. The scope has a
// lease, which is extended with that of the upload (lease.ts) and given back at its end.

import type { Db } from '../../db/db.ts';
import { forUpdate, isAmong } from '../../db/dialect.ts';

export interface ScopeKey {
  readonly assetId: string;
  readonly tool: string;
  readonly category: string;
}

/**
 * Pushes aside uploads that hold one of these scopes under a lease that has ended: their worker may
 * not write any more, and they are claimed anew. An upload is also pushed aside if it holds a scope
 * with the asset of one and the tool or category of another. Runs in the transaction that takes the
 * scopes.
 */
export async function pushAside(
  db: Db,
  { tenant_id: tenantId, id: uploadId }: { readonly tenant_id: string; readonly id: string },
  scopes: readonly ScopeKey[],
  nowMs: number,
): Promise<void> {
  const assetIds = scopes.map(({ assetId }) => assetId);
  await db
    .updateTable('upload')
    .set({ lease_holder: null, lease_until: nowMs })
    .where('tenant_id', '=', tenantId)
    .where('state', '=', 'processing')
    .where((eb) => {
      const late = eb
        .selectFrom('scope')
        .select((scope) => scope.ref('scope.holder_upload_id').$notNull().as('id'))
        .where('scope.tenant_id', '=', tenantId)
        .where(isAmong(db, 'scope.asset_id', assetIds))
        .where('scope.tool', 'in', [...new Set(scopes.map(({ tool }) => tool))])
        .where('scope.category', 'in', [...new Set(scopes.map(({ category }) => category))])
        .where('scope.holder_upload_id', '!=', uploadId)
        .where('scope.lease_until', '<', nowMs);
      return eb('id', 'in', late);
    })
    .execute();
}

/**
 * Takes scopes for one upload, so that nobody else changes what it is matched against. Returns how
 * many the upload holds now. Scopes whose holder was pushed aside are free.
 */
export async function takeScopes(
  db: Db,
  { tenant_id: tenantId, id: uploadId }: { readonly tenant_id: string; readonly id: string },
  scopes: readonly ScopeKey[],
  nowMs: number,
  leaseUntil: number,
): Promise<number> {
  const rows = scopes.map((scope) => ({
    tenant_id: tenantId,
    asset_id: scope.assetId,
    tool: scope.tool,
    category: scope.category,
    holder_upload_id: uploadId,
    lease_until: leaseUntil,
  }));
  const result = await db
    .insertInto('scope')
    .values(rows)
    .onConflict((conflict) =>
      conflict
        .columns(['tenant_id', 'asset_id', 'tool', 'category'])
        .doUpdateSet({ holder_upload_id: uploadId, lease_until: leaseUntil })
        .where((eb) =>
          eb.or([
            eb('scope.holder_upload_id', 'is', null),
            eb('scope.holder_upload_id', '=', uploadId),
            eb('scope.lease_until', '<', nowMs),
          ]),
        ),
    )
    .executeTakeFirst();
  return Number(result.numInsertedOrUpdatedRows ?? 0n);
}

/**
 * The scopes of an upload, locked in the order in which `takeScopes` goes through them. takeScopes
 * locks also those that it can't have, so two orders would be two transactions that wait for each
 * other.
 */
const heldInOrder = (db: Db, tenantId: string, uploadId: string) =>
  forUpdate(
    db
      .selectFrom('scope')
      .select(['asset_id', 'tool', 'category'])
      .where('tenant_id', '=', tenantId)
      .where('holder_upload_id', '=', uploadId)
      .orderBy('asset_id')
      .orderBy('tool')
      .orderBy('category'),
  );

/** Extends the leases of an upload's scopes that end before `dueBefore`. */
export async function extendScopes(
  db: Db,
  tenantId: string,
  uploadId: string,
  dueBefore: number,
  leaseUntil: number,
): Promise<void> {
  await db
    .updateTable('scope')
    .set({ lease_until: leaseUntil })
    .where('tenant_id', '=', tenantId)
    .where((eb) => {
      const due = heldInOrder(db, tenantId, uploadId).where('lease_until', '<', dueBefore);
      const key = eb.refTuple('asset_id', 'tool', 'category');
      return eb(key, 'in', due.$asTuple('asset_id', 'tool', 'category'));
    })
    .execute();
}

/** The scopes of these assets that another upload holds under a lease that runs. */
export async function scopesOfOthers(
  db: Db,
  { tenant_id: tenantId, id: uploadId }: { readonly tenant_id: string; readonly id: string },
  assetIds: readonly string[],
  nowMs: number,
): Promise<ScopeKey[]> {
  if (assetIds.length === 0) return [];
  const rows = await db
    .selectFrom('scope')
    .select(['asset_id', 'tool', 'category'])
    .where('tenant_id', '=', tenantId)
    .where('asset_id', 'in', assetIds)
    .where('holder_upload_id', 'is not', null)
    .where('holder_upload_id', '!=', uploadId)
    .where('lease_until', '>=', nowMs)
    .execute();
  return rows.map(({ asset_id: assetId, tool, category }) => ({ assetId, tool, category }));
}

export async function freeScopes(db: Db, tenantId: string, uploadId: string): Promise<void> {
  await db
    .updateTable('scope')
    .set({ holder_upload_id: null, lease_until: null })
    .where('tenant_id', '=', tenantId)
    .where((eb) => {
      const held = heldInOrder(db, tenantId, uploadId);
      const key = eb.refTuple('asset_id', 'tool', 'category');
      return eb(key, 'in', held.$asTuple('asset_id', 'tool', 'category'));
    })
    .execute();
}

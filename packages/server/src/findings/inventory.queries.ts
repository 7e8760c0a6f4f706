// SQL by which operators see the components, relationships and endpoints of one asset, page by
// page. Reads only; each page begins behind the last row of the page before.

import { type Selectable, sql } from 'kysely';
import type { Db } from '../db/db.ts';
import { idValue } from '../db/dialect.ts';
import type { ComponentTable, EndpointTable, RelationshipTable } from '../db/tables.ts';

export type ComponentRow = Selectable<ComponentTable>;
export type EndpointRow = Selectable<EndpointTable>;

/** A relationship with the names of both assets. */
export interface ListedRelationship extends Selectable<RelationshipTable> {
  readonly from_name: string;
  readonly to_name: string;
}

export interface InventoryPage {
  readonly assetId: string;
  /** The last identity of the page before. */
  readonly after: string | null;
  readonly limit: number;
}

/** By identity; one more than `limit` tells that there is another page. */
export async function pageComponents(
  db: Db,
  tenantId: string,
  { assetId, after, limit }: InventoryPage,
): Promise<ComponentRow[]> {
  let query = db
    .selectFrom('component')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('asset_id', '=', assetId)
    .orderBy('identity')
    .limit(limit + 1);
  if (after !== null) query = query.where('identity', '>', after);
  return await query.execute();
}

/** By identity; one more than `limit` tells that there is another page. */
export async function pageEndpoints(
  db: Db,
  tenantId: string,
  { assetId, after, limit }: InventoryPage,
): Promise<EndpointRow[]> {
  let query = db
    .selectFrom('endpoint')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('asset_id', '=', assetId)
    .orderBy('identity')
    .limit(limit + 1);
  if (after !== null) query = query.where('identity', '>', after);
  return await query.execute();
}

export interface RelationshipPage {
  readonly assetId: string;
  /** The side of the relationship on which the asset is. */
  readonly side: 'from_asset_id' | 'to_asset_id';
  /** Type and other asset of the last row of the page before. */
  readonly after: { readonly type: string; readonly otherId: string } | null;
  readonly limit: number;
}

/** By type, then by the other asset; one more than `limit` tells that there is another page. */
export async function pageRelationships(
  db: Db,
  tenantId: string,
  { assetId, side, after, limit }: RelationshipPage,
): Promise<ListedRelationship[]> {
  const other = side === 'from_asset_id' ? 'to_asset_id' : 'from_asset_id';
  let query = db
    .selectFrom('relationship')
    .innerJoin('asset as from_asset', (join) =>
      join
        .onRef('from_asset.tenant_id', '=', 'relationship.tenant_id')
        .onRef('from_asset.id', '=', 'relationship.from_asset_id'),
    )
    .innerJoin('asset as to_asset', (join) =>
      join
        .onRef('to_asset.tenant_id', '=', 'relationship.tenant_id')
        .onRef('to_asset.id', '=', 'relationship.to_asset_id'),
    )
    .selectAll('relationship')
    .select(['from_asset.name as from_name', 'to_asset.name as to_name'])
    .where('relationship.tenant_id', '=', tenantId)
    .where(`relationship.${side}`, '=', assetId)
    .orderBy('relationship.type')
    .orderBy(`relationship.${other}`)
    .limit(limit + 1);
  if (after !== null) {
    const { type, otherId } = after;
    const last = sql`(${type}, ${idValue(db, otherId)})`;
    query = query.where(
      sql<boolean>`(relationship.type, ${sql.ref(`relationship.${other}`)}) > ${last}`,
    );
  }
  return await query.execute();
}

/** How many components and endpoints an asset has. */
export async function inventoryCounts(
  db: Db,
  tenantId: string,
  assetId: string,
): Promise<{ components: number; endpoints: number }> {
  const countOf = async (table: 'component' | 'endpoint'): Promise<number> => {
    const { known } = await db
      .selectFrom(table)
      .select((eb) => eb.fn.countAll<number>().as('known'))
      .where('tenant_id', '=', tenantId)
      .where('asset_id', '=', assetId)
      .executeTakeFirstOrThrow();
    return Number(known);
  };
  return { components: await countOf('component'), endpoints: await countOf('endpoint') };
}

// SQL of the inventory of a report, and of its refs and analyses: assets, refs, analyses,
// components, relationships, endpoints. A row that is known keeps when it was first seen, and is
// never dated back.

import type { Insertable, Selectable, Updateable } from 'kysely';
import type { Db } from '../../db/db.ts';
import { forUpdate, insertRows, updateRows, type UpdateRowsOptions } from '../../db/dialect.ts';
import type {
  AnalysisTable,
  AssetRefTable,
  AssetTable,
  ComponentTable,
  EndpointTable,
  RelationshipTable,
  Tables,
} from '../../db/tables.ts';

export type AssetRow = Selectable<AssetTable>;
export type AssetRefRow = Selectable<AssetRefTable>;
export type AnalysisRow = Selectable<AnalysisTable>;

type AssetKey = Pick<AssetRow, 'kind_class' | 'value'>;

/**
 * The stored assets with these values; maybe also some with the kind class of one key and the value
 * of another.
 */
export async function assetsByValue(
  db: Db,
  tenantId: string,
  keys: readonly AssetKey[],
): Promise<(AssetKey & Pick<AssetRow, 'id'>)[]> {
  // Only columns of the index: with others SQLite would rather read all assets of the tenant.
  return await db
    .selectFrom('asset')
    .select(['id', 'kind_class', 'value'])
    .where('tenant_id', '=', tenantId)
    .where('kind_class', 'in', [...new Set(keys.map((key) => key.kind_class))])
    .where(
      'value',
      'in',
      keys.map((key) => key.value),
    )
    .execute();
}

/** These assets in the order of their ids, locked until the transaction ends. */
export async function lockAssets(
  db: Db,
  tenantId: string,
  ids: readonly string[],
): Promise<AssetRow[]> {
  if (ids.length === 0) return [];
  return await forUpdate(
    db
      .selectFrom('asset')
      .selectAll()
      .where('tenant_id', '=', tenantId)
      .where('id', 'in', ids)
      .orderBy('id'),
  ).execute();
}

/**
 * Inserts new assets, and returns how many were new. When two uploads see the same new asset at
 * once, the first one wins.
 */
export async function insertAssets(db: Db, rows: readonly AssetRow[]): Promise<number> {
  return await insertRows(db, 'asset', rows, {
    onConflict: { columns: ['tenant_id', 'kind_class', 'value'] },
  });
}

/** Notes that the assets were seen at that time, unless they were seen later. */
export async function touchAssets(
  db: Db,
  tenantId: string,
  ids: readonly string[],
  seenMs: number,
): Promise<void> {
  if (ids.length === 0) return;
  await db
    .updateTable('asset')
    .set({ last_seen_at: seenMs })
    .where('tenant_id', '=', tenantId)
    .where('id', 'in', ids)
    .where('last_seen_at', '<', seenMs)
    .execute();
}

/** What reports said of an asset. */
export type AssetFacts = Pick<
  AssetRow,
  'tenant_id' | 'id' | 'attributes' | 'attributes_at' | 'criticality'
>;

export async function saveAssetFacts(db: Db, rows: readonly AssetFacts[]): Promise<void> {
  await updateRows(db, 'asset', ['tenant_id', 'id'], rows);
}

/**
 * The refs of these assets that have one of the names. Only columns of the index, as with assets.
 */
export async function refsByName(
  db: Db,
  tenantId: string,
  assetIds: readonly string[],
  names: readonly string[],
): Promise<Pick<AssetRefRow, 'id' | 'asset_id' | 'name'>[]> {
  return await db
    .selectFrom('asset_ref')
    .select(['id', 'asset_id', 'name'])
    .where('tenant_id', '=', tenantId)
    .where('asset_id', 'in', assetIds)
    .where('name', 'in', names)
    .execute();
}

export async function refsById(
  db: Db,
  tenantId: string,
  ids: readonly string[],
): Promise<AssetRefRow[]> {
  if (ids.length === 0) return [];
  return await db
    .selectFrom('asset_ref')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('id', 'in', ids)
    .execute();
}

export async function insertRefs(db: Db, rows: readonly AssetRefRow[]): Promise<void> {
  await insertRows(db, 'asset_ref', rows, {
    onConflict: { columns: ['tenant_id', 'asset_id', 'name'] },
  });
}

/**
 * The default refs of these assets, if they have one; the assets are locked, in the order of their
 * ids, until the transaction ends.
 */
export async function lockDefaultRefs(
  db: Db,
  tenantId: string,
  assetIds: readonly string[],
): Promise<Map<string, string>> {
  const rows = await forUpdate(
    db
      .selectFrom('asset')
      .select(['id', 'default_ref_id'])
      .where('tenant_id', '=', tenantId)
      .where('id', 'in', assetIds)
      .orderBy('id'),
  ).execute();
  return new Map(
    rows.flatMap(({ id, default_ref_id: refId }) => (refId === null ? [] : [[id, refId] as const])),
  );
}

/** The caller has locked the assets. */
export async function setDefaultRefs(
  db: Db,
  rows: readonly Pick<AssetRow, 'tenant_id' | 'id' | 'default_ref_id'>[],
): Promise<void> {
  await updateRows(db, 'asset', ['tenant_id', 'id'], rows);
}

export async function markClaimedDefault(
  db: Db,
  tenantId: string,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  await db
    .updateTable('asset_ref')
    .set({ claimed_default: 1 })
    .where('tenant_id', '=', tenantId)
    .where('id', 'in', ids)
    .execute();
}

export async function findAnalysis(
  db: Db,
  tenantId: string,
  refId: string,
  tool: string,
  category: string,
): Promise<AnalysisRow | undefined> {
  return await db
    .selectFrom('analysis')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('ref_id', '=', refId)
    .where('tool', '=', tool)
    .where('category', '=', category)
    .executeTakeFirst();
}

/** The analyses of these refs; maybe also some with the tool or the category of another. */
export async function analysesOf(
  db: Db,
  tenantId: string,
  places: readonly Pick<AnalysisRow, 'ref_id' | 'tool' | 'category'>[],
): Promise<Pick<AnalysisRow, 'ref_id' | 'tool' | 'category' | 'last_upload_id'>[]> {
  return await db
    .selectFrom('analysis')
    .select(['ref_id', 'tool', 'category', 'last_upload_id'])
    .where('tenant_id', '=', tenantId)
    .where('ref_id', 'in', [...new Set(places.map((place) => place.ref_id))])
    .where('tool', 'in', [...new Set(places.map((place) => place.tool))])
    .where('category', 'in', [...new Set(places.map((place) => place.category))])
    .execute();
}

/** The analyses of one ref, one for each tool and category. */
export async function analysesOnRef(
  db: Db,
  tenantId: string,
  refId: string,
): Promise<Pick<AnalysisRow, 'tool' | 'category' | 'coverage' | 'scanner'>[]> {
  return await db
    .selectFrom('analysis')
    .select(['tool', 'category', 'coverage', 'scanner'])
    .where('tenant_id', '=', tenantId)
    .where('ref_id', '=', refId)
    .execute();
}

export async function saveAnalyses(db: Db, rows: readonly AnalysisRow[]): Promise<void> {
  await insertRows(db, 'analysis', rows, {
    onConflict: {
      columns: ['tenant_id', 'ref_id', 'tool', 'category'],
      update: [
        'last_upload_id',
        'last_seen_at',
        'commit_sha',
        'coverage',
        'scanner',
        'held_digest',
        'held_count',
      ],
    },
  });
}

type Dated<T extends 'component' | 'endpoint' | 'relationship'> = NonNullable<
  UpdateRowsOptions<T>['dated']
>;

type ComponentRow = Selectable<ComponentTable>;
export type EndpointRow = Selectable<EndpointTable>;
export type RelationshipRow = Selectable<RelationshipTable>;

/**
 * Inserts new rows, and returns how many were new. In a known row all columns are written anew,
 * except when it was first seen, unless the row was seen later than this one.
 */
async function saveSeen<T extends 'component' | 'endpoint' | 'relationship'>(
  db: Db,
  table: T,
  key: readonly (keyof Tables[T] & string)[],
  rows: readonly (Insertable<Tables[T]> & { readonly first_seen_at: number })[],
): Promise<number> {
  const created = await insertRows(db, table, rows, { onConflict: { columns: key } });
  if (created === rows.length) return created;
  const known = rows.map((row) => {
    const seen: Record<string, unknown> = { ...row };
    delete seen['first_seen_at'];
    return seen as Updateable<Tables[T]>;
  });
  const names: readonly string[] = key;
  const said = Object.keys(known[0] ?? {}).filter((column) => !names.includes(column));
  await updateRows(db, table, key, known, { dated: { last_seen_at: said } as Dated<T> });
  return created;
}

export async function saveComponents(db: Db, rows: readonly ComponentRow[]): Promise<number> {
  return await saveSeen(db, 'component', ['tenant_id', 'asset_id', 'identity'], rows);
}

export async function saveEndpoints(db: Db, rows: readonly EndpointRow[]): Promise<number> {
  return await saveSeen(db, 'endpoint', ['tenant_id', 'asset_id', 'identity'], rows);
}

export async function saveRelationships(db: Db, rows: readonly RelationshipRow[]): Promise<number> {
  const key = ['tenant_id', 'from_asset_id', 'type', 'to_asset_id'] as const;
  return await saveSeen(db, 'relationship', key, rows);
}

// SQL of what a report is about: assets, refs, scopes, analyses, components, relationships, endpoints.

import { type Selectable, sql } from 'kysely';
import type { Db } from '../db/db.ts';
import { forUpdate, insertRows, updateRows } from '../db/dialect.ts';
import type {
  AnalysisTable,
  AssetRefTable,
  AssetTable,
  ComponentTable,
  EndpointTable,
  RelationshipTable,
} from '../db/tables.ts';

export type AssetRow = Selectable<AssetTable>;
export type AssetRefRow = Selectable<AssetRefTable>;
export type AnalysisRow = Selectable<AnalysisTable>;

/** Values asked for in one statement: well below the parameter limits of both databases. */
const ASK_MAX = 500;

function* slices<T>(items: readonly T[]): Generator<T[]> {
  for (let at = 0; at < items.length; at += ASK_MAX) yield items.slice(at, at + ASK_MAX);
}

/** The stored assets with these values, of any kind class. */
export async function assetsByValue(
  db: Db,
  tenantId: string,
  values: readonly string[],
): Promise<AssetRow[]> {
  const rows: AssetRow[] = [];
  for (const slice of slices(values)) {
    rows.push(
      ...(await db
        .selectFrom('asset')
        .selectAll()
        .where('tenant_id', '=', tenantId)
        .where('value', 'in', slice)
        .execute()),
    );
  }
  return rows;
}

/** New ones are inserted; of two uploads that see the same new asset at once, the first wins. */
export async function insertAssets(db: Db, rows: readonly AssetRow[]): Promise<void> {
  await insertRows(db, 'asset', rows, {
    onConflict: { columns: ['tenant_id', 'kind_class', 'value'] },
  });
}

export async function touchAssets(
  db: Db,
  tenantId: string,
  ids: readonly string[],
  nowMs: number,
): Promise<void> {
  for (const slice of slices(ids)) {
    await db
      .updateTable('asset')
      .set({ last_seen_at: nowMs })
      .where('tenant_id', '=', tenantId)
      .where('id', 'in', slice)
      .execute();
  }
}

/** What reports said of an asset. */
export type AssetFacts = Pick<AssetRow, 'tenant_id' | 'id' | 'attributes' | 'criticality'>;

export async function assetFacts(
  db: Db,
  tenantId: string,
  ids: readonly string[],
): Promise<AssetFacts[]> {
  const rows: AssetFacts[] = [];
  for (const slice of slices(ids)) {
    rows.push(
      ...(await db
        .selectFrom('asset')
        .select(['tenant_id', 'id', 'attributes', 'criticality'])
        .where('tenant_id', '=', tenantId)
        .where('id', 'in', slice)
        .execute()),
    );
  }
  return rows;
}

export async function saveAssetFacts(db: Db, rows: readonly AssetFacts[]): Promise<void> {
  await updateRows(db, 'asset', ['tenant_id', 'id'], rows);
}

export async function refsByName(
  db: Db,
  tenantId: string,
  assetIds: readonly string[],
): Promise<AssetRefRow[]> {
  const rows: AssetRefRow[] = [];
  for (const slice of slices(assetIds)) {
    rows.push(
      ...(await db
        .selectFrom('asset_ref')
        .selectAll()
        .where('tenant_id', '=', tenantId)
        .where('asset_id', 'in', slice)
        .execute()),
    );
  }
  return rows;
}

export async function insertRefs(db: Db, rows: readonly AssetRefRow[]): Promise<void> {
  await insertRows(db, 'asset_ref', rows, {
    onConflict: { columns: ['tenant_id', 'asset_id', 'name'] },
  });
}

/** The asset's default ref as it is now, locked to the end of the transaction. */
export async function lockDefaultRef(
  db: Db,
  tenantId: string,
  assetId: string,
): Promise<string | null> {
  const row = await forUpdate(
    db
      .selectFrom('asset')
      .select('default_ref_id')
      .where('tenant_id', '=', tenantId)
      .where('id', '=', assetId),
  ).executeTakeFirst();
  return row?.default_ref_id ?? null;
}

/** The first ref that is claimed as default stays so; until one is, the first ref seen stands in for it. */
export async function setDefaultRef(
  db: Db,
  tenantId: string,
  assetId: string,
  refId: string,
  instead: string | null,
): Promise<void> {
  const query = db
    .updateTable('asset')
    .set({ default_ref_id: refId })
    .where('tenant_id', '=', tenantId)
    .where('id', '=', assetId);
  await (instead === null
    ? query.where('default_ref_id', 'is', null)
    : query.where('default_ref_id', '=', instead)
  ).execute();
}

export async function markClaimedDefault(db: Db, tenantId: string, refId: string): Promise<void> {
  await db
    .updateTable('asset_ref')
    .set({ claimed_default: 1 })
    .where('tenant_id', '=', tenantId)
    .where('id', '=', refId)
    .execute();
}

export interface ScopeKey {
  readonly assetId: string;
  readonly tool: string;
  readonly category: string;
}

/**
 * Takes a scope for one upload: matching must see a scope that nobody else changes. True when it is ours (again).
 * A holder whose lease has ended is pushed aside; its own writes are guarded by its upload's lease.
 */
export async function takeScope(
  db: Db,
  tenantId: string,
  scope: ScopeKey,
  uploadId: string,
  nowMs: number,
  leaseUntil: number,
): Promise<boolean> {
  await db
    .insertInto('scope')
    .values({
      tenant_id: tenantId,
      asset_id: scope.assetId,
      tool: scope.tool,
      category: scope.category,
      holder_upload_id: null,
      lease_until: null,
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const result = await db
    .updateTable('scope')
    .set({ holder_upload_id: uploadId, lease_until: leaseUntil })
    .where('tenant_id', '=', tenantId)
    .where('asset_id', '=', scope.assetId)
    .where('tool', '=', scope.tool)
    .where('category', '=', scope.category)
    .where((eb) =>
      eb.or([
        eb('holder_upload_id', 'is', null),
        eb('holder_upload_id', '=', uploadId),
        eb('lease_until', '<', nowMs),
      ]),
    )
    .executeTakeFirst();
  return Number(result.numUpdatedRows) > 0;
}

export async function extendScopes(
  db: Db,
  tenantId: string,
  uploadId: string,
  leaseUntil: number,
): Promise<number> {
  const result = await db
    .updateTable('scope')
    .set({ lease_until: leaseUntil })
    .where('tenant_id', '=', tenantId)
    .where('holder_upload_id', '=', uploadId)
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}

export async function freeScopes(db: Db, tenantId: string, uploadId: string): Promise<void> {
  await db
    .updateTable('scope')
    .set({ holder_upload_id: null, lease_until: null })
    .where('tenant_id', '=', tenantId)
    .where('holder_upload_id', '=', uploadId)
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

export async function saveAnalysis(db: Db, row: AnalysisRow): Promise<void> {
  await insertRows(db, 'analysis', [row], {
    onConflict: {
      columns: ['tenant_id', 'ref_id', 'tool', 'category'],
      update: ['last_upload_id', 'last_seen_at', 'commit_sha', 'held_digest', 'held_count'],
    },
  });
}

/** Which of these components or endpoints of an asset are known. */
export async function knownIdentities(
  db: Db,
  table: 'component' | 'endpoint',
  tenantId: string,
  assetId: string,
  identities: readonly string[],
): Promise<Set<string>> {
  const known = new Set<string>();
  for (const slice of slices(identities)) {
    const rows = await db
      .selectFrom(table)
      .select('identity')
      .where('tenant_id', '=', tenantId)
      .where('asset_id', '=', assetId)
      .where('identity', 'in', slice)
      .execute();
    for (const row of rows) known.add(row.identity);
  }
  return known;
}

export async function saveComponents(
  db: Db,
  rows: readonly Selectable<ComponentTable>[],
): Promise<void> {
  await insertRows(db, 'component', rows, {
    onConflict: {
      columns: ['tenant_id', 'asset_id', 'identity'],
      update: ['name', 'version', 'depends_on', 'document', 'last_seen_at'],
    },
  });
}

export async function saveEndpoints(
  db: Db,
  rows: readonly Selectable<EndpointTable>[],
): Promise<void> {
  await insertRows(db, 'endpoint', rows, {
    onConflict: {
      columns: ['tenant_id', 'asset_id', 'identity'],
      update: ['document', 'last_seen_at'],
    },
  });
}

export async function countRelationships(
  db: Db,
  row: Pick<Selectable<RelationshipTable>, 'tenant_id' | 'from_asset_id' | 'type' | 'to_asset_id'>,
): Promise<number> {
  const found = await db
    .selectFrom('relationship')
    .select(sql<number>`count(*)`.as('known'))
    .where('tenant_id', '=', row.tenant_id)
    .where('from_asset_id', '=', row.from_asset_id)
    .where('type', '=', row.type)
    .where('to_asset_id', '=', row.to_asset_id)
    .executeTakeFirst();
  return Number(found?.known ?? 0);
}

export async function saveRelationships(
  db: Db,
  rows: readonly Selectable<RelationshipTable>[],
): Promise<void> {
  await insertRows(db, 'relationship', rows, {
    onConflict: {
      columns: ['tenant_id', 'from_asset_id', 'type', 'to_asset_id'],
      update: ['last_seen_at'],
    },
  });
}

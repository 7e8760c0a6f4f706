// One asset as operators look into it: its attributes and counts, its components with their graph,
// its relationships, its endpoints. Every list first asks for the asset: an asset that doesn't
// exist, or belongs to another tenant, is not found.

import type { AssetEndpoint, AssetWithDetail, Component, Relationship } from '@muster/contract';
import type { Database } from '../db/db.ts';
import { isoTime } from '../lib/iso-time.ts';
import { parseId, type TenantId } from '../lib/ids.ts';
import { Problem } from '../lib/problem.ts';
import { assetView } from './findings.ts';
import { findAsset, type ListedAsset } from './findings.queries.ts';
import {
  type ComponentRow,
  type EndpointRow,
  inventoryCounts,
  type ListedRelationship,
  pageComponents,
  pageEndpoints,
  pageRelationships,
} from './inventory.queries.ts';

/** Problem: not_found. */
async function assetOf(
  database: Database,
  tenantId: TenantId,
  idText: string,
): Promise<ListedAsset> {
  const id = parseId<string>(idText);
  const row = id === null ? undefined : await findAsset(database.lists(tenantId), tenantId, id);
  if (row === undefined) throw new Problem('not_found', 'There is no such asset.');
  return row;
}

/** Problem: not_found. */
export async function showAsset(
  database: Database,
  tenantId: TenantId,
  idText: string,
): Promise<AssetWithDetail> {
  const row = await assetOf(database, tenantId, idText);
  const counts = await inventoryCounts(database.lists(tenantId), tenantId, row.id);
  return {
    ...assetView(row),
    attributes: JSON.parse(row.attributes ?? '{}') as unknown,
    ...counts,
  };
}

/** Problem: not_found. */
export async function listComponents(
  database: Database,
  tenantId: TenantId,
  assetIdText: string,
  after: string | null,
  limit: number,
): Promise<ComponentRow[]> {
  const { id: assetId } = await assetOf(database, tenantId, assetIdText);
  return await pageComponents(database.lists(tenantId), tenantId, { assetId, after, limit });
}

export function componentView(row: ComponentRow): Component {
  return {
    identity: row.identity,
    name: row.name,
    version: row.version,
    depends_on: JSON.parse(row.depends_on) as string[],
    detail: JSON.parse(row.document) as unknown,
    first_seen_at: isoTime(row.first_seen_at),
    last_seen_at: isoTime(row.last_seen_at),
  };
}

/** Problem: not_found. */
export async function listEndpoints(
  database: Database,
  tenantId: TenantId,
  assetIdText: string,
  after: string | null,
  limit: number,
): Promise<EndpointRow[]> {
  const { id: assetId } = await assetOf(database, tenantId, assetIdText);
  return await pageEndpoints(database.lists(tenantId), tenantId, { assetId, after, limit });
}

export function endpointView(row: EndpointRow): AssetEndpoint {
  return {
    identity: row.identity,
    detail: JSON.parse(row.document) as unknown,
    first_seen_at: isoTime(row.first_seen_at),
    last_seen_at: isoTime(row.last_seen_at),
  };
}

type Direction = 'out' | 'in';

/** Problem: not_found. */
export async function listRelationships(
  database: Database,
  tenantId: TenantId,
  assetIdText: string,
  direction: Direction,
  after: { type: string; otherId: string } | null,
  limit: number,
): Promise<ListedRelationship[]> {
  const { id: assetId } = await assetOf(database, tenantId, assetIdText);
  const side = direction === 'out' ? 'from_asset_id' : 'to_asset_id';
  const page = { assetId, side, after, limit } as const;
  return await pageRelationships(database.lists(tenantId), tenantId, page);
}

export function relationshipView(row: ListedRelationship): Relationship {
  return {
    type: row.type,
    from_asset_id: row.from_asset_id,
    from_asset: row.from_name,
    to_asset_id: row.to_asset_id,
    to_asset: row.to_name,
    first_seen_at: isoTime(row.first_seen_at),
    last_seen_at: isoTime(row.last_seen_at),
  };
}

// Everything that uploads left behind in a tenant, without ids and times: a run with crashes must
// leave the same as a run without. Uploads are named by their number in the order of arrival.

import type { Database } from '../../../src/db/db.ts';

type Lines = readonly string[];

export interface Snapshot {
  readonly findings: Lines;
  readonly refs: Lines;
  readonly findingEvents: Lines;
  readonly frame: Lines;
  readonly analyses: Lines;
  readonly events: Lines;
  readonly receipts: Lines;
  readonly leftOver: Lines;
}

/** Rows as sorted text: equal sets of rows are equal lists. */
const lines = (rows: readonly object[]): Lines => rows.map((row) => JSON.stringify(row)).sort();

export async function snapshotOf(
  database: Database,
  tenantId: string,
  uploadIds: readonly string[],
): Promise<Snapshot> {
  const named = (rows: readonly object[]): Lines =>
    lines(rows).map((line) =>
      uploadIds.reduce((text, id, index) => text.replaceAll(id, `upload ${index}`), line),
    );
  return {
    findings: named((await findings(database, tenantId)).map(readable)),
    refs: named((await refs(database, tenantId)).map(readable)),
    findingEvents: named((await findingEvents(database, tenantId)).map(readable)),
    frame: named(await frame(database, tenantId)),
    analyses: named((await analyses(database, tenantId)).map(readable)),
    events: named(await events(database, tenantId)),
    receipts: named(await receipts(database, tenantId)),
    leftOver: lines(await leftOver(database, tenantId)),
  };
}

/** Bytes as hexadecimal digits. */
function readable(row: object): object {
  const shown = Object.entries(row).map(([name, value]) => [
    name,
    value instanceof Uint8Array ? Buffer.from(value).toString('hex') : (value as unknown),
  ]);
  return Object.fromEntries(shown) as object;
}

const findings = (database: Database, tenantId: string) =>
  database
    .tenant(tenantId)
    .selectFrom('finding')
    .innerJoin('asset', (join) =>
      join
        .onRef('asset.tenant_id', '=', 'finding.tenant_id')
        .onRef('asset.id', '=', 'finding.asset_id'),
    )
    .innerJoin('finding_detail', (join) =>
      join
        .onRef('finding_detail.tenant_id', '=', 'finding.tenant_id')
        .onRef('finding_detail.finding_id', '=', 'finding.id'),
    )
    .select(['asset.value', 'finding.tool', 'finding.category', 'finding.rule_id', 'finding.path'])
    .select(['finding.start_line', 'finding.status', 'finding.resolution', 'finding.status_by'])
    .select(['finding.severity', 'finding.evidence', 'matched_by'])
    .select(['finding.created_upload_id', 'finding_detail.document'])
    .where('finding.tenant_id', '=', tenantId)
    .execute();

const refs = (database: Database, tenantId: string) =>
  database
    .tenant(tenantId)
    .selectFrom('finding_ref')
    .innerJoin('finding', (join) =>
      join
        .onRef('finding.tenant_id', '=', 'finding_ref.tenant_id')
        .onRef('finding.id', '=', 'finding_ref.finding_id'),
    )
    .innerJoin('asset_ref', (join) =>
      join
        .onRef('asset_ref.tenant_id', '=', 'finding_ref.tenant_id')
        .onRef('asset_ref.id', '=', 'finding_ref.ref_id'),
    )
    .select(['finding.evidence', 'finding.category', 'asset_ref.name', 'finding_ref.present'])
    .select(['finding_ref.last_upload_id', 'finding_ref.last_commit'])
    .where('finding_ref.tenant_id', '=', tenantId)
    .execute();

const findingEvents = (database: Database, tenantId: string) =>
  database
    .tenant(tenantId)
    .selectFrom('finding_event')
    .innerJoin('finding', (join) =>
      join
        .onRef('finding.tenant_id', '=', 'finding_event.tenant_id')
        .onRef('finding.id', '=', 'finding_event.finding_id'),
    )
    .select(['finding.evidence', 'finding_event.kind', 'finding_event.by_whom'])
    .select(['finding_event.data'])
    .where('finding_event.tenant_id', '=', tenantId)
    .execute();

async function frame(database: Database, tenantId: string): Promise<object[]> {
  const db = database.tenant(tenantId);
  const assets = await db
    .selectFrom('asset')
    .leftJoin('asset_ref', (join) =>
      join
        .onRef('asset_ref.tenant_id', '=', 'asset.tenant_id')
        .onRef('asset_ref.id', '=', 'asset.default_ref_id'),
    )
    .select(['asset.value', 'asset.kind', 'asset.created_upload_id', 'asset_ref.name as default'])
    .select(['asset.name', 'asset.criticality', 'asset.attributes'])
    .where('asset.tenant_id', '=', tenantId)
    .execute();
  const assetRefs = await db
    .selectFrom('asset_ref')
    .innerJoin('asset', (join) =>
      join
        .onRef('asset.tenant_id', '=', 'asset_ref.tenant_id')
        .onRef('asset.id', '=', 'asset_ref.asset_id'),
    )
    .select(['asset.value', 'asset_ref.name', 'asset_ref.claimed_default'])
    .where('asset_ref.tenant_id', '=', tenantId)
    .execute();
  const components = await db
    .selectFrom('component')
    .innerJoin('asset', (join) =>
      join
        .onRef('asset.tenant_id', '=', 'component.tenant_id')
        .onRef('asset.id', '=', 'component.asset_id'),
    )
    .select([
      'asset.value',
      'component.identity',
      'component.version',
      'component.depends_on',
      'component.document',
    ])
    .where('component.tenant_id', '=', tenantId)
    .execute();
  const relationships = await db
    .selectFrom('relationship')
    .select('type')
    .where('tenant_id', '=', tenantId)
    .execute();
  const endpoints = await db
    .selectFrom('endpoint')
    .select(['identity', 'document'])
    .where('tenant_id', '=', tenantId)
    .execute();
  return [...assets, ...assetRefs, ...components, ...relationships, ...endpoints];
}

const analyses = (database: Database, tenantId: string) =>
  database
    .tenant(tenantId)
    .selectFrom('analysis')
    .innerJoin('asset_ref', (join) =>
      join
        .onRef('asset_ref.tenant_id', '=', 'analysis.tenant_id')
        .onRef('asset_ref.id', '=', 'analysis.ref_id'),
    )
    .select(['asset_ref.name', 'tool', 'category', 'last_upload_id', 'held_count'])
    .where('analysis.tenant_id', '=', tenantId)
    .execute();

const events = (database: Database, tenantId: string) =>
  database
    .tenant(tenantId)
    .selectFrom('event')
    .select(['kind', 'data'])
    .where('tenant_id', '=', tenantId)
    .execute();

const receipts = (database: Database, tenantId: string) =>
  database
    .tenant(tenantId)
    .selectFrom('upload')
    .select(['id', 'state', 'receipt', 'problem', 'items_total', 'items_done', 'analyses'])
    .where('tenant_id', '=', tenantId)
    .execute();

/** Batches and scopes that an ended upload should no longer hold. */
async function leftOver(database: Database, tenantId: string): Promise<object[]> {
  const db = database.tenant(tenantId);
  const batches = await db
    .selectFrom('upload_batch')
    .select('batch')
    .where('tenant_id', '=', tenantId)
    .execute();
  const scopes = await db
    .selectFrom('scope')
    .select('holder_upload_id')
    .where('tenant_id', '=', tenantId)
    .where('holder_upload_id', 'is not', null)
    .execute();
  return [...batches, ...scopes];
}

// SQL by which operators see findings and assets, and set the status of a finding.

import type { AssetKind, FindingStatus } from '@muster/contract';
import { type Selectable, sql } from 'kysely';
import type { Db } from '../db/db.ts';
import { contains, skipLocked } from '../db/dialect.ts';
import type { AssetTable, FindingEventTable, FindingTable } from '../db/tables.ts';

export type FindingRow = Selectable<FindingTable>;
export type AssetRow = Selectable<AssetTable>;

/** A finding with the name of its asset, when it was last seen on any ref, and whether its first upload is in work. */
export interface ListedFinding extends FindingRow {
  readonly asset_name: string;
  readonly last_seen_at: number;
  readonly upload_state: string | null;
}

// A finding always has its asset. The join is a left one all the same: SQLite would begin an inner
// join by reading all assets.
const listed = (db: Db, tenantId: string) =>
  db
    .selectFrom('finding')
    .leftJoin('asset', (join) =>
      join
        .onRef('asset.tenant_id', '=', 'finding.tenant_id')
        .onRef('asset.id', '=', 'finding.asset_id'),
    )
    .leftJoin('upload', (join) =>
      join
        .onRef('upload.tenant_id', '=', 'finding.tenant_id')
        .onRef('upload.id', '=', 'finding.created_upload_id'),
    )
    .selectAll('finding')
    .select((eb) => [
      eb.ref('asset.name').$notNull().as('asset_name'),
      'upload.state as upload_state',
      eb
        .selectFrom('finding_ref')
        .select(sql<number>`max(finding_ref.last_seen_at)`.as('last'))
        .whereRef('finding_ref.tenant_id', '=', 'finding.tenant_id')
        .whereRef('finding_ref.finding_id', '=', 'finding.id')
        .$asScalar()
        .$notNull()
        .as('last_seen_at'),
    ])
    .where('finding.tenant_id', '=', tenantId);

export interface FindingPageQuery {
  readonly status: FindingStatus | null;
  readonly severity: number | null;
  readonly assetId: string | null;
  readonly tool: string | null;
  readonly ruleId: string | null;
  readonly pathStart: string | null;
  readonly after: { severity: number; id: string } | null;
  readonly limit: number;
}

/** Worst first, then newest; one more than `limit` tells that there is another page. */
export async function pageFindings(
  db: Db,
  tenantId: string,
  page: FindingPageQuery,
): Promise<ListedFinding[]> {
  const { after, limit } = page;
  const some = filtered(db, tenantId, page);
  if (after === null) return await some.limit(limit + 1).execute();
  // Two ranges of an index, one behind the other. As one condition with an `or`, the database would
  // look for them from the first page on.
  const severity = after.severity as FindingRow['severity'];
  const equal = await some
    .where('finding.severity', '=', severity)
    .where('finding.id', '<', after.id)
    .limit(limit + 1)
    .execute();
  if (equal.length > limit) return equal;
  const rest = limit + 1 - equal.length;
  return [...equal, ...(await some.where('finding.severity', '>', severity).limit(rest).execute())];
}

/** In the order of the list. */
function filtered(db: Db, tenantId: string, page: FindingPageQuery) {
  let query = listed(db, tenantId).orderBy('finding.severity').orderBy('finding.id', 'desc');
  if (page.status !== null) query = query.where('finding.status', '=', page.status);
  if (page.severity !== null) {
    query = query.where('finding.severity', '=', page.severity as FindingRow['severity']);
  }
  if (page.assetId !== null) query = query.where('finding.asset_id', '=', page.assetId);
  if (page.tool !== null) query = query.where('finding.tool', '=', page.tool);
  if (page.ruleId !== null) query = query.where('finding.rule_id', '=', page.ruleId);
  if (page.pathStart !== null) {
    // A range instead of LIKE: it takes wildcards literally and an index helps it.
    query = query
      .where('finding.path', '>=', page.pathStart)
      .where('finding.path', '<', `${page.pathStart}\u{10ffff}`);
  }
  return query;
}

export async function findFinding(
  db: Db,
  tenantId: string,
  id: string,
): Promise<ListedFinding | undefined> {
  return await listed(db, tenantId).where('finding.id', '=', id).executeTakeFirst();
}

export async function findingDocument(
  db: Db,
  tenantId: string,
  id: string,
): Promise<string | undefined> {
  const row = await db
    .selectFrom('finding_detail')
    .select('document')
    .where('tenant_id', '=', tenantId)
    .where('finding_id', '=', id)
    .executeTakeFirst();
  return row?.document;
}

/** Where it was seen, the default ref first. */
export async function findingRefs(db: Db, tenantId: string, finding: FindingRow) {
  return await db
    .selectFrom('asset_ref')
    .innerJoin('finding_ref', (join) =>
      join
        .onRef('finding_ref.tenant_id', '=', 'asset_ref.tenant_id')
        .onRef('finding_ref.ref_id', '=', 'asset_ref.id'),
    )
    .innerJoin('asset', (join) =>
      join
        .onRef('asset.tenant_id', '=', 'asset_ref.tenant_id')
        .onRef('asset.id', '=', 'asset_ref.asset_id'),
    )
    .selectAll('finding_ref')
    .select(['asset_ref.name', 'asset_ref.id as id', 'asset.default_ref_id'])
    .where('asset_ref.tenant_id', '=', tenantId)
    .where('asset_ref.asset_id', '=', finding.asset_id)
    .where('finding_ref.finding_id', '=', finding.id)
    .orderBy('asset_ref.id')
    .execute();
}

/** What happened to it, newest first. */
export async function findingEvents(
  db: Db,
  tenantId: string,
  id: string,
): Promise<Selectable<FindingEventTable>[]> {
  return await db
    .selectFrom('finding_event')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('finding_id', '=', id)
    .orderBy('id', 'desc')
    .limit(200)
    .execute();
}

/** Guarded by the status it was decided on. Zero: it has changed meanwhile. */
export async function setStatus(
  db: Db,
  judged: Pick<FindingRow, 'tenant_id' | 'id' | 'status'>,
  set: Pick<FindingRow, 'status' | 'resolution' | 'status_by' | 'status_at' | 'accepted_until'>,
): Promise<number> {
  const result = await db
    .updateTable('finding')
    .set(set)
    .where('tenant_id', '=', judged.tenant_id)
    .where('id', '=', judged.id)
    .where('status', '=', judged.status)
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}

export async function insertFindingEvent(
  db: Db,
  row: Selectable<FindingEventTable>,
): Promise<void> {
  await db.insertInto('finding_event').values(row).execute();
}

/**
 * An acceptance past its end date: open again. What somebody is at just now is passed over until the next round: waiting for
 * it, with others locked, could be waiting in a circle.
 */
export async function endAcceptances(db: Db, nowMs: number): Promise<number> {
  const result = await db
    .updateTable('finding')
    .set({ status: 'open', status_by: 'acceptance ended', status_at: nowMs, accepted_until: null })
    .where((eb) => {
      const past = db
        .selectFrom('finding')
        .select(['tenant_id', 'id'])
        .where('status', '=', 'accepted')
        .where('accepted_until', '<=', nowMs)
        .$call(skipLocked);
      return eb(eb.refTuple('tenant_id', 'id'), 'in', past.$asTuple('tenant_id', 'id'));
    })
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}

export interface ListedAsset extends AssetRow {
  readonly default_ref_name: string | null;
  readonly open_findings: number;
}

const assets = (db: Db, tenantId: string) =>
  db
    .selectFrom('asset')
    .leftJoin('asset_ref', (join) =>
      join
        .onRef('asset_ref.tenant_id', '=', 'asset.tenant_id')
        .onRef('asset_ref.id', '=', 'asset.default_ref_id'),
    )
    .selectAll('asset')
    .select((eb) => [
      'asset_ref.name as default_ref_name',
      eb
        .selectFrom('finding')
        .select(sql<number>`count(*)`.as('open'))
        .whereRef('finding.tenant_id', '=', 'asset.tenant_id')
        .whereRef('finding.asset_id', '=', 'asset.id')
        .where('finding.status', 'in', ['open', 'confirmed', 'in_progress'])
        .as('open_findings'),
    ])
    .where('asset.tenant_id', '=', tenantId);

export interface AssetPageQuery {
  readonly kind: AssetKind | null;
  readonly valuePart: string | null;
  readonly after: string | null;
  readonly limit: number;
}

/** Newest first; one more than `limit` tells that there is another page. */
export async function pageAssets(
  db: Db,
  tenantId: string,
  page: AssetPageQuery,
): Promise<ListedAsset[]> {
  let query = assets(db, tenantId)
    .orderBy('asset.id', 'desc')
    .limit(page.limit + 1);
  if (page.kind !== null) query = query.where('asset.kind', '=', page.kind);
  const part = page.valuePart;
  if (part !== null) {
    query = query.where((eb) =>
      eb.or([contains(db, 'asset.value', part), contains(db, 'asset.name', part)]),
    );
  }
  if (page.after !== null) query = query.where('asset.id', '<', page.after);
  return (await query.execute()) as ListedAsset[];
}

export async function findAsset(
  db: Db,
  tenantId: string,
  id: string,
): Promise<ListedAsset | undefined> {
  return (await assets(db, tenantId).where('asset.id', '=', id).executeTakeFirst()) as
    | ListedAsset
    | undefined;
}

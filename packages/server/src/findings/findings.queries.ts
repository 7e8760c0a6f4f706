// SQL by which operators see findings and assets, and by which the status of a finding is set.
// Pages are sorted by what makes each row unique, so that no page repeats or misses a row.

import { ACTIVE_STATUSES, type AssetKind, type FindingStatus } from '@muster/contract';
import { type ExpressionBuilder, type Selectable, sql } from 'kysely';
import type { Db } from '../db/db.ts';
import { contains, isAmong, skipLocked } from '../db/dialect.ts';
import type { AssetTable, FindingEventTable, FindingTable, Tables } from '../db/tables.ts';
import { FINDING_MOVES, LAPSED } from './finding.machine.ts';

export type FindingRow = Selectable<FindingTable>;
export type AssetRow = Selectable<AssetTable>;

/**
 * A finding with the name of its asset, when it was last seen on any ref, and the state of the
 * upload that created it.
 */
export interface ListedFinding extends FindingRow {
  readonly asset_name: string;
  readonly last_seen_at: number;
  readonly upload_state: string | null;
}

// A finding always has its asset. Joined from the left all the same: SQLite would begin an inner
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

export interface StatusFilter {
  readonly status: FindingStatus;
  /** Only those resolved so. */
  readonly resolution?: 'fixed' | 'by_operator';
}

/** A branch by its name ('' is the unnamed ref), or whichever is the default one of each asset. */
export type BranchFilter = { readonly name: string } | 'default';

export interface FindingPageQuery {
  /** Null: whatever they are. */
  readonly statuses: readonly StatusFilter[] | null;
  /** Findings on this branch; on the default one also those that were on it and are resolved. */
  readonly branch: BranchFilter | null;
  readonly severity: number | null;
  /** Null: all of them. */
  readonly assetIds: readonly string[] | null;
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
  // Two ranges of an index, one behind the other: as one condition they would be looked for from
  // the first page on.
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
  const { statuses } = page;
  if (statuses !== null) query = query.where((eb) => eb.or(statuses.map(hasStatus(eb))));
  if (page.severity !== null) {
    query = query.where('finding.severity', '=', page.severity as FindingRow['severity']);
  }
  const [assetId, ...others] = page.assetIds ?? [];
  if (assetId !== undefined && others.length === 0) {
    query = query.where('finding.asset_id', '=', assetId);
  } else if (assetId !== undefined) {
    query = query.where(isAmong(db, 'finding.asset_id', [assetId, ...others]));
  }
  if (page.tool !== null) query = query.where('finding.tool', '=', page.tool);
  if (page.ruleId !== null) query = query.where('finding.rule_id', '=', page.ruleId);
  if (page.pathStart !== null) {
    // A range instead of LIKE: it takes wildcards literally, and an index helps it.
    query = query
      .where('finding.path', '>=', page.pathStart)
      .where('finding.path', '<', `${page.pathStart}\u{10ffff}`);
  }
  if (page.branch !== null) query = query.where(isOn(tenantId, page.branch));
  return query;
}

const hasStatus =
  (eb: ExpressionBuilder<Tables, 'finding'>) =>
  ({ status, resolution }: StatusFilter) => {
    const has = eb('finding.status', '=', status);
    return resolution === undefined ? has : has.and('finding.resolution', '=', resolution);
  };

/**
 * Assets that have a ref of this name, `limit` at most. No index helps: all refs of the tenant are
 * looked at.
 */
export async function assetsWithRef(
  db: Db,
  tenantId: string,
  name: string,
  limit: number,
): Promise<string[]> {
  const rows = await db
    .selectFrom('asset_ref')
    .select('asset_id')
    .where('tenant_id', '=', tenantId)
    .where('name', '=', name)
    .limit(limit)
    .execute();
  return rows.map((row) => row.asset_id);
}

/**
 * Is the finding on the branch? A value and no `exists`: PostgreSQL would make a join of that,
 * leave the index that is in the order of the list, and sort all, because it can't know how many
 * findings a branch has. A value is looked up by primary keys, row by row.
 */
const isOn =
  (tenantId: string, branch: BranchFilter) => (eb: ExpressionBuilder<Tables, 'finding'>) => {
    const onRef = eb
      .selectFrom('finding_ref')
      .where('finding_ref.tenant_id', '=', tenantId)
      .whereRef('finding_ref.finding_id', '=', 'finding.id');
    if (branch === 'default') {
      return onRef
        .innerJoin('asset', 'asset.default_ref_id', 'finding_ref.ref_id')
        .where('asset.tenant_id', '=', tenantId)
        .whereRef('asset.id', '=', 'finding.asset_id')
        .select((on) =>
          on
            .or([on('finding_ref.present', '=', 1), on('finding.status', '=', 'resolved')])
            .as('is_on'),
        )
        .$asScalar();
    }
    return onRef
      .innerJoin('asset_ref', 'asset_ref.id', 'finding_ref.ref_id')
      .where('asset_ref.tenant_id', '=', tenantId)
      .whereRef('asset_ref.asset_id', '=', 'finding.asset_id')
      .where('asset_ref.name', '=', branch.name)
      .select((on) => on('finding_ref.present', '=', 1).as('is_on'))
      .$asScalar();
  };

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

/** The refs that the finding was seen on, in the order in which they were made. */
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

/** What happened to the finding, newest first. */
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

/** Guarded by the status that was judged. Zero rows: the status has changed meanwhile. */
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
 * Opens findings again whose acceptance is past its end date. A finding that somebody works on just
 * now is passed over until the next round: to wait for it, with others locked, could be waiting in
 * a circle.
 */
export async function endAcceptances(db: Db, nowMs: number): Promise<number> {
  const result = await db
    .updateTable('finding')
    .set({ status: LAPSED.to, status_by: LAPSED.by, status_at: nowMs, accepted_until: null })
    .where((eb) => {
      const past = db
        .selectFrom('finding')
        .select(['tenant_id', 'id'])
        .where('status', '=', FINDING_MOVES.lapse.from[0])
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
        .where('finding.status', 'in', ACTIVE_STATUSES)
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

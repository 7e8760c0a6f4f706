// SQL by which ingest reads and writes findings: the scopes for matching, batches of outcomes,
// absence. Every statement names its tenant.

import { ACTIVE_STATUSES } from '@muster/contract/plain';
import { type Selectable, sql, type SqlBool } from 'kysely';
import type { Db } from '../../db/db.ts';
import { forUpdate, insertRows, isAmong, updateRows } from '../../db/dialect.ts';
import type {
  FindingDetailTable,
  FindingEventTable,
  FindingRefTable,
  FindingTable,
} from '../../db/tables.ts';
import type { ScopeKey } from './scope.queries.ts';

export type FindingRow = Selectable<FindingTable>;
export type FindingRefRow = Selectable<FindingRefTable>;

/** The columns of a stored finding that matching needs. */
export interface StoredFinding {
  readonly id: string;
  readonly asset_id: string;
  readonly evidence: Uint8Array;
  readonly status: FindingRow['status'];
  readonly resolution: FindingRow['resolution'];
  readonly status_by: string;
  readonly severity: FindingRow['severity'];
  readonly start_line: number | null;
  readonly created_upload_id: string;
}

/** Scopes that differ only in their assets. */
export interface Scopes {
  readonly tool: string;
  readonly category: string;
  /** At least one. */
  readonly assetIds: readonly string[];
}

/**
 * At most `limit` findings of some scopes, in the order of their ids. Of one scope, those behind
 * `after` (null: from the first on). If several scopes hold more, any of their findings.
 */
export async function findingsOfScopes(
  db: Db,
  tenantId: string,
  { assetIds, ...analysis }: Scopes,
  after: string | null,
  limit: number,
): Promise<StoredFinding[]> {
  const [assetId = '', ...others] = assetIds;
  const query =
    others.length === 0
      ? ofScope(db, tenantId, { assetId, ...analysis }, after, limit)
      : ofAnalysis(db, tenantId, analysis)
          .where(isAmong(db, 'asset_id', assetIds))
          .limit(limit);
  const rows = await query
    .select([
      'id',
      'asset_id',
      'evidence',
      'status',
      'resolution',
      'status_by',
      'severity',
      'start_line',
      'created_upload_id',
    ])
    .execute();
  // The database would have to read all of them before it could sort the first ones.
  return others.length === 0 ? rows : rows.sort((one, other) => (one.id < other.id ? -1 : 1));
}

const ofAnalysis = (db: Db, tenantId: string, { tool, category }: Omit<Scopes, 'assetIds'>) =>
  db
    .selectFrom('finding')
    .where('tenant_id', '=', tenantId)
    .where('tool', '=', tool)
    .where('category', '=', category);

function ofScope(
  db: Db,
  tenantId: string,
  { assetId, ...analysis }: ScopeKey,
  after: string | null,
  limit: number,
) {
  const query = ofAnalysis(db, tenantId, analysis)
    .where('asset_id', '=', assetId)
    .orderBy('id')
    .limit(limit);
  return after === null ? query : query.where('id', '>', after);
}

/** A page of one scope, with the evidence alone. */
export async function evidenceOfScope(
  db: Db,
  tenantId: string,
  scope: ScopeKey,
  after: string | null,
  limit: number,
): Promise<Pick<StoredFinding, 'id' | 'evidence' | 'start_line' | 'severity'>[]> {
  return await ofScope(db, tenantId, scope, after, limit)
    .select(['id', 'evidence', 'start_line', 'severity'])
    .execute();
}

/** The columns that matching of moved findings needs. */
export async function findingsById(
  db: Db,
  tenantId: string,
  ids: readonly string[],
): Promise<Pick<FindingRow, 'id' | 'type' | 'rule_id' | 'path' | 'start_line' | 'evidence'>[]> {
  return await db
    .selectFrom('finding')
    .select(['id', 'type', 'rule_id', 'path', 'start_line', 'evidence'])
    .where('tenant_id', '=', tenantId)
    .where(isAmong(db, 'id', ids))
    .execute();
}

/** The content of a finding by its last report. */
export type StoredContent = Pick<
  FindingRow,
  'id' | 'type' | 'rule_id' | 'title' | 'severity' | 'path' | 'start_line' | 'base_fingerprint'
> &
  Pick<Selectable<FindingDetailTable>, 'document'>;

/** The contents of some findings, by id. */
export async function storedContents(
  db: Db,
  tenantId: string,
  ids: readonly string[],
): Promise<Map<string, StoredContent>> {
  if (ids.length === 0) return new Map();
  const rows = await db
    .selectFrom('finding')
    .innerJoin('finding_detail', (join) =>
      join
        .onRef('finding_detail.tenant_id', '=', 'finding.tenant_id')
        .onRef('finding_detail.finding_id', '=', 'finding.id'),
    )
    .select(['id', 'type', 'rule_id', 'title', 'severity', 'path', 'start_line'])
    .select(['base_fingerprint', 'document'])
    .where('finding.tenant_id', '=', tenantId)
    .where(isAmong(db, 'finding.id', ids))
    .execute();
  return new Map(rows.map((row) => [row.id, row]));
}

/** The last sighting of a finding on one ref. */
export interface StoredSighting {
  readonly present: boolean;
  readonly lastUploadId: string;
}

/** By ref, then by finding. */
export type Sightings = ReadonlyMap<string, ReadonlyMap<string, StoredSighting>>;

/** The refs of one destination: its own and the default one. */
const REFS_OF_DESTINATION = 2;

/**
 * The sightings of these findings on these refs. They are joined in memory: a PostgreSQL that has
 * no statistics yet plans the join in SQL as a nested loop, which is quadratic in a first large
 * upload.
 */
export async function sightingsOnRefs(
  db: Db,
  tenantId: string,
  refIds: readonly string[],
  findingIds: readonly string[],
): Promise<Sightings> {
  if (findingIds.length === 0) return new Map();
  const isRef = isAmong(db, 'ref_id', refIds);
  const rows = await db
    .selectFrom('finding_ref')
    .select(['finding_id', 'ref_id', 'present', 'last_upload_id'])
    .where('tenant_id', '=', tenantId)
    .where(isAmong(db, 'finding_id', findingIds))
    // With many assets most pairs of finding and ref don't exist: the index would look up each
    // pair.
    .where(refIds.length > REFS_OF_DESTINATION ? sql<SqlBool>`(${isRef}) is true` : isRef)
    .execute();
  const sightings = new Map<string, Map<string, StoredSighting>>();
  for (const { ref_id: refId, finding_id: findingId, present, last_upload_id } of rows) {
    const onRef = sightings.get(refId) ?? new Map<string, StoredSighting>();
    if (onRef.size === 0) sightings.set(refId, onRef);
    onRef.set(findingId, { present: present === 1, lastUploadId: last_upload_id });
  }
  return sightings;
}

export async function insertFindings(
  db: Db,
  findings: readonly FindingRow[],
  details: readonly Selectable<FindingDetailTable>[],
): Promise<void> {
  await Promise.all([
    insertRows(db, 'finding', findings),
    insertRows(db, 'finding_detail', details),
  ]);
}

/** Findings that were seen again with other words, another place or another status. */
export async function changeFindings(
  db: Db,
  findings: readonly Partial<FindingRow>[],
  details: readonly Selectable<FindingDetailTable>[],
): Promise<void> {
  await Promise.all([
    updateRows(db, 'finding', ['tenant_id', 'id'], findings),
    updateRows(db, 'finding_detail', ['tenant_id', 'finding_id'], details),
  ]);
}

/** The columns that an event sets, as the machine of findings says. */
export interface StatusMove extends Pick<FindingRow, 'resolution'> {
  readonly to: FindingRow['status'];
  /** Written to `status_by`. */
  readonly by: string;
}

/** A move of one finding, written only while its status is still `from`. */
export interface StatusChange extends StatusMove {
  readonly id: string;
  readonly from: FindingRow['status'];
}

/** Changes statuses as a report says, guarded: a decision that an operator made meanwhile stays. */
export async function changeStatuses(
  db: Db,
  tenantId: string,
  changes: readonly StatusChange[],
  nowMs: number,
): Promise<void> {
  const groups = Map.groupBy(changes, ({ from, to }) => `${from} ${to}`);
  const updates = [...groups.values()].map(async (group) => {
    const [change] = group;
    if (change === undefined) return;
    const { from, to, resolution, by } = change;
    await db
      .updateTable('finding')
      .set({ status: to, resolution, status_by: by, status_at: nowMs })
      .where('tenant_id', '=', tenantId)
      .where(
        'id',
        'in',
        group.map(({ id }) => id),
      )
      .where('status', '=', from)
      .execute();
  });
  await Promise.all(updates);
}

/** Stores findings that are seen on a ref, as far as is known for the first time. */
export async function saveSightings(db: Db, rows: readonly FindingRefRow[]): Promise<void> {
  await insertRows(db, 'finding_ref', rows, {
    onConflict: {
      columns: ['tenant_id', 'finding_id', 'ref_id'],
      update: ['present', 'last_seen_at', 'last_commit', 'last_upload_id'],
    },
  });
}

/**
 * Findings that were seen on a ref before and are seen there again: nothing else changes in most of
 * them. Without `present` those that are absent stay absent.
 */
export interface SeenAgain
  extends Pick<
    FindingRefRow,
    'tenant_id' | 'ref_id' | 'last_seen_at' | 'last_commit' | 'last_upload_id'
  > {
  readonly present?: 1;
  readonly findingIds: readonly string[];
}

/**
 * From this many findings of one ref on, a statement updates them together; fewer, on very many
 * refs, are a row each.
 */
const TOGETHER_MIN = 8;

export async function updateSightings(db: Db, all: readonly SeenAgain[]): Promise<void> {
  const many = all.filter(({ findingIds }) => findingIds.length >= TOGETHER_MIN);
  const few = all.filter(({ findingIds }) => findingIds.length < TOGETHER_MIN);
  const rows = few.flatMap(({ findingIds, ...sight }) =>
    findingIds.map((id) => ({ ...sight, finding_id: id })),
  );
  const key = ['tenant_id', 'ref_id', 'finding_id'] as const;
  await Promise.all([
    ...many.map((seen) => updateOnRef(db, seen)),
    updateRows(
      db,
      'finding_ref',
      key,
      rows.filter((row) => 'present' in row),
    ),
    updateRows(
      db,
      'finding_ref',
      key,
      rows.filter((row) => !('present' in row)),
    ),
  ]);
}

async function updateOnRef(db: Db, seen: SeenAgain): Promise<void> {
  const { tenant_id: tenantId, ref_id: refId, findingIds, ...sight } = seen;
  await db
    .updateTable('finding_ref')
    .set(sight)
    .where('tenant_id', '=', tenantId)
    .where('ref_id', '=', refId)
    .where(isAmong(db, 'finding_id', findingIds))
    .execute();
}

export async function insertFindingEvents(
  db: Db,
  rows: readonly Selectable<FindingEventTable>[],
): Promise<void> {
  if (rows.length > 0) await insertRows(db, 'finding_event', rows);
}

export async function insertEvent(
  db: Db,
  row: { tenant_id: string; id: string; at: number; kind: string; data: string },
): Promise<void> {
  await db.insertInto('event').values(row).execute();
}

/** Marks findings as no longer present on their refs. */
export async function markAbsent(
  db: Db,
  rows: readonly Pick<FindingRefRow, 'tenant_id' | 'ref_id' | 'finding_id'>[],
): Promise<void> {
  const absent = rows.map((row) => ({ ...row, present: 0 as const }));
  await updateRows(db, 'finding_ref', ['tenant_id', 'ref_id', 'finding_id'], absent);
}

/** Locks those findings that somebody still has to do something about; returns their status now. */
export async function lockActive(
  db: Db,
  tenantId: string,
  ids: readonly string[],
): Promise<Pick<FindingRow, 'id' | 'status'>[]> {
  if (ids.length === 0) return [];
  return await forUpdate(
    db
      .selectFrom('finding')
      .select(['id', 'status'])
      .where('tenant_id', '=', tenantId)
      .where('id', 'in', ids)
      .where('status', 'in', ACTIVE_STATUSES)
      .orderBy('id'),
  ).execute();
}

/** Resolves findings that are absent on the default branch; the caller has locked them. */
export async function resolveFixed(
  db: Db,
  tenantId: string,
  ids: readonly string[],
  { to, resolution, by }: StatusMove,
  nowMs: number,
): Promise<void> {
  if (ids.length === 0) return;
  await db
    .updateTable('finding')
    .set({ status: to, resolution, status_by: by, status_at: nowMs })
    .where('tenant_id', '=', tenantId)
    .where('id', 'in', ids)
    .execute();
}

/** Which of these base fingerprints are known. */
export async function knownFingerprints(
  db: Db,
  tenantId: string,
  fingerprints: readonly string[],
): Promise<Set<string>> {
  const rows = await db
    .selectFrom('finding')
    .select('base_fingerprint')
    .where('tenant_id', '=', tenantId)
    .where('base_fingerprint', 'in', fingerprints)
    .execute();
  return new Set(
    rows.flatMap((row) => (row.base_fingerprint === null ? [] : [row.base_fingerprint])),
  );
}

// SQL by which ingest reads and writes findings: a scope for matching, a batch of outcomes, absence.

import { type Selectable, sql } from 'kysely';
import type { Db } from '../db/db.ts';
import { insertRows, updateRows } from '../db/dialect.ts';
import type {
  FindingDetailTable,
  FindingEventTable,
  FindingRefTable,
  FindingTable,
} from '../db/tables.ts';
import type { ScopeKey } from './frame.queries.ts';

export type FindingRow = Selectable<FindingTable>;
export type FindingRefRow = Selectable<FindingRefTable>;

/** What matching needs of a stored finding. */
export interface StoredFinding {
  readonly id: string;
  readonly evidence: Uint8Array;
  readonly status: FindingRow['status'];
  readonly resolution: FindingRow['resolution'];
  readonly status_by: string;
  readonly status_at: number;
  readonly severity: FindingRow['severity'];
  readonly start_line: number | null;
  readonly detail_digest: Uint8Array;
  /** The newest upload that saw it on the ref in question; null: never seen there. */
  readonly seen_by: string | null;
}

/** All findings of a scope, with who saw them last on this ref. */
export async function findingsOfScope(
  db: Db,
  tenantId: string,
  scope: ScopeKey,
  refId: string,
): Promise<StoredFinding[]> {
  return await db
    .selectFrom('finding')
    .leftJoin('finding_ref', (join) =>
      join
        .onRef('finding_ref.tenant_id', '=', 'finding.tenant_id')
        .onRef('finding_ref.finding_id', '=', 'finding.id')
        .on('finding_ref.ref_id', '=', refId),
    )
    .select([
      'finding.id',
      'finding.evidence',
      'finding.status',
      'finding.resolution',
      'finding.status_by',
      'finding.status_at',
      'finding.severity',
      'finding.start_line',
      'finding.detail_digest',
      'finding_ref.last_upload_id as seen_by',
    ])
    .where('finding.tenant_id', '=', tenantId)
    .where('finding.asset_id', '=', scope.assetId)
    .where('finding.tool', '=', scope.tool)
    .where('finding.category', '=', scope.category)
    .execute();
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

/** Seen again, nothing changed but the time. */
export async function touchFindings(
  db: Db,
  tenantId: string,
  ids: readonly string[],
  uploadId: string,
  nowMs: number,
): Promise<void> {
  if (ids.length === 0) return;
  await db
    .updateTable('finding')
    .set({ last_seen_at: nowMs, last_upload_id: uploadId })
    .where('tenant_id', '=', tenantId)
    .where('id', 'in', ids)
    .execute();
}

/** Seen again with other words, another place or another status. */
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

/** Present on a ref: first and last sight, with the commits. */
export async function savePresence(db: Db, rows: readonly FindingRefRow[]): Promise<void> {
  await insertRows(db, 'finding_ref', rows, {
    onConflict: {
      columns: ['tenant_id', 'ref_id', 'finding_id'],
      update: ['present', 'last_seen_at', 'last_commit', 'last_upload_id'],
    },
  });
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

/** What was present on this ref in this scope and not seen by this upload, with the status it has. */
export async function absentOnRef(
  db: Db,
  tenantId: string,
  refId: string,
  scope: ScopeKey,
  uploadId: string,
): Promise<{ id: string; status: FindingRow['status'] }[]> {
  return await db
    .selectFrom('finding_ref')
    .innerJoin('finding', (join) =>
      join
        .onRef('finding.tenant_id', '=', 'finding_ref.tenant_id')
        .onRef('finding.id', '=', 'finding_ref.finding_id'),
    )
    .select(['finding.id', 'finding.status'])
    .where('finding_ref.tenant_id', '=', tenantId)
    .where('finding_ref.ref_id', '=', refId)
    .where('finding_ref.present', '=', 1)
    .where('finding_ref.last_upload_id', '!=', uploadId)
    .where('finding.asset_id', '=', scope.assetId)
    .where('finding.tool', '=', scope.tool)
    .where('finding.category', '=', scope.category)
    .orderBy('finding.id')
    .execute();
}

/** How many open findings this ref had in this scope before the upload. */
export async function countOpenOnRef(
  db: Db,
  tenantId: string,
  refId: string,
  scope: ScopeKey,
  uploadId: string,
): Promise<number> {
  const row = await db
    .selectFrom('finding_ref')
    .innerJoin('finding', (join) =>
      join
        .onRef('finding.tenant_id', '=', 'finding_ref.tenant_id')
        .onRef('finding.id', '=', 'finding_ref.finding_id'),
    )
    .select(sql<number>`count(*)`.as('open'))
    .where('finding_ref.tenant_id', '=', tenantId)
    .where('finding_ref.ref_id', '=', refId)
    .where('finding_ref.present', '=', 1)
    .where('finding.asset_id', '=', scope.assetId)
    .where('finding.tool', '=', scope.tool)
    .where('finding.category', '=', scope.category)
    .where('finding.created_upload_id', '!=', uploadId)
    .where('finding.status', 'in', ['open', 'confirmed', 'in_progress'])
    .executeTakeFirst();
  return Number(row?.open ?? 0);
}

/** No longer present on the ref. */
export async function markAbsent(
  db: Db,
  tenantId: string,
  refId: string,
  ids: readonly string[],
): Promise<void> {
  await db
    .updateTable('finding_ref')
    .set({ present: 0 })
    .where('tenant_id', '=', tenantId)
    .where('ref_id', '=', refId)
    .where('finding_id', 'in', ids)
    .execute();
}

/** Absent on the default ref: resolved as fixed, unless a person decided otherwise. */
export async function resolveFixed(
  db: Db,
  tenantId: string,
  ids: readonly string[],
  nowMs: number,
): Promise<number> {
  const result = await db
    .updateTable('finding')
    .set({ status: 'resolved', resolution: 'fixed', status_by: 'absence', status_at: nowMs })
    .where('tenant_id', '=', tenantId)
    .where('id', 'in', ids)
    .where('status', 'in', ['open', 'confirmed', 'in_progress'])
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
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

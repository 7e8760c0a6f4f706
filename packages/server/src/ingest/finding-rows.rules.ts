// From matched entries to the rows of one batch: created, changed, unchanged or reopened, decided per entry from what
// is stored. Pure: ids and times come in, rows and counts go out.

import { hash } from 'node:crypto';
import { SEVERITIES } from '@muster/contract';
import type { FindingRefRow, FindingRow, StoredFinding } from './finding.queries.ts';
import { packEvidence } from './evidence.format.ts';
import type { MatchedBy } from './match.rules.ts';
import { type BatchCounts, noBatch } from './receipt.rules.ts';
import type { Entry } from './survey.rules.ts';

export interface Matched {
  readonly entry: Entry;
  readonly stored: StoredFinding | null;
  readonly by: MatchedBy;
}

/** Where and when a batch belongs. */
export interface BatchPlace {
  readonly tenantId: string;
  readonly uploadId: string;
  readonly assetId: string;
  readonly tool: string;
  readonly category: string;
  readonly refId: string;
  readonly isDefaultRef: boolean;
  readonly commitSha: string | null;
  readonly nowMs: number;
}

export interface FindingEventRow {
  tenant_id: string;
  finding_id: string;
  id: string;
  at: number;
  kind: string;
  by_whom: string;
  data: string;
}

interface DetailRow {
  tenant_id: string;
  finding_id: string;
  document: string;
}

/** What a report makes of a status: written only while the status is still the one it was decided on. */
export interface StatusChange {
  readonly id: string;
  readonly from: FindingRow['status'];
  readonly to: FindingRow['status'];
}

export interface BatchRows {
  readonly counts: BatchCounts;
  readonly created: FindingRow[];
  readonly createdDetails: DetailRow[];
  readonly changed: Partial<FindingRow>[];
  readonly statuses: StatusChange[];
  readonly changedDetails: DetailRow[];
  readonly touched: string[];
  readonly refs: FindingRefRow[];
  readonly events: FindingEventRow[];
}

/** `newId` makes the ids of created findings and events, in order. */
export function batchRows(
  matched: readonly Matched[],
  place: BatchPlace,
  newId: () => string,
): BatchRows {
  const rows: BatchRows = {
    counts: noBatch(),
    created: [],
    createdDetails: [],
    changed: [],
    statuses: [],
    changedDetails: [],
    touched: [],
    refs: [],
    events: [],
  };
  for (const { entry, stored, by } of matched) {
    const content = contentOf(entry);
    const id = stored === null ? create(rows, entry, content, by, place, newId()) : stored.id;
    if (stored !== null) revisit(rows, entry, content, stored, by, place, newId);
    rows.refs.push({
      tenant_id: place.tenantId,
      ref_id: place.refId,
      finding_id: id,
      present: 1,
      first_seen_at: place.nowMs,
      first_commit: place.commitSha,
      last_seen_at: place.nowMs,
      last_commit: place.commitSha,
      last_upload_id: place.uploadId,
    });
  }
  return rows;
}

interface Content {
  readonly document: string;
  readonly digest: Buffer;
  readonly columns: Pick<
    FindingRow,
    'type' | 'rule_id' | 'title' | 'severity' | 'path' | 'start_line' | 'base_fingerprint'
  >;
}

/** What the report says of the finding, and the digest by which a later report is compared. */
function contentOf({ draft }: Entry): Content {
  const columns: Content['columns'] = {
    type: draft.type,
    rule_id: draft.ruleId,
    title: draft.title,
    severity: SEVERITIES.indexOf(draft.severity) as FindingRow['severity'],
    path: draft.path,
    start_line: draft.startLine,
    base_fingerprint: draft.baseFingerprint,
  };
  const document = JSON.stringify({
    message: draft.message,
    start_column: draft.startColumn,
    fingerprints: draft.fingerprints,
    ...draft.detail,
  });
  const digest = hash('sha256', `${JSON.stringify(columns)}\n${document}`, 'buffer');
  return { document, digest, columns };
}

function create(
  rows: BatchRows,
  entry: Entry,
  content: Content,
  by: MatchedBy,
  place: BatchPlace,
  id: string,
): string {
  const { suppressed } = entry.draft;
  rows.counts.created += 1;
  if (suppressed) rows.counts.suppressed += 1;
  rows.created.push({
    tenant_id: place.tenantId,
    id,
    asset_id: place.assetId,
    tool: place.tool,
    category: place.category,
    ...content.columns,
    severity_override: null,
    status: suppressed ? 'suppressed' : 'open',
    resolution: null,
    status_by: 'report',
    status_at: place.nowMs,
    accepted_until: null,
    evidence: packEvidence({ ...entry.evidence, sameness: entry.sameness }),
    detail_digest: content.digest,
    matched_by: by,
    first_seen_at: place.nowMs,
    last_seen_at: place.nowMs,
    created_upload_id: place.uploadId,
    last_upload_id: place.uploadId,
  });
  rows.createdDetails.push({
    tenant_id: place.tenantId,
    finding_id: id,
    document: content.document,
  });
  return id;
}

/** The status that the report itself decides; null: it stays. Decisions of people always stay. */
function nextStatus(
  stored: StoredFinding,
  suppressed: boolean,
  isDefaultRef: boolean,
): FindingRow['status'] | null {
  const active =
    stored.status === 'open' || stored.status === 'confirmed' || stored.status === 'in_progress';
  if (suppressed && active) return 'suppressed';
  const byReport = stored.status === 'suppressed' && stored.status_by === 'report';
  if (!suppressed && byReport) return 'open';
  const fixed = stored.status === 'resolved' && stored.resolution === 'fixed';
  // The status shown is that of the default ref: a sighting elsewhere doesn't reopen it.
  if (fixed && isDefaultRef) return suppressed ? 'suppressed' : 'open';
  return null;
}

function revisit(
  rows: BatchRows,
  entry: Entry,
  content: Content,
  stored: StoredFinding,
  by: MatchedBy,
  place: BatchPlace,
  newId: () => string,
): void {
  const { suppressed } = entry.draft;
  if (suppressed) rows.counts.suppressed += 1;
  const status = nextStatus(stored, suppressed, place.isDefaultRef);
  const sameContent = content.digest.equals(stored.detail_digest);
  const evidence = packEvidence({ ...entry.evidence, sameness: entry.sameness });
  if (status === null && sameContent && evidence.equals(stored.evidence)) {
    rows.counts.unchanged += 1;
    rows.touched.push(stored.id);
    return;
  }
  const reopened = status === 'open' && stored.status === 'resolved';
  if (reopened) rows.counts.reopened += 1;
  else if (status === null && sameContent) rows.counts.unchanged += 1;
  else rows.counts.changed += 1;
  rows.changed.push({
    tenant_id: place.tenantId,
    id: stored.id,
    ...content.columns,
    evidence,
    detail_digest: content.digest,
    matched_by: by,
    last_seen_at: place.nowMs,
    last_upload_id: place.uploadId,
  });
  rows.changedDetails.push({
    tenant_id: place.tenantId,
    finding_id: stored.id,
    document: content.document,
  });
  const event = (kind: string, data: unknown): void => {
    rows.events.push({
      tenant_id: place.tenantId,
      finding_id: stored.id,
      id: newId(),
      at: place.nowMs,
      kind,
      by_whom: `upload:${place.uploadId}`,
      data: JSON.stringify(data),
    });
  };
  if (status !== null) {
    rows.statuses.push({ id: stored.id, from: stored.status, to: status });
    event(reopened ? 'reopened' : 'status', { from: stored.status, to: status });
  }
  if (content.columns.severity !== stored.severity) {
    event('severity', {
      from: SEVERITIES[stored.severity],
      to: SEVERITIES[content.columns.severity],
    });
  }
}

// Findings and assets as operators work with them: lists, one finding with all that is known of it,
// and the setting of a status. A status is set under a guard, with an event that says who set it.

import {
  ACTIVE_STATUSES,
  type Asset,
  ASSET_KINDS,
  type AssetKind,
  type Finding,
  type FindingStatus,
  type FindingStatusFilter,
  SEVERITIES,
  type Severity,
} from '@muster/contract';
import type { Database, Db } from '../db/db.ts';
import { present } from '../lib/assert.ts';
import type { Clock } from '../lib/clock.ts';
import { isoTime, isoTimeOrNull } from '../lib/iso-time.ts';
import { type FindingId, newId, parseId, type TenantId } from '../lib/ids.ts';
import { Problem } from '../lib/problem.ts';
import { RACED, untilWritten } from '../lib/races.ts';
import { decided } from './finding.machine.ts';
import {
  assetsWithRef,
  type BranchFilter,
  endAcceptances,
  findFinding,
  findingDocument,
  findingEvents,
  findingRefs,
  insertFindingEvent,
  type ListedAsset,
  type ListedFinding,
  pageAssets,
  pageFindings,
  setStatus,
  type StatusFilter,
} from './findings.queries.ts';

interface FindingFilter {
  readonly status?: FindingStatusFilter;
  /** A name as a report may have sent it. */
  readonly branch?: string;
  readonly default_branch?: 'true' | 'false';
  readonly severity?: Severity;
  readonly asset_id?: string;
  readonly tool?: string;
  readonly rule_id?: string;
  readonly path?: string;
}

/**
 * All findings of so few assets are read and sorted. Of more, each status is read by an index in
 * the order of the list: a sort would read everything for each page.
 */
const SORTED_ASSETS_MAX = 20;

/**
 * One page and whether there is more: rows beyond `limit` say so. Problem: invalid_parameter (a
 * branch and the default one).
 */
export async function listFindings(
  database: Database,
  tenantId: TenantId,
  filter: FindingFilter,
  after: { severity: number; id: string } | null,
  limit: number,
): Promise<ListedFinding[]> {
  const db = database.lists(tenantId);
  const branch = branchOf(filter);
  const assetIds = await assetsOf(db, tenantId, filter, branch);
  if (assetIds?.length === 0) return [];
  const statuses = statusesOf(filter, branch);
  const isSorted = assetIds !== null || statuses === null;
  const reads = isSorted ? [statuses] : statuses.map((status) => [status]);
  const rows: ListedFinding[] = [];
  for (const read of reads) {
    const some = await pageFindings(db, tenantId, {
      statuses: read,
      branch,
      severity: filter.severity === undefined ? null : SEVERITIES.indexOf(filter.severity),
      assetIds,
      tool: filter.tool ?? null,
      ruleId: filter.rule_id ?? null,
      pathStart: filter.path ?? null,
      after,
      limit,
    });
    for (const row of some) rows.push(row);
  }
  return inOrder(rows).slice(0, limit + 1);
}

/**
 * The assets that the list is about; null: too many to name them. Most branches are those of one
 * asset.
 */
async function assetsOf(
  db: Db,
  tenantId: TenantId,
  { asset_id: assetId }: FindingFilter,
  branch: BranchFilter | null,
): Promise<readonly string[] | null> {
  if (assetId !== undefined) return [assetId];
  if (branch === null || branch === 'default') return null;
  const assetIds = await assetsWithRef(db, tenantId, branch.name, SORTED_ASSETS_MAX + 1);
  return assetIds.length > SORTED_ASSETS_MAX ? null : assetIds;
}

function branchOf({ branch, default_branch: isDefault }: FindingFilter): BranchFilter | null {
  if (isDefault !== 'true') {
    return branch === undefined ? null : { name: branch.replace(/^refs\/heads\//, '') };
  }
  if (branch === undefined) return 'default';
  throw new Problem('invalid_parameter', 'Give branch or default_branch, not both.', {
    pointer: '/branch',
  });
}

/**
 * Null: whatever the status is. A finding that is fixed on the default branch may still be on
 * another one.
 */
function statusesOf(
  { status }: FindingFilter,
  branch: BranchFilter | null,
): readonly StatusFilter[] | null {
  if (status === undefined) return null;
  if (status !== 'active') return [{ status }];
  const active = ACTIVE_STATUSES.map((each): StatusFilter => ({ status: each }));
  const isElsewhere = branch !== null && branch !== 'default';
  return isElsewhere ? [...active, { status: 'resolved', resolution: 'fixed' }] : active;
}

/** Worst first, then newest; one that changed its status between two reads is there once. */
function inOrder(rows: readonly ListedFinding[]): ListedFinding[] {
  const byId = new Map(rows.map((row) => [row.id, row]));
  return [...byId.values()].sort(
    (one, other) => one.severity - other.severity || (one.id < other.id ? 1 : -1),
  );
}

export function findingView(row: ListedFinding): Finding {
  const severity = row.severity_override ?? row.severity;
  return {
    id: row.id,
    asset_id: row.asset_id,
    asset: row.asset_name,
    tool: row.tool,
    category: row.category,
    type: row.type as Finding['type'],
    rule_id: row.rule_id,
    title: row.title,
    severity: present(SEVERITIES[severity], 'a severity'),
    severity_overridden: row.severity_override !== null,
    status: row.status,
    resolution: row.resolution,
    status_by: row.status_by,
    status_at: isoTime(row.status_at),
    accepted_until: isoTimeOrNull(row.accepted_until),
    path: row.path,
    start_line: row.start_line,
    matched_by: row.matched_by,
    first_seen_at: isoTime(row.first_seen_at),
    last_seen_at: isoTime(row.last_seen_at),
    unfinished: row.upload_state === 'processing' || row.upload_state === 'received',
  };
}

async function requireFinding(
  database: Database,
  tenantId: TenantId,
  idText: string,
): Promise<ListedFinding> {
  const id = parseId<FindingId>(idText);
  const row = id === null ? undefined : await findFinding(database.lists(tenantId), tenantId, id);
  if (row === undefined) throw new Problem('not_found', 'There is no such finding.');
  return row;
}

/** Everything that is known of one finding. Problem: not_found. */
export async function showFinding(database: Database, tenantId: TenantId, idText: string) {
  const row = await requireFinding(database, tenantId, idText);
  const db = database.lists(tenantId);
  const document = await findingDocument(db, tenantId, row.id);
  const refs = await findingRefs(db, tenantId, row);
  const events = await findingEvents(db, tenantId, row.id);
  return {
    ...findingView(row),
    base_fingerprint: row.base_fingerprint,
    detail: document === undefined ? {} : (JSON.parse(document) as unknown),
    refs: refs.map((ref) => ({
      name: ref.name,
      is_default: ref.id === ref.default_ref_id,
      present: ref.present === 1,
      first_seen_at: isoTime(ref.first_seen_at),
      first_commit: ref.first_commit,
      last_seen_at: isoTime(ref.last_seen_at),
      last_commit: ref.last_commit,
    })),
    events: events.map((event) => ({
      at: isoTime(event.at),
      kind: event.kind,
      by: event.by_whom,
      data: JSON.parse(event.data) as unknown,
    })),
  };
}

interface FindingChange {
  readonly status: FindingStatus;
  readonly comment?: string;
  readonly accepted_until?: string;
}

/**
 * An operator's decision; it survives re-scans. `resolved` means by the operator. The same status
 * again changes nothing. Problems: not_found, invalid_body (`accepted_until` without `accepted`).
 */
export async function changeFinding(
  database: Database,
  clock: Clock,
  tenantId: TenantId,
  idText: string,
  change: FindingChange,
  by: string,
): Promise<Finding> {
  if (change.accepted_until !== undefined && change.status !== 'accepted') {
    throw new Problem('invalid_body', 'accepted_until goes with the status accepted.', {
      pointer: '/accepted_until',
    });
  }
  const id = parseId<FindingId>(idText);
  const nowMs = clock.nowMs();
  const until = change.accepted_until === undefined ? null : Date.parse(change.accepted_until);
  const judge = async (tx: Db): Promise<Finding | typeof RACED> => {
    const row = id === null ? undefined : await findFinding(tx, tenantId, id);
    if (row === undefined) throw new Problem('not_found', 'There is no such finding.');
    if (row.status === change.status && row.accepted_until === until) return findingView(row);
    const move = decided(change.status, by);
    const set = {
      status: move.to,
      resolution: move.resolution,
      status_by: move.by,
      status_at: nowMs,
      accepted_until: until,
    };
    if ((await setStatus(tx, row, set)) === 0) return RACED;
    await insertFindingEvent(tx, {
      tenant_id: tenantId,
      finding_id: row.id,
      id: newId(nowMs),
      at: nowMs,
      kind: 'status',
      by_whom: by,
      data: JSON.stringify({
        from: row.status,
        to: move.to,
        comment: change.comment ?? null,
      }),
    });
    return findingView({ ...row, ...set });
  };
  const crowded = (): Error =>
    new Problem('unavailable', 'The finding is being changed by somebody else.');
  return await database.transaction(tenantId, (tx) => untilWritten(() => judge(tx), crowded));
}

/** Opens findings again whose acceptance is past its end date. For upkeep. */
export async function sweepAcceptances(database: Database, clock: Clock): Promise<number> {
  return await endAcceptances(database.system(), clock.nowMs());
}

export async function listAssets(
  database: Database,
  tenantId: TenantId,
  filter: { kind?: AssetKind; value?: string },
  after: string | null,
  limit: number,
): Promise<ListedAsset[]> {
  return await pageAssets(database.lists(tenantId), tenantId, {
    kind: filter.kind ?? null,
    valuePart: filter.value ?? null,
    after,
    limit,
  });
}

export function assetView(row: ListedAsset): Asset {
  return {
    id: row.id,
    kind: ASSET_KINDS.find((kind) => kind === row.kind) ?? 'unclassified',
    value: row.value,
    name: row.name,
    criticality: row.criticality,
    is_fallback: row.is_fallback === 1,
    default_ref: row.default_ref_name,
    open_findings: Number(row.open_findings),
    first_seen_at: isoTime(row.first_seen_at),
    last_seen_at: isoTime(row.last_seen_at),
  };
}

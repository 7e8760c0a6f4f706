// Matched items become the rows of one batch. Each item is created, changed, unchanged or reopened,
// and only the stored finding beside it decides which. Pure: ids and times come in, rows and counts
// go out.

import { SEVERITIES } from '@muster/contract/plain';
import { present } from '../../lib/assert.ts';
import type { FindingDraft } from '../report/report.rules.ts';
import type {
  FindingRefRow,
  FindingRow,
  SeenAgain,
  StatusChange,
  StoredContent,
} from '../store/finding.queries.ts';
import type { MatchedBy } from '../match/match.rules.ts';
import { type BatchCounts, noBatch } from './batch-counts.rules.ts';
import { created, type FindingMove, isActive, seen } from '../../findings/finding.machine.ts';
import type { StoredState } from './stored-findings.rules.ts';

/** The content of a finding by a report, ready to be stored. */
export interface Content {
  readonly document: string;
  readonly columns: Omit<StoredContent, 'id' | 'document'>;
}

/** The stored finding that an item was matched with. */
export interface Compared {
  readonly state: StoredState;
  readonly sameEvidence: boolean;
}

/** One item of a report, matched and ready to become rows. */
export interface Matched {
  readonly place: BatchPlace;
  readonly suppressed: boolean;
  readonly by: MatchedBy;
  /** The stored finding; null: the item is new. */
  readonly stored: Compared | null;
  /** Null when the item needn't be read, because it is stored just as it was sent. */
  readonly content: Content | null;
  /** The evidence in its stored form. */
  readonly evidence: Buffer;
}

/** The destination that a batch is written to, and when. */
export interface BatchPlace {
  /** The number of the destination in the upload. */
  readonly destination: number;
  readonly tenantId: string;
  readonly uploadId: string;
  readonly assetId: string;
  readonly tool: string;
  readonly category: string;
  readonly refId: string;
  readonly isDefaultRef: boolean;
  /** The ref whose state is shown. */
  readonly defaultRefId: string;
  /**
   * A later upload of the same analysis was applied before this one: what it said of a known
   * finding stays.
   */
  readonly isStale: boolean;
  readonly commitSha: string | null;
  readonly nowMs: number;
}

interface FindingEventRow {
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

export interface BatchRows {
  readonly counts: BatchCounts;
  /** As in StoredCounts. */
  readonly opened: Map<number, number>;
  readonly created: FindingRow[];
  readonly createdDetails: DetailRow[];
  readonly changed: Partial<FindingRow>[];
  readonly statuses: StatusChange[];
  readonly changedDetails: DetailRow[];
  /** Seen for the first time on their ref. */
  readonly sighted: FindingRefRow[];
  readonly seenAgain: SeenAgain[];
  readonly events: FindingEventRow[];
}

/**
 * True when others decide what is shown of a finding: a later upload that has it, or the default
 * ref.
 */
const isToldByOther = ({ isStale }: BatchPlace, { isForeign, isSeenLater }: StoredState): boolean =>
  isStale || isForeign || isSeenLater;

/**
 * The stored findings whose content is compared: not those of new items, of items that are stored
 * just as they were sent, nor those that others decide about.
 */
export const idsToCompare = (items: readonly Matched[]): string[] =>
  items.flatMap(({ place, stored, content }) =>
    stored === null || content === null || isToldByOther(place, stored.state)
      ? []
      : [stored.state.id],
  );

/**
 * `contents`: those of `idsToCompare`, by id. `newId` makes the ids of created findings and of
 * events, in order.
 */
export function batchRows(
  items: readonly Matched[],
  contents: ReadonlyMap<string, StoredContent>,
  newId: () => string,
): BatchRows {
  const rows: BatchRows = {
    counts: noBatch(),
    opened: new Map(),
    created: [],
    createdDetails: [],
    changed: [],
    statuses: [],
    changedDetails: [],
    sighted: [],
    seenAgain: [],
    events: [],
  };
  const again = new Map<BatchPlace, string[]>();
  for (const item of items) {
    const { place, stored } = item;
    if (item.suppressed) rows.counts.suppressed += 1;
    const id = stored === null ? create(rows, item, newId()) : stored.state.id;
    if (stored !== null) {
      revisit(rows, item, stored, contents.get(id), newId);
      const more = openChange(item, stored.state);
      if (more !== 0)
        rows.opened.set(place.destination, (rows.opened.get(place.destination) ?? 0) + more);
    }
    // The later upload has seen the finding last. By that it knows, when it goes on after an
    // interruption, that it wrote the finding.
    if (stored?.state.isSeenLater === true) continue;
    if (stored?.state.isSighted === true) {
      const ids = again.get(place);
      if (ids === undefined) again.set(place, [id]);
      else ids.push(id);
      continue;
    }
    rows.sighted.push({
      ...sightOf(place),
      finding_id: id,
      present: place.isStale && stored !== null && !stored.state.isPresent ? 0 : 1,
      first_seen_at: place.nowMs,
      first_commit: place.commitSha,
    });
  }
  for (const [place, findingIds] of again) {
    const present = place.isStale ? {} : { present: 1 as const };
    rows.seenAgain.push({ ...sightOf(place), ...present, findingIds });
  }
  return rows;
}

const sightOf = (place: BatchPlace) => ({
  tenant_id: place.tenantId,
  ref_id: place.refId,
  last_seen_at: place.nowMs,
  last_commit: place.commitSha,
  last_upload_id: place.uploadId,
});

/** The content of a finding by its draft, as it is stored. */
export function contentOf(draft: FindingDraft): Content {
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
    ...draft.detail(),
  });
  return { document, columns };
}

/** True when the item says what is stored, in the same words or another notation. */
function isSame(content: Content | null, stored: StoredContent | undefined): boolean {
  if (content === null) return true;
  if (stored === undefined || stored.document !== content.document) return false;
  const names = Object.keys(content.columns) as (keyof Content['columns'])[];
  return names.every((name) => stored[name] === content.columns[name]);
}

function create(rows: BatchRows, item: Matched, id: string): string {
  const { place, suppressed } = item;
  const content = present(item.content, 'the content of a new finding');
  const beginning = created(suppressed);
  rows.counts.created += 1;
  rows.created.push({
    tenant_id: place.tenantId,
    id,
    asset_id: place.assetId,
    tool: place.tool,
    category: place.category,
    ...content.columns,
    severity_override: null,
    status: beginning.to,
    resolution: beginning.resolution,
    status_by: beginning.by,
    status_at: place.nowMs,
    accepted_until: null,
    evidence: item.evidence,
    matched_by: item.by,
    first_seen_at: place.nowMs,
    created_upload_id: place.uploadId,
  });
  rows.createdDetails.push({
    tenant_id: place.tenantId,
    finding_id: id,
    document: content.document,
  });
  return id;
}

/**
 * The move that the report makes in the status of a finding; null: the status stays. A report of
 * another branch doesn't change what the default branch says, and an earlier upload doesn't change
 * what a later one said.
 */
export function moveOf(
  stored: StoredState,
  suppressed: boolean,
  isDefaultRef: boolean,
): FindingMove | null {
  if (stored.isForeign || stored.isSeenLater) return null;
  return seen(stored, suppressed, isDefaultRef);
}

/** How the number of open findings on the ref changes by this item: 1, 0 or -1. */
function openChange({ place, suppressed }: Matched, state: StoredState): number {
  if (place.isStale || state.isSeenLater || state.isCreatedHere) return 0;
  const status = moveOf(state, suppressed, place.isDefaultRef)?.to ?? state.status;
  return Number(isActive(status)) - Number(state.isPresent && isActive(state.status));
}

function revisit(
  rows: BatchRows,
  item: Matched,
  { state, sameEvidence }: Compared,
  storedContent: StoredContent | undefined,
  newId: () => string,
): void {
  const { place } = item;
  // A finding shows what the reports of its default ref say, in the words of the newest.
  if (isToldByOther(place, state)) {
    rows.counts.unchanged += 1;
    return;
  }
  const move = moveOf(state, item.suppressed, place.isDefaultRef);
  const sameContent = isSame(item.content, storedContent);
  if (move === null && sameContent && sameEvidence) {
    rows.counts.unchanged += 1;
    return;
  }
  const content = present(item.content, 'the content of a changed finding');
  const reopened = move?.to === 'open' && state.status === 'resolved';
  if (reopened) rows.counts.reopened += 1;
  else if (move === null && sameContent) rows.counts.unchanged += 1;
  else rows.counts.changed += 1;
  rows.changed.push({
    tenant_id: place.tenantId,
    id: state.id,
    ...content.columns,
    evidence: item.evidence,
    matched_by: item.by,
  });
  rows.changedDetails.push({
    tenant_id: place.tenantId,
    finding_id: state.id,
    document: content.document,
  });
  const event = (kind: string, data: unknown): void => {
    rows.events.push({
      tenant_id: place.tenantId,
      finding_id: state.id,
      id: newId(),
      at: place.nowMs,
      kind,
      by_whom: `upload:${place.uploadId}`,
      data: JSON.stringify(data),
    });
  };
  if (move !== null) {
    rows.statuses.push({ id: state.id, from: state.status, ...move });
    event(reopened ? 'reopened' : 'status', { from: state.status, to: move.to });
  }
  if (item.by === 'moved' || item.by === 'nearest') {
    const placeOf = ({ path, start_line: line }: Pick<StoredContent, 'path' | 'start_line'>) =>
      line === null ? path : `${path}:${line}`;
    const from = storedContent === undefined ? null : placeOf(storedContent);
    const to = placeOf(content.columns);
    if (from !== to) event('moved', { from, to, by: item.by });
  }
  if (content.columns.severity !== state.severity) {
    event('severity', {
      from: SEVERITIES[state.severity],
      to: SEVERITIES[content.columns.severity],
    });
  }
}

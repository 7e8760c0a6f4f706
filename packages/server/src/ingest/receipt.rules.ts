// The account of an upload: every item received has exactly one outcome, and the sums are asserted. Counts of written
// batches come from the database, so that a re-run after a crash tells what the first run did.

import { limits, type Receipt } from '@muster/contract/plain';
import { assert } from '../lib/assert.ts';
import type { Located } from './draft.rules.ts';

/** What one committed batch did. */
export interface BatchCounts {
  created: number;
  changed: number;
  unchanged: number;
  reopened: number;
  suppressed: number;
}

/**
 * As they are stored with a batch. `opened`: by the number of a site, how many more of its findings are open now, those that
 * the upload created aside; without those where it is none.
 */
export type StoredCounts = BatchCounts & {
  readonly opened?: readonly (readonly [number, number])[];
};

export interface FrameCounts {
  received: number;
  created: number;
  updated: number;
  duplicate: number;
  rejected: number;
}

export const noFrame = (): FrameCounts => ({
  received: 0,
  created: 0,
  updated: 0,
  duplicate: 0,
  rejected: 0,
});

export const noBatch = (): BatchCounts => ({
  created: 0,
  changed: 0,
  unchanged: 0,
  reopened: 0,
  suppressed: 0,
});

/** Adds `more` to `sum`. */
export function addCounts(sum: BatchCounts, more: BatchCounts): void {
  sum.created += more.created;
  sum.changed += more.changed;
  sum.unchanged += more.unchanged;
  sum.reopened += more.reopened;
  sum.suppressed += more.suppressed;
}

/** What reading the items yields, before anything is written. */
export interface Tally {
  received: number;
  duplicate: number;
  notProblem: number;
  rejected: number;
  rejections: Located[];
  rejectionsByCode: Map<string, number>;
}

export const noTally = (): Tally => ({
  received: 0,
  duplicate: 0,
  notProblem: 0,
  rejected: 0,
  rejections: [],
  rejectionsByCode: new Map(),
});

/** Counts a rejection; the first limits.receiptRejectionsMax are shown, all are counted by code. */
export function tallyRejection(tally: Tally, rejection: Located): void {
  if (tally.rejections.length < limits.receiptRejectionsMax) tally.rejections.push(rejection);
  const count = tally.rejectionsByCode.get(rejection.code) ?? 0;
  tally.rejectionsByCode.set(rejection.code, count + 1);
}

/** How many items there were, and how many of them could not be used. */
export interface Received {
  readonly received: number;
  readonly rejected: number;
}

/**
 * Contract §5: all items rejected, or more than half and at least ten; decided before anything is written. Findings are
 * judged by themselves, and all items together: a list of assets or dependencies that is bad as a whole costs the findings
 * beside it nothing, unless it is most of the report. What must be refused, or null.
 */
export function mustRefuse(findings: Received, beside: Received): Received | null {
  const all = {
    received: findings.received + beside.received,
    rejected: findings.rejected + beside.rejected,
  };
  if (isTooMuch(findings)) return findings;
  return isTooMuch(all) ? all : null;
}

const isTooMuch = ({ received, rejected }: Received): boolean =>
  rejected > 0 && (rejected === received || (rejected >= 10 && rejected * 2 > received));

export interface Account {
  readonly uploadId: string;
  readonly scanId: string;
  readonly format: 'ctis' | 'sarif';
  readonly tool: string | null;
  readonly tally: Tally;
  readonly written: BatchCounts;
  readonly assets: FrameCounts;
  readonly dependencies: FrameCounts;
  readonly relationships: FrameCounts;
  readonly endpoints: FrameCounts;
  readonly resolved: number;
  readonly held: number;
  readonly warnings: readonly Located[];
  readonly warningsTotal: number;
  readonly refused: boolean;
}

/** The receipt of the wire. A sum that doesn't add up is a Defect, never an answer. */
export function receiptOf(account: Account): Receipt {
  const { tally, written, assets } = account;
  const findings = {
    received: tally.received,
    created: written.created,
    changed: written.changed,
    unchanged: written.unchanged,
    reopened: written.reopened,
    duplicate: tally.duplicate,
    not_problem: tally.notProblem,
    rejected: tally.rejected,
  };
  const { received, ...outcomes } = findings;
  const sum = Object.values(outcomes).reduce((total, count) => total + count, 0);
  if (!account.refused)
    assert(sum === received, `the receipt does not add up: ${sum} of ${received}`);
  const { dependencies, relationships, endpoints } = account;
  for (const frame of [assets, dependencies, relationships, endpoints]) assertFrame(account, frame);
  const rejectedAny = tally.rejectionsByCode.size > 0;
  return {
    upload_id: account.uploadId,
    scan_id: account.scanId,
    outcome: account.refused ? 'refused' : rejectedAny ? 'partial' : 'complete',
    format: account.format,
    tool: account.tool,
    findings,
    assets,
    dependencies,
    relationships,
    endpoints,
    resolved: account.resolved,
    suppressed: written.suppressed,
    held: account.held,
    rejections: tally.rejections,
    rejections_by_code: Object.fromEntries(tally.rejectionsByCode),
    warnings: account.warnings.slice(0, limits.receiptWarningsMax) as Located[],
    warnings_total: account.warningsTotal,
    findings_created: written.created,
    findings_updated: written.changed + written.unchanged + written.reopened,
    findings_skipped: tally.duplicate + tally.notProblem + tally.rejected,
    assets_created: assets.created,
    assets_updated: assets.updated,
    ...(rejectedAny
      ? { errors: tally.rejections.map((place) => `${place.pointer}: ${place.detail}`) }
      : {}),
  };
}

function assertFrame(account: Account, frame: FrameCounts): void {
  if (account.refused) return;
  const sum = frame.created + frame.updated + frame.duplicate + frame.rejected;
  assert(sum === frame.received, `a frame list does not add up: ${sum} of ${frame.received}`);
}

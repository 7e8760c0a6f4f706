// Counts become the receipt of an upload: every received item has exactly one outcome, and the sums
// are asserted. The counts of written batches come from the database, so that a re-run after a
// crash tells what the first run did. Pure.

import { limits, type Receipt } from '@muster/contract/plain';
import { assert } from '../../lib/assert.ts';
import type { Located } from '../json/warnings.decode.ts';
import type { Received, Tally } from '../index/tally.rules.ts';
import type { ListCounts } from '../inventory/list-counts.rules.ts';
import type { BatchCounts } from '../reconcile/batch-counts.rules.ts';

/**
 * Contract §5: a report is refused when all of its items are rejected, or more than half of them
 * and at least ten. The findings are judged by themselves, and all items together: a bad list of
 * assets or dependencies costs the findings beside it nothing, unless that list is most of the
 * report. Decided before anything is written. Returns the counts that refuse the report, or null.
 */
export function tooManyRejected(findings: Received, lists: Received): Received | null {
  const all = {
    received: findings.received + lists.received,
    rejected: findings.rejected + lists.rejected,
  };
  if (isTooMuch(findings)) return findings;
  return isTooMuch(all) ? all : null;
}

const isTooMuch = ({ received, rejected }: Received): boolean =>
  rejected > 0 && (rejected === received || (rejected >= 10 && rejected * 2 > received));

interface Account {
  readonly uploadId: string;
  readonly scanId: string;
  readonly format: Receipt['format'];
  readonly tool: string | null;
  readonly tally: Tally;
  readonly written: BatchCounts;
  readonly assets: ListCounts;
  readonly dependencies: ListCounts;
  readonly relationships: ListCounts;
  readonly endpoints: ListCounts;
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
  for (const list of [assets, dependencies, relationships, endpoints]) assertList(account, list);
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

function assertList(account: Account, list: ListCounts): void {
  if (account.refused) return;
  const sum = list.created + list.updated + list.duplicate + list.rejected;
  assert(sum === list.received, `a list does not add up: ${sum} of ${list.received}`);
}

// Refuses a report of which too many items can't be used: nothing of it is applied, and its receipt
// says why. The sums of the receipt hold here, too. Called by ingest.ts.

import type { Receipt } from '@muster/contract/plain';
import { countAssets } from '../inventory/assets.ts';
import { end } from './end.ts';
import type { IngestDeps } from '../lease/lease.ts';
import type { Reading } from '../index/reading.ts';
import { receiptOf } from './receipt.rules.ts';
import { noBatch } from '../reconcile/batch-counts.rules.ts';
import { noListCounts } from '../inventory/list-counts.rules.ts';
import type { Received } from '../index/tally.rules.ts';
import { Warnings } from '../json/warnings.decode.ts';
import type { ItemIndex } from '../index/item-index.rules.ts';
import type { UploadRow } from '../store/upload.queries.ts';
import type { ShownOfReport } from '../store/upload-work.queries.ts';
import { toolOf } from './finish.ts';
import type { Outcome } from './fail.ts';

const refusal = ({ received, rejected }: Received): string =>
  `${rejected} of ${received} items could not be used, so nothing was applied.`;

/** A report of which too much can't be used. */
interface Refused {
  readonly reading: Reading;
  readonly itemIndex: ItemIndex;
  /** What reading the lists beside the findings had to tolerate. */
  readonly ofLists: readonly Warnings[];
  readonly tooMuch: Received;
  readonly shown: ShownOfReport;
}

/** Too many items can't be used: the receipt says why, and nothing of the report is applied. */
export async function refuse(
  deps: IngestDeps,
  upload: UploadRow,
  refused: Refused,
): Promise<Outcome> {
  const receipt = refusedReceipt(upload, refused);
  const detail = refusal(refused.tooMuch);
  const problem = { code: 'report_refused', detail };
  return await end(deps, upload, 'refused', receipt, problem, refused.shown);
}

/**
 * The receipt of a refused report. Its usable items are counted as rejected, too, so that the sums
 * hold: none of them was applied.
 */
function refusedReceipt(
  upload: UploadRow,
  { reading, itemIndex, ofLists }: Omit<Refused, 'tooMuch' | 'shown'>,
): Receipt {
  const { tally, components, warnings } = itemIndex;
  const notApplied = tally.received - tally.rejected - tally.notProblem;
  const none = (received: number) => ({ ...noListCounts(), received, rejected: received });
  const { report } = reading;
  const { relationships, endpoints } = report.listIndexes;
  if (notApplied > 0) tally.rejectionsByCode.set('not_applied', notApplied);
  const told = Warnings.all([report.warnings, ...ofLists, warnings]);
  return receiptOf({
    uploadId: upload.id,
    scanId: report.reportId ?? upload.id,
    format: report.format.name,
    tool: toolOf(report),
    tally: { ...tally, duplicate: 0, rejected: tally.rejected + notApplied },
    written: noBatch(),
    assets: none(countAssets(reading)),
    dependencies: none(components.received),
    relationships: none(relationships.received),
    endpoints: none(endpoints.received),
    resolved: 0,
    held: 0,
    warnings: told.shown(),
    warningsTotal: told.total,
    refused: true,
  });
}

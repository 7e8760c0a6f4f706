// How an applied upload ends: absent findings are resolved and the analyses recorded, slice by
// slice; then one transaction stores the receipt and one event, and the state becomes `processed`.
// The receipt is the sum of what batches and slices counted. The lease guards every transaction.

import type { Receipt } from '@muster/contract/plain';
import type { Db } from '../../db/db.ts';
import { newId } from '../../lib/ids.ts';
import { cut } from '../../lib/text.ts';
import {
  type Absence,
  countClosable,
  isConclusive,
  type Conclusion,
  type Held,
  heldBack,
  resolveAbsent,
} from '../reconcile/absence.ts';
import type { Report } from '../report/report.rules.ts';
import { insertEvent } from '../store/finding.queries.ts';
import type { InventoryCounts } from '../inventory/inventory.ts';
import { saveAnalyses } from '../store/inventory.queries.ts';
import { freeScopes } from '../store/scope.queries.ts';
import { holdLease, type IngestDeps, LeaseLost } from '../lease/lease.ts';
import { receiptOf } from './receipt.rules.ts';
import { addCounts, type BatchCounts, noBatch } from '../reconcile/batch-counts.rules.ts';
import { maskSaid } from '../redact/masking.rules.ts';
import { Warnings } from '../json/warnings.decode.ts';
import type { Destination } from '../reconcile/destinations.ts';
import { LeasedSlices, sliced } from '../lease/slices.ts';
import type { ItemIndex } from '../index/item-index.rules.ts';
import type { UploadRow } from '../store/upload.queries.ts';
import { batchCounts, deleteBatches, endUpload } from '../store/upload-work.queries.ts';

/** Everything that the receipt of a processed upload tells, except what its batches counted. */
export interface Finished {
  readonly report: Report;
  readonly itemIndex: ItemIndex;
  readonly inventory: InventoryCounts;
  readonly destinations: readonly Destination[];
  readonly absences: ReadonlyMap<Destination, Absence>;
  /**
   * The warnings of each reading: of the envelope, the lists, the items, the destinations and the
   * details.
   */
  readonly warnings: readonly Warnings[];
}

export const toolOf = (report: Report): string | null => {
  const names = new Set(report.analyses.map((analysis) => analysis.toolName));
  return names.size === 0 ? null : cut([...names].map(maskSaid).join(', '), 255);
};

/** Finishes an applied upload. Throws LeaseLost, and then the receipt isn't stored. */
export async function finish(deps: IngestDeps, upload: UploadRow, done: Finished): Promise<void> {
  const { tenant_id: tenantId, id: uploadId } = upload;
  const slices = await LeasedSlices.open(deps, upload, 'absence');
  const { resolved, held } = await resolveAbsent(slices, deps.clock, conclusionsOf(done));
  await recordAnalyses(slices, done.destinations, held, deps.clock.nowMs());
  const absence = { resolved, held: countHeld(held) };
  await deps.database.transaction(tenantId, async (tx) => {
    const nowMs = deps.clock.nowMs();
    await holdLease(deps, tx, upload, {
      analyses: done.destinations.length,
      items_done: done.itemIndex.tally.received,
    });
    const receipt = receiptOfFinished(upload, done, absence, await sumOfBatches(tx, upload));
    await insertEvent(tx, {
      tenant_id: tenantId,
      id: newId(nowMs),
      at: nowMs,
      kind: 'upload.processed',
      data: JSON.stringify({ upload_id: uploadId, findings: receipt.findings, ...absence }),
    });
    await deleteBatches(tx, tenantId, uploadId);
    await freeScopes(tx, tenantId, uploadId);
    await endProcessed(tx, upload, receipt, nowMs);
  });
}

/** Stores the receipt with the state. Throws LeaseLost when another worker has the upload. */
async function endProcessed(
  tx: Db,
  upload: UploadRow,
  receipt: Receipt,
  nowMs: number,
): Promise<void> {
  const state = {
    state: 'processed',
    receipt: JSON.stringify(receipt),
    problem: null,
    nowMs,
  } as const;
  if ((await endUpload(tx, upload, state)) === 0) throw new LeaseLost();
}

export function receiptOfFinished(
  upload: UploadRow,
  { report, itemIndex, inventory, warnings }: Finished,
  absence: AbsenceCounts,
  written: BatchCounts,
): Receipt {
  const told = Warnings.all(warnings);
  return receiptOf({
    uploadId: upload.id,
    scanId: report.reportId ?? upload.id,
    format: report.format.name,
    tool: toolOf(report),
    tally: itemIndex.tally,
    written,
    ...inventory,
    ...absence,
    warnings: told.shown(),
    warningsTotal: told.total,
    refused: false,
  });
}

interface AbsenceCounts {
  readonly resolved: number;
  readonly held: number;
}

/** The destinations where absence means something, with what is absent from each. */
function conclusionsOf({ itemIndex, destinations, absences }: Finished): Conclusion[] {
  return destinations.flatMap((destination, number) => {
    const absence = absences.get(destination);
    if (absence === undefined || !isConclusive(destination, itemIndex.tally)) return [];
    return [{ destination: number, place: destination.place, absence }];
  });
}

const countHeld = (held: Held): number =>
  [...held.values()].reduce((sum, { count }) => sum + count, 0);

/** For a dry run: how many findings finishing would resolve and hold back. */
export async function foreseeAbsence(db: Db, done: Finished): Promise<AbsenceCounts> {
  const conclusions = conclusionsOf(done);
  const held = await heldBack(db, conclusions);
  return { resolved: countClosable(conclusions, held), held: countHeld(held) };
}

/** Records the analyses that the next uploads are compared with. */
async function recordAnalyses(
  slices: LeasedSlices,
  destinations: readonly Destination[],
  held: Held,
  nowMs: number,
): Promise<void> {
  // An analysis that a later upload has recorded stays as it is.
  const newest = [...destinations.entries()].filter(([, { place }]) => !place.isStale);
  const rows = newest.map(([number, { place, analysis }]) => ({
    tenant_id: place.tenantId,
    ref_id: place.refId,
    tool: place.tool,
    category: place.category,
    last_upload_id: place.uploadId,
    last_seen_at: nowMs,
    commit_sha: place.commitSha,
    coverage: analysis.coverage,
    scanner: analysis.scanner ?? null,
    held_digest: held.get(number)?.digest ?? null,
    held_count: held.get(number)?.count ?? 0,
  }));
  for (const slice of sliced(rows)) await slices.write((tx) => saveAnalyses(tx, slice));
}

async function sumOfBatches(tx: Db, upload: UploadRow): Promise<BatchCounts> {
  const sum = noBatch();
  for (const counts of (await batchCounts(tx, upload, 'items')).values()) {
    addCounts(sum, JSON.parse(counts) as BatchCounts);
  }
  return sum;
}

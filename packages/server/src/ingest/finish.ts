// How an upload ends: processed with its receipt, refused with the place, failed with the reason, or back in the queue.
// Each end is one transaction, guarded by the lease. Called by the ingest story.

import { limits, type Receipt } from '@muster/contract/plain';
import type { Db } from '../db/db.ts';
import { newId } from '../lib/ids.ts';
import { Problem } from '../lib/problem.ts';
import { cut } from '../lib/text.ts';
import {
  type Absence,
  closable,
  type Conclusion,
  concludes,
  type Held,
  holdBack,
  settleAbsence,
} from './absence.ts';
import { countAssets } from './assets.ts';
import { TooManyItems } from './document-scan.decode.ts';
import { DocumentRefused, type Report } from './draft.rules.ts';
import { end } from './ending.ts';
import { insertEvent } from './finding.queries.ts';
import type { FrameAccount } from './frame.ts';
import { saveAnalyses } from './frame.queries.ts';
import { freeScopes } from './scope.queries.ts';
import { holdLease, type IngestDeps, LeaseLost, ScopeBusy } from './lease.ts';
import type { Reading } from './reading.ts';
import {
  addCounts,
  type BatchCounts,
  noBatch,
  noFrame,
  type Received,
  receiptOf,
} from './receipt.rules.ts';
import { maskSaid } from './masking.rules.ts';
import { Notes } from './report-notes.decode.ts';
import { setAsideDetail } from './setback.rules.ts';
import type { Site } from './sites.ts';
import { LeasedSlices, sliced } from './slices.ts';
import type { Survey } from './survey.rules.ts';
import { type UploadRow } from './upload.queries.ts';
import {
  batchCounts,
  deleteBatches,
  endUpload,
  type Requeue,
  requeueUpload,
  type ShownOfReport,
} from './upload-work.queries.ts';

/** The document is read anew at each try; the other upload takes about as long as this one would. */
const SCOPE_RETRY_MS = 2000;

export type Outcome = 'processed' | 'refused' | 'failed' | 'requeued' | 'lost';

/** Everything that the receipt of a processed upload tells, but for what its batches counted. */
export interface Finished {
  readonly report: Report;
  readonly survey: Survey;
  readonly account: FrameAccount;
  readonly sites: readonly Site[];
  readonly absences: ReadonlyMap<Site, Absence>;
  /** What was tolerated where: in the frame, in items, in places, in details. */
  readonly notes: readonly Notes[];
}

export const toolOf = (report: Report): string | null => {
  const names = new Set(report.analyses.map((analysis) => analysis.toolName));
  return names.size === 0 ? null : cut([...names].map(maskSaid).join(', '), 255);
};

/**
 * What is absent is closed and the analyses are noted, slice by slice; then, in one transaction, the receipt, one event and
 * the state.
 */
export async function finish(deps: IngestDeps, upload: UploadRow, done: Finished): Promise<void> {
  const { tenant_id: tenantId, id: uploadId } = upload;
  const slices = await LeasedSlices.open(deps, upload, 'absence');
  const { resolved, held } = await settleAbsence(slices, deps.clock, conclusionsOf(done));
  await noteAnalyses(slices, done.sites, held, deps.clock.nowMs());
  const absence = { resolved, held: countHeld(held) };
  await deps.database.transaction(tenantId, async (tx) => {
    const nowMs = deps.clock.nowMs();
    await holdLease(deps, tx, upload, {
      analyses: done.sites.length,
      items_done: done.survey.tally.received,
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

/** The receipt is stored with the state, unless the upload is somebody else's by now. */
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
  { report, survey, account, notes }: Finished,
  absence: AbsenceCounts,
  written: BatchCounts,
): Receipt {
  const told = Notes.all(notes);
  return receiptOf({
    uploadId: upload.id,
    scanId: report.reportId ?? upload.id,
    format: report.format,
    tool: toolOf(report),
    tally: survey.tally,
    written,
    ...account,
    ...absence,
    warnings: told.shown(),
    warningsTotal: told.total,
    refused: false,
  });
}

export interface AbsenceCounts {
  readonly resolved: number;
  readonly held: number;
}

/** The sites where something may be concluded from what isn't in the report. */
function conclusionsOf({ survey, sites, absences }: Finished): Conclusion[] {
  return sites.flatMap((site, number) => {
    const absence = absences.get(site);
    if (absence === undefined || !concludes(site, survey.tally)) return [];
    return [{ site: number, place: site.place, absence }];
  });
}

const countHeld = (held: Held): number =>
  [...held.values()].reduce((sum, { count }) => sum + count, 0);

/** What finishing would close and hold back, for a rehearsal. */
export async function foreseeAbsence(db: Db, done: Finished): Promise<AbsenceCounts> {
  const conclusions = conclusionsOf(done);
  const held = await holdBack(db, conclusions);
  return { resolved: closable(conclusions, held), held: countHeld(held) };
}

/** The analyses that the next ones are compared with. */
async function noteAnalyses(
  slices: LeasedSlices,
  sites: readonly Site[],
  held: Held,
  nowMs: number,
): Promise<void> {
  // Of a later upload nothing is said anew: the analysis stays what it was compared with.
  const newest = [...sites.entries()].filter(([, { place }]) => !place.isStale);
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

const refusal = ({ received, rejected }: Received): string =>
  `${rejected} of ${received} items could not be used, so nothing was applied.`;

/** Too many items can't be used: the receipt says why, and nothing of the report is applied. */
export async function refuse(
  deps: IngestDeps,
  upload: UploadRow,
  reading: Reading,
  survey: Survey,
  ofLists: readonly Notes[],
  tooMuch: Received,
  shown: ShownOfReport,
): Promise<Outcome> {
  const receipt = refusedReceipt(upload, reading, survey, ofLists);
  const detail = refusal(tooMuch);
  return await end(deps, upload, 'refused', receipt, { code: 'report_refused', detail }, shown);
}

/** Nothing of a refused report is applied: what was usable in it is counted as rejected too, so the sums hold. */
function refusedReceipt(
  upload: UploadRow,
  reading: Reading,
  { tally, components, notes }: Survey,
  ofLists: readonly Notes[],
): Receipt {
  const notApplied = tally.received - tally.rejected - tally.notProblem;
  const none = (received: number) => ({ ...noFrame(), received, rejected: received });
  const { report } = reading;
  const { relationships, endpoints } = report.surveys;
  if (notApplied > 0) tally.rejectionsByCode.set('not_applied', notApplied);
  const told = Notes.all([report.notes, ...ofLists, notes]);
  return receiptOf({
    uploadId: upload.id,
    scanId: report.reportId ?? upload.id,
    format: report.format,
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

/** An upload that was tried too often without getting any further. */
export async function giveUp(deps: IngestDeps, upload: UploadRow): Promise<Outcome> {
  const problem = { code: 'processing_failed', detail: setAsideDetail(upload.fault) };
  return await end(deps, upload, 'failed', null, problem);
}

/** What an error means for the upload, of which so much is known; rethrows defects and unavailable databases. */
export async function settleFailure(
  deps: IngestDeps,
  upload: UploadRow,
  error: unknown,
  shown: ShownOfReport,
): Promise<Outcome> {
  if (error instanceof LeaseLost) return 'lost';
  if (error instanceof ScopeBusy) {
    const notBefore = deps.clock.nowMs() + SCOPE_RETRY_MS;
    return await deps.database.transaction(upload.tenant_id, async (tx) => {
      const requeue: Requeue = { notBefore, fault: null, attempts: 1 };
      // Another worker has it: the scopes are that worker's now.
      if ((await requeueUpload(tx, upload, requeue)) === 0) return 'lost';
      await freeScopes(tx, upload.tenant_id, upload.id);
      return 'requeued';
    });
  }
  if (error instanceof DocumentRefused) {
    const problem = { code: error.code, detail: error.message, pointer: error.pointer };
    return await end(deps, upload, 'refused', null, problem, shown);
  }
  if (error instanceof TooManyItems) {
    const detail = `A report may have ${limits.uploadItemsMax} items; split it.`;
    const problem = { code: 'too_many_items', detail };
    return await end(deps, upload, 'refused', null, problem, shown);
  }
  if (error instanceof Problem) {
    const { pointer } = error.extras;
    const problem = {
      code: error.code,
      detail: error.message,
      ...(pointer === undefined ? {} : { pointer }),
    };
    return await end(deps, upload, 'refused', null, problem, shown);
  }
  throw error;
}

// The story of one claimed upload: read, judge as a whole, match, write in batches, finish. After a crash at any step
// the next claim goes on where committed batches end; the receipt is the sum of what the batches counted. Every write
// is guarded by the lease, so a worker that lost it can't write a second time. Called by ingest.worker.ts.

import { limits, type Receipt } from '@muster/contract';
import type { Db } from '../db/db.ts';
import { newId } from '../lib/ids.ts';
import { Problem } from '../lib/problem.ts';
import { cut } from '../lib/text.ts';
import {
  type Absence,
  type AbsenceResult,
  concludes,
  findAbsence,
  NO_ABSENCE,
  settleAbsence,
} from './absence.ts';
import { decodeCtis } from './ctis.decode.ts';
import { readDocument } from './document.ts';
import {
  type DecodedReport,
  DocumentRefused,
  type Located,
  type UploadContext,
} from './draft.rules.ts';
import { insertEvent } from './finding.queries.ts';
import { end } from './ending.ts';
import { type Frame, type FrameAccount, settleFrame, tallyFrame } from './frame.ts';
import { freeScopes, saveAnalysis } from './frame.queries.ts';
import { type Hold, holdLease, type IngestDeps, LeaseLost, ScopeBusy } from './lease.ts';
import {
  type BatchCounts,
  mustRefuse,
  noBatch,
  noFrame,
  receiptOf,
  type Tally,
} from './receipt.rules.ts';
import { decodeSarif } from './sarif.decode.ts';
import { setAsideDetail } from './setback.rules.ts';
import { settleSites, type Site, takeScopes } from './sites.ts';
import { type Survey, survey, TooManyItems } from './survey.rules.ts';
import { type UploadRow } from './upload.queries.ts';
import {
  batchCounts,
  deleteBatches,
  endUpload,
  insertBatch,
  requeueUpload,
} from './upload-work.queries.ts';
import { writeSite } from './write-batches.ts';

export type { IngestDeps } from './lease.ts';

/** The document is read anew at each try; the other upload takes about as long as this one would. */
const SCOPE_RETRY_MS = 2000;

export type Outcome = 'processed' | 'refused' | 'failed' | 'requeued' | 'lost';

/** Processes a claimed upload to its end. Rejects only with defects and unavailable databases. */
export async function processUpload(deps: IngestDeps, upload: UploadRow): Promise<Outcome> {
  const db = deps.database.tenant(upload.tenant_id);
  if (upload.attempt - upload.progress_attempt > limits.uploadAttemptsMax) {
    const problem = {
      code: 'processing_failed',
      detail: setAsideDetail(upload.fault),
    };
    return await end(deps, upload, 'failed', null, problem);
  }
  try {
    const document = await readDocument(db, upload, deps.sealKey);
    const report = decodeDocument(upload, document.value);
    const found = survey(report, deps.secretKey);
    tallyFrame(found.tally, report);
    if (mustRefuse(found.tally)) {
      const receipt = refusedReceipt(upload, report, found.tally);
      return await end(deps, upload, 'refused', receipt, {
        code: 'report_refused',
        detail: refusal(found.tally),
      });
    }
    const progress = {
      decoded_bytes: document.decodedBytes,
      tool: toolOf(report),
      items_total: found.tally.received,
      items_done: 0,
      analyses: 0,
    };
    await holdLease(deps, db, { upload, scopes: 0 }, progress);
    return await applyReport(deps, upload, report, found);
  } catch (error) {
    return await settleFailure(deps, upload, error);
  }
}

async function settleFailure(
  deps: IngestDeps,
  upload: UploadRow,
  error: unknown,
): Promise<Outcome> {
  if (error instanceof LeaseLost) return 'lost';
  if (error instanceof ScopeBusy) {
    const db = deps.database.tenant(upload.tenant_id);
    await freeScopes(db, upload.tenant_id, upload.id);
    const notBefore = deps.clock.nowMs() + SCOPE_RETRY_MS;
    await requeueUpload(db, upload, { notBefore, fault: null, attempts: 1 });
    return 'requeued';
  }
  if (error instanceof DocumentRefused) {
    const problem = { code: error.code, detail: error.message, pointer: error.pointer };
    return await end(deps, upload, 'refused', null, problem);
  }
  if (error instanceof TooManyItems) {
    const detail = `A report may have ${limits.uploadItemsMax} items; split it.`;
    return await end(deps, upload, 'refused', null, { code: 'too_many_items', detail });
  }
  if (error instanceof Problem) {
    const { pointer } = error.extras;
    const problem = {
      code: error.code,
      detail: error.message,
      ...(pointer === undefined ? {} : { pointer }),
    };
    return await end(deps, upload, 'refused', null, problem);
  }
  throw error;
}

/** SARIF is recognised by its media type (the route says `sarif`) or by its content. */
function decodeDocument(upload: UploadRow, value: unknown): DecodedReport {
  const context = JSON.parse(upload.context) as UploadContext;
  const looksLikeSarif =
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    'runs' in value &&
    !('metadata' in value);
  if (upload.format === 'sarif') return decodeSarif(value, context);
  const isSarif = looksLikeSarif || context.declaredSarif === true;
  return isSarif ? recognised(decodeSarif(value, context)) : decodeCtis(value, context);
}

/** The sender of SARIF on a CTIS route is told that it was understood as what it is. */
function recognised(report: DecodedReport): DecodedReport {
  const code = 'recognised_as_sarif';
  const detail = 'The document is SARIF and was read as such; /ingest/sarif is its own route.';
  return {
    format: report.format,
    version: report.version,
    reportId: report.reportId,
    analyses: report.analyses,
    assets: report.assets,
    components: report.components,
    relationships: report.relationships,
    items: () => report.items(),
    // The reader's warnings are complete after a pass over the items: asked for then, not now.
    get warnings() {
      return [{ pointer: '', code, detail }, ...report.warnings];
    },
    get warningsByCode() {
      return { ...report.warningsByCode, [code]: 1 };
    },
  };
}

const toolOf = (report: DecodedReport): string | null => {
  const names = new Set(report.analyses.map((analysis) => analysis.toolName));
  return names.size === 0 ? null : cut([...names].join(', '), 255);
};

const refusal = (tally: Tally): string =>
  `${tally.rejected} of ${tally.received} items could not be used, so nothing was applied.`;

async function applyReport(
  deps: IngestDeps,
  upload: UploadRow,
  report: DecodedReport,
  found: Survey,
): Promise<Outcome> {
  const db = deps.database.tenant(upload.tenant_id);
  const committed = new Map(
    (await batchCounts(db, upload.tenant_id, upload.id)).map((row) => [row.batch, row.counts]),
  );
  const frame = await storeFrame(deps, upload, report, found, committed);
  const { sites, warnings } = await settleSites(deps, upload, report, found, frame);
  const hold: Hold = { upload, scopes: await takeScopes(deps, upload, sites) };
  let batch = 1;
  for (const site of sites) batch = await writeSite(deps, hold, site, batch, committed);
  const receipt = await finish(deps, hold, report, found, frame, sites, warnings);
  deps.checkpoint?.('finished');
  return receipt === null ? 'lost' : 'processed';
}

/** Batch 0: the frame, in one transaction with its counts. */
async function storeFrame(
  deps: IngestDeps,
  upload: UploadRow,
  report: DecodedReport,
  found: Survey,
  committed: ReadonlyMap<number, string>,
): Promise<Frame> {
  const nowMs = deps.clock.nowMs();
  const needsFallback =
    found.groups.some((group) => group.asset === null) ||
    (report.assets.usable.length === 0 && report.components.usable.length > 0);
  const done = committed.get(0);
  const frame = await deps.database.transaction(upload.tenant_id, async (tx) => {
    await holdLease(deps, tx, { upload, scopes: 0 }, {});
    const settled = await settleFrame(tx, upload, report, needsFallback, nowMs);
    if (done === undefined) {
      await insertBatch(tx, upload.tenant_id, upload.id, 0, JSON.stringify(settled.account));
    }
    return settled;
  });
  deps.checkpoint?.('frame');
  return done === undefined ? frame : { ...frame, account: JSON.parse(done) as FrameAccount };
}

/** The finish, one transaction: absence, analyses, the receipt, one event, the state. */
async function finish(
  deps: IngestDeps,
  hold: Hold,
  report: DecodedReport,
  found: Survey,
  frame: Frame,
  sites: readonly Site[],
  siteWarnings: readonly Located[],
): Promise<Receipt | null> {
  const { upload } = hold;
  const { tenant_id: tenantId, id: uploadId } = upload;
  const db = deps.database.tenant(tenantId);
  const rejectedAny = found.tally.rejectionsByCode.size > 0;
  const absences = new Map<Site, Absence>();
  for (const site of sites) absences.set(site, await absenceOf(db, site, rejectedAny));
  return await deps.database.transaction(tenantId, async (tx) => {
    const nowMs = deps.clock.nowMs();
    const progress = { analyses: sites.length, items_done: found.tally.received };
    await holdLease(deps, tx, hold, progress);
    let resolved = 0;
    let held = 0;
    for (const site of sites) {
      const absence = await finishSite(tx, site, absences.get(site) ?? NO_ABSENCE, nowMs);
      resolved += absence.resolved;
      held += absence.held;
    }
    const warnings = [...report.warnings, ...siteWarnings];
    const receipt = receiptOf({
      uploadId,
      scanId: report.reportId ?? uploadId,
      format: report.format,
      tool: toolOf(report),
      tally: found.tally,
      written: await sumOfBatches(tx, upload),
      ...frame.account,
      resolved,
      held,
      warnings,
      warningsTotal: warningsTotal(report) + siteWarnings.length,
      refused: false,
    });
    await insertEvent(tx, {
      tenant_id: tenantId,
      id: newId(nowMs),
      at: nowMs,
      kind: 'upload.processed',
      data: JSON.stringify({ upload_id: uploadId, findings: receipt.findings, resolved, held }),
    });
    await deleteBatches(tx, tenantId, uploadId);
    await freeScopes(tx, tenantId, uploadId);
    const state = {
      state: 'processed',
      receipt: JSON.stringify(receipt),
      problem: null,
      nowMs,
    } as const;
    if ((await endUpload(tx, upload, state)) === 0) throw new LeaseLost();
    return receipt;
  });
}

/** Absence on one site, and the analysis that the next one is compared with. */
async function finishSite(
  tx: Db,
  { place }: Site,
  absence: Absence,
  nowMs: number,
): Promise<AbsenceResult> {
  const result = await settleAbsence(tx, { ...place, scope: place }, absence, nowMs);
  await saveAnalysis(tx, {
    tenant_id: place.tenantId,
    ref_id: place.refId,
    tool: place.tool,
    category: place.category,
    last_upload_id: place.uploadId,
    last_seen_at: nowMs,
    commit_sha: place.commitSha,
    held_digest: result.heldDigest,
    held_count: result.held,
  });
  return result;
}

async function absenceOf(db: Db, site: Site, rejectedAny: boolean): Promise<Absence> {
  const { asset, analysis, place } = site;
  if (!concludes(analysis, rejectedAny, asset.is_fallback === 1)) return NO_ABSENCE;
  return await findAbsence(db, { ...place, scope: place });
}

async function sumOfBatches(tx: Db, upload: UploadRow): Promise<BatchCounts> {
  const sum = noBatch();
  for (const row of await batchCounts(tx, upload.tenant_id, upload.id)) {
    if (row.batch === 0) continue;
    const counts = JSON.parse(row.counts) as BatchCounts;
    sum.created += counts.created;
    sum.changed += counts.changed;
    sum.unchanged += counts.unchanged;
    sum.reopened += counts.reopened;
    sum.suppressed += counts.suppressed;
  }
  return sum;
}

const warningsTotal = (report: DecodedReport): number =>
  Object.values(report.warningsByCode).reduce((sum, count) => sum + count, 0);

/** Nothing of a refused report is applied: what was usable in it is counted as rejected too, so the sums hold. */
function refusedReceipt(upload: UploadRow, report: DecodedReport, tally: Tally): Receipt {
  const notApplied = tally.received - tally.rejected - tally.notProblem;
  const all = (list: { usable: readonly unknown[]; rejections: readonly unknown[] }) => {
    const received = list.usable.length + list.rejections.length;
    return { ...noFrame(), received, rejected: received };
  };
  if (notApplied > 0) tally.rejectionsByCode.set('not_applied', notApplied);
  return receiptOf({
    uploadId: upload.id,
    scanId: report.reportId ?? upload.id,
    format: report.format,
    tool: toolOf(report),
    tally: { ...tally, duplicate: 0, rejected: tally.rejected + notApplied },
    written: noBatch(),
    assets: all(report.assets),
    dependencies: all(report.components),
    relationships: all(report.relationships),
    resolved: 0,
    held: 0,
    warnings: report.warnings,
    warningsTotal: warningsTotal(report),
    refused: true,
  });
}

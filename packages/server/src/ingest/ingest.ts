// The story of one claimed upload: read its frame, judge every item, match, write in batches, finish. The document is read
// as a stream, once for its frame and once for each pass over its items, and never held. After a crash at any step the
// next claim goes on where committed batches end; the receipt is the sum of what the batches counted. Every write is
// guarded by the lease, so a worker that lost it can't write a second time. Called by ingest.worker.ts.

import { limits } from '@muster/contract';
import { DocumentSource } from './document.ts';
import type { Report } from './draft.rules.ts';
import { isRehearsal } from './ending.ts';
import { finish, giveUp, type Outcome, refuse, settleFailure, toolOf } from './finish.ts';
import { type Frame, type FrameAccount, needsFallback, settleFrame } from './frame.ts';
import { type Hold, holdLease, type IngestDeps, leaseKeeper } from './lease.ts';
import { makePlan } from './plan.ts';
import { openReport, type Reading, surveyItems } from './reading.ts';
import { mustRefuse } from './receipt.rules.ts';
import { insertRejections } from './rejection.queries.ts';
import { rehearse } from './rehearse.ts';
import { settleSites, takeScopes } from './sites.ts';
import type { Survey } from './survey.rules.ts';
import type { UploadRow } from './upload.queries.ts';
import { batchCounts, insertBatch } from './upload-work.queries.ts';
import { BatchWriter, readItems } from './write-batches.ts';

export type { Outcome } from './finish.ts';
export type { IngestDeps } from './lease.ts';

/** Processes a claimed upload to its end. Rejects only with defects and unavailable databases. */
export async function processUpload(deps: IngestDeps, upload: UploadRow): Promise<Outcome> {
  const db = deps.database.tenant(upload.tenant_id);
  if (upload.attempt - upload.progress_attempt > limits.uploadAttemptsMax) {
    return await giveUp(deps, upload);
  }
  const source = new DocumentSource(db, upload, deps.sealKey, leaseKeeper(deps, upload));
  try {
    const reading = await openReport(upload, source);
    const survey = await surveyItems(deps, upload, reading);
    survey.takeFrame(reading.report);
    if (!isRehearsal(upload)) await storeRejections(deps, upload, survey);
    if (mustRefuse(survey.tally)) return await refuse(deps, upload, reading, survey);
    const progress = {
      decoded_bytes: reading.document.decodedBytes,
      tool: toolOf(reading.report),
      items_total: survey.tally.received,
      items_done: 0,
      analyses: 0,
      command_id: upload.command_id ?? commandOf(reading.report),
    };
    await holdLease(deps, db, { upload, scopes: 0 }, progress);
    if (isRehearsal(upload)) await rehearse(deps, upload, reading, survey);
    else await applyReport(deps, upload, reading, survey);
    deps.checkpoint?.('finished');
    return 'processed';
  } catch (error) {
    return await settleFailure(deps, upload, await source.locate(error));
  }
}

/** The command that all analyses were made for; null: none, or several. */
function commandOf({ analyses }: Report): string | null {
  const ids = new Set(analyses.map(({ commandId }) => commandId));
  const [only = null] = ids.size === 1 ? ids : [];
  return only;
}

async function applyReport(
  deps: IngestDeps,
  upload: UploadRow,
  { source, document, report, lists }: Reading,
  survey: Survey,
): Promise<void> {
  const db = deps.database.tenant(upload.tenant_id);
  const committed = new Map(
    (await batchCounts(db, upload.tenant_id, upload.id)).map((row) => [row.batch, row.counts]),
  );
  const frame = await storeFrame(deps, upload, report, survey, committed);
  const nowMs = deps.clock.nowMs();
  const sites = await deps.database.transaction(upload.tenant_id, (tx) =>
    settleSites(tx, upload, report, survey, frame, nowMs),
  );
  const hold: Hold = { upload, scopes: await takeScopes(deps, upload, sites.all) };
  const plan = await makePlan(db, survey, sites, committed);
  const writer = new BatchWriter(deps, hold);
  const judged = { report, survey, plan, committed };
  const details = await readItems(judged, source.items(document, lists), writer);
  await finish(deps, hold, {
    report,
    survey,
    account: frame.account,
    sites: sites.all,
    absences: plan.absences,
    notes: [report.notes, survey.notes, sites.notes, details],
  });
}

/** What could not be used stays to be looked at, whether the report is accepted or refused. */
async function storeRejections(deps: IngestDeps, upload: UploadRow, survey: Survey): Promise<void> {
  if (survey.rejected.length === 0) return;
  const ids = { tenant_id: upload.tenant_id, upload_id: upload.id };
  await deps.database.transaction(upload.tenant_id, async (tx) => {
    await holdLease(deps, tx, { upload, scopes: 0 }, {});
    await insertRejections(
      tx,
      survey.rejected.map((rejection, seq) => ({ ...ids, seq, ...rejection })),
    );
  });
}

/** Batch 0: the frame, in one transaction with its counts. */
async function storeFrame(
  deps: IngestDeps,
  upload: UploadRow,
  report: Reading['report'],
  survey: Survey,
  committed: ReadonlyMap<number, string>,
): Promise<Frame> {
  const nowMs = deps.clock.nowMs();
  const done = committed.get(0);
  const frame = await deps.database.transaction(upload.tenant_id, async (tx) => {
    await holdLease(deps, tx, { upload, scopes: 0 }, {});
    const settled = await settleFrame(tx, upload, report, needsFallback(report, survey), nowMs);
    if (done === undefined) {
      await insertBatch(tx, upload, 0, 0, JSON.stringify(settled.account));
    }
    return settled;
  });
  deps.checkpoint?.('frame');
  return done === undefined ? frame : { ...frame, account: JSON.parse(done) as FrameAccount };
}

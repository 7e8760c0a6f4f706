// The story of one claimed upload: read its frame, judge every item, match, write in batches, finish. The document is read
// as a stream, once for its frame and once for each pass over its items, and never held. After a crash at any step the
// next claim goes on where committed batches end; the receipt is the sum of what the batches counted. Every write is
// guarded by the lease, so a worker that lost it can't write a second time. Called by ingest.worker.ts.

import { limits } from '@muster/contract/plain';
import type { Absence } from './absence.ts';
import { placeCleanScan } from './clean-scans.ts';
import { noteComponents, settleComponents, writesComponents } from './components.ts';
import { DocumentSource } from './document.ts';
import type { Report } from './draft.rules.ts';
import { isRehearsal } from './ending.ts';
import { finish, giveUp, type Outcome, refuse, settleFailure, toolOf } from './finish.ts';
import { isAnyScopeBusy, noteFrame, settleFrame, writesFrame } from './frame.ts';
import { holdLease, type IngestDeps, leaseKeeper, ScopeBusy } from './lease.ts';
import { makePlan, roundsOf } from './plan.ts';
import { openReport, type Reading, surveyItems } from './reading.ts';
import { mustRefuse } from './receipt.rules.ts';
import type { Notes } from './report-notes.decode.ts';
import { RawHashes } from './raw-hashes.rules.ts';
import { insertRejections } from './rejection.queries.ts';
import { rehearse } from './rehearse.ts';
import { holdScopes, markStale, settleSites, type Site } from './sites.ts';
import { LeasedSlices, sliced } from './slices.ts';
import type { Survey } from './survey.rules.ts';
import { ReaderDefects } from './unreadable.ts';
import type { UploadRow } from './upload.queries.ts';
import { batchCounts, type ShownOfReport } from './upload-work.queries.ts';
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
  let shown: ShownOfReport = {};
  try {
    // Scopes that an earlier try took, and that nobody took since, are held from here on: whoever wants one finds it busy.
    await holdLease(deps, db, upload, {});
    const opened = await openReport(deps, upload, source);
    shown = shownOf(upload, opened);
    const reading = { ...opened, report: await placeCleanScan(db, upload, opened.report) };
    const isBusy = await isAnyScopeBusy(db, upload, reading.report, deps.clock.nowMs());
    if (isBusy && !isRehearsal(upload)) throw new ScopeBusy();
    const survey = await surveyItems(deps, upload, reading);
    survey.takeLists(reading.report.surveys);
    if (!isRehearsal(upload)) await storeRejections(deps, upload, survey);
    const tooMuch = mustRefuse(survey.tally, survey.beside);
    if (tooMuch !== null) {
      const notes = [
        ...(await noteFrame(deps, upload, reading, survey)),
        ...(await noteComponents(deps, upload, reading, survey)),
      ];
      return await refuse(deps, upload, reading, survey, notes, tooMuch, shown);
    }
    const items = survey.tally.received;
    const progress = { ...shown, items_total: items, items_done: 0, analyses: 0 };
    await holdLease(deps, db, upload, progress);
    if (isRehearsal(upload)) await rehearse(deps, upload, reading, survey);
    else await applyReport(deps, upload, reading, survey);
    deps.checkpoint?.('finished');
    return 'processed';
  } catch (error) {
    return await settleFailure(deps, upload, await source.locate(error), shown);
  }
}

/** What is known as soon as the frame was read. A refused report belongs to its command, too: its runner finishes it. */
const shownOf = (upload: UploadRow, { document, report }: Reading): ShownOfReport => ({
  decoded_bytes: document.decodedBytes,
  tool: toolOf(report),
  runs: JSON.stringify(report.runs),
  command_id: upload.command_id ?? commandOf(report),
});

/** The command that all analyses were made for; null: none, or several. */
function commandOf({ analyses }: Report): string | null {
  const ids = new Set(analyses.map(({ commandId }) => commandId));
  const [only = null] = ids.size === 1 ? ids : [];
  return only;
}

async function applyReport(
  deps: IngestDeps,
  upload: UploadRow,
  reading: Reading,
  survey: Survey,
): Promise<void> {
  const { source, document, report, lists } = reading;
  const db = deps.database.tenant(upload.tenant_id);
  const slices = await LeasedSlices.open(deps, upload, 'frame');
  const nowMs = deps.clock.nowMs();
  const frame = await settleFrame(deps, upload, reading, survey, writesFrame(slices, upload));
  const save = writesComponents(slices, upload, frame.home);
  const dependencies = await settleComponents(deps, upload, reading, survey, save);
  const settled = await settleSites(slices, upload, report, survey, frame, nowMs);
  await holdScopes(deps, slices, upload, settled.all);
  const sites = await markStale(db, upload, settled);
  const committed = await batchCounts(db, upload, 'items');
  const absences = new Map<Site, Absence>();
  const details: Notes[] = [];
  const { secretKey } = deps;
  const raws = new RawHashes(report, secretKey);
  const again = { report, secretKey, items: () => source.items(document, lists) };
  const rounds = roundsOf(sites);
  for (let round = 0; round < rounds; round += 1) {
    const plan = await makePlan(db, survey, sites, again, committed, round);
    const judged = { report, survey, plan, raws, secretKey, committed };
    const defects = new ReaderDefects(deps, upload);
    details.push(await readItems(judged, again.items(), new BatchWriter(deps, upload), defects));
    for (const [site, absence] of plan.absences()) absences.set(site, absence);
  }
  await finish(deps, upload, {
    report,
    survey,
    account: { ...frame.account, dependencies: dependencies.counts },
    sites: sites.all,
    absences,
    notes: [
      report.notes,
      ...frame.notes,
      ...dependencies.notes,
      survey.notes,
      sites.notes,
      ...details,
    ],
  });
}

/** What could not be used stays to be looked at, whether the report is accepted or refused. */
async function storeRejections(deps: IngestDeps, upload: UploadRow, survey: Survey): Promise<void> {
  if (survey.rejected.length === 0) return;
  const slices = await LeasedSlices.open(deps, upload, 'frame');
  const ids = { tenant_id: upload.tenant_id, upload_id: upload.id };
  const rows = survey.rejected.map((rejection, seq) => ({ ...ids, seq, ...rejection }));
  for (const slice of sliced(rows)) await slices.write((tx) => insertRejections(tx, slice));
}

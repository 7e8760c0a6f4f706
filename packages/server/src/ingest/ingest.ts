// The story of one claimed upload: open the report, index every item, then refuse, dry-run or apply
// the report; applying means match, write in batches, finish. The document is read as a stream,
// several times, and is never held as a whole. After a crash at any step the next claim goes on
// where the committed batches end, and the receipt is the sum of what batches counted. The lease
// guards every write: a worker that lost it can't write. Called by ingest.worker.ts.

import { limits } from '@muster/contract/plain';
import type { Absence } from './reconcile/absence.ts';
import { placeCleanScan } from './index/place-clean-scan.ts';
import {
  warningsOfComponents,
  resolveComponents,
  componentWriter,
} from './inventory/components.ts';
import { DocumentSource } from './document/document.ts';
import type { Report } from './report/report.rules.ts';
import { isDryRun } from './finish/end.ts';
import { finish, toolOf } from './finish/finish.ts';
import { failExhausted, type Outcome, endByError } from './finish/fail.ts';
import { refuse } from './finish/refuse.ts';
import {
  isAnyScopeBusy,
  warningsOfInventory,
  resolveInventory,
  inventoryWriter,
} from './inventory/inventory.ts';
import { holdLease, type IngestDeps, leaseKeeper, ScopeBusy } from './lease/lease.ts';
import { makeMatchPlan, roundsOf } from './reconcile/match-plan.ts';
import { openReport, type Reading, indexItems } from './index/reading.ts';
import { tooManyRejected } from './finish/receipt.rules.ts';
import type { Warnings } from './json/warnings.decode.ts';
import { RawHashes } from './index/raw-hashes.rules.ts';
import { insertRejections } from './store/rejection.queries.ts';
import { dryRun } from './dry-run.ts';
import {
  holdScopes,
  markStale,
  resolveDestinations,
  type Destination,
  type Destinations,
} from './reconcile/destinations.ts';
import { LeasedSlices, sliced } from './lease/slices.ts';
import type { ItemIndex } from './index/item-index.rules.ts';
import { ReaderDefects } from './index/reader-defects.ts';
import type { UploadRow } from './store/upload.queries.ts';
import { batchCounts, type ShownOfReport } from './store/upload-work.queries.ts';
import { BatchWriter, readItems } from './reconcile/write-batches.ts';

export type { Outcome } from './finish/fail.ts';
export type { IngestDeps } from './lease/lease.ts';

/** Processes a claimed upload to its end. Rejects only with defects and unavailable databases. */
export async function processUpload(deps: IngestDeps, upload: UploadRow): Promise<Outcome> {
  const db = deps.database.tenant(upload.tenant_id);
  if (upload.attempt - upload.progress_attempt > limits.uploadAttemptsMax) {
    return await failExhausted(deps, upload);
  }
  const source = new DocumentSource(db, upload, deps.sealKey, leaseKeeper(deps, upload));
  let shown: ShownOfReport = {};
  try {
    // From here on this upload holds again the scopes that an earlier try took, unless somebody
    // took them since: another upload that wants one finds it busy.
    await holdLease(deps, db, upload, {});
    const opened = await openReport(deps, upload, source);
    shown = shownOf(upload, opened);
    const reading = { ...opened, report: await placeCleanScan(db, upload, opened.report) };
    const isBusy = await isAnyScopeBusy(db, upload, reading.report, deps.clock.nowMs());
    if (isBusy && !isDryRun(upload)) throw new ScopeBusy();
    const itemIndex = await indexItems(deps, upload, reading);
    itemIndex.takeLists(reading.report.listIndexes);
    if (!isDryRun(upload)) await storeRejections(deps, upload, itemIndex);
    const tooMuch = tooManyRejected(itemIndex.tally, itemIndex.listTally);
    if (tooMuch !== null) {
      const ofLists = [
        ...(await warningsOfInventory(deps, upload, reading, itemIndex)),
        ...(await warningsOfComponents(deps, upload, reading, itemIndex)),
      ];
      return await refuse(deps, upload, { reading, itemIndex, ofLists, tooMuch, shown });
    }
    const items = itemIndex.tally.received;
    const progress = { ...shown, items_total: items, items_done: 0, analyses: 0 };
    await holdLease(deps, db, upload, progress);
    if (isDryRun(upload)) await dryRun(deps, upload, reading, itemIndex);
    else await applyReport(deps, upload, reading, itemIndex);
    deps.checkpoint?.('finished');
    return 'processed';
  } catch (error) {
    return await endByError(deps, upload, await source.locate(error), shown);
  }
}

/**
 * The facts that an upload shows of its report as soon as the report is open. The command belongs
 * to a refused report, too: the runner of the report finishes it.
 */
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

/** Writes the inventory and the findings, then finishes the upload. */
async function applyReport(
  deps: IngestDeps,
  upload: UploadRow,
  reading: Reading,
  itemIndex: ItemIndex,
): Promise<void> {
  const { report } = reading;
  const db = deps.database.tenant(upload.tenant_id);
  const slices = await LeasedSlices.open(deps, upload, 'frame');
  const nowMs = deps.clock.nowMs();
  const inventory = await resolveInventory(
    deps,
    upload,
    reading,
    itemIndex,
    inventoryWriter(slices, upload),
  );
  const save = componentWriter(slices, upload, inventory.componentAsset);
  const dependencies = await resolveComponents(deps, upload, reading, itemIndex, save);
  const resolved = await resolveDestinations(slices, upload, report, itemIndex, inventory, nowMs);
  await holdScopes(deps, slices, upload, resolved.all);
  const destinations = await markStale(db, upload, resolved);
  const written = await writeFindings(deps, upload, reading, itemIndex, destinations);
  await finish(deps, upload, {
    report,
    itemIndex,
    inventory: { ...inventory.counts, dependencies: dependencies.counts },
    destinations: destinations.all,
    absences: written.absences,
    warnings: [
      report.warnings,
      ...inventory.warnings,
      ...dependencies.warnings,
      itemIndex.warnings,
      destinations.warnings,
      ...written.warnings,
    ],
  });
}

/**
 * Matches the findings and writes them in batches, round by round. Returns what is absent at each
 * destination, and the warnings of the details.
 */
async function writeFindings(
  deps: IngestDeps,
  upload: UploadRow,
  { source, document, report, lists }: Reading,
  itemIndex: ItemIndex,
  destinations: Destinations,
): Promise<{ absences: ReadonlyMap<Destination, Absence>; warnings: readonly Warnings[] }> {
  const { secretKey } = deps;
  const db = deps.database.tenant(upload.tenant_id);
  const committed = await batchCounts(db, upload, 'items');
  const absences = new Map<Destination, Absence>();
  const warnings: Warnings[] = [];
  const raws = new RawHashes(report, secretKey);
  const rereading = { report, secretKey, items: () => source.items(document, lists) };
  const rounds = roundsOf(destinations);
  for (let round = 0; round < rounds; round += 1) {
    const plan = await makeMatchPlan(db, itemIndex, destinations, rereading, committed, round);
    const planned = { report, itemIndex, plan, raws, secretKey, committed };
    const defects = new ReaderDefects(deps, upload);
    warnings.push(
      await readItems(planned, rereading.items(), new BatchWriter(deps, upload), defects),
    );
    for (const [destination, absence] of plan.absences()) absences.set(destination, absence);
  }
  return { absences, warnings };
}

/**
 * Stores the rejected items, so that operators can look at them whether the report is accepted or
 * refused.
 */
async function storeRejections(
  deps: IngestDeps,
  upload: UploadRow,
  itemIndex: ItemIndex,
): Promise<void> {
  if (itemIndex.rejected.length === 0) return;
  const slices = await LeasedSlices.open(deps, upload, 'frame');
  const ids = { tenant_id: upload.tenant_id, upload_id: upload.id };
  const rows = itemIndex.rejected.map((rejection, seq) => ({ ...ids, seq, ...rejection }));
  for (const slice of sliced(rows)) await slices.write((tx) => insertRejections(tx, slice));
}

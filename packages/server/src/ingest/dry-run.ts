// A dry run (POST /ingest/validate): a report becomes the receipt that it would get, and nothing of
// it is applied. The path is that of a real upload with three differences: the writes of slices and
// batches are only counted, the transaction that finds the scopes is rolled back, and the upload
// ends by end.ts. A dry run holds no scope, so another upload of the same scope may change the
// answer while it is made. Called by ingest.ts.

import type { Database, Db } from '../db/db.ts';
import { componentCounter, resolveComponents } from './inventory/components.ts';
import { end } from './finish/end.ts';
import { type Finished, foreseeAbsence, receiptOfFinished } from './finish/finish.ts';
import type { Matched } from './reconcile/finding-rows.rules.ts';
import { inventoryCounter, resolveInventory } from './inventory/inventory.ts';
import { holdLease, type IngestDeps, LeaseLost } from './lease/lease.ts';
import { makeMatchPlan } from './reconcile/match-plan.ts';
import { RawHashes } from './index/raw-hashes.rules.ts';
import type { Reading } from './index/reading.ts';
import { addCounts, noBatch } from './reconcile/batch-counts.rules.ts';
import { resolveDestinations } from './reconcile/destinations.ts';
import { slicesWithin } from './lease/slices.ts';
import type { ItemIndex } from './index/item-index.rules.ts';
import { ReaderDefects } from './index/reader-defects.ts';
import { type UploadRow } from './store/upload.queries.ts';
import { readItems, rowsOf, type Sink } from './reconcile/write-batches.ts';

/** Stores the receipt that the report would get, and nothing else. */
export async function dryRun(
  deps: IngestDeps,
  upload: UploadRow,
  reading: Reading,
  itemIndex: ItemIndex,
): Promise<void> {
  const { source, document, report, lists } = reading;
  const { database, clock } = deps;
  const { tenant_id: tenantId } = upload;
  const db = database.tenant(tenantId);
  const nowMs = clock.nowMs();
  const inventory = await resolveInventory(
    deps,
    upload,
    reading,
    itemIndex,
    inventoryCounter(db, upload),
  );
  const destinations = await rolledBack(
    database,
    tenantId,
    async (tx) =>
      await resolveDestinations(slicesWithin(tx), upload, report, itemIndex, inventory, nowMs),
  );
  const save = componentCounter(db, inventory.componentAsset);
  const dependencies = await resolveComponents(deps, upload, reading, itemIndex, save);
  const committed = new Map<number, string>();
  const { secretKey } = deps;
  const rereading = { report, secretKey, items: () => source.items(document, lists) };
  const plan = await makeMatchPlan(db, itemIndex, destinations, rereading, committed);
  const counter = new BatchCounter(db);
  const raws = new RawHashes(report, secretKey);
  const planned = { report, itemIndex, plan, raws, secretKey, committed };
  const defects = new ReaderDefects(deps, upload);
  const detailWarnings = await readItems(planned, rereading.items(), counter, defects);
  const done: Finished = {
    report,
    itemIndex,
    inventory: { ...inventory.counts, dependencies: dependencies.counts },
    destinations: destinations.all,
    absences: plan.absences(),
    warnings: [
      report.warnings,
      ...inventory.warnings,
      ...dependencies.warnings,
      itemIndex.warnings,
      destinations.warnings,
      detailWarnings,
    ],
  };
  const absence = await foreseeAbsence(database.tenant(tenantId), done);
  const receipt = receiptOfFinished(upload, done, absence, counter.counts);
  await holdLease(deps, db, upload, { items_done: itemIndex.tally.received });
  if ((await end(deps, upload, 'processed', receipt, null)) === 'lost') throw new LeaseLost();
}

/** Counts what batches would write. */
class BatchCounter implements Sink {
  readonly counts = noBatch();
  readonly #db: Db;
  #batch = 0;
  #items: Matched[] = [];

  constructor(db: Db) {
    this.#db = db;
  }

  async add(batch: number, item: Matched): Promise<void> {
    if (batch !== this.#batch) await this.end();
    this.#batch = batch;
    this.#items.push(item);
  }

  async end(): Promise<void> {
    const { counts } = await rowsOf(this.#db, this.#items, () => '');
    addCounts(this.counts, counts);
    this.#items = [];
  }
}

/** Carries the result of a transaction out of it. */
class RolledBack<T> extends Error {
  readonly result: T;
  constructor(result: T) {
    super('rolled back');
    this.result = result;
  }
}

/** Returns what `body` returns, and rolls back what it wrote. */
async function rolledBack<T>(
  database: Database,
  tenantId: string,
  body: (tx: Db) => Promise<T>,
): Promise<T> {
  try {
    return await database.transaction(tenantId, async (tx) => {
      throw new RolledBack(await body(tx));
    });
  } catch (error) {
    if (error instanceof RolledBack) return error.result as T;
    throw error;
  }
}

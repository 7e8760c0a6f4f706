// What would become of a report, without applying it (POST /ingest/validate). The same path as a real one, but what its slices
// and batches would write is only counted, the transaction that finds its scopes is undone, and it ends as ending.ts says.
// Another upload of the same scope may change the answer while it is made: nothing is held. Called by ingest.ts.

import type { Database, Db } from '../db/db.ts';
import { countsComponents, settleComponents } from './components.ts';
import { end } from './ending.ts';
import { type Finished, foreseeAbsence, receiptOfFinished } from './finish.ts';
import type { Matched } from './finding-rows.rules.ts';
import { countsFrame, settleFrame } from './frame.ts';
import { holdLease, type IngestDeps, LeaseLost } from './lease.ts';
import { makePlan } from './plan.ts';
import { RawHashes } from './raw-hashes.rules.ts';
import type { Reading } from './reading.ts';
import { addCounts, noBatch } from './receipt.rules.ts';
import { settleSites } from './sites.ts';
import { slicesWithin } from './slices.ts';
import type { Survey } from './survey.rules.ts';
import { ReaderDefects } from './unreadable.ts';
import { type UploadRow } from './upload.queries.ts';
import { readItems, rowsOf, type Sink } from './write-batches.ts';

/** Stores the receipt that the report would get, and nothing else. */
export async function rehearse(
  deps: IngestDeps,
  upload: UploadRow,
  reading: Reading,
  survey: Survey,
): Promise<void> {
  const { source, document, report, lists } = reading;
  const { database, clock } = deps;
  const { tenant_id: tenantId } = upload;
  const db = database.tenant(tenantId);
  const nowMs = clock.nowMs();
  const frame = await settleFrame(deps, upload, reading, survey, countsFrame(db, upload));
  const sites = await undone(
    database,
    tenantId,
    async (tx) => await settleSites(slicesWithin(tx), upload, report, survey, frame, nowMs),
  );
  const save = countsComponents(db, frame.home);
  const dependencies = await settleComponents(deps, upload, reading, survey, save);
  const committed = new Map<number, string>();
  const { secretKey } = deps;
  const again = { report, secretKey, items: () => source.items(document, lists) };
  const plan = await makePlan(db, survey, sites, again, committed);
  const counter = new Counter(db);
  const raws = new RawHashes(report, secretKey);
  const judged = { report, survey, plan, raws, secretKey, committed };
  const defects = new ReaderDefects(deps, upload);
  const details = await readItems(judged, again.items(), counter, defects);
  const done: Finished = {
    report,
    survey,
    account: { ...frame.account, dependencies: dependencies.counts },
    sites: sites.all,
    absences: plan.absences(),
    notes: [
      report.notes,
      ...frame.notes,
      ...dependencies.notes,
      survey.notes,
      sites.notes,
      details,
    ],
  };
  const absence = await foreseeAbsence(database.tenant(tenantId), done);
  const receipt = receiptOfFinished(upload, done, absence, counter.counts);
  await holdLease(deps, db, upload, { items_done: survey.tally.received });
  if ((await end(deps, upload, 'processed', receipt, null)) === 'lost') throw new LeaseLost();
}

/** Counts what batches would write. */
class Counter implements Sink {
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
class Undone<T> extends Error {
  readonly result: T;
  constructor(result: T) {
    super('undone');
    this.result = result;
  }
}

/** What `body` returns; what it wrote is rolled back. */
async function undone<T>(
  database: Database,
  tenantId: string,
  body: (tx: Db) => Promise<T>,
): Promise<T> {
  try {
    return await database.transaction(tenantId, async (tx) => {
      throw new Undone(await body(tx));
    });
  } catch (error) {
    if (error instanceof Undone) return error.result as T;
    throw error;
  }
}

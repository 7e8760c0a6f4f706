// The last pass: the items are read again, in the order of the document, and written in batches.
// Each batch is one small transaction, which also stores what the batch counted. An item that is
// stored just as it was sent isn't parsed again. After a crash committed batches are passed over.

import type { Db } from '../../db/db.ts';
import { parseItem } from '../document/parse.decode.ts';
import type { ScannedItem } from '../document/items.decode.ts';
import { movedOf } from '../match/evidence.rules.ts';
import { RAW } from '../match/evidence-table.rules.ts';
import {
  changeFindings,
  changeStatuses,
  insertFindingEvents,
  insertFindings,
  updateSightings,
  saveSightings,
  storedContents,
} from '../store/finding.queries.ts';
import {
  batchRows,
  type BatchRows,
  type Compared,
  type Content,
  contentOf,
  type Matched,
  moveOf,
  idsToCompare,
} from './finding-rows.rules.ts';
import { assert } from '../../lib/assert.ts';
import { newId } from '../../lib/ids.ts';
import type { FindingDraft, ItemPass, Report } from '../report/report.rules.ts';
import { extendHold, holdLease, type IngestDeps } from '../lease/lease.ts';
import { type Matching, NO_BATCH, type MatchPlan } from './match-plan.ts';
import type { RawHashes } from '../index/raw-hashes.rules.ts';
import type { Warnings } from '../json/warnings.decode.ts';
import type { StoredCounts } from './batch-counts.rules.ts';
import { NO_ROW, type ItemIndex } from '../index/item-index.rules.ts';
import { DETAIL_UNREADABLE, type ReaderDefects } from '../index/reader-defects.ts';
import type { UploadRow } from '../store/upload.queries.ts';
import { insertBatch } from '../store/upload-work.queries.ts';

/** The facts of an upload that are known before its items are written. */
interface PlannedReport {
  readonly report: Report;
  readonly itemIndex: ItemIndex;
  readonly plan: MatchPlan;
  readonly raws: RawHashes;
  readonly secretKey: Buffer;
  /** The batches that an earlier try wrote. */
  readonly committed: ReadonlyMap<number, string>;
}

/**
 * Takes the items of a report, in order. `itemsDone`: the number of items of the document up to
 * here.
 */
export interface Sink {
  add(batch: number, item: Matched, itemsDone: number): Promise<void>;
  end(itemsDone: number): Promise<void>;
}

/**
 * Hands items to `sink`. `pieces` brings the items of the item index in the same order. Returns the
 * warnings of reading the details of the items.
 */
export async function readItems(
  planned: PlannedReport,
  pieces: AsyncIterable<readonly ScannedItem[]>,
  sink: Sink,
  defects: ReaderDefects,
): Promise<Warnings> {
  const { itemIndex, plan, committed } = planned;
  const pass = planned.report.pass();
  let number = 0;
  for await (const items of pieces) {
    for (const item of items) {
      const row = itemIndex.rowOf(number);
      number += 1;
      if (row === NO_ROW) continue;
      const batch = plan.batchOf(row);
      if (batch === NO_BATCH) continue;
      const matched = matchedItem(planned, pass, item, row, committed.has(batch), defects);
      if (!committed.has(batch)) await sink.add(batch, matched, number);
    }
  }
  await sink.end(number);
  return pass.warnings;
}

/**
 * One item beside the stored finding that it was matched with. `isWritten`: an earlier try wrote
 * the item, and it is read for its warnings alone.
 */
function matchedItem(
  { itemIndex, plan, raws, secretKey }: PlannedReport,
  pass: ItemPass,
  item: ScannedItem,
  row: number,
  isWritten: boolean,
  defects: ReaderDefects,
): Matched {
  const { evidence } = itemIndex;
  const matching = plan.matchingOf(row);
  const suppressed = itemIndex.isSuppressed(row);
  const { place } = matching.destination;
  const common = { place, suppressed, by: matching.by };
  assert(item.bytes !== null, 'an item that was read before has its bytes');
  const raw = itemIndex.isKnownByBytes(row) ? raws.of(item.list, item.bytes) : null;
  if (!isWritten && isStoredAsSent(itemIndex, row, raw, matching)) {
    const state = matching.stored.at(matching.row as number);
    const stored: Compared = { state, sameEvidence: true };
    return { ...common, stored, content: null, evidence: Buffer.alloc(0) };
  }
  // The first pass has the warnings of everything but the details.
  const value = parseItem(item.bytes);
  const read = pass.warnings.quietly(() => pass.read(value, item.list, item.index));
  assert(read.outcome === 'finding', 'an item reads the same in every pass');
  const before = pass.warnings.taken;
  const content = readContent(read.draft, pass.warnings, defects);
  // An item with warnings is read in every upload, so that every receipt tells them.
  const storedRaw = pass.warnings.taken === before ? raw : null;
  const packed = evidence.pack(row, storedRaw, movedOf(read.draft, secretKey));
  if (matching.row === null) return { ...common, stored: null, content, evidence: packed };
  const { stored, row: storedRow } = matching;
  const compared: Compared = {
    state: stored.at(storedRow),
    sameEvidence:
      evidence.isSameIdentity(row, stored.evidence, storedRow) &&
      (storedRaw === null
        ? !stored.evidence.has(storedRow, RAW)
        : stored.evidence.isHash(storedRow, RAW, storedRaw)),
  };
  return { ...common, stored: compared, content, evidence: packed };
}

/**
 * The content with what the finding page shows. When that can't be read the content goes without
 * it, because the item is counted as a finding already.
 */
function readContent(draft: FindingDraft, warnings: Warnings, defects: ReaderDefects): Content {
  try {
    return contentOf(draft);
  } catch (error) {
    const { pointer } = draft;
    defects.tell(pointer, error);
    warnings.warn(pointer, 'detail_unreadable', DETAIL_UNREADABLE);
    return contentOf({ ...draft, detail: () => ({}) });
  }
}

/**
 * True when the item has the bytes that were stored last time, reads the same, and leaves the
 * status: then only the time changes.
 */
function isStoredAsSent(
  itemIndex: ItemIndex,
  row: number,
  raw: Buffer | null,
  { destination, stored, row: found }: Matching,
): boolean {
  if (found === null || raw === null || !stored.evidence.isHash(found, RAW, raw)) return false;
  if (!itemIndex.evidence.isSameIdentity(row, stored.evidence, found)) return false;
  const { isDefaultRef } = destination.place;
  return moveOf(stored.at(found), itemIndex.isSuppressed(row), isDefaultRef) === null;
}

/** The rows of a batch of one tenant, compared with what is stored. */
export async function rowsOf(
  db: Db,
  items: readonly Matched[],
  newId: () => string,
): Promise<BatchRows> {
  const tenantId = items[0]?.place.tenantId ?? '';
  const contents = await storedContents(db, tenantId, idsToCompare(items));
  return batchRows(items, contents, newId);
}

/**
 * The most batches under way at once: one is written, one waits at the writer, the commit of one is
 * on its way back. Batches commit one after the other; the next claim finds a gap that a failure
 * leaves.
 */
const BATCHES_IN_FLIGHT = 3;

/** Collects items into batches and writes the batches, a few at a time. */
export class BatchWriter implements Sink {
  readonly #deps: IngestDeps;
  readonly #upload: UploadRow;
  readonly #inFlight = new Set<Promise<void>>();
  #batch = 0;
  #items: Matched[] = [];

  constructor(deps: IngestDeps, upload: UploadRow) {
    this.#deps = deps;
    this.#upload = upload;
  }

  async add(batch: number, item: Matched, itemsDone: number): Promise<void> {
    if (batch !== this.#batch) await this.#write(itemsDone - 1);
    this.#batch = batch;
    this.#items.push(item);
  }

  async end(itemsDone: number): Promise<void> {
    await this.#write(itemsDone);
    await Promise.all(this.#inFlight);
  }

  async #write(itemsDone: number): Promise<void> {
    const [first] = this.#items;
    if (first === undefined) return;
    const items = this.#items;
    this.#items = [];
    const db = this.#deps.database.tenant(first.place.tenantId);
    const rows = await rowsOf(db, items, () => newId(first.place.nowMs));
    if (this.#inFlight.size >= BATCHES_IN_FLIGHT) await Promise.race(this.#inFlight);
    const writing = writeBatch(this.#deps, this.#upload, this.#batch, rows, itemsDone);
    this.#inFlight.add(writing);
    // The next race or the last wait throws a failure; this only keeps the set small.
    writing.then(
      () => this.#inFlight.delete(writing),
      () => {},
    );
    await nextTurn();
  }
}

/** Lets the messages of the writer through before the next batch takes the thread. */
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function countsText({ counts, opened }: BatchRows): string {
  const stored: StoredCounts = opened.size === 0 ? counts : { ...counts, opened: [...opened] };
  return JSON.stringify(stored);
}

async function writeBatch(
  deps: IngestDeps,
  upload: UploadRow,
  batch: number,
  rows: BatchRows,
  itemsDone: number,
): Promise<void> {
  const { tenant_id: tenantId } = upload;
  const nowMs = deps.clock.nowMs();
  const progress = { items_done: itemsDone, progress_attempt: upload.attempt };
  try {
    await deps.database.together(tenantId, async (tx) => {
      await Promise.all([
        extendHold(deps, tx, upload, progress),
        insertFindings(tx, rows.created, rows.createdDetails),
        changeFindings(tx, rows.changed, rows.changedDetails),
        changeStatuses(tx, tenantId, rows.statuses, nowMs),
        saveSightings(tx, rows.sighted),
        updateSightings(tx, rows.seenAgain),
        insertFindingEvents(tx, rows.events),
        insertBatch(tx, upload, batch, countsText(rows)),
      ]);
    });
  } catch (error) {
    // The guard refuses the batch of an upload that this worker no longer holds: holdLease tells
    // whether that was the reason.
    await holdLease(deps, deps.database.tenant(tenantId), upload, {});
    throw error;
  }
  deps.checkpoint?.(`batch ${batch}`);
}

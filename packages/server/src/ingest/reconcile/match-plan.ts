// The match plan: what becomes of every finding of a report, decided before the findings are
// written. It says which findings repeat another one, which batch writes each, which stored finding
// each is, and which stored findings are absent. Stored findings are read page by page into
// columns, and a whole upload is matched at once (match.rules.ts). Called by ingest.ts and
// dry-run.ts.

import { limits } from '@muster/contract/plain';
import { type Absence, absencesIn, isComplete, NO_ABSENCE } from './absence.ts';
import { findingsOfScopes, sightingsOnRefs, type StoredFinding } from '../store/finding.queries.ts';
import type { Db } from '../../db/db.ts';
import { GrowingInts } from '../../lib/growing-ints.ts';
import { type MatchedBy, match } from '../match/match.rules.ts';
import { unmatchedDrafts, unmatchedStored, type Rereading } from './moved-findings.ts';
import { matchMoved } from '../match/moved.rules.ts';
import type { StoredCounts } from './batch-counts.rules.ts';
import type { Destination, Destinations } from './destinations.ts';
import { sliced } from '../lease/slices.ts';
import { StoredFindings } from './stored-findings.rules.ts';
import type { ItemIndex } from '../index/item-index.rules.ts';

/**
 * Stored findings read in one statement: half a megabyte, which keeps the thread of the database
 * busy for some 10 ms.
 */
const PAGE_ROWS = 2000;

/**
 * The batch of a finding that no batch writes, because it repeats another one of its report.
 * Numbers of batches begin with 1.
 */
export const NO_BATCH = -1;

/** The most findings that are looked at for moves: each takes some 400 bytes meanwhile. */
export const MOVED_MAX = 100_000;

/** Stands for the stored row of a finding that isn't stored yet. */
const NEW = -1;

export interface Matching {
  readonly destination: Destination;
  readonly stored: StoredFindings;
  /** Row of `stored`; null: the finding is new. */
  readonly row: number | null;
  readonly by: MatchedBy;
}

export class MatchPlan {
  readonly #itemIndex: ItemIndex;
  readonly #destinations: Destinations;
  readonly #stored: StoredFindings;
  readonly #batches: GrowingInts;
  readonly #round: number | null;
  readonly #storedRow: Int32Array;
  readonly #by: Uint8Array;
  /** Marks of the drafts and of the stored findings that have no partner. */
  readonly #unmatched: { readonly drafts: Uint8Array; readonly stored: Uint8Array };
  readonly #opened: ReadonlyMap<number, number>;

  constructor(
    itemIndex: ItemIndex,
    destinations: Destinations,
    stored: StoredFindings,
    batches: GrowingInts,
    committed: ReadonlyMap<number, string>,
    round: number | null,
  ) {
    this.#itemIndex = itemIndex;
    this.#destinations = destinations;
    this.#stored = stored;
    this.#batches = batches;
    this.#round = round;
    this.#storedRow = new Int32Array(itemIndex.evidence.length).fill(NEW);
    this.#by = new Uint8Array(itemIndex.evidence.length);
    this.#unmatched = this.#match(committed);
    this.#opened = openedBy(committed);
  }

  /** The absence at each destination of the round. */
  absences(): ReadonlyMap<Destination, Absence> {
    const absences = absencesIn(this.#stored, this.#unmatched.stored, this.#opened);
    const ofRound = [...this.#destinations.all.entries()].filter(([, destination]) =>
      isInRound(destination, this.#round),
    );
    return new Map(
      ofRound.map(([number, destination]) => [destination, absences.get(number) ?? NO_ABSENCE]),
    );
  }

  /**
   * Matches findings that equal evidence left without a partner, where there are such on both
   * sides.
   */
  async matchMoved(db: Db, rereading: Rereading): Promise<void> {
    const { drafts, rows } = this.#unmatchedOnBothSides();
    if (rows.length === 0) return;
    const draftCount = drafts.reduce((sum, mark) => sum + mark, 0);
    if (Math.max(rows.length, draftCount) > MOVED_MAX) {
      const detail = `More than ${MOVED_MAX} findings are new or gone: whether some of them only moved was not looked at.`;
      return this.#destinations.warnings.warn('', 'moved_not_matched', detail);
    }
    const tenantId = this.#destinations.all[0]?.place.tenantId ?? '';
    const stored = await unmatchedStored(db, tenantId, this.#stored, rows);
    if (stored.length === 0) return;
    const destinationOf = (row: number): number => this.#destinationOf(row);
    const unmatched = await unmatchedDrafts(rereading, this.#itemIndex, drafts, destinationOf);
    matchMoved(unmatched, stored, (row, found, by) => {
      this.#unmatched.drafts[row] = 0;
      this.#unmatched.stored[found] = 0;
      this.#pair(row, found, by);
    });
  }

  /**
   * Marks of drafts, and rows of stored findings, at destinations that have some of both left over.
   * A stored finding can have moved only where absence from the report means that it is gone. A
   * late upload takes part, too: it may know a finding by its place before a move.
   */
  #unmatchedOnBothSides(): { readonly drafts: Uint8Array; readonly rows: readonly number[] } {
    const stored = this.#stored;
    const areComplete = this.#destinations.all.map((destination) =>
      isComplete(destination, this.#itemIndex.tally),
    );
    const mayMove = (row: number): boolean =>
      this.#unmatched.stored[row] === 1 &&
      areComplete[stored.destinationOf(row)] === true &&
      stored.mayHaveMoved(row);
    const destinations = new Uint8Array(this.#destinations.all.length);
    for (let row = 0; row < stored.length; row += 1)
      if (mayMove(row)) destinations[stored.destinationOf(row)] = 1;
    const both = new Uint8Array(destinations.length);
    const drafts = this.#unmatched.drafts.map((isUnmatched, row) =>
      isUnmatched === 1 && destinations[this.#destinationOf(row)] === 1 ? 1 : 0,
    );
    drafts.forEach((mark, row) => {
      if (mark === 1) both[this.#destinationOf(row)] = 1;
    });
    const rows: number[] = [];
    for (let row = 0; row < stored.length; row += 1) {
      if (both[stored.destinationOf(row)] === 1 && mayMove(row)) rows.push(row);
    }
    return { drafts, rows };
  }

  #pair(row: number, found: number, by: MatchedBy): void {
    this.#storedRow[row] = found;
    this.#by[row] = BY.indexOf(by);
  }

  /** The number of the batch that writes a finding; NO_BATCH when this plan doesn't write it. */
  batchOf(row: number): number {
    const destination = this.#destinations.all[this.#destinationOf(row)] as Destination;
    return isInRound(destination, this.#round) ? this.#batches.at(row) : NO_BATCH;
  }

  /** The destination of a finding, and the stored finding that it is. */
  matchingOf(row: number): Matching {
    const number = this.#destinationOf(row);
    const storedRow = this.#storedRow[row] as number;
    return {
      destination: this.#destinations.all[number] as Destination,
      stored: this.#stored,
      row: storedRow === NEW ? null : storedRow,
      by: BY[this.#by[row] as number] as MatchedBy,
    };
  }

  #destinationOf(row: number): number {
    return this.#destinations.ofGroup[this.#itemIndex.groupOf(row)] as number;
  }

  /**
   * Matches the findings that aren't written yet. Returns marks of those without a partner, on
   * either side; written findings are not among them.
   *
   * A later upload may since have seen what this one wrote. Its findings can't be told from those
   * of others then, so all findings are matched once more. Of very many equal items, some may then
   * be taken for ones that are written already; the later upload, or the next one, has them.
   */
  #match(committed: ReadonlyMap<number, string>): { drafts: Uint8Array; stored: Uint8Array } {
    const stored = this.#stored;
    const { evidence } = this.#itemIndex;
    const holds = new Uint8Array(this.#destinations.all.length);
    const free = new Uint8Array(stored.length);
    let ownRows = 0;
    for (let row = 0; row < stored.length; row += 1) {
      holds[stored.destinationOf(row)] = 1;
      if (stored.isWritten(row)) ownRows += 1;
      else free[row] = 1;
    }
    const open = new Uint8Array(evidence.length);
    let written = 0;
    for (let row = 0; row < evidence.length; row += 1) {
      const batch = this.batchOf(row);
      if (batch === NO_BATCH) continue;
      // Findings that this upload wrote before it was interrupted take no part.
      if (committed.has(batch)) written += 1;
      // In a scope without stored findings every finding is new.
      else if (holds[this.#destinationOf(row)] === 1) open[row] = 1;
    }
    if (ownRows < written) {
      free.fill(1);
      for (let row = 0; row < open.length; row += 1) {
        open[row] = this.batchOf(row) === NO_BATCH ? 0 : 1;
      }
    }
    match(
      { evidence, open, destinationOf: (row) => this.#destinationOf(row) },
      { evidence: stored.evidence, open: free, destinationOf: (row) => stored.destinationOf(row) },
      (row, found, by) => this.#pair(row, found, by),
    );
    return { drafts: open, stored: free };
  }
}

/** The sums of `opened` of the committed batches, by destination. */
function openedBy(committed: ReadonlyMap<number, string>): ReadonlyMap<number, number> {
  const sums = new Map<number, number>();
  for (const counts of committed.values()) {
    const { opened = [] } = JSON.parse(counts) as StoredCounts;
    for (const [destination, more] of opened)
      sums.set(destination, (sums.get(destination) ?? 0) + more);
  }
  return sums;
}

const BY: readonly MatchedBy[] = ['new', 'producer', 'content', 'moved', 'nearest'];

const isInRound = (destination: Destination, round: number | null): boolean =>
  round === null || destination.round === round;

/**
 * Reads the scopes of the destinations of one round and matches. `committed`: the batches that an
 * earlier try wrote. Without a round all destinations are matched against what is stored now; that
 * is for a dry run, which writes nothing that a later round could find.
 */
export async function makeMatchPlan(
  db: Db,
  itemIndex: ItemIndex,
  destinations: Destinations,
  rereading: Rereading,
  committed: ReadonlyMap<number, string>,
  round: number | null = null,
): Promise<MatchPlan> {
  const stored = await readStored(db, destinations, round);
  const plan = new MatchPlan(
    itemIndex,
    destinations,
    stored,
    batchesOf(itemIndex, destinations),
    committed,
    round,
  );
  await plan.matchMoved(db, rereading);
  return plan;
}

/**
 * The batch of each row, numbered round by round in the order of the document, whatever the
 * destinations: every try of an upload gets the same batches.
 */
function batchesOf(itemIndex: ItemIndex, destinations: Destinations): GrowingInts {
  const repeats = itemIndex.markRepeats(destinations.ofGroup);
  const roundOf = (row: number): number =>
    (destinations.all[destinations.ofGroup[itemIndex.groupOf(row)] as number] as Destination).round;
  const rows = Array.from({ length: roundsOf(destinations) }, () => 0);
  repeats.forEach((repeat, row) => {
    if (repeat === 0) rows[roundOf(row)] = (rows[roundOf(row)] ?? 0) + 1;
  });
  // The number of the first batch of each round, and how many rows of each round have a batch so
  // far.
  const firsts: number[] = [];
  let next = 1;
  for (const count of rows) {
    firsts.push(next);
    next += Math.ceil(count / limits.ingestBatchItems);
  }
  const written = rows.map(() => 0);
  const batches = new GrowingInts();
  repeats.forEach((repeat, row) => {
    const round = roundOf(row);
    const before = written[round] as number;
    const batch = (firsts[round] as number) + Math.floor(before / limits.ingestBatchItems);
    batches.push(repeat === 1 ? NO_BATCH : batch);
    if (repeat === 0) written[round] = before + 1;
  });
  return batches;
}

/**
 * The number of rounds that the destinations take: one, unless a report has several refs of one
 * asset.
 */
export const roundsOf = (destinations: Destinations): number =>
  destinations.all.reduce((most, destination) => Math.max(most, destination.round + 1), 1);

type NumberedDestination = readonly [number, Destination];

/**
 * The findings that the scopes of a round hold. Scopes that differ only in their assets are read
 * together, because there may be very many of them.
 */
async function readStored(
  db: Db,
  destinations: Destinations,
  round: number | null,
): Promise<StoredFindings> {
  const stored = new StoredFindings();
  const ofRound = [...destinations.all.entries()].filter(([, destination]) =>
    isInRound(destination, round),
  );
  const ofAnalysis = ([, { place }]: NumberedDestination): string =>
    `${place.tool}\n${place.category}`;
  for (const alike of Map.groupBy(ofRound, ofAnalysis).values()) {
    for (const some of sliced(alike)) await readScopes(db, some, stored);
  }
  return stored;
}

/**
 * Reads one scope page by page. When several scopes hold more than a page, each half of them is
 * read by itself.
 */
async function readScopes(
  db: Db,
  destinations: readonly NumberedDestination[],
  stored: StoredFindings,
): Promise<void> {
  const { tenantId, tool, category } = (destinations[0] as NumberedDestination)[1].place;
  const byAsset = Map.groupBy(destinations, ([, { place }]) => place.assetId);
  const scopes = { tool, category, assetIds: [...byAsset.keys()] };
  for (let after: string | null = null; ; ) {
    const page = await findingsOfScopes(db, tenantId, scopes, after, PAGE_ROWS);
    const isLastPage = page.length < PAGE_ROWS;
    if (!isLastPage && byAsset.size > 1) {
      const ofEach = [...byAsset.values()];
      const half = Math.ceil(ofEach.length / 2);
      await readScopes(db, ofEach.slice(0, half).flat(), stored);
      await readScopes(db, ofEach.slice(half).flat(), stored);
      return;
    }
    await addPage(db, byAsset, page, stored);
    if (isLastPage) return;
    after = page.at(-1)?.id ?? null;
  }
}

async function addPage(
  db: Db,
  byAsset: ReadonlyMap<string, readonly NumberedDestination[]>,
  page: readonly StoredFinding[],
  stored: StoredFindings,
): Promise<void> {
  const places = [...byAsset.values()].flat().map(([, { place }]) => place);
  const refIds = new Set(places.flatMap(({ refId, defaultRefId }) => [refId, defaultRefId]));
  const ids = page.map((row) => row.id);
  const tenantId = places[0]?.tenantId ?? '';
  const sightings = await sightingsOnRefs(db, tenantId, [...refIds], ids);
  for (const row of page) {
    for (const [number, { place }] of byAsset.get(row.asset_id) ?? []) {
      const [own, onDefault] = [place.refId, place.defaultRefId].map((refId) =>
        sightings.get(refId)?.get(row.id),
      );
      stored.add(number, row, own, onDefault, place);
    }
  }
}

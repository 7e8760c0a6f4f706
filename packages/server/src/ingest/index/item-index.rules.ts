// The first pass: every item of a report has its outcome or becomes a row of evidence, grouped by what it is matched
// against. Nothing is written yet, so the whole upload can still be refused. What is kept of an item are numbers: memory
// grows by about 70 bytes an item, whatever the item holds.

import { limits, SEVERITIES } from '@muster/contract/plain';
import { GrowingInts } from '../../lib/growing-ints.ts';
import { ComponentIndex } from './component-index.rules.ts';
import type { FindingDraft, Item, ItemPlace, ListIndexes } from '../report/report.rules.ts';
import type { Located, Warnings } from '../json/warnings.decode.ts';
import type { Evidence } from '../match/evidence.rules.ts';
import { EvidenceTable, HashChains, DUPLICATE_KEY } from '../match/evidence-table.rules.ts';
import type { ListIndex, RejectedItem } from '../report/list-index.rules.ts';
import { noTally, type Tally, tallyRejection } from './tally.rules.ts';
import { rejectedItemText } from '../redact/rejected-item.rules.ts';

/** One analysis on one asset: what is matched, and judged for absence, together. */
export interface Group {
  readonly analysis: number;
  /** Index into the report's assets; null: the upload's fallback asset. */
  readonly asset: number | null;
}

/** A finding that is stored just as the item was sent: a row of evidence, and the rest of what a itemIndex keeps. */
export interface KnownItem {
  readonly table: EvidenceTable;
  readonly row: number;
  readonly place: ItemPlace;
  /** Index into SEVERITIES. */
  readonly severity: number;
}

/** Ranks from here on are those of suppressed items. */
const SUPPRESSED = SEVERITIES.length;

/** `severity`: index into SEVERITIES, the worst first. */
const rankOf = (suppressed: boolean, severity: number): number =>
  severity + (suppressed ? SUPPRESSED : 0);

/** `rowOf` for items without a row. */
export const NO_ROW = -1;

/** A mark beside the rank: the bytes of the item tell all that reading it would. */
const TELLS_ALL = 1 << 6;

export class ItemIndex {
  /** What reading the items had to tolerate. */
  readonly warnings: Warnings;
  readonly tally: Tally = noTally();
  /** Entries of the lists beside the findings. */
  readonly beside = { received: 0, rejected: 0 };
  /** The report's dependencies. */
  readonly components = new ComponentIndex();
  readonly groups: Group[] = [];
  /** The first limits.uploadRejectionsMax rejections, which stay to be looked at. */
  readonly rejected: RejectedItem[] = [];
  /** A row for each finding, in the order of the document. */
  readonly evidence = new EvidenceTable();
  readonly #groupOf = new GrowingInts();
  /** Of each row its rank (`rankOf`), and whether TELLS_ALL. */
  readonly #marks = new GrowingInts();
  /** Of items of one rank that are the same the one with the least is written. */
  readonly #ties = new GrowingInts();
  /** Of each item how many before it have no row, which are mostly none; NO_ROW where it has none itself. */
  readonly #passed = new GrowingInts();
  readonly #byKey = new Map<string, number>();

  constructor(warnings: Warnings) {
    this.warnings = warnings;
  }

  /** Takes in the next item, which is no finding; `value` as it was sent. */
  take(item: Exclude<Item, { outcome: 'finding' }>, value: unknown): void {
    if (item.outcome === 'rejected') return this.reject(item.rejection, rejectedItemText(value));
    this.tally.received += 1;
    this.tally.notProblem += 1;
    this.#passed.push(NO_ROW);
  }

  /**
   * Takes in the next item, which is a finding. `tellsAll`: of the method. `tie`: a number of its bytes, by which one is chosen
   * among several that are the same item.
   */
  takeFinding(
    draft: FindingDraft,
    suppressed: boolean,
    evidence: Evidence,
    tellsAll: boolean,
    tie: number,
  ): void {
    this.tally.received += 1;
    this.#noteRow(this.evidence.add(evidence, draft.startLine));
    this.#groupOf.push(this.#group(draft.analysis, draft.asset));
    const rank = rankOf(suppressed, SEVERITIES.indexOf(draft.severity));
    this.#marks.push(rank | (tellsAll ? TELLS_ALL : 0));
    this.#ties.push(tie);
  }

  /** Takes in the next item, which is a finding whose evidence is known: nothing suppresses it. `tie`: as of takeFinding. */
  takeKnown({ table, row, place, severity }: KnownItem, tie: number): void {
    this.tally.received += 1;
    this.#noteRow(this.evidence.addFrom(table, row));
    this.#groupOf.push(this.#group(place.analysis, place.asset));
    this.#marks.push(rankOf(false, severity) | TELLS_ALL);
    this.#ties.push(tie);
  }

  /** `item`: its text, as it may be stored; null where it wasn't read. */
  reject(rejection: Located, item: string | null): void {
    this.tally.received += 1;
    this.tally.rejected += 1;
    this.#note(rejection, item);
    this.#passed.push(NO_ROW);
  }

  /** Rejections of the lists beside the findings stand in the receipt like theirs, and their entries are items as well. */
  takeLists({ assets, relationships, endpoints }: ListIndexes): void {
    for (const list of [assets, this.components, relationships, endpoints]) this.#takeList(list);
  }

  #takeList({ received, rejected, rejections, moreByCode }: ListIndex): void {
    this.beside.received += received;
    this.beside.rejected += rejected;
    for (const { item, ...rejection } of rejections) this.#note(rejection, item);
    const { rejectionsByCode } = this.tally;
    for (const [code, count] of moreByCode) {
      rejectionsByCode.set(code, (rejectionsByCode.get(code) ?? 0) + count);
    }
  }

  #note(rejection: Located, item: string | null): void {
    tallyRejection(this.tally, rejection);
    if (this.rejected.length < limits.uploadRejectionsMax)
      this.rejected.push({ ...rejection, item });
  }

  /** The row of an item, by its number in the order they were taken in; NO_ROW when it isn't a finding. */
  rowOf(item: number): number {
    const passed = this.#passed.at(item);
    return passed === NO_ROW ? NO_ROW : item - passed;
  }

  /** The row of the next item. */
  #noteRow(row: number): void {
    this.#passed.push(this.#passed.length - row);
  }

  groupOf(row: number): number {
    return this.#groupOf.at(row);
  }

  isSuppressed(row: number): boolean {
    return this.#rank(row) >= SUPPRESSED;
  }

  #rank(row: number): number {
    return this.#marks.at(row) & ~TELLS_ALL;
  }

  /** The bytes of the item tell all that reading it would: it may be taken in by their hash (rawHash). */
  tellsAll(row: number): boolean {
    return (this.#marks.at(row) & TELLS_ALL) !== 0;
  }

  /**
   * Counts rows that are the same item as another one of their destination (`destinationOf` a group's number), and returns a mark
   * for each row: 1 where it repeats one. Which of them counts is no matter of order: one that nothing suppresses before one
   * that is suppressed, then the worse one, then the one with the smaller number of its bytes.
   */
  foldRepeats(destinationOf: readonly number[]): Uint8Array {
    const { evidence } = this;
    const repeats = new Uint8Array(evidence.length);
    const destinationOfRow = (row: number): number => destinationOf[this.groupOf(row)] as number;
    const first = new HashChains(evidence, DUPLICATE_KEY, destinationOfRow);
    // Of those that come more than once: the first row → the one that counts.
    const chosen = new Map<number, number>();
    for (let row = 0; row < evidence.length; row += 1) {
      let same: number | null = null;
      for (const other of first.same(evidence, row)) {
        if (evidence.isSameIdentity(row, evidence, other)) same = other;
        if (same !== null) break;
      }
      if (same === null) {
        first.add(row);
        continue;
      }
      const best = chosen.get(same) ?? same;
      const isBetter = this.#compare(row, best) < 0;
      repeats[isBetter ? best : row] = 1;
      if (isBetter) chosen.set(same, row);
    }
    first.release();
    this.tally.duplicate = repeats.reduce((sum, mark) => sum + mark, 0);
    return repeats;
  }

  #compare(row: number, other: number): number {
    const order = this.#rank(row) - this.#rank(other);
    return order === 0 ? this.#ties.at(row) - this.#ties.at(other) : order;
  }

  #group(analysis: number, asset: number | null): number {
    const key = `${analysis}/${asset}`;
    const known = this.#byKey.get(key);
    if (known !== undefined) return known;
    const number = this.groups.push({ analysis, asset }) - 1;
    this.#byKey.set(key, number);
    return number;
  }
}

// The item index, made by the first pass: each item of a report has an outcome, and each finding
// becomes a row of evidence, grouped by what it is matched against. Nothing is written yet, so the
// whole upload can still be refused. Only numbers are kept of an item: memory grows by about 70
// bytes an item, whatever it holds.

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

/** One analysis on one asset: its items are matched, and judged for absence, together. */
export interface Group {
  readonly analysis: number;
  /** Index into the report's assets; null: the fallback asset of the upload. */
  readonly asset: number | null;
}

/**
 * A finding that is stored just as the item was sent: a row of evidence, and the rest that an item
 * index keeps of a finding.
 */
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

/** What `rowOf` returns for an item without a row. */
export const NO_ROW = -1;

/** A mark beside the rank: the bytes of the item tell all that reading it would. */
const KNOWN_BY_BYTES = 1 << 6;

export class ItemIndex {
  /** The warnings of reading the items. */
  readonly warnings: Warnings;
  readonly tally: Tally = noTally();
  /** Counts of the entries of the lists beside the findings. */
  readonly listTally = { received: 0, rejected: 0 };
  /** The report's dependencies. */
  readonly components = new ComponentIndex();
  readonly groups: Group[] = [];
  /** The first limits.uploadRejectionsMax rejections, which are stored for operators. */
  readonly rejected: RejectedItem[] = [];
  /** A row for each finding, in the order of the document. */
  readonly evidence = new EvidenceTable();
  readonly #groupOf = new GrowingInts();
  /** The rank of each row (`rankOf`), and whether KNOWN_BY_BYTES. */
  readonly #marks = new GrowingInts();
  /** A number for each row that decides between equal items of one rank: the least is written. */
  readonly #ties = new GrowingInts();
  /**
   * For each item, the number of items before it without a row, mostly 0; NO_ROW for an item
   * without a row.
   */
  readonly #rowless = new GrowingInts();
  readonly #groupByKey = new Map<string, number>();

  constructor(warnings: Warnings) {
    this.warnings = warnings;
  }

  /** Takes in the next item, which is no finding; `value` is the item as it was sent. */
  take(item: Exclude<Item, { outcome: 'finding' }>, value: unknown): void {
    if (item.outcome === 'rejected') return this.reject(item.rejection, rejectedItemText(value));
    this.tally.received += 1;
    this.tally.notProblem += 1;
    this.#rowless.push(NO_ROW);
  }

  /**
   * Takes in the next item, which is a finding. `isKnownByBytes`: as the method of this name.
   * `tie`: a number made of its bytes, which decides between several items that are the same.
   */
  takeFinding(
    draft: FindingDraft,
    suppressed: boolean,
    evidence: Evidence,
    isKnownByBytes: boolean,
    tie: number,
  ): void {
    this.tally.received += 1;
    this.#pushRow(this.evidence.add(evidence, draft.startLine));
    this.#groupOf.push(this.#group(draft.analysis, draft.asset));
    const rank = rankOf(suppressed, SEVERITIES.indexOf(draft.severity));
    this.#marks.push(rank | (isKnownByBytes ? KNOWN_BY_BYTES : 0));
    this.#ties.push(tie);
  }

  /**
   * Takes in the next item, which is a finding with known evidence; nothing suppresses it. `tie`:
   * as in takeFinding.
   */
  takeKnown({ table, row, place, severity }: KnownItem, tie: number): void {
    this.tally.received += 1;
    this.#pushRow(this.evidence.addFrom(table, row));
    this.#groupOf.push(this.#group(place.analysis, place.asset));
    this.#marks.push(rankOf(false, severity) | KNOWN_BY_BYTES);
    this.#ties.push(tie);
  }

  /** `item`: the text of the item as it may be stored; null when the item wasn't read. */
  reject(rejection: Located, item: string | null): void {
    this.tally.received += 1;
    this.tally.rejected += 1;
    this.#keepRejection(rejection, item);
    this.#rowless.push(NO_ROW);
  }

  /**
   * Adds the lists beside the findings: the receipt tells their rejections among those of the
   * findings, and their entries count as items.
   */
  takeLists({ assets, relationships, endpoints }: ListIndexes): void {
    for (const list of [assets, this.components, relationships, endpoints]) this.#takeList(list);
  }

  #takeList({ received, rejected, rejections, moreByCode }: ListIndex): void {
    this.listTally.received += received;
    this.listTally.rejected += rejected;
    for (const { item, ...rejection } of rejections) this.#keepRejection(rejection, item);
    const { rejectionsByCode } = this.tally;
    for (const [code, count] of moreByCode) {
      rejectionsByCode.set(code, (rejectionsByCode.get(code) ?? 0) + count);
    }
  }

  #keepRejection(rejection: Located, item: string | null): void {
    tallyRejection(this.tally, rejection);
    if (this.rejected.length < limits.uploadRejectionsMax)
      this.rejected.push({ ...rejection, item });
  }

  /**
   * The row of an item; NO_ROW when the item isn't a finding. Items are numbered in the order in
   * which they were taken in.
   */
  rowOf(item: number): number {
    const rowless = this.#rowless.at(item);
    return rowless === NO_ROW ? NO_ROW : item - rowless;
  }

  /** Adds the row of the next item. */
  #pushRow(row: number): void {
    this.#rowless.push(this.#rowless.length - row);
  }

  groupOf(row: number): number {
    return this.#groupOf.at(row);
  }

  isSuppressed(row: number): boolean {
    return this.#rank(row) >= SUPPRESSED;
  }

  #rank(row: number): number {
    return this.#marks.at(row) & ~KNOWN_BY_BYTES;
  }

  /**
   * True when the bytes of the item tell all that reading it would: a later upload may recognise
   * the item by their hash (rawHash).
   */
  isKnownByBytes(row: number): boolean {
    return (this.#marks.at(row) & KNOWN_BY_BYTES) !== 0;
  }

  /**
   * Counts the rows that repeat another row of their destination, and returns a mark for each row:
   * 1 when it repeats one. `destinationOf`: the number of the destination of each group. Which one
   * of equal rows counts doesn't depend on their order: one that nothing suppresses before a
   * suppressed one, then the worse one, then the one with the smaller tie.
   */
  markRepeats(destinationOf: readonly number[]): Uint8Array {
    const { evidence } = this;
    const repeats = new Uint8Array(evidence.length);
    const destinationOfRow = (row: number): number => destinationOf[this.groupOf(row)] as number;
    const first = new HashChains(evidence, DUPLICATE_KEY, destinationOfRow);
    // For rows that come more than once: the first row → the one that counts.
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
    const known = this.#groupByKey.get(key);
    if (known !== undefined) return known;
    const number = this.groups.push({ analysis, asset }) - 1;
    this.#groupByKey.set(key, number);
    return number;
  }
}

// The first pass over a list of a report beside its findings (assets, dependencies, relationships,
// endpoints): each entry becomes a row, shared with entries that mean the same thing, or is
// rejected. Only numbers are kept, and no drafts: a later pass makes those. Filled by entries.ts.

import { limits } from '@muster/contract/plain';
import { GrowingInts } from '../../lib/growing-ints.ts';
import { type Located, Warnings } from '../json/warnings.decode.ts';
import { HashedTexts } from './hashed-texts.columns.ts';
import { rejectedItemText } from '../redact/rejected-item.rules.ts';

/** A rejection with the text of its item, masked and cut; null for an item that wasn't read. */
export interface RejectedItem extends Located {
  readonly item: string | null;
}

/** The row of an entry that was rejected. */
const NO_ROW = -1;

/** What became of the entries of one list; entries are numbered in the order in which they came. */
export class ListIndex {
  /** The warnings of reading the entries. */
  readonly warnings = new Warnings();
  rejected = 0;
  /** The number of rows. */
  rows = 0;
  /**
   * The first limits.uploadRejectionsMax, which may be stored for operators; the others are only
   * counted, by code.
   */
  readonly rejections: RejectedItem[] = [];
  readonly moreByCode = new Map<string, number>();
  readonly #rowOf = new GrowingInts();

  get received(): number {
    return this.#rowOf.length;
  }

  get usable(): number {
    return this.received - this.rejected;
  }

  /** Takes in the next entry with its row. Rows begin with 0, and a new row is the next number. */
  accept(row: number): void {
    if (row === this.rows) this.rows += 1;
    this.#rowOf.push(row);
  }

  /**
   * Takes in the next entry, which can't be used. `value` is the entry as it was sent; `undefined`:
   * it wasn't read.
   */
  reject(rejection: Located, value: unknown): void {
    this.#rowOf.push(NO_ROW);
    this.rejected += 1;
    if (this.rejections.length < limits.uploadRejectionsMax) {
      const item = value === undefined ? null : rejectedItemText(value);
      this.rejections.push({ ...rejection, item });
    } else {
      const { code } = rejection;
      this.moreByCode.set(code, (this.moreByCode.get(code) ?? 0) + 1);
    }
  }

  /** The row of an entry; null when it was rejected. */
  rowOf(entry: number): number | null {
    const row = this.#rowOf.at(entry);
    return row === NO_ROW ? null : row;
  }
}

/** An index that takes in the entries of its list; `pointer` is the place of an entry. */
export type EntryIndex<T> = ListIndex & { take(entry: T, pointer: string): void };

/** The index of a list whose entries have a key: entries with equal keys share a row. */
export class KeyedIndex<T> extends ListIndex {
  readonly #keys = new HashedTexts();
  readonly #keyOf: (entry: T) => string;

  constructor(keyOf: (entry: T) => string) {
    super();
    this.#keyOf = keyOf;
  }

  take(entry: T): void {
    this.accept(this.#keys.add(this.#keyOf(entry)));
  }
}

// The first pass over a list of a report beside its findings (assets, dependencies, relationships, endpoints): each entry is
// usable, and then something that is known by a number, its row, or rejected. What is kept are numbers, and no drafts,
// which a later pass makes again. Filled by entries.ts.

import { limits } from '@muster/contract/plain';
import { GrowingInts } from '../../lib/growing-ints.ts';
import { type Located, Warnings } from '../json/warnings.decode.ts';
import { HashedTexts } from './hashed-texts.columns.ts';
import { rejectedItemText } from '../redact/rejected-item.rules.ts';

/** A rejection with the text of its item, masked and cut; null for items that weren't read. */
export interface RejectedItem extends Located {
  readonly item: string | null;
}

/** `rowOf` for entries without a row. */
const NO_ROW = -1;

/** What became of the entries of one list, numbered in the order in which they were taken in. */
export class ListIndex {
  /** What reading the entries had to tolerate. */
  readonly warnings = new Warnings();
  rejected = 0;
  /** How many rows there are. */
  rows = 0;
  /** The first limits.uploadRejectionsMax, which may stay to be looked at; of the others only how many there are, by code. */
  readonly rejections: RejectedItem[] = [];
  readonly moreByCode = new Map<string, number>();
  readonly #rowOf = new GrowingInts();

  get received(): number {
    return this.#rowOf.length;
  }

  get usable(): number {
    return this.received - this.rejected;
  }

  /** Takes in the next entry, which is of this row: rows begin with 0, and a new one is the next number. */
  accept(row: number): void {
    if (row === this.rows) this.rows += 1;
    this.#rowOf.push(row);
  }

  /** Takes in the next entry, which can't be used; `value` as it was sent, `undefined` where it wasn't read. */
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

/** One that takes entries in as its list has them; `pointer` is where an entry stands. */
export type EntryIndex<T> = ListIndex & { take(entry: T, pointer: string): void };

/** Of a list whose entries are the same by a text: equal ones have one row. */
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

// The first pass over the dependencies of a report: each is usable, and then a row by its identity, or rejected. What is kept
// are numbers and names: no drafts, which a second pass makes again (components.ts). Filled by reading.ts.

import { limits } from '@muster/contract/plain';
import { GrowingInts } from '../lib/growing-ints.ts';
import { ComponentNames } from './component-names.rules.ts';
import type { ComponentEntry, Located } from './draft.rules.ts';
import { indexable } from './indexed-text.rules.ts';
import { rejectedItemText } from './rejected-item.rules.ts';
import { Notes } from './report-notes.decode.ts';

/** A rejection with the text of its item, masked and cut; null for items that weren't read. */
export interface RejectedItem extends Located {
  readonly item: string | null;
}

/** `rowOf` for entries without a row. */
const NO_ROW = -1;

export class ComponentSurvey {
  /** What reading the entries had to tolerate; and what their ids had, which comes behind. */
  readonly notes = new Notes();
  readonly idNotes = new Notes();
  readonly names = new ComponentNames();
  rejected = 0;
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

  /** Takes in the next entry; `pointer` is where it stands. */
  take(entry: ComponentEntry, pointer: string): void {
    const { names } = this;
    const row = names.rowOf(indexable(entry.identity));
    this.#rowOf.push(row);
    if (entry.id !== null && !names.addId(entry.id, row)) {
      const detail = 'The id names two components; edges to it mean the first.';
      this.idNotes.warn(`${pointer}/id`, 'dependency_id_repeated', detail);
    }
    for (const exact of entry.exactNames) names.addExact(exact, row);
    for (const bare of entry.bareNames) names.addBare(bare, row);
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

  /** The row of an entry, by its number in the order they were taken in; null when it was rejected. */
  rowOf(entry: number): number | null {
    const row = this.#rowOf.at(entry);
    return row === NO_ROW ? null : row;
  }
}

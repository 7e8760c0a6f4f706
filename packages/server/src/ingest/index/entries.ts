// An item of a document becomes its value, with warnings about the way it is written; an entry of a
// list beside the findings becomes a row of the index of that list. A bad entry is rejected alone,
// whatever is wrong with it, even when its reader throws. Later passes read the entries again, in
// the order of the index.

import { isUtf8 } from 'node:buffer';
import { limits } from '@muster/contract/plain';
import { assert } from '../../lib/assert.ts';
import type { ScannedItem } from '../document/items.decode.ts';
import { countMembers, parseItem, warnRepeatedMembers } from '../document/parse.decode.ts';
import { DocumentFault } from '../document/scan.decode.ts';
import type { ListReader } from '../report/report.rules.ts';
import type { Located, Warnings } from '../json/warnings.decode.ts';
import type { EntryIndex, ListIndex } from '../report/list-index.rules.ts';

export const NOT_UTF8 = 'Not everything in it is UTF-8; what is not was replaced by U+FFFD.';

/**
 * The value of an item of these bytes; warns of what is wrong with the way it is written. Throws
 * DocumentFault.
 */
export function valueOf(
  bytes: Buffer,
  { list, index, members }: ScannedItem,
  warnings: Warnings,
): unknown {
  if (!isUtf8(bytes)) warnings.warn(`${list}/${index}`, 'invalid_utf8', NOT_UTF8);
  const value = parseItem(bytes);
  if (members !== countMembers(value)) {
    warnRepeatedMembers(bytes.toString('utf8'), `${list}/${index}`, warnings);
  }
  return value;
}

/** The rejection of an item that is too deep or too large to be read. */
export function excessive(pointer: string, excess: ScannedItem['excess']): Located {
  if (excess === 'depth') {
    const detail = `One item may have ${limits.jsonDepthMax} nested arrays and objects, with those around it.`;
    return { pointer, code: 'item_too_deep', detail };
  }
  const detail = `One item may have ${limits.itemBytesMax} bytes.`;
  return { pointer, code: 'item_too_large', detail };
}

/** Takes in the entries of one list, one after the other in their order. */
export type TakeEntry = (item: ScannedItem) => void;

/** Is told what a reader threw, and returns the rejection of its entry. */
type OnDefect = (pointer: string, error: unknown) => Located;

/**
 * Has entries read by `reader` and taken in by `listIndex`. Throws DocumentFault for entries that
 * aren't JSON, and for more entries than can be held.
 */
export function takingEntries<T>(
  reader: ListReader<T>,
  listIndex: EntryIndex<T>,
  onDefect: OnDefect,
): TakeEntry {
  const { warnings } = listIndex;
  return (item) => {
    const { bytes, excess, list, index } = item;
    const pointer = `${list}/${index}`;
    if (bytes === null) return listIndex.reject(excessive(pointer, excess), undefined);
    warnings.at = pointer;
    const value = valueOf(bytes, item, warnings);
    const entry = guarded(() => reader.read(value, pointer, warnings), pointer, onDefect);
    if (isLocated(entry)) listIndex.reject(entry, value);
    else listIndex.take(entry, pointer);
  };
}

/** What `read` returns. Whatever it throws is a defect of the reader, except a DocumentFault. */
function guarded<T>(read: () => T | Located, pointer: string, onDefect: OnDefect): T | Located {
  try {
    return read();
  } catch (error) {
    if (error instanceof DocumentFault) throw error;
    return onDefect(pointer, error);
  }
}

const isLocated = <T>(entry: T | Located): entry is Located =>
  typeof entry === 'object' && entry !== null && 'code' in entry;

/** A usable entry, read again. */
interface EntryAgain<T> {
  readonly entry: T;
  readonly pointer: string;
  readonly row: number;
  /** No earlier entry has this row. */
  readonly isFirst: boolean;
}

/** The entries of one list in a later pass, in the order of the index of that list. */
export class EntriesAgain<T> {
  readonly #reader: ListReader<T>;
  readonly #listIndex: ListIndex;
  readonly #warnings: Warnings;
  #entries = 0;
  #rows = 0;

  /** `warnings` get what is read of an entry later on: the index has all other warnings. */
  constructor(reader: ListReader<T>, listIndex: ListIndex, warnings: Warnings) {
    this.#reader = reader;
    this.#listIndex = listIndex;
    this.#warnings = warnings;
  }

  /** The next entry; null when it was rejected. */
  next({ bytes, list, index }: ScannedItem): EntryAgain<T> | null {
    const row = this.#listIndex.rowOf(this.#entries);
    this.#entries += 1;
    if (row === null) return null;
    assert(bytes !== null, 'an item that was read before has its bytes');
    const value = parseItem(bytes);
    const warnings = this.#warnings;
    const pointer = `${list}/${index}`;
    warnings.at = pointer;
    const entry = warnings.quietly(() => this.#reader.read(value, pointer, warnings));
    assert(!isLocated(entry), 'an item reads the same in every pass');
    const isFirst = row === this.#rows;
    if (isFirst) this.#rows += 1;
    return { entry, pointer, row, isFirst };
  }
}

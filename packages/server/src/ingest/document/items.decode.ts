// The bounds of a document's items, found by one scan → the items, cut out of the document's bytes
// in later passes. Only the scan looks at every byte. The bounds of an item take about four bytes.
// Filled by scan.decode.ts, read by document.ts.

import { limits } from '@muster/contract/plain';
import { GrowingInts } from '../../lib/growing-ints.ts';

/** A list of items, named by its JSON pointer. */
export interface ItemList {
  readonly pointer: string;
  /**
   * The number of times the list has begun: when a member comes twice, the last one counts
   * (contract §2).
   */
  occurrence: number;
  /** The number of items in the last occurrence. */
  count: number;
}

export interface ScannedItem {
  readonly list: string;
  readonly index: number;
  /** The item's JSON text; null when it must not be read. It may share memory with its piece. */
  readonly bytes: Buffer | null;
  /**
   * Why the item isn't read: more than limits.jsonDepthMax nested arrays and objects, or more than
   * limits.itemBytesMax bytes.
   */
  readonly excess: 'depth' | 'size' | null;
  /** The members of all objects in the item, as written: a name that comes twice counts twice. */
  readonly members: number;
}

/** The member count of an item that nests more than limits.jsonDepthMax arrays and objects. */
export const TOO_DEEP = -1;

/** Items that follow each other in one list. */
interface Section {
  readonly list: ItemList;
  readonly occurrence: number;
  /** The number of the section's first item. */
  readonly first: number;
}

/** The bounds of all items, numbered in the order of the document. */
export class ItemBounds {
  readonly sections: Section[] = [];
  /** True when some item isn't read, so that nobody has checked whether it is JSON. */
  hasExcess = false;
  /** Bytes between the end of the previous item, or the document's beginning, and each item. */
  readonly #gaps = new GrowingInts();
  readonly #lengths = new GrowingInts();
  readonly #members = new GrowingInts();
  #end = 0;

  get length(): number {
    return this.#members.length;
  }

  /**
   * Adds the next item. It goes from `start` to before `end`, in bytes from the document's
   * beginning.
   */
  add(list: ItemList, start: number, end: number, members: number): void {
    const section = this.sections.at(-1);
    if (section?.list !== list || section.occurrence !== list.occurrence) {
      this.sections.push({ list, occurrence: list.occurrence, first: this.length });
    }
    if (members === TOO_DEEP || end - start > limits.itemBytesMax) this.hasExcess = true;
    this.#gaps.push(start - this.#end);
    this.#lengths.push(end - start);
    this.#members.push(members);
    this.#end = end;
  }

  // Documents may have 4 GiB: a number that doesn't fit into 31 bits is stored as a negative one.
  gap(item: number): number {
    return this.#gaps.at(item) >>> 0;
  }

  bytes(item: number): number {
    return this.#lengths.at(item) >>> 0;
  }

  members(item: number): number {
    return this.#members.at(item);
  }
}

/**
 * Cuts the items of some lists, in their last occurrence, out of the pieces of a scanned document.
 */
export class ItemCutter {
  readonly #bounds: ItemBounds;
  readonly #wanted: ReadonlySet<string>;
  /** The byte of the document at which the next piece begins. */
  #pieceStart = 0;
  /** The next item: its number, its section, its first byte, and its parts from earlier pieces. */
  #item = 0;
  #section = 0;
  #itemStart = 0;
  #parts: Buffer[] = [];

  /** `wanted`: the pointers of the lists. */
  constructor(bounds: ItemBounds, wanted: ReadonlySet<string>) {
    this.#bounds = bounds;
    this.#wanted = wanted;
    if (bounds.length > 0) this.#itemStart = bounds.gap(0);
  }

  /** The items that end in this piece, in order. */
  push(piece: Buffer): ScannedItem[] {
    const bounds = this.#bounds;
    const start = this.#pieceStart;
    const pieceEnd = start + piece.length;
    const items: ScannedItem[] = [];
    while (this.#item < bounds.length) {
      const itemEnd = this.#itemStart + bounds.bytes(this.#item);
      const from = Math.max(0, this.#itemStart - start);
      if (itemEnd > pieceEnd) {
        this.#keep(piece, from);
        break;
      }
      const section = this.#sectionOf(this.#item);
      if (this.#isWanted(section)) {
        items.push(this.#cut(section, piece.subarray(from, itemEnd - start)));
      }
      this.#parts = [];
      this.#item += 1;
      if (this.#item < bounds.length) this.#itemStart = itemEnd + bounds.gap(this.#item);
    }
    this.#pieceStart = pieceEnd;
    return items;
  }

  #sectionOf(item: number): Section {
    const next = this.#bounds.sections[this.#section + 1];
    if (next !== undefined && next.first <= item) this.#section += 1;
    return this.#bounds.sections[this.#section] as Section;
  }

  #isWanted({ list, occurrence }: Section): boolean {
    return occurrence === list.occurrence && this.#wanted.has(list.pointer);
  }

  #excess(item: number): ScannedItem['excess'] {
    if (this.#bounds.members(item) === TOO_DEEP) return 'depth';
    return this.#bounds.bytes(item) > limits.itemBytesMax ? 'size' : null;
  }

  /**
   * Keeps the part of an item that goes on in the next piece. The part is a copy, because the
   * memory of the piece may be used again.
   */
  #keep(piece: Buffer, from: number): void {
    if (from >= piece.length || this.#excess(this.#item) !== null) return;
    if (!this.#isWanted(this.#sectionOf(this.#item))) return;
    this.#parts.push(Buffer.from(piece.subarray(from)));
  }

  #cut({ list, first }: Section, last: Buffer): ScannedItem {
    const item = this.#item;
    const excess = this.#excess(item);
    const whole = this.#parts.length === 0 ? last : Buffer.concat([...this.#parts, last]);
    return {
      list: list.pointer,
      index: item - first,
      bytes: excess === null ? whole : null,
      excess,
      members: this.#bounds.members(item),
    };
  }
}

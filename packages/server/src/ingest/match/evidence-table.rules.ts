// The evidence of many findings, of a report or of a scope, in columns: about 50 bytes each, and 16
// more for a stored finding with a hash of the item as it was sent. So a million fit into memory
// beside everything else. Rows are numbered in the order of `add`. The stored form of a row is one
// byte for the recipe version, then one byte for the kind and 16 bytes for the hash of each.
// Readers pass over unknown kinds, so a later version may add some. Filled by item-index.rules.ts,
// stored-findings.rules.ts and known-items.ts.

import { GrowingInts } from '../../lib/growing-ints.ts';
import { type Evidence, HASH_BYTES, RECIPE } from './evidence.rules.ts';

/** The hashes of a row, by their number in the stored form. */
export const PRODUCER = 1;
export const CONTENT = 2;
export const DUPLICATE_KEY = 3;
/**
 * The hash of the item as it was sent (rawHash); absent when that alone doesn't tell all that
 * reading the item would.
 */
export const RAW = 4;

/**
 * The hash of the defect, whatever its file is (movedOf). It is only stored, and asked for rarely.
 */
export const MOVED = 5;

export type HashKind = typeof PRODUCER | typeof CONTENT | typeof DUPLICATE_KEY | typeof RAW;

const IDENTITY = [PRODUCER, CONTENT, DUPLICATE_KEY] as const;
const KINDS = [...IDENTITY, RAW] as const;
const WORDS = HASH_BYTES / 4;
const ROW_WORDS = IDENTITY.length * WORDS;

export class EvidenceTable {
  /** The hashes of the kinds in IDENTITY. */
  readonly #words = new GrowingInts();
  /** The RAW hashes, up to the last row that has one: only stored findings have any. */
  readonly #raws = new GrowingInts();
  /** One bit for each hash that a row has. */
  readonly #has = new GrowingInts();
  readonly #lines = new GrowingInts();

  get length(): number {
    return this.#has.length;
  }

  /** Gives the memory back, and leaves the table empty. */
  release(): void {
    for (const column of [this.#words, this.#raws, this.#has, this.#lines]) column.release();
  }

  /** Returns the number of the new row. */
  add(evidence: Evidence, line: number | null): number {
    return this.#push([evidence.producer, evidence.content, evidence.duplicateKey, null], line);
  }

  /** Adds a row of another table, without its RAW hash. Returns the number of the new row. */
  addFrom(other: EvidenceTable, row: number): number {
    for (let word = row * ROW_WORDS; word < (row + 1) * ROW_WORDS; word += 1) {
      this.#words.push(other.#words.at(word));
    }
    this.#lines.push(other.line(row));
    this.#has.push(other.#has.at(row) & ~(1 << RAW));
    return this.#has.length - 1;
  }

  /** Adds a row in the form that `pack` made. Returns its number. */
  addPacked(packed: Uint8Array, line: number | null): number {
    const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength);
    const hashes: (Buffer | null)[] = [null, null, null, null];
    for (let at = 1; at + HASH_BYTES < bytes.length; at += 1 + HASH_BYTES) {
      const kind = bytes[at] as number;
      if (kind >= PRODUCER && kind <= RAW) hashes[kind - 1] = bytes.subarray(at + 1);
    }
    return this.#push(hashes, line);
  }

  #push(hashes: readonly (Buffer | null)[], line: number | null): number {
    let has = 0;
    for (const kind of KINDS) {
      const hash = hashes[kind - 1] as Buffer | null;
      if (hash !== null) has |= 1 << kind;
      if (kind === RAW) {
        if (hash !== null) this.#pushRaw(hash);
        continue;
      }
      for (let word = 0; word < WORDS; word += 1) {
        this.#words.push(hash === null ? 0 : hash.readInt32LE(word * 4));
      }
    }
    this.#lines.push(line ?? 0);
    this.#has.push(has);
    return this.#has.length - 1;
  }

  /** Adds the RAW hash of the row that is being added. */
  #pushRaw(raw: Buffer): void {
    while (this.#raws.length < this.#has.length * WORDS) this.#raws.push(0);
    for (let word = 0; word < WORDS; word += 1) this.#raws.push(raw.readInt32LE(word * 4));
  }

  #word(row: number, kind: HashKind, word: number): number {
    if (kind === RAW) return this.#raws.at(row * WORDS + word);
    return this.#words.at(row * ROW_WORDS + (kind - 1) * WORDS + word);
  }

  has(row: number, kind: HashKind): boolean {
    return (this.#has.at(row) & (1 << kind)) !== 0;
  }

  /** 32 bits of the hash: equal for equal hashes. */
  bits(row: number, kind: HashKind): number {
    const bits = this.#word(row, kind, 0);
    if (kind !== DUPLICATE_KEY) return bits;
    // A duplicate key has place and words in separate parts, and very many items may differ in line
    // or column alone: so all parts are mixed.
    const place = Math.imul(this.#word(row, kind, 2), 0x85ebca6b) ^ this.#word(row, kind, 3);
    return bits ^ Math.imul(place ^ (place >>> 15), 0xc2b2ae35);
  }

  /** The hash as a text that is equal for equal hashes; the row has the hash. */
  hashText(row: number, kind: HashKind): string {
    return [0, 1, 2, 3].map((word) => this.#word(row, kind, word)).join();
  }

  /**
   * The hash of the words of the item, without its place; equal for equal words (duplicateKeyOf).
   */
  wordsText(row: number): string {
    return `${this.#said(row, 0)},${this.#said(row, 1)}`;
  }

  /** The column of the finding; -1 when it has none. */
  column(row: number): number {
    return this.#said(row, 3);
  }

  /** A part of the duplicate key as it was before duplicateKeyOf mixed the evidence in. */
  #said(row: number, word: number): number {
    const evidence = this.#word(row, PRODUCER, word) ^ this.#word(row, CONTENT, word);
    return this.#word(row, DUPLICATE_KEY, word) ^ evidence;
  }

  /** The line of the finding; 0 when it has none. */
  line(row: number): number {
    return this.#lines.at(row);
  }

  /** True when the row has this hash of this kind. */
  isHash(row: number, kind: HashKind, hash: Buffer): boolean {
    if (!this.has(row, kind)) return false;
    for (let word = 0; word < WORDS; word += 1) {
      if (this.#word(row, kind, word) !== hash.readInt32LE(word * 4)) return false;
    }
    return true;
  }

  /** True when both rows have a hash of this kind, and the hashes are equal. */
  isSame(row: number, kind: HashKind, other: EvidenceTable, otherRow: number): boolean {
    if (!this.has(row, kind) || !other.has(otherRow, kind)) return false;
    return this.compare(row, kind, other, otherRow) === 0;
  }

  /** Orders rows by a hash that both have: below 0, 0 or above, for sorting. */
  compare(row: number, kind: HashKind, other: EvidenceTable, otherRow: number): number {
    for (let word = 0; word < WORDS; word += 1) {
      const order = this.#word(row, kind, word) - other.#word(otherRow, kind, word);
      if (order !== 0) return order;
    }
    return 0;
  }

  /** True when all hashes of IDENTITY are equal; the RAW hashes may differ. */
  isSameIdentity(row: number, other: EvidenceTable, otherRow: number): boolean {
    return IDENTITY.every(
      (kind) =>
        this.has(row, kind) === other.has(otherRow, kind) &&
        (!this.has(row, kind) || this.isSame(row, kind, other, otherRow)),
    );
  }

  /** The stored form of a row, with its RAW and MOVED hashes if it has them. */
  pack(row: number, raw: Buffer | null, moved: Buffer | null): Buffer {
    const kinds = IDENTITY.filter((kind) => this.has(row, kind));
    const count = kinds.length + (raw === null ? 0 : 1) + (moved === null ? 0 : 1);
    const packed = Buffer.allocUnsafe(1 + count * (1 + HASH_BYTES));
    packed[0] = RECIPE;
    let at = 1;
    for (const kind of kinds) {
      packed[at] = kind;
      for (let word = 0; word < WORDS; word += 1) {
        packed.writeInt32LE(this.#word(row, kind, word), at + 1 + word * 4);
      }
      at += 1 + HASH_BYTES;
    }
    for (const [kind, hash] of [
      [RAW, raw],
      [MOVED, moved],
    ] as const) {
      if (hash === null) continue;
      packed[at] = kind;
      hash.copy(packed, at + 1, 0, HASH_BYTES);
      at += 1 + HASH_BYTES;
    }
    return packed;
  }
}

/** A hash of the stored form; null when it has none of that kind. */
export function packedHash(packed: Uint8Array, kind: HashKind | typeof MOVED): Buffer | null {
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength);
  for (let at = 1; at + HASH_BYTES < bytes.length; at += 1 + HASH_BYTES) {
    if (bytes[at] === kind) return bytes.subarray(at + 1, at + 1 + HASH_BYTES);
  }
  return null;
}

/** Finds rows of a table by one of their hashes. Rows with the same bits form a chain. */
export class HashChains {
  readonly #table: EvidenceTable;
  readonly #kind: HashKind;
  readonly #heads: Int32Array;
  readonly #next: Int32Array;
  readonly #apart: (row: number) => number;

  /**
   * For at most `table.length` rows, each added once. `apart` gives a number for each row: rows
   * with different numbers are never the same, whatever their hashes, and are mostly in different
   * chains. Otherwise equal hashes in very many places would make one long chain.
   */
  constructor(table: EvidenceTable, kind: HashKind, apart: (row: number) => number = () => 0) {
    this.#table = table;
    this.#kind = kind;
    this.#apart = apart;
    this.#heads = new Int32Array(2 ** Math.ceil(Math.log2(table.length + 1))).fill(-1);
    this.#next = new Int32Array(table.length);
  }

  /** Gives the memory back at once; nothing may be asked afterwards. */
  release(): void {
    for (const { buffer } of [this.#heads, this.#next]) (buffer as ArrayBuffer).transfer(0);
  }

  add(row: number): void {
    const chain = this.#chain(this.#table.bits(row, this.#kind), this.#apart(row));
    this.#next[row] = this.#heads[chain] as number;
    this.#heads[chain] = row;
  }

  /**
   * The rows with the same hash as `row` of `table` and with the number `apart`, the last added
   * first.
   */
  *same(
    table: EvidenceTable,
    row: number,
    apart: number = this.#apart(row),
  ): Generator<number, void, undefined> {
    let at = this.#heads[this.#chain(table.bits(row, this.#kind), apart)] as number;
    for (; at >= 0; at = this.#next[at] as number) {
      if (this.#apart(at) === apart && this.#table.isSame(at, this.#kind, table, row)) yield at;
    }
  }

  /**
   * The last added row with this hash; null: there is none. Only for rows added without `apart`.
   */
  find(hash: Buffer): number | null {
    let at = this.#heads[hash.readInt32LE(0) & (this.#heads.length - 1)] as number;
    while (at >= 0 && !this.#table.isHash(at, this.#kind, hash)) at = this.#next[at] as number;
    return at < 0 ? null : at;
  }

  #chain(bits: number, apart: number): number {
    // Fibonacci hashing: the bits of the golden ratio spread small numbers over all 32 bits.
    return (bits ^ Math.imul(apart, 0x9e3779b1)) & (this.#heads.length - 1);
  }
}

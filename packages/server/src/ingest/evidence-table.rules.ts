// The evidence of many findings, of a report or of a scope, in columns: about 80 bytes each, so that a million fit into
// memory beside everything else. Rows are numbered as they are added. Made by survey.rules.ts and stored.ts, compared by
// match.rules.ts, and packed into the stored form of evidence and out of it: one byte recipe version, then for each hash
// one byte kind and 16 bytes hash. Unknown kinds are passed over when reading, so a later program may add some.

import { GrowingInts } from '../lib/growing-ints.ts';
import { type Evidence, HASH_BYTES, RECIPE } from './evidence.rules.ts';

/** The hashes of a row, by their number in the stored form. */
export const PRODUCER = 1;
export const CONTENT = 2;
export const SAMENESS = 3;
/** Of the item as it was sent (rawHash); absent where that alone doesn't tell all that reading it would. */
export const RAW = 4;

export type HashKind = typeof PRODUCER | typeof CONTENT | typeof SAMENESS | typeof RAW;

const IDENTITY = [PRODUCER, CONTENT, SAMENESS] as const;
const KINDS = [...IDENTITY, RAW] as const;
const WORDS = HASH_BYTES / 4;
const ROW_WORDS = KINDS.length * WORDS;

export class EvidenceTable {
  readonly #words = new GrowingInts();
  /** One bit for each hash that the row has. */
  readonly #has = new GrowingInts();
  readonly #lines = new GrowingInts();

  get length(): number {
    return this.#has.length;
  }

  /** Returns the number of the new row. A `raw` that doesn't tell all is only there to be compared. */
  add(evidence: Evidence, raw: Buffer | null, line: number | null, tellsAll = true): number {
    const hashes = [evidence.producer, evidence.content, evidence.sameness, raw];
    return this.#push(hashes, line, tellsAll ? KINDS.length : IDENTITY.length);
  }

  /** Adds a row of another table as it is there. */
  addFrom(other: EvidenceTable, row: number): number {
    for (let word = row * ROW_WORDS; word < (row + 1) * ROW_WORDS; word += 1) {
      this.#words.push(other.#words.at(word));
    }
    this.#lines.push(other.line(row));
    this.#has.push(other.#has.at(row));
    return this.#has.length - 1;
  }

  /** Adds the row that `pack` made. */
  addPacked(packed: Uint8Array, line: number | null): number {
    const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength);
    const hashes: (Buffer | null)[] = [null, null, null, null];
    for (let at = 1; at + HASH_BYTES < bytes.length; at += 1 + HASH_BYTES) {
      const kind = bytes[at] as number;
      if (kind >= PRODUCER && kind <= RAW) hashes[kind - 1] = bytes.subarray(at + 1);
    }
    return this.#push(hashes, line);
  }

  /** `told`: of the hashes the first so many count as what the row has. */
  #push(hashes: readonly (Buffer | null)[], line: number | null, told = hashes.length): number {
    let has = 0;
    hashes.forEach((hash, index) => {
      if (hash !== null && index < told) has |= 1 << (index + 1);
      for (let word = 0; word < WORDS; word += 1) {
        this.#words.push(hash === null ? 0 : hash.readInt32LE(word * 4));
      }
    });
    this.#lines.push(line ?? 0);
    this.#has.push(has);
    return this.#has.length - 1;
  }

  has(row: number, kind: HashKind): boolean {
    return (this.#has.at(row) & (1 << kind)) !== 0;
  }

  /** 32 bits of the hash: equal for equal hashes. */
  bits(row: number, kind: HashKind): number {
    return this.#words.at(row * ROW_WORDS + (kind - 1) * WORDS);
  }

  /** The line of the finding; 0 when it has none. */
  line(row: number): number {
    return this.#lines.at(row);
  }

  /** The row has this hash of this kind. */
  isHash(row: number, kind: HashKind, hash: Buffer): boolean {
    if (!this.has(row, kind)) return false;
    const at = row * ROW_WORDS + (kind - 1) * WORDS;
    for (let word = 0; word < WORDS; word += 1) {
      if (this.#words.at(at + word) !== hash.readInt32LE(word * 4)) return false;
    }
    return true;
  }

  /** Both rows have the hash, and it is the same. */
  isSame(row: number, kind: HashKind, other: EvidenceTable, otherRow: number): boolean {
    if (!this.has(row, kind) || !other.has(otherRow, kind)) return false;
    return this.compare(row, kind, other, otherRow) === 0;
  }

  /** An order of rows by a hash that both were added with: below 0, 0 or above, for sorting. */
  compare(row: number, kind: HashKind, other: EvidenceTable, otherRow: number): number {
    const mine = row * ROW_WORDS + (kind - 1) * WORDS;
    const theirs = otherRow * ROW_WORDS + (kind - 1) * WORDS;
    for (let word = 0; word < WORDS; word += 1) {
      const order = this.#words.at(mine + word) - other.#words.at(theirs + word);
      if (order !== 0) return order;
    }
    return 0;
  }

  /** Everything by which the two are known again is the same; how they were sent may differ. */
  isSameIdentity(row: number, other: EvidenceTable, otherRow: number): boolean {
    return IDENTITY.every(
      (kind) =>
        this.has(row, kind) === other.has(otherRow, kind) &&
        (!this.has(row, kind) || this.isSame(row, kind, other, otherRow)),
    );
  }

  /** The stored form of a row; `withRaw` false leaves the hash of the item as sent out. */
  pack(row: number, withRaw: boolean): Buffer {
    const kinds = KINDS.filter((kind) => this.has(row, kind) && (withRaw || kind !== RAW));
    const packed = Buffer.allocUnsafe(1 + kinds.length * (1 + HASH_BYTES));
    packed[0] = RECIPE;
    let at = 1;
    for (const kind of kinds) {
      packed[at] = kind;
      for (let word = 0; word < WORDS; word += 1) {
        const value = this.#words.at(row * ROW_WORDS + (kind - 1) * WORDS + word);
        packed.writeInt32LE(value, at + 1 + word * 4);
      }
      at += 1 + HASH_BYTES;
    }
    return packed;
  }
}

/** Rows of a table by one of their hashes: chains that begin at some bits of it. */
export class HashChains {
  readonly #table: EvidenceTable;
  readonly #kind: HashKind;
  readonly #heads: Int32Array;
  readonly #next: Int32Array;
  readonly #apart: (row: number) => number;

  /**
   * For at most `table.length` rows, which are added later, each once. Rows with another number `apart` are mostly in
   * other chains: without it, equal hashes in very many places would make one long chain.
   */
  constructor(table: EvidenceTable, kind: HashKind, apart: (row: number) => number = () => 0) {
    this.#table = table;
    this.#kind = kind;
    this.#apart = apart;
    this.#heads = new Int32Array(2 ** Math.ceil(Math.log2(table.length + 1))).fill(-1);
    this.#next = new Int32Array(table.length);
  }

  add(row: number): void {
    const chain = this.#chain(this.#table, row);
    this.#next[row] = this.#heads[chain] as number;
    this.#heads[chain] = row;
  }

  /** The rows with the same hash as `row` of `table`, last added first. */
  *same(table: EvidenceTable, row: number): Generator<number, void, undefined> {
    for (
      let at = this.#heads[this.#chain(table, row)] as number;
      at >= 0;
      at = this.#next[at] as number
    ) {
      if (this.#table.isSame(at, this.#kind, table, row)) yield at;
    }
  }

  /** A row with this hash that was added without a number `apart`, the last one of several; null: there is none. */
  find(hash: Buffer): number | null {
    let at = this.#heads[hash.readInt32LE(0) & (this.#heads.length - 1)] as number;
    while (at >= 0 && !this.#table.isHash(at, this.#kind, hash)) at = this.#next[at] as number;
    return at < 0 ? null : at;
  }

  #chain(table: EvidenceTable, row: number): number {
    // The golden ratio's bits spread small numbers over all 32 (Fibonacci hashing).
    const bits = table.bits(row, this.#kind) ^ Math.imul(this.#apart(row), 0x9e3779b1);
    return bits & (this.#heads.length - 1);
  }
}

// The names of the dependencies of a report, each mapped to a row: the names by which other
// dependencies refer to one, however many there are and in whatever order they come. Names are kept
// as hashes and only identities as texts, outside of the heap: about 150 bytes a dependency. Filled
// by component-index.rules.ts, asked by edges.rules.ts.

import { limits } from '@muster/contract/plain';
import { GrowingInts } from '../../lib/growing-ints.ts';
import { GrowingTexts } from '../../lib/growing-texts.ts';
import { DocumentFault } from '../document/scan.decode.ts';
import { HashedTexts } from '../report/hashed-texts.columns.ts';

/**
 * How a name came to mean a row: a kind listed above another wins over it, and of equal kinds the
 * first name wins.
 */
const BY_ID = 0;
const BY_EXACT_NAME = 1;
const BY_BARE_NAME = 2;
/** Several rows have this bare name, so it means none of them. */
const BY_NONE = 3;

const KIND_BITS = 2;
const KIND = 3;

/** Stands before an identity where its row is looked up: no name begins with a blank. */
const IDENTITY = ' ';

export class ComponentNames {
  readonly #identities = new GrowingTexts();
  readonly #names = new HashedTexts();
  /** The row and the kind of each name. */
  readonly #meanings = new GrowingInts();
  readonly #bytesMax: number;

  /** `bytesMax`: the bound of all identities together. */
  constructor(bytesMax: number = limits.componentNamesBytesMax) {
    this.#bytesMax = bytesMax;
  }

  /** The number of rows. */
  get length(): number {
    return this.#identities.length;
  }

  /**
   * The row of an identity; a new identity gets a new row. Throws DocumentFault when the identities
   * are too many to be held.
   */
  rowOf(identity: string): number {
    const row = this.#identities.length;
    const name = this.#named(IDENTITY + identity, row, BY_EXACT_NAME);
    if (name !== null) return this.#row(name);
    this.#identities.push(identity);
    if (this.#identities.bytes <= this.#bytesMax) return row;
    const detail = `the names of its dependencies take more than ${this.#bytesMax} bytes`;
    throw new DocumentFault(detail, 'size');
  }

  identityOf(row: number): string {
    return this.#identities.at(row);
  }

  /**
   * Notes the report's own id of a row. Returns false when the id belongs to another row already,
   * and goes on to mean that one.
   */
  addId(id: string, row: number): boolean {
    const name = this.#named(id, row, BY_ID);
    if (name === null) return true;
    if (this.#kind(name) === BY_ID) return this.#row(name) === row;
    this.#mean(name, row, BY_ID);
    return true;
  }

  /**
   * Notes a name that says exactly what it means. It means the row unless it is the id of another
   * one.
   */
  addExact(exact: string, row: number): void {
    const name = this.#named(exact, row, BY_EXACT_NAME);
    if (name !== null && this.#kind(name) > BY_EXACT_NAME) this.#mean(name, row, BY_EXACT_NAME);
  }

  /** Notes a name that means the row only if nothing better has the name and no other row does. */
  addBare(bare: string, row: number): void {
    const name = this.#named(bare, row, BY_BARE_NAME);
    if (name === null) return;
    if (this.#kind(name) === BY_BARE_NAME && this.#row(name) !== row) {
      this.#mean(name, row, BY_NONE);
    }
  }

  /** The row that a name means once all names are noted; null when it means none. */
  find(name: string): number | null {
    const found = this.#names.find(name);
    return found === null || this.#kind(found) === BY_NONE ? null : this.#row(found);
  }

  /**
   * The number of a name that is known already; null: the name is new, and means this row from now
   * on.
   */
  #named(name: string, row: number, kind: number): number | null {
    const number = this.#names.add(name);
    if (number < this.#meanings.length) return number;
    this.#meanings.push((row << KIND_BITS) | kind);
    return null;
  }

  #kind(name: number): number {
    return this.#meanings.at(name) & KIND;
  }

  #row(name: number): number {
    return this.#meanings.at(name) >> KIND_BITS;
  }

  #mean(name: number, row: number, kind: number): void {
    this.#meanings.set(name, (row << KIND_BITS) | kind);
  }
}

// What the dependencies of a report are called, each a row: by which names others refer to them, however many there are and in
// whatever order they come. Names are kept as hashes and only identities as texts, outside of the heap: about 150 bytes a
// dependency. Filled by component-survey.rules.ts, asked by ctis-components.decode.ts.

import { hash } from 'node:crypto';
import { limits } from '@muster/contract/plain';
import { GrowingInts } from '../lib/growing-ints.ts';
import { GrowingTexts } from '../lib/growing-texts.ts';
import { DocumentFault } from './document-scan.decode.ts';

/** 96 bits: nobody finds two texts with the same ones, and who did would mix up two of his own dependencies. */
const WORDS = 3;

/** How a name came to mean a row: one above another wins over it, and of equal ones the first. */
const BY_ID = 0;
const BY_EXACT_NAME = 1;
const BY_BARE_NAME = 2;
/** Several rows have this bare name: it means none of them. */
const BY_NONE = 3;

const KIND_BITS = 2;
const KIND = 3;

/** Stands before identities where rows are looked up by them: no name begins with a blank. */
const IDENTITY = ' ';

const NONE = -1;

export class ComponentNames {
  readonly #identities = new GrowingTexts();
  /** Of each name its hash, its row and kind, and the next name in its chain. */
  readonly #words = new GrowingInts();
  readonly #meanings = new GrowingInts();
  readonly #next = new GrowingInts();
  #heads = new Int32Array(1024).fill(NONE);
  readonly #bytesMax: number;

  /** `bytesMax`: of all identities together. */
  constructor(bytesMax: number = limits.componentNamesBytesMax) {
    this.#bytesMax = bytesMax;
  }

  /** How many rows there are. */
  get length(): number {
    return this.#identities.length;
  }

  /** The row of an identity, and a new one for a new identity. Throws DocumentFault when they are too many to be held. */
  rowOf(identity: string): number {
    const words = wordsOf(IDENTITY + identity);
    const known = this.#find(words);
    if (known !== NONE) return this.#meanings.at(known) >> KIND_BITS;
    const row = this.#identities.length;
    this.#identities.push(identity);
    this.#add(words, row, BY_EXACT_NAME);
    if (this.#identities.bytes <= this.#bytesMax) return row;
    const detail = `the names of its dependencies take more than ${this.#bytesMax} bytes`;
    throw new DocumentFault(detail, 'size');
  }

  identityOf(row: number): string {
    return this.#identities.at(row);
  }

  /** The report's own id of a row. False when it is that of another row already, which it goes on to mean. */
  addId(id: string, row: number): boolean {
    const words = wordsOf(id);
    const name = this.#find(words);
    if (name === NONE) this.#add(words, row, BY_ID);
    else if (this.#kind(name) === BY_ID) return this.#row(name) === row;
    else this.#mean(name, row, BY_ID);
    return true;
  }

  /** A name that says exactly what it means, unless it is the id of another row. */
  addExact(exact: string, row: number): void {
    const words = wordsOf(exact);
    const name = this.#find(words);
    if (name === NONE) this.#add(words, row, BY_EXACT_NAME);
    else if (this.#kind(name) > BY_EXACT_NAME) this.#mean(name, row, BY_EXACT_NAME);
  }

  /** A name that means the row only where nothing better does and no other row has it. */
  addBare(bare: string, row: number): void {
    const words = wordsOf(bare);
    const name = this.#find(words);
    if (name === NONE) this.#add(words, row, BY_BARE_NAME);
    else if (this.#kind(name) === BY_BARE_NAME && this.#row(name) !== row) {
      this.#mean(name, row, BY_NONE);
    }
  }

  /** The row that a name means once all were added; null when it means none. */
  find(name: string): number | null {
    const found = this.#find(wordsOf(name));
    return found === NONE || this.#kind(found) === BY_NONE ? null : this.#row(found);
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

  #find(words: readonly number[]): number {
    let name = this.#heads[this.#chain(words[0] as number)] as number;
    while (name !== NONE && !this.#isNamed(name, words)) name = this.#next.at(name);
    return name;
  }

  #isNamed(name: number, words: readonly number[]): boolean {
    for (let word = 0; word < WORDS; word += 1) {
      if (this.#words.at(name * WORDS + word) !== words[word]) return false;
    }
    return true;
  }

  #add(words: readonly number[], row: number, kind: number): void {
    const name = this.#meanings.length;
    for (const word of words) this.#words.push(word);
    this.#meanings.push((row << KIND_BITS) | kind);
    this.#next.push(NONE);
    if (name === this.#heads.length) this.#grow();
    else this.#link(name);
  }

  #grow(): void {
    this.#heads = new Int32Array(2 * this.#heads.length).fill(NONE);
    for (let name = 0; name < this.#meanings.length; name += 1) this.#link(name);
  }

  #link(name: number): void {
    const chain = this.#chain(this.#words.at(name * WORDS));
    this.#next.set(name, this.#heads[chain] as number);
    this.#heads[chain] = name;
  }

  #chain(word: number): number {
    return word & (this.#heads.length - 1);
  }
}

function wordsOf(name: string): number[] {
  // UTF-8 has one U+FFFD for all lone surrogates, which would make one name of several.
  const data = name.isWellFormed() ? name : Buffer.from(name, 'utf16le');
  // By way of a text of single bytes, as in evidence.rules.ts: half of the time.
  const digest = Buffer.from(hash('sha256', data, 'binary'), 'latin1');
  return [digest.readInt32LE(0), digest.readInt32LE(4), digest.readInt32LE(8)];
}

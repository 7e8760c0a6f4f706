// Numbers texts in the order in which they come, and tells them apart by their hashes alone: about
// 24 bytes each, outside of the heap, however long the texts are. The texts are the names and
// references of a report, so that a million of them fit into memory.

import { hash } from 'node:crypto';
import { GrowingInts } from '../../lib/growing-ints.ts';

/**
 * 96 bits: nobody finds two texts with equal hashes, and whoever did would only mix up two entries
 * of a report of their own.
 */
const WORDS = 3;

const NONE = -1;

export class HashedTexts {
  /** The hash of each text; then the next text in its chain. */
  readonly #words = new GrowingInts();
  readonly #next = new GrowingInts();
  #heads = new Int32Array(1024).fill(NONE);

  /** The number of texts, which is the number of the next one. */
  get length(): number {
    return this.#next.length;
  }

  /** The number of a text; null when it was never added. */
  find(text: string): number | null {
    const found = this.#find(wordsOf(text));
    return found === NONE ? null : found;
  }

  /** The number of a text, which is added unless it is there. */
  add(text: string): number {
    const words = wordsOf(text);
    const known = this.#find(words);
    if (known !== NONE) return known;
    const number = this.length;
    for (const word of words) this.#words.push(word);
    this.#next.push(NONE);
    if (number === this.#heads.length) this.#grow();
    else this.#link(number);
    return number;
  }

  #find(words: readonly number[]): number {
    let number = this.#heads[this.#chain(words[0] as number)] as number;
    while (number !== NONE && !this.#isAt(number, words)) number = this.#next.at(number);
    return number;
  }

  #isAt(number: number, words: readonly number[]): boolean {
    for (let word = 0; word < WORDS; word += 1) {
      if (this.#words.at(number * WORDS + word) !== words[word]) return false;
    }
    return true;
  }

  #grow(): void {
    this.#heads = new Int32Array(2 * this.#heads.length).fill(NONE);
    for (let number = 0; number < this.length; number += 1) this.#link(number);
  }

  #link(number: number): void {
    const chain = this.#chain(this.#words.at(number * WORDS));
    this.#next.set(number, this.#heads[chain] as number);
    this.#heads[chain] = number;
  }

  #chain(word: number): number {
    return word & (this.#heads.length - 1);
  }
}

function wordsOf(text: string): number[] {
  // UTF-8 has one U+FFFD for all lone surrogates, which would make one text of several.
  const data = text.isWellFormed() ? text : Buffer.from(text, 'utf16le');
  // By way of a text of single bytes, as in evidence.rules.ts: it takes half of the time.
  const digest = Buffer.from(hash('sha256', data, 'binary'), 'latin1');
  return [digest.readInt32LE(0), digest.readInt32LE(4), digest.readInt32LE(8)];
}

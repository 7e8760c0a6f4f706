// A list of ids that grows: 16 bytes for each id, outside of the heap, where a million texts would
// take seventy each.

import { GrowingInts } from './growing-ints.ts';
import { ID_BYTES, idToText, writeId } from './id-bytes.ts';

const WORDS = ID_BYTES / 4;

export class GrowingIds {
  readonly #words = new GrowingInts();
  readonly #bytes = Buffer.alloc(ID_BYTES);

  get length(): number {
    return this.#words.length / WORDS;
  }

  /** Throws a TypeError when `id` is not a UUID. */
  push(id: string): void {
    writeId(id, this.#bytes, 0);
    for (let word = 0; word < WORDS; word += 1) this.#words.push(this.#bytes.readInt32BE(word * 4));
  }

  /** The id at an index below `length`, in lower case. */
  at(index: number): string {
    for (let word = 0; word < WORDS; word += 1) {
      this.#bytes.writeInt32BE(this.#words.at(index * WORDS + word), word * 4);
    }
    return idToText(this.#bytes);
  }
}

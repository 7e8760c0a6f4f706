// A list of texts that grows, outside of the heap: each text takes the bytes of its UTF-8 and six
// more. A million short texts in an array would take about fifty more each. The list grows by
// segments, so nothing is ever copied.

import { assert } from './assert.ts';
import { GrowingInts } from './growing-ints.ts';

const SEGMENT_BITS = 16;
const SEGMENT_BYTES = 1 << SEGMENT_BITS;
const WITHIN = SEGMENT_BYTES - 1;

/** Each text begins with its length. */
const LENGTH_BYTES = 2;

/**
 * Longer texts don't belong here: the rest of a segment that the next text doesn't fit is unused.
 */
const TEXT_BYTES_MAX = SEGMENT_BYTES / 8;

export class GrowingTexts {
  readonly #segments: Buffer[] = [];
  /** For each text, its segment and its place in the segment. */
  readonly #places = new GrowingInts();
  #end = SEGMENT_BYTES;

  get length(): number {
    return this.#places.length;
  }

  /** The bytes of all segments. */
  get bytes(): number {
    return this.#segments.length * SEGMENT_BYTES;
  }

  /** `text`: at most TEXT_BYTES_MAX. */
  push(text: string): void {
    const bytes = Buffer.byteLength(text);
    assert(bytes <= TEXT_BYTES_MAX, `a text of ${bytes} bytes is too long for a list of texts`);
    if (this.#end + LENGTH_BYTES + bytes > SEGMENT_BYTES) {
      this.#segments.push(Buffer.allocUnsafeSlow(SEGMENT_BYTES));
      this.#end = 0;
    }
    const last = this.#segments.length - 1;
    const segment = this.#segments[last] as Buffer;
    this.#places.push((last << SEGMENT_BITS) | this.#end);
    segment.writeUInt16LE(bytes, this.#end);
    segment.write(text, this.#end + LENGTH_BYTES);
    this.#end += LENGTH_BYTES + bytes;
  }

  /** The text at an index below `length`. */
  at(index: number): string {
    const place = this.#places.at(index);
    const segment = this.#segments[place >>> SEGMENT_BITS] as Buffer;
    const start = (place & WITHIN) + LENGTH_BYTES;
    return segment.toString('utf8', start, start + segment.readUInt16LE(start - LENGTH_BYTES));
  }
}

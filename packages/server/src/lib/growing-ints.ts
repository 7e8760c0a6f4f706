// A list of 32-bit integers that grows: one, two or four bytes each, as few as the integers around
// it need. An array of a million numbers or small objects would take ten times as much. The list
// grows by segments, so nothing but a segment is ever copied and little is unused. For data whose
// size must depend only on the number of items in a document, not on how the document is written.

const SEGMENT_BITS = 14;
const SEGMENT_LENGTH = 1 << SEGMENT_BITS;
const WITHIN = SEGMENT_LENGTH - 1;

type Segment = Int8Array | Int16Array | Int32Array;

export class GrowingInts {
  readonly #segments: Segment[] = [];
  length = 0;

  push(value: number): void {
    if ((this.length & WITHIN) === 0) this.#segments.push(segmentFor(value));
    this.set(this.length, value);
    this.length += 1;
  }

  /** The value at an index below `length`. */
  at(index: number): number {
    return (this.#segments[index >>> SEGMENT_BITS] as Segment)[index & WITHIN] as number;
  }

  /** Sets the value at an index; of a larger value the last 32 bits are kept. */
  set(index: number, value: number): void {
    const int = value | 0;
    const segment = this.#segments[index >>> SEGMENT_BITS] as Segment;
    const within = index & WITHIN;
    segment[within] = int;
    if (segment[within] === int) return;
    const wider = segmentFor(int);
    wider.set(segment);
    wider[within] = int;
    this.#segments[index >>> SEGMENT_BITS] = wider;
  }

  /**
   * Gives the memory back at once, without waiting for the collector. Nothing may be read
   * afterwards.
   */
  release(): void {
    for (const { buffer } of this.#segments) (buffer as ArrayBuffer).transfer(0);
    this.#segments.length = 0;
    this.length = 0;
  }
}

/** An empty segment with as few bytes for each integer as this one needs. */
function segmentFor(value: number): Segment {
  if (value === (value << 24) >> 24) return new Int8Array(SEGMENT_LENGTH);
  if (value === (value << 16) >> 16) return new Int16Array(SEGMENT_LENGTH);
  return new Int32Array(SEGMENT_LENGTH);
}

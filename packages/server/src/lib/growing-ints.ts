// A list of 32-bit integers that grows: four bytes each, where an array of a million numbers or small objects would take
// ten times as much. It grows by segments, so nothing is ever copied and little is unused. For what must not depend on
// how documents are written, only on how many items they have.

const SEGMENT_BITS = 14;
const SEGMENT_LENGTH = 1 << SEGMENT_BITS;
const WITHIN = SEGMENT_LENGTH - 1;

export class GrowingInts {
  readonly #segments: Int32Array[] = [];
  length = 0;

  push(value: number): void {
    if ((this.length & WITHIN) === 0) this.#segments.push(new Int32Array(SEGMENT_LENGTH));
    this.set(this.length, value);
    this.length += 1;
  }

  /** The value at an index below `length`. */
  at(index: number): number {
    return (this.#segments[index >>> SEGMENT_BITS] as Int32Array)[index & WITHIN] as number;
  }

  set(index: number, value: number): void {
    (this.#segments[index >>> SEGMENT_BITS] as Int32Array)[index & WITHIN] = value;
  }
}

// A list of 32-bit integers that grows: four bytes each, where an array of a million numbers or small objects would take
// ten times as much. Used where memory must not depend on how documents are written, only on how many items they have.

const FIRST_LENGTH = 1024;

export class GrowingInts {
  #values = new Int32Array(FIRST_LENGTH);
  length = 0;

  push(value: number): void {
    if (this.length === this.#values.length) {
      const larger = new Int32Array(this.#values.length * 2);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.length] = value;
    this.length += 1;
  }

  /** The value at an index below `length`. */
  at(index: number): number {
    return this.#values[index] as number;
  }

  set(index: number, value: number): void {
    this.#values[index] = value;
  }
}

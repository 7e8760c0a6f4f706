// A failed assertion is a Defect: a mistake of ours, answered as 500 without detail and logged with
// its stack.

export class Defect extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'Defect';
  }
}

export function assert(condition: unknown, message: string): asserts condition {
  if (condition === false || condition === null || condition === undefined) {
    throw new Defect(message);
  }
}

/** The value, or a Defect that names the missing thing. */
export function present<T>(value: T | null | undefined, what: string): T {
  if (value === null || value === undefined) throw new Defect(`missing: ${what}`);
  return value;
}

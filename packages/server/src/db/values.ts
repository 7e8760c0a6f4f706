// What may be stored in a column and read from it, the same on both databases: text, integers that
// a number holds exactly, byte strings and null. PostgreSQL refuses NUL characters and half
// surrogate pairs in text, SQLite would keep or mangle them; here both databases refuse them, so
// that a test on one backend speaks for the other. Both drivers check every parameter here.

/** A value that both databases can store and give back unchanged. */
export type StoredValue = string | number | Uint8Array | null;

/**
 * Asserts that `value` can be stored. Throws a TypeError or RangeError that names the kind of
 * value, never the value itself: it could be a secret.
 */
export function assertStorable(value: unknown): asserts value is StoredValue {
  if (value === null || value instanceof Uint8Array) return;
  if (typeof value === 'number') {
    if (Number.isSafeInteger(value)) return;
    if (Number.isInteger(value)) throw new RangeError('an integer beyond 2^53 is not stored');
    throw new TypeError('only integers are stored');
  }
  if (typeof value === 'string') {
    if (value.includes('\0')) throw new TypeError('text with a NUL character is not stored');
    if (!value.isWellFormed()) throw new TypeError('text with half a surrogate pair is not stored');
    return;
  }
  throw new TypeError(`a value of type ${typeof value} is not stored`);
}

/**
 * The number that a decimal text stands for. Throws a RangeError where a number would not hold it
 * exactly.
 */
export function exactNumber(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw new RangeError('the database gave an integer beyond 2^53');
  }
  return value;
}

// Foreign JSON → values that a reader can rely on: access to a member never throws and never
// coerces, texts are cleaned and bounded. warnings.decode.ts records what a reader had to tolerate.
// Pure.

export type JsonObject = Readonly<Record<string, unknown>>;

/** The value as an object; null for everything else, lists included. */
export function objectOf(value: unknown): JsonObject | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : null;
}

const NOTHING: readonly unknown[] = [];

/** The value as a list; an empty one for everything else. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : NOTHING;
}

/**
 * The value as an object, or the only object of a list: producers write both where CTIS has one
 * object.
 */
export function soleObjectOf(value: unknown): JsonObject | null {
  return Array.isArray(value) && value.length === 1 ? objectOf(value[0]) : objectOf(value);
}

/** The value as a list: one object is a list of one. */
export function entriesIn(value: unknown): readonly unknown[] {
  return objectOf(value) === null ? listOf(value) : [value];
}

/** The value as a text; null for blank texts and for everything else. */
export function stringOf(value: unknown): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value : null;
}

/** A finite number; null for everything else, texts of digits included. */
export function numberOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

/**
 * An array index or count: an integer from 0 up. SARIF's `-1` means "absent" (SARIF 2.1.0 §3.4.5).
 */
export function indexOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

/** Higher lines and columns are nonsense; the tables hold 32 bits. */
const POSITION_MAX = 2_147_483_647;

/** A line or column: from 1 up. Tools write 0 for "the whole file", which names no line. */
export function positionOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= POSITION_MAX
    ? value
    : null;
}

/** A member whose name came from the document: an own member, never one of `Object.prototype`. */
export function memberOf(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** One reference token of a JSON pointer (RFC 6901 §3). */
export function pointerToken(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** The texts of a list, without the blank ones. */
export function stringsOf(value: unknown): string[] {
  const texts: string[] = [];
  for (const entry of listOf(value)) {
    const text = stringOf(entry);
    if (text !== null) texts.push(text);
  }
  return texts;
}

/** The text without NUL and lone surrogates, for texts that are compared rather than shown. */
export function cleanText(value: string): string {
  return value.isWellFormed() && !value.includes('\0')
    ? value
    : value.toWellFormed().replaceAll('\0', '\uFFFD');
}

/** The beginning of a text that is stored whole elsewhere: cut visibly, but not counted as cut. */
export function preview(value: string, charsMax: number): string {
  const text = cleanText(value);
  return text.length <= charsMax ? text : `${text.slice(0, charsMax - 1).toWellFormed()}…`;
}

// Converts UUIDs between their two shapes: 36 characters of lower-case text in TypeScript, 16 bytes
// in SQLite. Table-driven, because every list and every ingested row passes here. Anything that is
// not a UUID throws, as PostgreSQL's uuid type does. Called by id-plugin.ts and growing-ids.ts.

// Byte -> the character codes of its two hexadecimal digits.
const HEX = new Uint8Array(512);
for (let byte = 0; byte < 256; byte++) {
  const digits = byte.toString(16).padStart(2, '0');
  HEX[2 * byte] = digits.charCodeAt(0);
  HEX[2 * byte + 1] = digits.charCodeAt(1);
}

// Character code -> value of the hexadecimal digit; 255 for everything else.
const DIGIT = new Uint8Array(128).fill(255);
for (let value = 0; value < 16; value++) {
  const digit = value.toString(16);
  DIGIT[digit.charCodeAt(0)] = value;
  DIGIT[digit.toUpperCase().charCodeAt(0)] = value;
}

// The place in the text at which each of the 16 bytes begins; the dashes stand at 8, 13, 18 and 23
// (RFC 9562 §4).
const OFFSETS = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34] as const;
const DASH = 45;

/** Number of bytes of an id. */
export const ID_BYTES = 16;

/**
 * Writes the 16 bytes of `text` into `target` at `offset`. Throws a TypeError when it is not a
 * UUID.
 */
export function writeId(text: string, target: Uint8Array, offset: number): void {
  let bad =
    text.length !== 36 ||
    text.charCodeAt(8) !== DASH ||
    text.charCodeAt(13) !== DASH ||
    text.charCodeAt(18) !== DASH ||
    text.charCodeAt(23) !== DASH;
  for (let i = 0; i < ID_BYTES && !bad; i++) {
    const at = OFFSETS[i] as number;
    const high = DIGIT[text.charCodeAt(at)] ?? 255;
    const low = DIGIT[text.charCodeAt(at + 1)] ?? 255;
    bad = (high | low) > 15;
    target[offset + i] = (high << 4) | low;
  }
  if (bad) throw new TypeError(`not a UUID: ${JSON.stringify(text.slice(0, 60))}`);
}

/** The 16 bytes of a UUID. Throws a TypeError when `text` is not one. */
export function idToBytes(text: string): Uint8Array {
  const bytes = new Uint8Array(ID_BYTES);
  writeId(text, bytes, 0);
  return bytes;
}

// The text that is being written, with its dashes.
const TEXT = Buffer.alloc(36, DASH);

/**
 * The lower-case text of 16 bytes, which may have any values. Written in one piece: joining parts
 * would take ten times as long.
 */
export function idToText(bytes: Uint8Array): string {
  for (let i = 0; i < ID_BYTES; i++) {
    const at = OFFSETS[i] as number;
    const byte = bytes[i] as number;
    TEXT[at] = HEX[2 * byte] as number;
    TEXT[at + 1] = HEX[2 * byte + 1] as number;
  }
  return TEXT.toString('latin1');
}

/** Whether two ids of 16 bytes are the same. */
export function isSameId(one: Uint8Array, other: Uint8Array): boolean {
  for (let i = 0; i < ID_BYTES; i++) if (one[i] !== other[i]) return false;
  return true;
}

/** Throws a TypeError unless `text` is a UUID in lower case, as a tenant scope must be. */
export function assertId(text: string): void {
  writeId(text, new Uint8Array(ID_BYTES), 0);
  if (text !== text.toLowerCase()) throw new TypeError('an id is lower-case text');
}

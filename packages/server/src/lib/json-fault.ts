// Finds where a text stops being JSON, or nests too deep: line and column for people, without
// quoting the text, because reports hold secrets. The text is read byte by byte and piece by piece;
// only a stack of brackets is kept. The place is the first byte that no JSON text could have there.
// Used for bodies, and for reports of any size, after they failed to parse.

export interface JsonFault {
  readonly kind: 'syntax' | 'depth';
  /** 1-based; columns count UTF-16 code units. */
  readonly line: number;
  readonly column: number;
  readonly detail: string;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const COMMA = 0x2c;
const COLON = 0x3a;

/**
 * Whether a JSON text nests deeper than `depthMax`. Looks only at brackets outside of strings:
 * three times as fast as jsonFault, for documents that are most likely well-formed. The answer for
 * a text that isn't JSON means nothing.
 */
export function nestsDeeper(bytes: Uint8Array, depthMax: number): boolean {
  const { length } = bytes;
  let depth = 0;
  for (let at = 0; at < length; at += 1) {
    const code = bytes[at];
    if (code === QUOTE) {
      for (at += 1; at < length && bytes[at] !== QUOTE; at += 1) {
        if (bytes[at] === BACKSLASH) at += 1;
      }
    } else if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      depth += 1;
      if (depth > depthMax) return true;
    } else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) {
      depth -= 1;
    }
  }
  return false;
}

type Expect = 'value' | 'value or ]' | 'name or }' | 'name' | ':' | ', or ]' | ', or }' | 'end';

/**
 * The part of a number that was just read, and the part that each next character leads to (RFC 8259
 * §6).
 */
type InNumber = 'minus' | 'zero' | 'integer' | 'point' | 'fraction' | 'e' | 'sign' | 'exponent';
type NumberPart = '0' | '1-9' | '.' | 'e' | '+-';
const NUMBER: Readonly<Record<InNumber, Partial<Record<NumberPart, InNumber>>>> = {
  minus: { '0': 'zero', '1-9': 'integer' },
  zero: { '.': 'point', e: 'e' },
  integer: { '0': 'integer', '1-9': 'integer', '.': 'point', e: 'e' },
  point: { '0': 'fraction', '1-9': 'fraction' },
  fraction: { '0': 'fraction', '1-9': 'fraction', e: 'e' },
  e: { '0': 'exponent', '1-9': 'exponent', '+-': 'sign' },
  sign: { '0': 'exponent', '1-9': 'exponent' },
  exponent: { '0': 'exponent', '1-9': 'exponent' },
};
/** The parts with which a number may end. */
const WHOLE: ReadonlySet<InNumber> = new Set(['zero', 'integer', 'fraction', 'exponent']);

const MINUS = 0x2d;
const ZERO = 0x30;
const ESCAPED = new Set(Buffer.from('"\\/bfnrt'));
const WORDS = new Map(['true', 'false', 'null'].map((word) => [word.charCodeAt(0), word]));
const NOT_A_STRING = 'this string is not ended, or has a raw control character';

/** The first fault, or null when the bytes are JSON within `depthMax` nested brackets. */
export function jsonFault(bytes: Uint8Array, depthMax: number): JsonFault | null {
  const check = new JsonCheck(depthMax);
  return check.push(bytes) ?? check.end();
}

/** Reads a text in pieces, cut anywhere. After a fault it is of no further use. */
export class JsonCheck {
  readonly #depthMax: number;
  readonly #stack: number[] = [];
  #expect: Expect = 'value';
  #line = 1;
  #column = 1;
  /**
   * Inside of a string: text, escape, or the number of digits that an escape still needs. Null:
   * outside.
   */
  #string: 'text' | 'escape' | number | null = null;
  #number: InNumber | null = null;
  /** The rest of `true`, `false` or `null` that is still to come. */
  #word = '';

  constructor(depthMax: number) {
    this.#depthMax = depthMax;
  }

  /** The fault in this piece, if there is one. */
  push(bytes: Uint8Array): JsonFault | null {
    for (const byte of bytes) {
      const detail = this.#read(byte);
      if (detail !== null) return this.#fault(detail);
      if (byte === 0x0a) {
        this.#line += 1;
        this.#column = 1;
        // Bytes 10…… continue a character; a character of four bytes has two UTF-16 units.
      } else if ((byte & 0xc0) !== 0x80) this.#column += byte >= 0xf0 ? 2 : 1;
    }
    return null;
  }

  /** The fault of ending here; null: the text may end here. */
  end(): JsonFault | null {
    if (this.#string !== null) return this.#fault(NOT_A_STRING);
    const isWhole = this.#word === '' && (this.#number === null || WHOLE.has(this.#number));
    const isEnd = isWhole && (this.#number === null ? this.#expect : this.#after()) === 'end';
    return isEnd ? null : this.#fault(`the text ends where ${this.#expect} was expected`);
  }

  #fault(detail: string): JsonFault {
    const kind = this.#stack.length > this.#depthMax ? 'depth' : 'syntax';
    return { kind, line: this.#line, column: this.#column, detail };
  }

  /** The fault of the next byte; null when there is none. */
  #read(byte: number): string | null {
    if (this.#string !== null) return this.#readString(byte, this.#string);
    if (this.#word !== '') {
      if (byte !== this.#word.charCodeAt(0)) return `expected ${this.#expect}`;
      this.#word = this.#word.slice(1);
      if (this.#word === '') this.#expect = this.#after();
      return null;
    }
    if (this.#number !== null) {
      const part = partOf(byte);
      const next = part === null ? undefined : NUMBER[this.#number][part];
      if (next === undefined && !WHOLE.has(this.#number)) return `expected ${this.#expect}`;
      this.#number = next ?? null;
      if (next !== undefined) return null;
      this.#expect = this.#after();
    }
    if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) return null;
    return this.#begin(byte);
  }

  #readString(byte: number, state: 'text' | 'escape' | number): string | null {
    if (byte < 0x20) return NOT_A_STRING;
    if (state === 'text') {
      if (byte === BACKSLASH) this.#string = 'escape';
      else if (byte === QUOTE) {
        this.#string = null;
        this.#expect = isNameNext(this.#expect) ? ':' : this.#after();
      }
    } else if (state === 'escape') {
      if (byte === 0x75) this.#string = 4;
      else if (ESCAPED.has(byte)) this.#string = 'text';
      else return 'this string has an unknown escape';
    } else {
      if (!/[0-9a-fA-F]/.test(String.fromCharCode(byte))) return 'this string has a broken escape';
      this.#string = state === 1 ? 'text' : state - 1;
    }
    return null;
  }

  /** Between tokens: reads the byte that begins or ends something. */
  #begin(byte: number): string | null {
    const expect = this.#expect;
    const isValueNext = expect === 'value' || expect === 'value or ]';
    if (byte === QUOTE && (isValueNext || isNameNext(expect))) this.#string = 'text';
    else if ((byte === OPEN_OBJECT || byte === OPEN_ARRAY) && isValueNext) return this.#open(byte);
    else if (
      (byte === CLOSE_OBJECT && (expect === 'name or }' || expect === ', or }')) ||
      (byte === CLOSE_ARRAY && (expect === 'value or ]' || expect === ', or ]'))
    ) {
      this.#stack.pop();
      this.#expect = this.#after();
    } else if (byte === COMMA && expect === ', or ]') this.#expect = 'value';
    else if (byte === COMMA && expect === ', or }') this.#expect = 'name';
    else if (byte === COLON && expect === ':') this.#expect = 'value';
    else if (isValueNext && byte === MINUS) this.#number = 'minus';
    else if (isValueNext && byte === ZERO) this.#number = 'zero';
    else if (isValueNext && partOf(byte) === '1-9') this.#number = 'integer';
    else if (isValueNext && WORDS.has(byte)) this.#word = (WORDS.get(byte) as string).slice(1);
    else return `expected ${expect}`;
    return null;
  }

  #open(byte: number): string | null {
    this.#stack.push(byte);
    if (this.#stack.length > this.#depthMax) {
      return `more than ${this.#depthMax} nested arrays and objects`;
    }
    this.#expect = byte === OPEN_ARRAY ? 'value or ]' : 'name or }';
    return null;
  }

  /** What may stand behind a value. */
  #after(): Expect {
    if (this.#stack.length === 0) return 'end';
    return this.#stack.at(-1) === OPEN_ARRAY ? ', or ]' : ', or }';
  }
}

const isNameNext = (expect: Expect): boolean => expect === 'name' || expect === 'name or }';

function partOf(byte: number): NumberPart | null {
  if (byte === ZERO) return '0';
  if (byte > ZERO && byte <= 0x39) return '1-9';
  if (byte === 0x2e) return '.';
  if (byte === 0x65 || byte === 0x45) return 'e';
  return byte === 0x2b || byte === MINUS ? '+-' : null;
}

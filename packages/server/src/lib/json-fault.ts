// Where a text stops being JSON, or nests too deep: line and column for people, without quoting the text, because
// reports hold secrets. A linear scan that keeps a stack of brackets and builds nothing.

export interface JsonFault {
  readonly kind: 'syntax' | 'depth';
  /** Index of the character, in UTF-16 code units. */
  readonly at: number;
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

/** Sticky, so that each looks only at its place; both are linear. */
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const WORD = /true|false|null/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/**
 * Does a JSON text nest deeper than `depthMax`? Looks at brackets outside of strings only: three times as fast as
 * jsonFault, for documents that are most likely well-formed. What it says of a text that isn't JSON means nothing.
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

/** The first fault, or null when the text is JSON within `depthMax` nested brackets. */
export function jsonFault(text: string, depthMax: number): JsonFault | null {
  const stack: number[] = [];
  let expect: Expect = 'value';
  let at = 0;
  const after = (): Expect =>
    stack.length === 0 ? 'end' : stack.at(-1) === OPEN_ARRAY ? ', or ]' : ', or }';
  while (true) {
    at = skipBlank(text, at);
    if (at >= text.length) {
      return expect === 'end'
        ? null
        : place(text, at, 'syntax', `the text ends where ${expect} was expected`);
    }
    const code = text.charCodeAt(at);
    const step = stepAt(code, expect);
    if (step === 'fault') return place(text, at, 'syntax', `expected ${expect}`);
    if (step === 'open') {
      stack.push(code);
      if (stack.length > depthMax) {
        return place(text, at, 'depth', `more than ${depthMax} nested arrays and objects`);
      }
      expect = code === OPEN_ARRAY ? 'value or ]' : 'name or }';
      at += 1;
    } else if (step === 'close') {
      stack.pop();
      expect = after();
      at += 1;
    } else if (step === 'comma') {
      expect = stack.at(-1) === OPEN_ARRAY ? 'value' : 'name';
      at += 1;
    } else if (step === 'colon') {
      expect = 'value';
      at += 1;
    } else if (step === 'string') {
      const end = stringEnd(text, at);
      if (end < 0)
        return place(
          text,
          -end,
          'syntax',
          'this string is not ended, or has a raw control character',
        );
      expect = wantsName(expect) ? ':' : after();
      at = end;
    } else {
      const end = scalarEnd(text, at);
      if (end < 0) return place(text, at, 'syntax', `expected ${expect}`);
      expect = after();
      at = end;
    }
  }
}

const wantsName = (expect: Expect): boolean => expect === 'name' || expect === 'name or }';

type Step = 'open' | 'close' | 'comma' | 'colon' | 'string' | 'scalar' | 'fault';

function stepAt(code: number, expect: Expect): Step {
  const value = expect === 'value' || expect === 'value or ]';
  switch (code) {
    case OPEN_OBJECT:
    case OPEN_ARRAY:
      return value ? 'open' : 'fault';
    case CLOSE_OBJECT:
      return expect === 'name or }' || expect === ', or }' ? 'close' : 'fault';
    case CLOSE_ARRAY:
      return expect === 'value or ]' || expect === ', or ]' ? 'close' : 'fault';
    case COMMA:
      return expect === ', or ]' || expect === ', or }' ? 'comma' : 'fault';
    case COLON:
      return expect === ':' ? 'colon' : 'fault';
    case QUOTE:
      return value || wantsName(expect) ? 'string' : 'fault';
    default:
      return value ? 'scalar' : 'fault';
  }
}

function skipBlank(text: string, from: number): number {
  let at = from;
  for (; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) break;
  }
  return at;
}

/** The index after the closing quote, or minus the index of the fault. */
function stringEnd(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    if (code < 0x20) return -at;
    if (code === BACKSLASH) {
      ESCAPE.lastIndex = at;
      if (!ESCAPE.test(text)) return -at;
      at = ESCAPE.lastIndex - 1;
    }
  }
  return -text.length;
}

function scalarEnd(text: string, from: number): number {
  for (const pattern of [NUMBER, WORD]) {
    pattern.lastIndex = from;
    if (pattern.test(text)) return pattern.lastIndex;
  }
  return -1;
}

function place(text: string, at: number, kind: JsonFault['kind'], detail: string): JsonFault {
  let line = 1;
  let lineStart = 0;
  for (let next = text.indexOf('\n'); next >= 0 && next < at; next = text.indexOf('\n', next + 1)) {
    line += 1;
    lineStart = next + 1;
  }
  return { kind, at, line, column: at - lineStart + 1, detail };
}

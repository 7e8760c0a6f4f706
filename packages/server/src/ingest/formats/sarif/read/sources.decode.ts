// Files whose text is in a SARIF log (SARIF 2.1.0 §3.24.8) → their lines, and the line and column
// of an offset into them (§3.30.9-§3.30.12). Each file is cut into lines once per run; the work is
// bounded by the log's own size. Called by read/regions.decode.ts and read/run.decode.ts.

import { indexOf, type JsonObject, listOf, objectOf, stringOf } from '../../../json/json.decode.ts';

/** Embedded sources larger than this aren't cut into lines. */
const SOURCE_CHARS_MAX = 4 * 1024 * 1024;
const SNIPPET_LINES_MAX = 5;

/**
 * From a longer line (minified code is one line) a result gets the text around its column: a file
 * may have many results, and each is read, compared and hashed with its snippet.
 */
const SNIPPET_CHARS_MAX = 2048;
const BEFORE_CHARS_MAX = 512;

/** The unit that an offset counts. */
type OffsetUnit = 'units' | CountedUnit;
type CountedUnit = 'points' | 'bytes';

/** Line and column, both from 1; the column in UTF-16 code units. */
interface Position {
  readonly line: number;
  readonly column: number;
}

interface Source {
  readonly text: string;
  /** The index in `text` at which each line starts. */
  readonly starts: readonly number[];
  readonly lines: readonly string[];
  /** True when the file is UTF-8, as far as the log says: offsets in bytes count in it. */
  readonly isUtf8: boolean;
  /** By unit, the number of units before each mark; made when first asked for. */
  readonly marks: Map<CountedUnit, readonly number[]>;
}

export class Sources {
  /** True when the document holds the contents of some file. */
  readonly some: boolean;
  readonly #artifacts: readonly unknown[];
  readonly #encoding: string | null;
  /** uri → index of the artifact whose text is embedded; made when first asked for. */
  #embedded: ReadonlyMap<string, number> | null = null;
  readonly #read = new Map<number, Source | null>();

  constructor(run: JsonObject) {
    this.#artifacts = listOf(run.artifacts);
    this.#encoding = stringOf(run.defaultEncoding);
    this.some = this.#artifacts.some((one) => objectOf(objectOf(one)?.contents) !== null);
  }

  /**
   * Some lines of a file, a few at most, and from long lines only the text around the column (in
   * UTF-16 code units); null when the document doesn't hold the text.
   */
  lines(
    location: JsonObject,
    startLine: number,
    endLine: number,
    column: number | null,
  ): string | null {
    const source = this.#of(location);
    if (source === null) return null;
    const end = Math.min(Math.max(startLine, endLine), startLine + SNIPPET_LINES_MAX - 1);
    const lines = source.lines.slice(startLine - 1, end);
    const length = lines.reduce((sum, line) => sum + line.length + 1, 0);
    if (length <= SNIPPET_CHARS_MAX) return stringOf(lines.join('\n'));
    const [first = ''] = lines;
    const from = Math.min(Math.max((column ?? 1) - 1 - BEFORE_CHARS_MAX, 0), first.length);
    const to = from + SNIPPET_CHARS_MAX;
    const rest = lines.slice(1).map((line) => line.slice(0, SNIPPET_CHARS_MAX));
    const text = [first.slice(from, to), ...rest].join('\n').slice(0, SNIPPET_CHARS_MAX);
    const isWhole = to >= first.length && text.length === length - 1 - from;
    return stringOf(`${from === 0 ? '' : '…'}${withoutHalves(text)}${isWhole ? '' : '…'}`);
  }

  /**
   * The column in UTF-16 code units for a column in code points, both from 1; null when the
   * document doesn't hold the line.
   */
  columnOf(location: JsonObject, line: number, column: number): number | null {
    const source = this.#of(location);
    const start = source?.starts[line - 1];
    const text = source?.lines[line - 1];
    if (source === null || start === undefined || text === undefined) return null;
    if (text.length <= MARK_UNITS) return utf16Column(text, column);
    const before = pointsBefore(source, start);
    const end = start + text.length;
    const at = unitsBefore(source, before + column - 1, 'points') ?? source.text.length + 1;
    if (at <= end) return at - start + 1;
    // Behind the end of the line, each column counts as one unit.
    return column + text.length - (pointsBefore(source, end) - before);
  }

  /** The position of an offset from 0, up to the end of the text; null when it isn't known. */
  positionOf(location: JsonObject, offset: number, unit: OffsetUnit): Position | null {
    const source = this.#of(location);
    if (source === null || (unit === 'bytes' && !source.isUtf8)) return null;
    const at = unit === 'units' ? offset : unitsBefore(source, offset, unit);
    if (at === null || at > source.text.length) return null;
    const line = lastNotAfter(source.starts, at);
    return { line: line + 1, column: at - (source.starts[line] ?? 0) + 1 };
  }

  #of(location: JsonObject): Source | null {
    if (!this.some) return null;
    const index = this.#indexOf(location);
    if (index === null) return null;
    let source = this.#read.get(index);
    if (source === undefined) {
      const artifact = objectOf(this.#artifacts[index]);
      source = sourceOf(artifact, stringOf(artifact?.encoding) ?? this.#encoding);
      this.#read.set(index, source);
    }
    return source;
  }

  /**
   * The index of the location's artifact; an index that names a file with another uri is wrong
   * (§3.4.5).
   */
  #indexOf(location: JsonObject): number | null {
    const uri = stringOf(location.uri);
    const index = indexOf(location.index);
    const listed = objectOf(objectOf(this.#artifacts[index ?? -1])?.location);
    return uri === null || listed?.uri === uri ? index : this.#embeddedAt(location);
  }

  #embeddedAt(location: JsonObject): number | null {
    if (this.#embedded === null) {
      const embedded = new Map<string, number>();
      for (const [index, entry] of this.#artifacts.entries()) {
        const artifact = objectOf(entry);
        const uri = stringOf(objectOf(artifact?.location)?.uri);
        const contents = objectOf(artifact?.contents);
        if (uri === null || (stringOf(contents?.text) ?? stringOf(contents?.binary)) === null) {
          continue;
        }
        const key = keyOf(uri, stringOf(objectOf(artifact?.location)?.uriBaseId));
        if (!embedded.has(key)) embedded.set(key, index);
      }
      this.#embedded = embedded;
    }
    const uri = this.#embedded.size === 0 ? null : stringOf(location.uri);
    if (uri === null) return null;
    return this.#embedded.get(keyOf(uri, stringOf(location.uriBaseId))) ?? null;
  }
}

const keyOf = (uri: string, baseId: string | null): string =>
  baseId === null ? uri : `${baseId}\n${uri}`;

function sourceOf(artifact: JsonObject | null, encoding: string | null): Source | null {
  const contents = objectOf(artifact?.contents);
  const isUtf8 = encoding === null || /^(?:utf-?8|us-ascii|ascii)$/i.test(encoding);
  const text = stringOf(contents?.text) ?? (isUtf8 ? textOfBinary(contents?.binary) : null);
  if (text === null || text.length > SOURCE_CHARS_MAX) return null;
  const lines: string[] = [];
  const starts: number[] = [];
  let from = 0;
  for (const line of text.matchAll(/\r\n|\r|\n/g)) {
    starts.push(from);
    lines.push(text.slice(from, line.index));
    from = line.index + line[0].length;
  }
  starts.push(from);
  lines.push(text.slice(from));
  return { text, starts, lines, isUtf8, marks: new Map() };
}

/**
 * Characters that no text has: control characters (white space and colours aside), and the sign for
 * bytes that aren't UTF-8.
 */
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const NO_TEXT = /[\x00-\x06\x0e-\x1a\x1c-\x1f\ufffd]/;

/**
 * §3.3.3: the text of a file in its own encoding, as Base64; null when it isn't UTF-8, or isn't a
 * text.
 */
function textOfBinary(value: unknown): string | null {
  const base64 = stringOf(value);
  if (base64 === null || base64.length > 2 * SOURCE_CHARS_MAX) return null;
  const text = Buffer.from(base64, 'base64').toString('utf8');
  return text === '' || NO_TEXT.test(text) ? null : text;
}

/** The snippet without half pairs of surrogates, which a cut leaves at its ends. */
const withoutHalves = (text: string): string =>
  text.replace(/^[\udc00-\udfff]/, '').replace(/[\ud800-\udbff]$/, '');

/** The column in UTF-16 code units of a column in code points of a line, both from 1. */
export function utf16Column(line: string, column: number): number {
  let more = 0;
  for (let point = 1, at = 0; point < column && at < line.length; point += 1, at += 1) {
    const unit = line.charCodeAt(at);
    const next = line.charCodeAt(at + 1);
    if (unit >= 0xd800 && unit <= 0xdbff && next >= 0xdc00 && next <= 0xdfff) {
      more += 1;
      at += 1;
    }
  }
  return column + more;
}

/**
 * The units between two marks. A line may be as long as its file, so counts are stored this often,
 * and a search for an offset never goes further than this.
 */
const MARK_UNITS = 256;

function marksIn(source: Source, unit: CountedUnit): readonly number[] {
  let marks = source.marks.get(unit);
  if (marks === undefined) {
    marks = marksOf(source.text, unit);
    source.marks.set(unit, marks);
  }
  return marks;
}

/** The code points before an offset in UTF-16 code units, which isn't inside a pair. */
function pointsBefore(source: Source, units: number): number {
  // A mark may stand one unit further on, behind a pair, so the search begins one mark earlier.
  const mark = Math.max(Math.floor(units / MARK_UNITS) - 1, 0);
  const points = marksIn(source, 'points')[mark] ?? 0;
  return points + sizeOf(source.text.slice(startOfMark(source.text, mark), units), 'points');
}

/** The UTF-16 code units before an offset in another unit; null behind the end of the text. */
function unitsBefore(source: Source, offset: number, unit: CountedUnit): number | null {
  const marks = marksIn(source, unit);
  const mark = lastNotAfter(marks, offset);
  let units = startOfMark(source.text, mark);
  let left = offset - (marks[mark] ?? 0);
  while (left > 0 && units < source.text.length) {
    const point = String.fromCodePoint(source.text.codePointAt(units) ?? 0);
    left -= sizeOf(point, unit);
    units += point.length;
  }
  return left > 0 ? null : units;
}

/** The number of units before each mark. */
function marksOf(text: string, unit: CountedUnit): readonly number[] {
  const marks: number[] = [];
  let count = 0;
  for (let mark = 0, from = 0; from < text.length || mark === 0; mark += 1) {
    marks.push(count);
    const next = startOfMark(text, mark + 1);
    count += sizeOf(text.slice(from, next), unit);
    from = next;
  }
  return marks;
}

/** The index of a mark in the text; a mark never stands inside a pair. */
function startOfMark(text: string, mark: number): number {
  const at = Math.min(mark * MARK_UNITS, text.length);
  return /[\udc00-\udfff]/.test(text.charAt(at)) ? at + 1 : at;
}

function sizeOf(text: string, unit: CountedUnit): number {
  if (unit === 'bytes') return Buffer.byteLength(text);
  return text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0);
}

/** The index of the last number that isn't above a value; the numbers grow, and the first is 0. */
function lastNotAfter(numbers: readonly number[], value: number): number {
  let low = 0;
  for (let high = numbers.length - 1; low < high; ) {
    const middle = (low + high + 1) >> 1;
    if ((numbers[middle] ?? 0) <= value) low = middle;
    else high = middle - 1;
  }
  return low;
}

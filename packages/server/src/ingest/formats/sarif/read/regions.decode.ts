// Regions of SARIF results (SARIF 2.1.0 §3.30) → lines, columns and offsets as they are stored.
// Columns become UTF-16 code units, whatever unit the tool counts in (§3.14.27), if the document
// holds the line; if it doesn't, the place names its unit. Called by read/locations.decode.ts,
// read/run.decode.ts and show/fixes.decode.ts.

import type { DetailLocation } from '@muster/contract';
import {
  indexOf,
  type JsonObject,
  objectOf,
  positionOf,
  stringOf,
} from '../../../json/json.decode.ts';
import type { SarifRun } from './run.decode.ts';
import { utf16Column } from './sources.decode.ts';

/**
 * `unsaid`: the standard's default is code points, but few of the tools that name no unit count in
 * them.
 */
export type ColumnUnit = 'utf16_code_units' | 'unicode_code_points' | 'unsaid';

/** §3.14.27; a word outside of the standard counts as no word. */
export function columnUnitOf(run: JsonObject): ColumnUnit {
  if (run.columnKind === 'utf16CodeUnits') return 'utf16_code_units';
  return run.columnKind === 'unicodeCodePoints' ? 'unicode_code_points' : 'unsaid';
}

export interface Region {
  readonly startLine: number | null;
  readonly startColumn: number | null;
  readonly endLine: number | null;
  readonly endColumn: number | null;
  /**
   * True for columns in code points: the tool says so, and the line isn't there to convert them.
   */
  readonly isInCodePoints: boolean;
  readonly raw: JsonObject | null;
}

const NO_REGION: Region = {
  startLine: null,
  startColumn: null,
  endLine: null,
  endColumn: null,
  isInCodePoints: false,
  raw: null,
};

/**
 * Reads a region of the artifact; `context` is the region around it, if there is one. Line 0, an
 * end before the start and columns without a line name nothing and are left out.
 */
export function readRegion(
  value: unknown,
  context: JsonObject | null,
  artifact: JsonObject | null,
  run: SarifRun,
): Region {
  const raw = objectOf(value);
  if (raw === null) return NO_REGION;
  const startLine = positionOf(raw.startLine);
  if (startLine === null) return { ...NO_REGION, ...linesOf(raw, artifact, run), raw };
  const saidEnd = positionOf(raw.endLine);
  const endLine = saidEnd !== null && saidEnd >= startLine ? saidEnd : null;
  const startColumn = positionOf(raw.startColumn);
  const saidColumn = saidEnd === endLine ? positionOf(raw.endColumn) : null;
  // A region on one line that ends before it starts (§3.30.8) loses its end.
  const isBackwards =
    saidColumn !== null && (endLine ?? startLine) === startLine && saidColumn < (startColumn ?? 1);
  const endColumn = isBackwards ? null : saidColumn;
  const region = { startLine, startColumn, endLine, endColumn, isInCodePoints: false, raw };
  if (run.columnUnit === 'utf16_code_units') return region;
  if ((startColumn ?? 1) === 1 && (endColumn ?? 1) === 1) return region;
  // The common case costs a look at two short texts.
  const mayDiffer = run.sources.some || hasPairs(raw) || (context !== null && hasPairs(context));
  if (!mayDiffer && run.columnUnit === 'unsaid') return region;
  const column = (line: number, said: number | null): number | null =>
    said === null || said === 1 ? said : columnOf(raw, context, artifact, line, said, run);
  const start = column(startLine, startColumn);
  const end = column(endLine ?? startLine, endColumn);
  const isUnknown =
    (startColumn !== null && start === null) || (endColumn !== null && end === null);
  if (!isUnknown) return { ...region, startColumn: start, endColumn: end };
  return { ...region, isInCodePoints: run.columnUnit === 'unicode_code_points' };
}

/**
 * §3.30.9-12: the lines of a region that has only offsets; null when the log doesn't hold the file.
 */
function linesOf(
  raw: JsonObject,
  artifact: JsonObject | null,
  run: SarifRun,
): Partial<Region> | null {
  if (artifact === null || !run.sources.some) return null;
  const chars = indexOf(raw.charOffset);
  const offset = chars ?? indexOf(raw.byteOffset);
  if (offset === null) return null;
  const points = run.columnUnit === 'utf16_code_units' ? 'units' : 'points';
  const unit = chars === null ? 'bytes' : points;
  const length = indexOf(chars === null ? raw.byteLength : raw.charLength) ?? 0;
  const start = run.sources.positionOf(artifact, offset, unit);
  if (start === null) return null;
  const place = { startLine: start.line, startColumn: start.column };
  const last = length < 2 ? start : run.sources.positionOf(artifact, offset + length - 1, unit);
  const after = run.sources.positionOf(artifact, offset + length, unit);
  if (length === 0 || last === null || after === null) return place;
  // A region that ends with its line has no column behind its end.
  const endColumn = after.line === last.line ? after.column : null;
  return { ...place, endLine: last.line === start.line ? null : last.line, endColumn };
}

const PAIR = /[\ud800-\udbff]/;

function hasPairs(region: JsonObject): boolean {
  const text = objectOf(region.snippet)?.text;
  return typeof text === 'string' && PAIR.test(text);
}

/** Adds lines and columns to a place, and offsets where the report has no line. */
export function putRegion(place: Omit<DetailLocation, 'id'>, region: Region): void {
  const { raw, startLine } = region;
  if (raw === null) return;
  if (positionOf(raw.startLine) === null) putOffsets(place, raw);
  if (startLine === null) return;
  place.start_line = startLine;
  if (region.startColumn !== null) place.start_column = region.startColumn;
  if (region.endLine !== null) place.end_line = region.endLine;
  if (region.endColumn !== null) place.end_column = region.endColumn;
  if (region.isInCodePoints) place.column_unit = 'unicode_code_points';
}

/** §3.30.9-12; -1 means absent. */
function putOffsets(place: Omit<DetailLocation, 'id'>, raw: JsonObject): void {
  const members = [
    ['char_offset', raw.charOffset],
    ['char_length', raw.charLength],
    ['byte_offset', raw.byteOffset],
    ['byte_length', raw.byteLength],
  ] as const;
  for (const [name, value] of members) {
    const number = indexOf(value);
    if (number !== null) place[name] = number;
  }
}

/**
 * The column in UTF-16 code units for a column in code points. It is counted in the line from its
 * beginning, and the first of these that has it counts: the region's own snippet, the snippet
 * around it, the embedded file. Null when none has it.
 */
function columnOf(
  region: JsonObject,
  context: JsonObject | null,
  artifact: JsonObject | null,
  line: number,
  column: number,
  run: SarifRun,
): number | null {
  const text =
    lineOfSnippet(region, line) ?? (context === null ? null : lineOfSnippet(context, line));
  if (text !== null) return utf16Column(text, column);
  return artifact === null ? null : run.sources.columnOf(artifact, line, column);
}

function lineOfSnippet(region: JsonObject, line: number): string | null {
  const text = stringOf(objectOf(region.snippet)?.text);
  const first = positionOf(region.startLine);
  if (text === null || first === null || line < first) return null;
  // A snippet begins where its region does (§3.30.13), so its first line may lack a beginning.
  if (line === first && (positionOf(region.startColumn) ?? 1) !== 1) return null;
  let from = 0;
  for (let at = first; at < line; at += 1) {
    const next = text.indexOf('\n', from);
    if (next === -1) return null;
    from = next + 1;
  }
  const end = text.indexOf('\n', from);
  return end === -1 ? text.slice(from) : text.slice(from, end);
}

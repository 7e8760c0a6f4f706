// Reading a document as a stream and reading it as a whole have the same outcome, for any bytes and
// any way of cutting them: the same values, or a fault in both. JSON.parse is the judge, also of
// the place of a fault. Used by the property tests and by the fuzz run.

import assert from 'node:assert/strict';
import { isUtf8 } from 'node:buffer';
import { limits } from '@muster/contract';
import { countMembers, parseEnvelope, parseItem } from '../../src/ingest/document/parse.decode.ts';
import {
  ItemCutter,
  type ItemList,
  type ScannedItem,
} from '../../src/ingest/document/items.decode.ts';
import { DocumentFault, DocumentScanner } from '../../src/ingest/document/scan.decode.ts';
import { itemTree } from '../../src/ingest/document/shape.rules.ts';
import { CTIS_LISTS } from '../../src/ingest/formats/ctis/ctis.decode.ts';
import { SARIF_LISTS } from '../../src/ingest/formats/sarif/sarif.decode.ts';
import { JsonCheck, type JsonFault, nestsDeeper } from '../../src/lib/json-fault.ts';

/**
 * The lists of SARIF and CTIS, whose root is an object. The judge below knows no list of items at
 * the root, as Gitleaks has; its own tests read such documents.
 */
export const PLACES = itemTree([...SARIF_LISTS, ...CTIS_LISTS]);

/** An envelope with empty lists of items, and the items of each list that has any. */
export interface Taken {
  readonly envelope: unknown;
  readonly lists: ReadonlyMap<string, readonly unknown[]>;
}

/** Pieces of these sizes, again and again from the first; no size at all is one piece. */
export function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? bytes.length;
    // A copy: the scanner's memory of a piece must not depend on its neighbours in memory.
    pieces.push(Buffer.from(bytes.subarray(at, at + size)));
    at += size;
  }
  return pieces;
}

/** A scan of all pieces. Throws DocumentFault. */
function scanned(pieces: readonly Buffer[]): DocumentScanner {
  const scanner = new DocumentScanner(PLACES);
  for (const piece of pieces) scanner.push(piece);
  return scanner;
}

/** All items of all lists, as a pass over the document after its scan gets them. */
export function itemsOf(
  pieces: readonly Buffer[],
  { bounds, lists } = scanned(pieces),
): ScannedItem[] {
  const cutter = new ItemCutter(bounds, new Set(lists.keys()));
  return pieces.flatMap((piece) => cutter.push(piece));
}

/**
 * Reads as the server does: the envelope, then the items, each parsed alone. Throws DocumentFault.
 */
export function takenByScanner(pieces: readonly Buffer[]): Taken & { occurs: ItemList[] } {
  const first = scanned(pieces);
  const { value: envelope } = parseEnvelope(first);
  const lists = new Map<string, unknown[]>();
  for (const { list, index, bytes, members } of itemsOf(pieces, first)) {
    assert.ok(bytes !== null, 'no item of these documents is too large');
    const items = lists.get(list) ?? [];
    lists.set(list, items);
    assert.equal(index, items.length, 'items come in their order');
    const value = parseItem(bytes);
    assert.ok(members >= countMembers(value), 'as many members as the value has, or more');
    items.push(value);
  }
  return { envelope, lists, occurs: [...first.lists.values()] };
}

/** Asserts all rules for these bytes in these pieces. Tells whether the bytes are a document. */
export function assertScannedAlike(bytes: Buffer, pieces: readonly Buffer[]): 'document' | 'fault' {
  const text = bytes.toString('utf8');
  const fault = faultOf(pieces);
  let whole: unknown;
  try {
    whole = JSON.parse(text);
  } catch {
    assert.ok(fault !== null, 'JSON.parse refuses what the check accepts');
    if (isUtf8(bytes)) assertPlace(text, fault);
    assertNotTaken(pieces, text);
    return 'fault';
  }
  if (nestsDeeper(bytes, limits.jsonDepthMax)) {
    assert.equal(fault?.kind, 'depth');
    assert.throws(() => takenByScanner(pieces), DocumentFault);
    return 'fault';
  }
  assert.equal(fault, null, 'the check refuses what JSON.parse accepts');
  const expected = takenOut(whole);
  const { envelope, lists } = takenByScanner(pieces);
  assert.deepEqual(envelope, expected.envelope);
  for (const [pointer, items] of expected.lists) {
    assert.deepEqual(lists.get(pointer) ?? [], items, `the items of ${pointer}`);
  }
  return 'document';
}

/**
 * Readers parse the items of the lists they ask for. Text that isn't JSON is only passed over in a
 * list that comes again, or that means nothing: reading.ts checks such documents byte by byte.
 */
function assertNotTaken(pieces: readonly Buffer[], text: string): void {
  let taken: ReturnType<typeof takenByScanner>;
  try {
    taken = takenByScanner(pieces);
  } catch (error) {
    assert.ok(error instanceof DocumentFault, String((error as Error).stack));
    return;
  }
  const { lists } = takenOut(taken.envelope);
  const hasStrays = taken.occurs.some(
    ({ pointer, occurrence }) => occurrence > 1 || !lists.has(pointer),
  );
  assert.ok(hasStrays, `accepted, but no JSON: ${text.slice(0, 2000)}`);
}

function faultOf(pieces: readonly Buffer[]): JsonFault | null {
  const check = new JsonCheck(limits.jsonDepthMax);
  for (const piece of pieces) {
    const fault = check.push(piece);
    if (fault !== null) return fault;
  }
  return check.end();
}

/** Up to the place the text can still become JSON; with one more character it can't. */
function assertPlace(text: string, { line, column, kind }: JsonFault): void {
  let at = 0;
  for (let left = line; left > 1; left -= 1) at = text.indexOf('\n', at) + 1;
  at += column - 1;
  const shown = `line ${line}, column ${column} of ${text.slice(0, 2000)}`;
  assert.ok(at <= text.length, shown);
  assert.ok(!isBrokenInside(text.slice(0, at)), `told too late: ${shown}`);
  if (kind === 'depth' || at === text.length) return;
  assert.ok(isBrokenInside(text.slice(0, at + 1)), `told too early: ${shown}`);
}

/** Whether JSON.parse refuses the text, and not because the text ends too early. */
function isBrokenInside(text: string): boolean {
  try {
    JSON.parse(text);
    return false;
  } catch (error) {
    const { message } = error as SyntaxError;
    if (/^(?:Unexpected end|Unterminated string)/.test(message)) return false;
    const place = / at position (\d+)/.exec(message);
    return place === null || Number(place[1]) < text.length;
  }
}

type Fields = Record<string, unknown>;
const fieldsOf = (value: unknown): Fields | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : null;

/**
 * Takes the items out of a whole document (SARIF 2.1.0 §3.13.4, §3.13.5; CTIS, flat and wrapped),
 * which is changed.
 */
export function takenOut(envelope: unknown): Taken {
  const lists = new Map<string, readonly unknown[]>();
  const take = (holder: Fields | null, name: string, pointer: string): void => {
    if (holder === null || !Object.hasOwn(holder, name) || !Array.isArray(holder[name])) return;
    lists.set(pointer, holder[name] as unknown[]);
    holder[name] = [];
  };
  const log = fieldsOf(envelope);
  for (const name of ['runs', 'inlineExternalProperties']) {
    const entries: unknown = log !== null && Object.hasOwn(log, name) ? log[name] : null;
    if (!Array.isArray(entries)) continue;
    entries.forEach((entry, index) => {
      take(fieldsOf(entry), 'results', `/${name}/${index}/results`);
    });
  }
  const report = log !== null && Object.hasOwn(log, 'report') ? log['report'] : null;
  for (const name of ['findings', 'assets', 'dependencies', 'relationships', 'endpoints']) {
    take(log, name, `/${name}`);
    take(fieldsOf(report), name, `/report/${name}`);
  }
  return { envelope, lists };
}

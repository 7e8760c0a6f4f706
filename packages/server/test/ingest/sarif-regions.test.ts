// Lines, columns and offsets of SARIF regions (SARIF 2.1.0 §3.14.17, §3.30): columns are UTF-16 code
// units, whatever the tool counts in, as far as the document allows.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { utf16Column } from '../../src/ingest/sarif-regions.decode.ts';
import { at, detailOfResult, oneResult } from './readers.ts';

const POINTS = { columnKind: 'unicodeCodePoints' };
const UNITS = { columnKind: 'utf16CodeUnits' };

const placeOf = (region: object, run: object = {}, more: object = {}) => {
  const physicalLocation = { artifactLocation: { uri: 'a.c' }, region, ...more };
  return detailOfResult({ locations: [{ physicalLocation }] }, run).locations?.[0];
};
const columns = (region: object, run: object, more: object = {}) => {
  const place = placeOf({ startLine: 2, ...region }, run, more);
  return [place?.start_column, place?.end_column, place?.column_unit];
};

test('a column in code points becomes one in UTF-16 code units', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.nat(40), (line, before) => {
      const points = Array.from(line);
      const column = Math.min(before, points.length) + 1;
      const units = points.slice(0, column - 1).join('').length;
      assert.equal(utf16Column(line, column), units + 1);
    }),
  );
});

test('columns are counted anew where the line is in the snippet around them', () => {
  const contextRegion = { startLine: 1, snippet: { text: 'first 😀😀😀\n😀 = f(😀)\nlast' } };
  const region = { startColumn: 5, endColumn: 9 };
  assert.deepEqual(columns(region, POINTS, { contextRegion }), [6, 11, undefined]);
  assert.deepEqual(columns(region, UNITS, { contextRegion }), [5, 9, undefined]);
  // §3.14.17: code points are what counts when nothing is said.
  assert.deepEqual(columns(region, {}, { contextRegion }), [6, 11, undefined]);
});

test('columns are counted anew from the region’s own snippet if that begins with the line', () => {
  const snippet = { text: '😀 = 1' };
  assert.deepEqual(columns({ startColumn: 1, endColumn: 6, snippet }, POINTS), [1, 7, undefined]);
  // This one begins somewhere in the line: what stands before it isn't known.
  assert.deepEqual(columns({ startColumn: 4, endColumn: 9, snippet }, POINTS), [
    4,
    9,
    'unicode_code_points',
  ]);
});

test('columns are counted anew from the file that the document holds', () => {
  const artifacts = [{ location: { uri: 'a.c' }, contents: { text: 'x\r\n😀😀ab\r\n😀c' } }];
  const run = { ...POINTS, artifacts };
  assert.deepEqual(columns({ startColumn: 3, endLine: 3, endColumn: 2 }, run), [5, 3, undefined]);
});

test('where the line is not there, the place says what its columns count', () => {
  const region = { startColumn: 5, endColumn: 9 };
  assert.deepEqual(columns(region, POINTS), [5, 9, 'unicode_code_points']);
  assert.deepEqual(columns(region, UNITS), [5, 9, undefined]);
  assert.deepEqual(columns(region, {}), [5, 9, undefined]);
  // The first column is the first in any unit.
  assert.deepEqual(columns({ startColumn: 1 }, POINTS), [1, undefined, undefined]);
});

test('the finding’s own column is the same as its place’s', () => {
  const region = { startLine: 1, startColumn: 4 };
  const contextRegion = { startLine: 1, snippet: { text: '😀😀 x' } };
  const physicalLocation = { artifactLocation: { uri: 'a.c' }, region, contextRegion };
  const draft = oneResult({ locations: [{ physicalLocation }] }, POINTS);
  assert.equal(draft.startColumn, 6);
});

test('a region that only has offsets keeps them; -1 is none', () => {
  assert.deepEqual(placeOf({ charOffset: 12, charLength: 3, byteOffset: -1 }), {
    path: 'a.c',
    char_offset: 12,
    char_length: 3,
  });
  assert.deepEqual(placeOf({ startLine: 1, charOffset: 12 }), { path: 'a.c', start_line: 1 });
});

test('an end before the start is no end', () => {
  assert.deepEqual(placeOf({ startLine: 5, startColumn: 9, endColumn: 3 }), {
    path: 'a.c',
    start_line: 5,
    start_column: 9,
  });
  assert.deepEqual(placeOf({ startLine: 5, endLine: 4, endColumn: 3 }), {
    path: 'a.c',
    start_line: 5,
  });
  assert.deepEqual(placeOf({ startLine: 5, startColumn: 9, endLine: 6, endColumn: 3 }), {
    path: 'a.c',
    start_line: 5,
    start_column: 9,
    end_line: 6,
    end_column: 3,
  });
});

test('a column without a line is nowhere', () => {
  assert.deepEqual(placeOf({ startColumn: 3, endLine: 4 }), { path: 'a.c' });
  assert.equal(oneResult({ locations: [at('a.c', { startColumn: 3 })] }).startColumn, null);
});

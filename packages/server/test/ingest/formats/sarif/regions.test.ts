// Lines, columns and offsets of SARIF regions (SARIF 2.1.0 §3.14.27, §3.30): columns are UTF-16
// code units, whatever the tool counts in, as far as the document allows.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { utf16Column } from '../../../../src/ingest/formats/sarif/read/sources.decode.ts';
import { at, detailOfResult, oneResult } from '../readers.ts';

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
  // §3.14.27: columns count code points when nothing is said.
  assert.deepEqual(columns(region, {}, { contextRegion }), [6, 11, undefined]);
});

test('columns are counted anew from the region’s own snippet if that begins with the line', () => {
  const snippet = { text: '😀 = 1' };
  assert.deepEqual(columns({ startColumn: 1, endColumn: 6, snippet }, POINTS), [1, 7, undefined]);
  // This snippet begins inside the line: the text before it isn't known.
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

const EMBEDDED = 'ab\r\n😀é = f(x)\r\nlast';

const embedded = (contents: object, more: object = {}) => ({
  ...more,
  artifacts: [{ location: { uri: 'a.c' }, contents }],
});

test('an offset into a file that the document holds is a line and a column', () => {
  const run = embedded({ text: EMBEDDED });
  const at = (region: object, more: object = run) => {
    const place = placeOf(region, more);
    return [place?.start_line, place?.start_column, place?.end_line, place?.end_column];
  };
  // Offsets count code points unless the run says otherwise; columns are code units in any case.
  assert.deepEqual(at({ charOffset: 6, charLength: 7 }), [2, 4, undefined, 11]);
  const units = embedded({ text: EMBEDDED }, UNITS);
  assert.deepEqual(at({ charOffset: 6, charLength: 7 }, units), [2, 3, undefined, 10]);
  assert.deepEqual(at({ byteOffset: 8, byteLength: 2 }), [2, 3, undefined, 4]);
  assert.deepEqual(at({ charOffset: 0 }), [1, 1, undefined, undefined]);
  assert.deepEqual(at({ charOffset: 0, charLength: 4 }), [1, 1, undefined, undefined]);
  assert.deepEqual(at({ charOffset: 1, charLength: 4 }), [1, 2, 2, 3]);
  assert.deepEqual(at({ charOffset: 99 }), [undefined, undefined, undefined, undefined]);
  assert.deepEqual(at({ charOffset: -1, byteOffset: 4 }), [2, 1, undefined, undefined]);
});

test('a file in Base64 is read where it is UTF-8, and nowhere else', () => {
  const binary = Buffer.from(EMBEDDED).toString('base64');
  const region = { byteOffset: 8, byteLength: 2 };
  const place = placeOf(region, embedded({ binary }));
  assert.deepEqual(place?.snippet, '😀é = f(x)');
  assert.deepEqual([place?.start_line, place?.byte_offset], [2, 8]);
  const latin = embedded({ text: EMBEDDED }, { defaultEncoding: 'ISO-8859-1' });
  assert.equal(placeOf(region, latin)?.start_line, undefined);
  for (const bytes of [
    [0xff, 0xfe, 0x41, 0x0a, 0x41, 0x41],
    [1, 2, 3, 10, 65, 66],
    [0x41, 0, 0x0a, 0, 0, 0, 0, 0, 0],
  ]) {
    const contents = { binary: Buffer.from(bytes).toString('base64') };
    assert.equal(placeOf({ byteOffset: 4 }, embedded(contents))?.start_line, undefined);
  }
});

test('a column far into a long line is counted as well, and so is one behind its end', () => {
  const char = fc.constantFrom('😀', 'é', 'x', '\ud800');
  const long = fc.string({ unit: char, minLength: 500, maxLength: 1500 });
  fc.assert(
    fc.property(long, long, fc.nat(1800), (first, line, before) => {
      const text = `${first}\n${line}\nlast`;
      const place = placeOf({ startLine: 2, startColumn: before + 1 }, embedded({ text }, POINTS));
      assert.equal(place?.start_column, utf16Column(line, before + 1));
    }),
    { numRuns: 30 },
  );
});

test('a result gets the text around its column from a long line, wherever the column is', () => {
  const snippetAt = (text: string, region: object): string => {
    const place = placeOf({ startLine: 1, ...region }, embedded({ text }, UNITS));
    return place?.snippet ?? '';
  };
  const long = 'x'.repeat(50_000);
  const inside = snippetAt(`${long}password = 1;${long}`, { startColumn: 50_001 });
  assert.match(inside, /^…x+password = 1;x+…$/);
  assert.ok(inside.length < 2100);
  // The snippet is the same wherever the line has it, so that the finding is known again.
  assert.equal(snippetAt(`y${long}password = 1;${long}`, { startColumn: 50_002 }), inside);
  assert.match(snippetAt(`password = 1;${long}`, { startColumn: 1 }), /^password = 1;x+…$/);
  assert.match(snippetAt(`${long}password = 1;`, { startColumn: 50_001 }), /^…x+password = 1;$/);
  assert.match(
    snippetAt(`${long}\n${long}\nz`, { startColumn: 50_000, endLine: 3 }),
    /^…x{513}\nx+…$/,
  );
  const pairs = snippetAt('😀'.repeat(5000), { startColumn: 4002 });
  assert.match(pairs, /^…(?:😀)+…$/u);
  assert.equal(snippetAt(`${'x'.repeat(2000)}\ny`, {}), 'x'.repeat(2000));
});

test('an offset far into a long line is found as well', () => {
  const text = `${'😀é'.repeat(5000)}x${'a'.repeat(5000)}`;
  const column = (region: object) => placeOf(region, embedded({ text }, POINTS))?.start_column;
  assert.equal(column({ charOffset: 10_000 }), 15_001);
  assert.equal(column({ byteOffset: 30_000 }), 15_001);
  assert.equal(column({ charOffset: 15_001 }), 20_002);
  assert.equal(column({ charOffset: 15_002 }), undefined);
});

test('any offset leads to the line and column at which its character stands', () => {
  const units = fc.constantFrom('a', 'é', '😀', '\n', '\r\n', '\t');
  fc.assert(
    fc.property(fc.array(units, { minLength: 1, maxLength: 60 }), fc.nat(59), (parts, pick) => {
      const before = parts.slice(0, pick % parts.length).join('');
      const text = `x${parts.join('')}x`;
      const lines = `x${before}`.split(/\r\n|\n/);
      const wanted = [lines.length, (lines.at(-1) ?? '').length + 1];
      const offsets = [
        [{ charOffset: 1 + before.length }, UNITS],
        [{ charOffset: 1 + Array.from(before).length }, POINTS],
        [{ byteOffset: 1 + Buffer.byteLength(before) }, {}],
      ] as const;
      for (const [region, run] of offsets) {
        const place = placeOf(region, embedded({ text }, run));
        assert.deepEqual([place?.start_line, place?.start_column], wanted);
      }
    }),
  );
});

test('a location without a message has the message of its region', () => {
  const region = { startLine: 1, message: { text: 'here' } };
  assert.equal(placeOf(region)?.message, 'here');
  const locations = [{ ...(at('a.c', region) as object), message: { text: 'there' } }];
  assert.equal(detailOfResult({ locations }).locations?.[0]?.message, 'there');
});

test('a place whose line is missing names the unit of its columns', () => {
  const region = { startColumn: 5, endColumn: 9 };
  assert.deepEqual(columns(region, POINTS), [5, 9, 'unicode_code_points']);
  assert.deepEqual(columns(region, UNITS), [5, 9, undefined]);
  assert.deepEqual(columns(region, {}), [5, 9, undefined]);
  // The first column is the first one in every unit.
  assert.deepEqual(columns({ startColumn: 1 }, POINTS), [1, undefined, undefined]);
});

test('the finding’s own column is the same as its place’s', () => {
  const region = { startLine: 1, startColumn: 4 };
  const contextRegion = { startLine: 1, snippet: { text: '😀😀 x' } };
  const physicalLocation = { artifactLocation: { uri: 'a.c' }, region, contextRegion };
  const draft = oneResult({ locations: [{ physicalLocation }] }, POINTS);
  assert.equal(draft.startColumn, 6);
});

test('a region that only has offsets keeps them; -1 is no offset', () => {
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

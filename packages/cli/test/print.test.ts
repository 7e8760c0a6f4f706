// Text as people see it: tables that fit, times in their zone, nothing that steers the terminal.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Column, table } from '../src/print/table.ts';
import { bytes, cut, cutFront, jsonText, lines, plain, width, wrap } from '../src/print/text.ts';
import { durationText, minuteOf, momentOf } from '../src/print/time.ts';
import { nearest } from '../src/nearest.ts';

interface Row {
  readonly id: string;
  readonly path: string;
  readonly title: string;
}
const layout: Column<Row>[] = [
  { title: 'ID', cell: (row) => row.id },
  { title: 'PATH', cell: (row) => row.path, shrink: 'front' },
  { title: 'TITLE', cell: (row) => row.title, shrink: 'end' },
];
const rows: Row[] = [
  { id: 'a1', path: 'src/very/long/folder/names/file.ts:10', title: 'A title that goes on and on' },
  { id: 'b2', path: 'x.ts:1', title: '短い題名' },
];

test('A table never gets wider than the terminal while columns can give way', () => {
  for (let columns = 34; columns <= 90; columns += 1) {
    for (const line of table(layout, rows, columns).trimEnd().split('\n')) {
      assert.ok(width(line) <= columns, `${columns}: ${line}`);
    }
  }
});

test('Ids are never cut, paths lose their beginning, titles their end', () => {
  const [, first = ''] = table(layout, rows, 40).split('\n');
  assert.match(first, /^a1 {2}….*file\.ts:10 {2}A title .*…$/);
});

test('An optional column goes before others become unreadable', () => {
  const withOptional = layout.map((column) =>
    column.title === 'PATH' ? { ...column, isOptional: true as const } : column,
  );
  assert.match(table(withOptional, rows, 80), /PATH/);
  assert.doesNotMatch(table(withOptional, rows, 30), /PATH/);
});

test('Without a terminal nothing is cut', () => {
  const text = table(layout, rows, null);
  for (const row of rows) for (const cell of Object.values(row)) assert.ok(text.includes(cell));
});

test('Wide characters count two columns, joined emoji and accents as one sign', () => {
  assert.equal(width('abc'), 3);
  assert.equal(width('短い'), 4);
  assert.equal(width('e\u0301'), 1);
  assert.equal(width('👩‍💻'), 2);
  assert.equal(cut('短い題名', 5), '短い…');
  assert.equal(cutFront('src/index.ts', 9), '…index.ts');
});

test('What could steer a terminal is shown, never obeyed', () => {
  const hostile = '\u001b]0;owned\u0007\u001b[2Jred\u009b31m\u202egnp.exe\r\nnext\u2028line';
  const shown = plain(hostile);
  assert.doesNotMatch(shown, /[\p{Cc}\u202e\u2028]/u);
  assert.ok(shown.startsWith('\\u{1b}]0;owned\\u{7}'));
  assert.match(lines('a\r\nb\tc'), /^a\nb\tc$/);
});

test('A JSON document is the same document, with nothing left that a terminal would obey', () => {
  const document = { text: '\u009b31m \u202e \u001b[2J ü' };
  assert.doesNotMatch(jsonText(document), /[\u0080-\u009f\u202e]|\\u\{/);
  assert.deepEqual(JSON.parse(jsonText(document)), document);
});

test('Long text is broken at blanks', () => {
  assert.equal(wrap('one two three four', 9), 'one two\nthree\nfour');
  assert.equal(wrap('one two', null), 'one two');
});

test("Times are shown in the reader's zone", () => {
  const at = new Date(2027, 0, 31, 14, 5, 9);
  assert.equal(minuteOf(at.toISOString()), '2027-01-31 14:05');
  assert.match(
    momentOf(at.toISOString(), at.getTime() + 180_000),
    /^2027-01-31 14:05:09 \S+ \(3 minutes ago\)$/,
  );
  assert.match(momentOf(at.toISOString(), at.getTime() - 7_200_000), /\(in 2 hours\)$/);
  assert.equal(minuteOf(null), '-');
});

test('Sizes and durations take the unit that reads best', () => {
  assert.deepEqual([0, 999, 1000, 999_499, 3_400_000, 2e9].map(bytes), [
    '0 B',
    '999 B',
    '1.0 kB',
    '999.5 kB',
    '3.4 MB',
    '2.0 GB',
  ]);
  assert.deepEqual([45, 90, 900, 7200, 604_800].map(durationText), [
    '45s',
    '90s',
    '15m',
    '2h',
    '7d',
  ]);
});

test('A word is near when it is mistyped, not when it is another', () => {
  const known = ['findings', 'runners', 'uploads', 'upload'];
  assert.equal(nearest('findigns', known), 'findings');
  assert.equal(nearest('uplaod', known), 'upload');
  assert.equal(nearest('Runners', known), 'runners');
  assert.equal(nearest('serve', known), null);
});

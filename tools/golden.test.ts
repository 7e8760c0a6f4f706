// The golden comparison passes on equal text, fails with a diff that says what to do, and writes
// when told to.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { golden, shortDiff } from './golden.ts';

let folder: string;
let modeBefore: string | undefined;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'muster-golden-'));
  modeBefore = process.env['MUSTER_GOLDEN'];
  delete process.env['MUSTER_GOLDEN'];
});

afterEach(() => {
  rmSync(folder, { recursive: true });
  if (modeBefore !== undefined) process.env['MUSTER_GOLDEN'] = modeBefore;
});

test('equal text passes', () => {
  writeFileSync(path.join(folder, 'a.sql'), 'select 1\n');
  golden(path.join(folder, 'a.sql'), 'select 1\n');
});

test('another text fails with the lines that differ and the command that updates', () => {
  writeFileSync(path.join(folder, 'a.sql'), 'one\ntwo\nthree\n');
  assert.throws(
    () => golden(path.join(folder, 'a.sql'), 'one\n2\nthree\n'),
    /a\.sql is not what was computed:\n {2}line 2:\n {2}one\n- two\n\+ 2\n {2}three\n[^]*npm run golden/,
  );
});

test('a missing file fails, and is not silently created', () => {
  const place = path.join(folder, 'absent.sql');
  assert.throws(() => golden(place, 'x'), /the file is missing/);
  assert.throws(() => readFileSync(place), { code: 'ENOENT' });
});

test('MUSTER_GOLDEN=write makes the file, folders included', () => {
  process.env['MUSTER_GOLDEN'] = 'write';
  const place = path.join(folder, 'deep', 'a.sql');
  golden(place, 'select 2\n');
  delete process.env['MUSTER_GOLDEN'];
  assert.equal(readFileSync(place, 'utf8'), 'select 2\n');
});

test('a long difference is cut, and says by how much', () => {
  const many = Array.from({ length: 50 }, (_, index) => `line ${index}`).join('\n');
  assert.match(shortDiff('one', many), /\+ line 19\n {2}… 30 more lines/);
});

test('text that only grew at its end shows the added lines alone', () => {
  assert.equal(shortDiff('a\nb', 'a\nb\nc'), '  line 3:\n  a\n  b\n+ c');
});

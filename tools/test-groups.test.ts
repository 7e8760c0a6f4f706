// Which test files share a process: every file is run once, those of one folder together, the long
// ones alone and first.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { entryOf, GROUP_SUFFIX, groupsOf } from './test-groups.ts';

const SHORT = Array.from({ length: 14 }, (_, n) => `server/test/keys/${n}.test.ts`);
const LONG = ['server/test/e2e/life.test.ts', 'server/test/sim/sim.test.ts'];

test('every file is in one group, with others of its folder only', () => {
  const files = [...SHORT, 'server/test/db/one.test.ts', ...LONG];
  const groups = groupsOf(files);
  assert.deepEqual(groups.flatMap((group) => group.files).toSorted(), files.toSorted());
  for (const group of groups) assert.equal(new Set(group.files.map(path.dirname)).size, 1);
  assert.equal(new Set(groups.map(({ name }) => name)).size, groups.length);
  const sizes = groups.map((group) => group.files.length);
  assert.deepEqual(sizes, [1, 1, 1, 5, 5, 4]);
});

test('what takes long begins first and has a process of its own', () => {
  const [first, second] = groupsOf([...SHORT, ...LONG]);
  assert.deepEqual([first?.files, second?.files], [[LONG[1]], [LONG[0]]]);
});

test('a group of one file is that file; of several, one that runs them', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-groups-'));
  try {
    assert.equal(entryOf({ name: 'x', files: ['a.test.ts'] }, folder), 'a.test.ts');
    const entry = entryOf({ name: 'x', files: ['a.test.ts', 'b.test.ts'] }, folder);
    assert.ok(entry.endsWith(GROUP_SUFFIX));
    assert.match(readFileSync(entry, 'utf8'), /runFiles\(\[\s*"a\.test\.ts",\s*"b\.test\.ts"/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

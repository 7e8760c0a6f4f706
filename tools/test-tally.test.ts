// The tally against events as Node 26 sends them, above all where the tally is stricter than Node.
// Every kind of end of a test and of a file has its events here.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TallyKeeper, type TestEvent } from './test-tally.ts';

const FILE = '/repository/a.test.ts';

function event(type: string, data: TestEvent['data']): TestEvent {
  return { type, data: { name: 'a rule', line: 3, nesting: 0, file: FILE, ...data } };
}

const inFile = { entryFile: FILE };
const failed = (failureType: string) => ({
  details: { type: 'test', error: Object.assign(new Error('broken'), { failureType }) },
});

test('passed, failed and skipped tests are counted, suites are not', () => {
  const keeper = new TallyKeeper('/repository');
  keeper.add(event('test:pass', inFile));
  keeper.add(event('test:pass', { ...inFile, details: { type: 'suite' } }));
  keeper.add(event('test:fail', { ...inFile, ...failed('testCodeFailure') }));
  keeper.add(event('test:pass', { ...inFile, skip: 'no browser' }));
  keeper.add(event('test:fail', { ...inFile, todo: true, ...failed('testCodeFailure') }));
  const ended = keeper.add({ type: 'test:summary', data: { file: FILE, entryFile: FILE } });
  assert.deepEqual(ended, { file: 'a.test.ts', passed: 1, failed: 1, skipped: 2 });
  assert.deepEqual(
    keeper.tally.skips.map(({ place, reason }) => [place, reason]),
    [
      ['a.test.ts:3', 'no browser'],
      ['a.test.ts:3', 'to do'],
    ],
  );
});

test('a failed test counts once, not again for the suite around it', () => {
  const keeper = new TallyKeeper('/repository');
  keeper.add(event('test:fail', { ...inFile, nesting: 1, ...failed('testCodeFailure') }));
  keeper.add(event('test:fail', { ...inFile, ...failed('subtestsFailed') }));
  assert.equal(keeper.tally.failures.length, 1);
});

test('a suite whose hook failed is a failure', () => {
  const keeper = new TallyKeeper('/repository');
  keeper.add(event('test:fail', { ...inFile, ...failed('hookFailed') }));
  assert.equal(keeper.tally.failures.length, 1);
});

test('a file that ends before it reported its tests fails, although Node passes it', () => {
  const keeper = new TallyKeeper('/repository');
  keeper.add(event('test:pass', { name: FILE }));
  assert.match(keeper.tally.failures[0]?.report ?? '', /ended before/);
  assert.equal(keeper.tally.passed, 0);
});

test('with a name pattern, a file in which nothing matches is no failure', () => {
  const keeper = new TallyKeeper('/repository', true);
  keeper.add(event('test:pass', { name: FILE }));
  assert.deepEqual(keeper.tally.failures, []);
});

test('a file that began and did not end is named', () => {
  const keeper = new TallyKeeper('/repository');
  keeper.add(event('test:dequeue', { name: FILE }));
  keeper.add(event('test:pass', inFile));
  assert.deepEqual(keeper.unfinished, ['a.test.ts']);
  keeper.add({ type: 'test:summary', data: { file: FILE, entryFile: FILE } });
  assert.deepEqual(keeper.unfinished, []);
});

const GROUP = '/tmp/run/several.group.mjs';
const inGroup = { file: GROUP, entryFile: GROUP };
const suite = (name: string) => ({ ...inGroup, name, details: { type: 'suite' } });

test('the files of a group are told apart, each with its line when it ends', () => {
  const keeper = new TallyKeeper('/repository');
  const told = ['a.test.ts', 'b.test.ts'].map((name) => {
    keeper.add(event('test:start', suite(name)));
    const file = `/repository/${name}`;
    keeper.add(event('test:pass', { file, entryFile: GROUP, nesting: 1 }));
    keeper.add(event('test:fail', { file, entryFile: GROUP, nesting: 1, ...failed('code') }));
    assert.deepEqual(keeper.unfinished, [name]);
    return keeper.add(event('test:fail', { ...suite(name), ...failed('subtestsFailed') }));
  });
  assert.deepEqual(told, [
    { file: 'a.test.ts', passed: 1, failed: 1, skipped: 0 },
    { file: 'b.test.ts', passed: 1, failed: 1, skipped: 0 },
  ]);
  assert.equal(keeper.add({ type: 'test:summary', data: inGroup }), undefined);
  assert.deepEqual(
    keeper.tally.failures.map(({ place }) => place),
    ['a.test.ts:3', 'b.test.ts:3'],
  );
});

test('a file of a group that has no tests, or that can not be loaded, fails', () => {
  const keeper = new TallyKeeper('/repository');
  keeper.add(event('test:start', suite('empty.test.ts')));
  keeper.add(event('test:pass', suite('empty.test.ts')));
  keeper.add(event('test:start', suite('broken.test.ts')));
  keeper.add(event('test:fail', { ...suite('broken.test.ts'), ...failed('testCodeFailure') }));
  assert.deepEqual(
    keeper.tally.failures.map(({ place }) => place),
    ['empty.test.ts:1', 'broken.test.ts:1'],
  );
});

test('of a group whose process broke down the file is blamed that was running, whatever Node says', () => {
  for (const isTold of [true, false]) {
    const keeper = new TallyKeeper('/repository');
    keeper.add(event('test:dequeue', { name: GROUP, file: GROUP }));
    keeper.add(event('test:start', suite('a.test.ts')));
    if (isTold) keeper.add(event('test:fail', { name: GROUP, file: GROUP, ...failed('code') }));
    keeper.add({ type: 'test:summary', data: {} });
    const places = keeper.tally.failures.map(({ place }) => place);
    assert.deepEqual(places, ['a.test.ts:1']);
  }
});

// The rule of machines, shown what it has to refuse and what it has to leave alone.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusedLines } from './bad-sample.ts';
import { stateWords } from './machines.ts';

const QUERIES = 'packages/server/src/keys/keys.queries.ts';
const refused = (code: string, path = QUERIES) => refusedLines(stateWords, path, code);

test('a query that writes a state as a word of its own is refused', () => {
  assert.deepEqual(refused("db.updateTable('a').set({ state: 'retired' });"), [1]);
  assert.deepEqual(
    refused("db.updateTable('a').set((eb) => ({ n: 1, status: 'open' as const }));"),
    [1],
  );
  assert.deepEqual(refused("db.insertInto('a').values({\n  admin: 'paused',\n});"), [2]);
});

test('what a machine or a caller says may be written, and words may be asked for', () => {
  assert.deepEqual(refused("db.updateTable('a').set({ state: MOVES.retire.to, at: 1 });"), []);
  assert.deepEqual(refused("db.updateTable('a').set({ status });"), []);
  assert.deepEqual(refused("db.selectFrom('a').where('state', '=', 'retired');"), []);
  assert.deepEqual(
    refused("const one = { state: 'retired' };", 'packages/server/src/keys/keys.ts'),
    [],
  );
});

// The rules of determinism: each refuses its bad samples, on the right lines, and leaves the good
// samples alone.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusedLines } from './bad-sample.ts';
import { clockAndChance, dialectTests, purity } from './determinism.ts';

const STORY = 'packages/server/src/keys/keys.ts';
const RULES = 'packages/server/src/keys/keys.rules.ts';

test('reading the clock or rolling dice is refused outside lib/, however it is written', () => {
  const code = [
    "import { randomUUID } from 'node:crypto';",
    "import { performance as watch } from 'node:perf_hooks';",
    'Date.now();',
    'new Date();',
    'Math.random();',
    'crypto.randomUUID();',
    'globalThis.crypto.getRandomValues(buffer);',
    'performance.now();',
    'process.hrtime.bigint();',
  ].join('\n');
  assert.deepEqual(refusedLines(clockAndChance, STORY, code), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
  assert.deepEqual(refusedLines(clockAndChance, 'packages/server/src/lib/clock.ts', code), []);
});

test('a date made from an argument, and a comment about Date.now(), are left alone', () => {
  const code = "// Not Date.now().\nnew Date(nowMs); log('Date.now()'); clock.now();";
  assert.deepEqual(refusedLines(clockAndChance, STORY, code), []);
});

test('a pure file is refused async functions, waiting, the process and the event loop', () => {
  const code = [
    'export async function a() {}',
    'const b = async () => {};',
    'await c;',
    'for await (const d of e) f(d);',
    "console.log('g');",
    'process.exit();',
    'setTimeout(h, 1);',
    "fetch('i');",
  ].join('\n');
  assert.deepEqual(refusedLines(purity, RULES, code), [1, 2, 3, 4, 5, 6, 7, 8]);
  assert.deepEqual(refusedLines(purity, STORY, code), []);
});

test('a pure generator is left alone', () => {
  assert.deepEqual(refusedLines(purity, RULES, 'export function* items() { yield 1; }'), []);
});

test('asking which database it is, is refused outside db/dialect.ts', () => {
  const code = [
    "if (kind === 'sqlite') a();",
    "const b = 'postgres' !== kind;",
    'switch (kind) {',
    "  case 'sqlite': c();",
    '}',
    "const url = 'postgres';",
  ].join('\n');
  assert.deepEqual(refusedLines(dialectTests, STORY, code), [1, 2, 4]);
  assert.deepEqual(refusedLines(dialectTests, 'packages/server/src/db/dialect.ts', code), []);
});

// The rules of form: each refuses its bad samples, on the right lines, and leaves the good samples
// alone.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusedLines } from './bad-sample.ts';
import {
  commentedOutCode,
  emptyNames,
  exclusiveTests,
  invertedSentences,
  openingComment,
  shortHandlers,
  wideComments,
} from './conventions.ts';

const STORY = 'packages/server/src/keys/keys.ts';

test('empty words are refused in paths', () => {
  for (const name of ['lib/utils.ts', 'common/a.ts', 'key-helpers.ts', 'pool.manager.ts']) {
    assert.deepEqual(refusedLines(emptyNames, `packages/server/src/${name}`, ''), [1], name);
  }
  assert.deepEqual(refusedLines(emptyNames, 'packages/server/src/lib/uncommon.ts', ''), []);
});

test('empty words are refused at the end of the name of a class, function or type', () => {
  const code = 'class PoolManager {}\ninterface KeyUtils {}\nfunction commonPrefix() {}';
  assert.deepEqual(refusedLines(emptyNames, STORY, code), [1, 2]);
});

test('a source, a tool or a migration without an opening comment is refused', () => {
  const code = "import a from './a.ts';\n// Too late.\n";
  const tool = 'tools/a.ts';
  const migration = 'packages/server/migrations/sqlite/0002_a.sql';
  assert.deepEqual(refusedLines(openingComment, STORY, code), [1]);
  assert.deepEqual(refusedLines(openingComment, tool, code), [1]);
  assert.deepEqual(refusedLines(openingComment, migration, 'create table a (id int);'), [1]);
  assert.deepEqual(refusedLines(openingComment, STORY, `// Says it.\n${code}`), []);
  assert.deepEqual(refusedLines(openingComment, tool, `#!/usr/bin/env node\n// Says it.\n`), []);
  assert.deepEqual(refusedLines(openingComment, migration, '-- Says it.\n'), []);
});

test('a comment past 100 columns is refused on each of its wide lines', () => {
  const wide = 'word '.repeat(20);
  const code = [
    `// ${wide}`,
    '/**',
    ' * Narrow.',
    ` * ${wide}`,
    ' */',
    `keep(${'a'.repeat(60)}); // ${'word '.repeat(8)}`,
    `  // ${'w'.repeat(96)}`,
  ].join('\n');
  assert.deepEqual(refusedLines(wideComments, STORY, code), [1, 4, 6, 7]);
});

test('a comment of 100 columns, and wide code, are left alone', () => {
  const code = [
    `// ${'w'.repeat(97)}`,
    `const text = '${'w'.repeat(120)}';`,
    `const url = 'http://a/ // ${'w'.repeat(100)}';`,
    '/* Narrow. */',
  ].join('\n');
  assert.deepEqual(refusedLines(wideComments, STORY, code), []);
});

test('a sentence that puts the object before the subject is refused', () => {
  const code = [
    '// Of each row its rank.',
    'a();',
    '/** The rows. What is absent goes. */',
    'b();',
    '// The rows of a batch. Of',
    '// several writers one wins.',
    'c();',
    '/** What the report says of each row. */',
  ].join('\n');
  assert.deepEqual(refusedLines(invertedSentences, STORY, code), [1, 3, 5, 8]);
});

test('a sentence that begins with its subject is left alone', () => {
  const code = [
    '// The rank of each row. Of course, what is absent goes.',
    '/** Whatever the order, one wins. Offers of each runner stay apart. */',
    "const text = '// Of each row its rank.';",
  ].join('\n');
  assert.deepEqual(refusedLines(invertedSentences, STORY, code), []);
});

test('code in a comment is refused', () => {
  const code = [
    '// const key = makeKey();',
    '// if (key.isOld) {',
    '/* retire(key);',
    '   return key; */',
    'keep(); // keep(key);',
  ].join('\n');
  assert.deepEqual(refusedLines(commentedOutCode, STORY, code), [1, 2, 3, 4, 5]);
});

test('prose and documented examples in comments are left alone', () => {
  const code = [
    '// The old key (it is retired) stays until then;',
    '// see `retire(key);` for more, or run: npm ci;',
    '/** Use it so: retire(key); */',
    "const url = 'https://example.org/';",
  ].join('\n');
  assert.deepEqual(refusedLines(commentedOutCode, STORY, code), []);
});

test('a test that switches the others off is refused', () => {
  const code =
    "test.only('a', f);\ndescribe.only('b', f);\ntest('c', { only: true }, f);\ntest('d', f);";
  assert.deepEqual(refusedLines(exclusiveTests, 'packages/server/test/a.test.ts', code), [1, 2, 3]);
});

test('a handler of more lines than a handler needs is refused', () => {
  const handler = (lines: number) =>
    `export function routes(app) {\n  app.get('/', async () => {\n${'    step();\n'.repeat(lines)}  });\n}`;
  const routes = 'packages/server/src/keys/keys.routes.ts';
  assert.deepEqual(refusedLines(shortHandlers, routes, handler(30)), [2]);
  assert.deepEqual(refusedLines(shortHandlers, routes, handler(10)), []);
  assert.deepEqual(refusedLines(shortHandlers, STORY, handler(30)), []);
});

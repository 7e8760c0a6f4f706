// The rule about threads: it refuses its bad samples and leaves the good ones alone. The samples
// are small trees of files.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describe, type SourceFile } from './source.ts';
import { threadsWithoutSchemas } from './threads.ts';

const SERVER = 'packages/server/src/';
const WORKER = `${SERVER}ingest/ingest.worker.ts`;

/** The places of the refused imports, given each file's imports. */
function refused(imports: Record<string, string>): string[] {
  const files = Object.entries(imports).map(([path, text]): SourceFile => ({ path, text }));
  return threadsWithoutSchemas(files).map((violation) => describe(violation).split(': ')[0] ?? '');
}

test('a thread that loads the whole contract is refused, however many files lie between', () => {
  const places = refused({
    [WORKER]: "import { work } from './ingest.ts';",
    [`${SERVER}ingest/ingest.ts`]: "import a from 'node:os';\nexport * from '../lib/problem.ts';",
    [`${SERVER}lib/problem.ts`]: "\nimport { errors } from '@muster/contract';",
  });
  assert.deepEqual(places, [`${SERVER}lib/problem.ts:2`]);
});

test('a thread that loads a file only for its types, in a statement that stays, is refused, too', () => {
  const places = refused({ [WORKER]: "import { type Receipt } from '@muster/contract';" });
  assert.deepEqual(places, [`${WORKER}:1`]);
});

test('TypeBox behind the plain part of the contract is refused where it is imported', () => {
  const places = refused({
    [WORKER]: "import { limits } from '@muster/contract/plain';",
    'packages/contract/src/plain.ts': "export * from './words.ts';",
    'packages/contract/src/words.ts': "import Type from 'typebox';",
  });
  assert.deepEqual(places, ['packages/contract/src/words.ts:1']);
});

test('types, the plain part, and files that no thread loads are left alone', () => {
  const places = refused({
    [WORKER]:
      "import type { Receipt } from '@muster/contract';\nimport { limits } from '@muster/contract/plain';",
    'packages/contract/src/plain.ts': "export type * from './index.ts';",
    'packages/contract/src/index.ts': "import Type from 'typebox';",
    [`${SERVER}keys/keys.routes.ts`]: "import { endpoints } from '@muster/contract';",
  });
  assert.deepEqual(places, []);
});

// The import rules: each refuses its bad samples and leaves the good ones alone. The tables are
// samples of the table in ARCHITECTURE.md.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { complaints, refusedLines } from './bad-sample.ts';
import { databaseHomes, packagePermissions, suffixPermissions } from './permissions.ts';

const SERVER = 'packages/server/src/';

/** File, import, and whether the table permits it. */
const TABLE: [file: string, code: string, isPermitted: boolean][] = [
  ['ingest/match.rules.ts', "import { limits } from '@muster/contract';", true],
  ['ingest/match.rules.ts', "import { assert } from '../lib/assert.ts';", true],
  ['ingest/match.rules.ts', "import { createHash } from 'node:crypto';", true],
  ['ingest/match.rules.ts', "import { randomBytes } from 'node:crypto';", false],
  ['ingest/match.rules.ts', "import { readFile } from 'node:fs';", false],
  ['ingest/match.rules.ts', "import { now } from '../lib/clock.ts';", false],
  ['ingest/match.rules.ts', "import { find } from './finding.queries.ts';", false],
  ['ingest/match.rules.ts', "import type { Row } from '../db/tables.ts';", true],
  ['ingest/match.rules.ts', "import type { Kysely } from 'kysely';", false],
  [
    'ingest/report/texts.columns.ts',
    "import { GrowingInts } from '../../lib/growing-ints.ts';",
    true,
  ],
  ['ingest/report/texts.columns.ts', "import { hash } from 'node:crypto';", true],
  ['ingest/report/texts.columns.ts', "import { read } from './asset.rules.ts';", false],
  ['ingest/report/asset.rules.ts', "import { Texts } from './texts.columns.ts';", true],
  ['uploads/receive.ts', "import { find } from '../ingest/store/upload.queries.ts';", true],
  ['commands/commands.ts', "import { find } from '../ingest/store/upload.queries.ts';", false],
  ['keys/key.format.ts', "import { other } from './keys.rules.ts';", true],
  ['keys/keys.queries.ts', "import { sql } from 'kysely';", true],
  ['keys/keys.queries.ts', "import type { Tables } from '../db/tables.ts';", true],
  ['keys/keys.queries.ts', "import { systemClock } from '../lib/clock.ts';", false],
  ['keys/keys.queries.ts', "import fastify from 'fastify';", false],
  ['keys/keys.queries.ts', "import { renew } from './keys.ts';", false],
  ['keys/keys.routes.ts', "import type { FastifyInstance } from 'fastify';", true],
  ['keys/keys.routes.ts', "import { renew } from './keys.ts';", true],
  ['keys/keys.routes.ts', "import type { Database } from '../db/db.ts';", true],
  ['keys/keys.routes.ts', "import { sql } from 'kysely';", false],
  ['keys/keys.routes.ts', "import { insertKey } from './keys.queries.ts';", false],
  ['keys/keys.routes.ts', "import { lease } from '../commands/commands.ts';", false],
  ['operator/keys.routes.ts', "import { list } from '../keys/keys.ts';", true],
  ['operator/keys.routes.ts', "import { insertKey } from '../keys/keys.queries.ts';", false],
  ['keys/keys.ts', "import { insertKey } from './keys.queries.ts';", true],
  ['keys/keys.ts', "import { transaction } from '../db/db.ts';", true],
  ['keys/keys.ts', "import { open } from '../db/sqlite.ts';", false],
  ['keys/keys.ts', "import { lease } from '../commands/commands.ts';", true],
  ['keys/keys.ts', "import { lease } from '../commands/command.queries.ts';", false],
  ['keys/keys.ts', "import type { Row } from '../commands/command.queries.ts';", false],
  ['keys/keys.ts', "export * from '../commands/command.queries.ts';", false],
  ['keys/keys.ts', "await import('../commands/command.queries.ts');", false],
  ['keys/keys.ts', "import { routes } from './keys.routes.ts';", false],
  ['keys/keys.ts', "import type { FastifyRequest } from 'fastify';", false],
  ['keys/keys.ts', "import { start } from '../app.ts';", false],
  ['ingest/ingest.worker.ts', "import { open } from '../db/db.ts';", true],
  ['ingest/ingest.worker.ts', "import fastify from 'fastify';", false],
  ['ingest/ingest.worker.ts', "import { lease } from '../commands/commands.ts';", false],
  ['upkeep/upkeep.ts', "import { expire } from '../commands/commands.ts';", true],
  ['upkeep/upkeep.ts', "import { expire } from '../commands/command.queries.ts';", false],
  ['upkeep/upkeep.ts', "import { sql } from 'kysely';", false],
  ['db/db.ts', "import { Kysely } from 'kysely';", true],
  ['db/db.ts', "import { keys } from '../keys/keys.ts';", false],
  ['http/server.ts', "import fastify from 'fastify';", true],
  ['http/problems.ts', "import { isBusy } from '../db/db-errors.ts';", true],
  ['http/server.ts', "import { open } from '../db/db.ts';", false],
  ['lib/ids.ts', "import { open } from '../db/db.ts';", false],
  ['config.ts', "import { renew } from './keys/keys.ts';", false],
  ['app.ts', "import { insertKey } from './keys/keys.queries.ts';", true],
];

describe('a suffix is a permission', () => {
  for (const [file, code, isPermitted] of TABLE) {
    test(`${file} ${isPermitted ? 'may' : 'must not'}: ${code}`, () => {
      const lines = refusedLines(suffixPermissions, SERVER + file, `// Opens.\n${code}\n`);
      assert.deepEqual(lines, isPermitted ? [] : [2]);
    });
  }
});

test('a refusal names who, what and why', () => {
  assert.deepEqual(
    complaints(suffixPermissions, `${SERVER}keys/a.rules.ts`, "import fs from 'node:fs';"),
    ["*.rules.ts must not import 'node:fs': it is pure: contract, lib/assert and hashing"],
  );
});

/** File, import, and whether one package may import the other in this way. */
const PACKAGES: [file: string, code: string, isPermitted: boolean][] = [
  ['packages/runner/src/a.ts', "import { call } from '@muster/contract';", true],
  ['packages/runner/src/a.ts', "import type { Config } from '@muster/server';", false],
  ['packages/runner/src/a.ts', "import { x } from '../../contract/src/index.ts';", false],
  ['packages/server/src/a.ts', "import { x } from '@muster/cli';", false],
  ['packages/cli/src/a.ts', "const { start } = await import('@muster/server');", true],
  ['packages/cli/src/a.ts', "import { start } from '@muster/server';", false],
  ['packages/contract/src/a.ts', "import { Type } from 'typebox';", true],
  ['packages/contract/src/a.ts', "import { z } from 'zod';", false],
  ['packages/contract/src/a.ts', "import { createHash } from 'node:crypto';", false],
  ['packages/console/src/a.tsx', "import { useState } from 'react';", true],
  ['packages/console/src/a.tsx', "import fs from 'node:fs';", false],
];

describe('a package imports only those below it', () => {
  for (const [file, code, isPermitted] of PACKAGES) {
    test(`${file} ${isPermitted ? 'may' : 'must not'}: ${code}`, () => {
      assert.deepEqual(refusedLines(packagePermissions, file, code), isPermitted ? [] : [1]);
    });
  }
});

test('database libraries outside their homes are refused, types included', () => {
  const code =
    "import { sql } from 'kysely';\nimport type { Pool } from 'pg';\nimport 'node:sqlite';";
  assert.deepEqual(refusedLines(databaseHomes, `${SERVER}keys/keys.ts`, code), [1, 2, 3]);
  assert.deepEqual(refusedLines(databaseHomes, `${SERVER}keys/keys.queries.ts`, code), [2, 3]);
  assert.deepEqual(refusedLines(databaseHomes, `${SERVER}db/postgres.ts`, code), []);
});

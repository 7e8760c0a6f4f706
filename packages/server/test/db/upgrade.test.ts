// A database of 0.1.0 with rows in every table is upgraded, on both databases: every row is found
// again, the schema is that of a fresh database, and the program works on it.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { call, endpoints } from '@muster/contract';
import { sql } from 'kysely';
import { type Database, openDatabase } from '../../src/db/db.ts';
import { readSchema } from '../../src/db/dialect.ts';
import { migrate, readMigrations } from '../../src/db/migrate.ts';
import { type Backend, BACKENDS, emptyPlace, eventually, startServer } from '../harness.ts';
import { asTexts, fillAsReleased, NOW_MS, releasedDatabase } from './fixture.ts';

/** The key that the rows of 0.1.0 were sealed under. */
const MUSTER_MASTER_KEY = '7'.repeat(64);

async function withEmpty(backend: Backend, body: (database: Database) => Promise<void>) {
  const place = await emptyPlace(backend);
  const url = place.env['MUSTER_DATABASE_URL'] ?? null;
  const database = await openDatabase({ url, directory: String(place.env['MUSTER_DATA']) });
  try {
    await body(database);
  } finally {
    await database.close();
    await place.remove();
  }
}

/** The tables that the schema dump names. */
function tablesIn(schema: string): Set<string> {
  const names = schema.matchAll(/^CREATE TABLE (\w+) |^(\w+)\.\w+ /gm);
  return new Set(Array.from(names, ([, sqlite, postgres]) => sqlite ?? postgres ?? ''));
}

for (const backend of BACKENDS) {
  describe(`a database of 0.1.0 on ${backend}`, () => {
    test('after the upgrade every row of every table is as it was, and the schema is that of today', async () => {
      const released = await releasedDatabase();
      await withEmpty(backend, async (database) => {
        await fillAsReleased(database, released);
        const filled = new Set([...Object.keys(released.tables), 'schema_version']);
        assert.deepEqual(filled, tablesIn(await readSchema(database.system())));

        const applied = await migrate(database, NOW_MS);
        assert.equal(applied.length, (await readMigrations(backend)).length - 1);
        for (const [table, rows] of Object.entries(released.tables)) {
          const columns = Object.keys(rows[0] ?? {});
          const stored = await sql<Readonly<Record<string, unknown>>>`
            select * from ${sql.table(table)}`.execute(database.system());
          assert.deepEqual(asTexts(stored.rows, columns), asTexts(rows, columns), table);
        }
        const golden = new URL(`./golden/schema.${backend}.txt`, import.meta.url);
        assert.equal(await readSchema(database.system()), readFileSync(golden, 'utf8'));
      });
    });

    test('the program lists its findings, and processes what 0.1.0 had received', async () => {
      const released = await releasedDatabase();
      const place = await emptyPlace(backend);
      const prepare = (database: Database) => fillAsReleased(database, released);
      const ports = { ingestStartMs: 0 };
      const server = await startServer({ place, env: { MUSTER_MASTER_KEY }, ports, prepare });
      try {
        assert.equal(server.operatorToken, '', 'no first run');
        const options = { baseUrl: server.url, key: released.operator_token };
        // Two findings were in the upload that 0.1.0 had no time for.
        await eventually(async () => {
          const { body } = await call(endpoints.listFindings, {}, options);
          const rules = new Set(body.items.map((finding) => finding.rule_id));
          return rules.has('six') && rules.has('seven');
        });
        for (const row of released.tables['finding'] ?? []) {
          const params = { id: String(row['id']) };
          const { body: shown } = await call(endpoints.showFinding, { params }, options);
          assert.deepEqual([shown.title, shown.status], [row['title'], row['status']]);
        }
      } finally {
        await server.stop();
        await place.remove();
      }
    });
  });
}

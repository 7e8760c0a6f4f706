// A table of SQLite gets other constraints by a directive of a migration. Rows, indexes, triggers,
// references and statistics stay; a rebuild that fails or is killed leaves the old table.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { testDatabaseUrl } from '../../../../tools/postgres.ts';
import { type Database, type Db, openDatabase } from '../../src/db/db.ts';
import { readSchema, rebuildTable } from '../../src/db/dialect.ts';
import { migrate, readMigrations } from '../../src/db/migrate.ts';
import {
  addTenant,
  type CopiedMigrations,
  copiedMigrations,
  fillAsReleased,
  findingRow,
  newTenant,
  NOW_MS,
  releasedDatabase,
  storedRows,
  temporaryDirectory,
} from './fixture.ts';

interface Scene extends CopiedMigrations {
  readonly database: Database;
  readonly db: Db;
  readonly directory: string;
  /** Adds a migration of this text, and applies it. */
  readonly apply: (text: string) => Promise<void>;
}

/** A database with rows in every table, on the newest schema. */
async function withRows(body: (scene: Scene) => Promise<void>): Promise<void> {
  const { path: directory, remove } = await temporaryDirectory();
  const database = await openDatabase({ url: null, directory });
  await fillAsReleased(database, await releasedDatabase());
  await migrate(database, NOW_MS);
  const copied = await copiedMigrations();
  const apply = async (text: string): Promise<void> => {
    await copied.add('sqlite', 'rebuild', text);
    assert.equal((await migrate(database, NOW_MS, copied.from)).length, 1);
  };
  try {
    await body({ ...copied, database, db: database.system(), directory, apply });
  } finally {
    await database.close();
    await copied.remove();
    await remove();
  }
}

async function tablesOf(db: Db): Promise<Map<string, string>> {
  const { rows } = await sql<{ name: string; text: string }>`
    select name, sql as text from sqlite_schema
    where type = 'table' and name not like 'sqlite_%' and name <> 'schema_version'`.execute(db);
  // SQLite writes the first words of every statement its own way.
  return new Map(
    rows.map(({ name, text }) => [name, text.replace('CREATE TABLE', 'create table')]),
  );
}

async function textOf(db: Db, table: string): Promise<string> {
  const text = (await tablesOf(db)).get(table);
  assert.ok(text !== undefined, table);
  return text;
}

/** Everything that a rebuild must leave as it is. */
async function contentOf(db: Db): Promise<unknown> {
  const tables = [...(await tablesOf(db)).keys()];
  const rows = [];
  for (const table of tables) rows.push([table, await storedRows(db, table)]);
  const statistics = await sql`select * from sqlite_stat1 order by tbl, idx`.execute(db);
  return { schema: await readSchema(db), rows, statistics: statistics.rows };
}

describe('rebuilding a table of SQLite', () => {
  test('every table comes out as it went in: text, rows, indexes, statistics', async () => {
    await withRows(async ({ db, apply }) => {
      const before = await contentOf(db);
      const tables = await tablesOf(db);
      assert.ok(tables.size > 25);
      await apply([...tables].map(([name, text]) => `-- rebuild: ${name}\n${text};\n`).join('\n'));
      assert.deepEqual(await contentOf(db), before);
    });
  });

  test('a new word of a check is accepted afterwards, what refers and what is referred to still holds', async () => {
    await withRows(async ({ database, db, apply }) => {
      const tenantId = await newTenant(database);
      const waived = { ...findingRow(tenantId), status: 'waived' as never };
      await assert.rejects(db.insertInto('finding').values(waived).execute(), /CHECK/);
      const finding = (await textOf(db, 'finding')).replace(
        "'suppressed')",
        "'suppressed', 'waived')",
      );
      const tenant = (await textOf(db, 'tenant')).replace(
        'unique',
        "unique check (name <> 'nobody')",
      );
      await apply(
        `-- Two tables and a statement.\n-- rebuild: finding\n${finding};\n` +
          `update finding set title = 'first' where rule_id = 'one';\n\n-- rebuild: tenant\n${tenant};\n`,
      );
      await db.insertInto('finding').values(waived).execute();
      await assert.rejects(addTenant(db, randomUUID(), 'nobody'), /CHECK/);
      const stranger = findingRow(randomUUID());
      await assert.rejects(db.insertInto('finding').values(stranger).execute(), /FOREIGN KEY/);
      await assert.rejects(
        db.deleteFrom('tenant').where('id', '=', tenantId).execute(),
        /FOREIGN KEY/,
      );
      const { rows } = await sql`select distinct title from finding where rule_id = 'one'`.execute(
        db,
      );
      assert.deepEqual(rows, [{ title: 'first' }]);
    });
  });

  test('a trigger is there again, and did not see the copying', async () => {
    await withRows(async ({ db, apply }) => {
      const before = await storedRows(db, 'finding');
      await apply(`create table seen (n integer) strict;
        create trigger finding_seen after insert on finding begin insert into seen values (1); end;
        create trigger finding_gone after delete on finding begin insert into seen values (2); end;`);
      await apply(`-- rebuild: finding\n${await textOf(db, 'finding')};\n`);
      assert.deepEqual(await storedRows(db, 'finding'), before);
      const seen = async () => (await sql`select n from seen`.execute(db)).rows;
      assert.deepEqual(await seen(), []);
      const [tenant] = await db.selectFrom('tenant').select('id').execute();
      await db
        .insertInto('finding')
        .values(findingRow(String(tenant?.id)))
        .execute();
      assert.deepEqual(await seen(), [{ n: 1 }]);
    });
  });

  test('a row that breaks the new check leaves everything as it was, the version too', async () => {
    await withRows(async ({ db, apply }) => {
      const before = await contentOf(db);
      const narrower = (await textOf(db, 'finding')).replace("'accepted', ", '');
      await assert.rejects(apply(`-- rebuild: finding\n${narrower};\n`), /CHECK/);
      assert.deepEqual(await contentOf(db), before);
      const { rows } = await sql`select version from schema_version`.execute(db);
      assert.equal(rows.length, (await readMigrations('sqlite')).length);
    });
  });

  test('a rebuild that names other columns is refused, and so is one of no table', async () => {
    await withRows(async ({ db, apply }) => {
      const before = await contentOf(db);
      const text = await textOf(db, 'endpoint');
      const renamed = text.replace('document text', 'documents text');
      await assert.rejects(apply(`-- rebuild: endpoint\n${renamed};\n`), /changes no columns/);
      assert.deepEqual(await contentOf(db), before);
    });
    await withRows(async ({ apply }) => {
      const text = 'create table nothing (\n  n integer\n) strict';
      await assert.rejects(apply(`-- rebuild: nothing\n${text};\n`), /no table nothing/);
    });
  });

  test('a table that others follow on delete is not rebuilt: their rows would go', async () => {
    await withRows(async ({ db, apply }) => {
      await apply(`create table note (
        tenant_id blob not null references tenant (id) on delete cascade
      ) strict;
      insert into note select id from tenant;`);
      const text = await textOf(db, 'tenant');
      await assert.rejects(
        apply(`-- rebuild: tenant\n${text};\n`),
        /note refers to it on delete CASCADE/,
      );
      assert.equal((await storedRows(db, 'note')).length, 1);
    });
  });

  test('a process that is killed before the commit leaves the old table', async () => {
    await withRows(async ({ database, db, directory }) => {
      const before = await contentOf(db);
      const text = (await textOf(db, 'finding')).replace(
        "'suppressed')",
        "'suppressed', 'waived')",
      );
      await database.close();
      const script = fileURLToPath(new URL('./rebuild.child.ts', import.meta.url));
      const args = [script, directory, 'finding', text];
      const { stdout, signal } = spawnSync(process.execPath, args, { encoding: 'utf8' });
      assert.deepEqual([stdout, signal], ['rebuilt\n', 'SIGKILL']);
      const again = await openDatabase({ url: null, directory });
      assert.deepEqual(await contentOf(again.system()), before);
      await again.close();
    });
  });

  test('a directive that is not followed by its table is refused before anything is done', async () => {
    const { from, add, remove } = await copiedMigrations();
    await add(
      'sqlite',
      'gap',
      '-- rebuild: finding\n\ncreate table finding (\n  id blob\n) strict;\n',
    );
    await assert.rejects(readMigrations('sqlite', from), {
      name: 'MigrationError',
      message: /_gap\.sql: "-- rebuild: x" stands right above/,
    });
    await remove();
  });

  test('PostgreSQL rebuilds nothing: it alters constraints', async () => {
    const database = await openDatabase({ url: await testDatabaseUrl(), directory: '' });
    const rebuilding = database.transaction('system', (tx) => rebuildTable(tx, 'finding', ''));
    await assert.rejects(rebuilding, /not rebuilt on PostgreSQL/);
    await database.close();
  });
});

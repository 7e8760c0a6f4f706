// The schema is written four times, and is the same each time: two migrations, the table types, the
// golden dumps.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { sql } from 'kysely';
import { golden } from '../../../../tools/golden.ts';
import { testDatabaseUrl } from '../../../../tools/postgres.ts';
import { type Database, openDatabase } from '../../src/db/db.ts';
import { readSchema } from '../../src/db/dialect.ts';
import { migrate } from '../../src/db/migrate.ts';
import { BYTES_COLUMNS, ID_COLUMNS, isIdColumn } from '../../src/db/tables.ts';
import { NOW_MS, temporaryDirectory } from './fixture.ts';

/** One column in a form common to all four: "runner.version text null". */
interface Column {
  table: string;
  name: string;
  kind: string;
  nullable: number;
}

const asLine = ({ table, name, kind, nullable }: Column) =>
  `${table}.${name} ${kind}${nullable === 1 ? ' null' : ''}`;

async function withMigrated(url: string | null, body: (database: Database) => Promise<void>) {
  const { path: directory, remove } = await temporaryDirectory();
  const database = await openDatabase({ url, directory });
  await migrate(database, NOW_MS);
  await body(database);
  await database.close();
  await remove();
}

async function sqliteColumns(database: Database): Promise<Column[]> {
  const { rows } = await sql<Column>`
    select t.name as "table", c.name, lower(c.type) as kind, 1 - c."notnull" as nullable
    from pragma_table_list t, pragma_table_info(t.name) c
    where t.schema = 'main' and t.name not like 'sqlite_%' order by 1, 2`.execute(
    database.system(),
  );
  return rows;
}

async function postgresColumns(database: Database): Promise<Column[]> {
  const { rows } = await sql<Column>`
    select table_name::text collate "C" as "table", column_name::text collate "C" as name,
      data_type::text as kind, (is_nullable = 'YES')::integer as nullable
    from information_schema.columns
    where table_schema = current_schema() order by 1, 2`.execute(database.system());
  return rows;
}

/** SQLite's type for each type of PostgreSQL. */
const AS_SQLITE: Readonly<Record<string, string>> = {
  uuid: 'blob',
  bytea: 'blob',
  text: 'text',
  smallint: 'integer',
  integer: 'integer',
  bigint: 'integer',
};

/** The columns of tables.ts and its part, read from their text: types are gone at run time. */
function typedColumns(): Column[] {
  const text = ['tables.ts', 'command-tables.ts']
    .map((file) => readFileSync(new URL(`../../src/db/${file}`, import.meta.url), 'utf8'))
    .join('\n');
  const columns: Column[] = [];
  for (const [, name = '', body = ''] of text.matchAll(/interface (\w+)Table \{\n(.*?)\n\}/gs)) {
    const table = name.replace(/(?<!^)([A-Z])/g, '_$1').toLowerCase();
    for (const [, column = '', type = ''] of body.matchAll(/^ {2}(\w+): (.*);$/gm)) {
      const base = type.replace(' | null', '');
      const numeric = base === 'number' || base === 'Flag' || base === 'Severity';
      const bytes = base === 'Uint8Array' || (base === 'string' && isIdColumn(column));
      const kind = numeric ? 'integer' : bytes ? 'blob' : 'text';
      columns.push({ table, name: column, kind, nullable: type.endsWith(' | null') ? 1 : 0 });
    }
  }
  return columns;
}

test('both databases and the table types have the same columns', async () => {
  await withMigrated(null, async (sqlite) => {
    await withMigrated(await testDatabaseUrl(), async (postgres) => {
      const ours = (column: Column) => column.table !== 'schema_version';
      const expected = (await sqliteColumns(sqlite)).filter(ours).map(asLine);
      const stored = (await postgresColumns(postgres)).filter(ours);
      const known = stored.map((column) => ({ ...column, kind: AS_SQLITE[column.kind] ?? '?' }));
      assert.deepEqual(known.map(asLine).toSorted(), expected.toSorted());
      assert.deepEqual(typedColumns().filter(ours).map(asLine).toSorted(), expected.toSorted());
    });
  });
});

test('the sets of id and byte columns are those of the schema', async () => {
  await withMigrated(await testDatabaseUrl(), async (database) => {
    const columns = await postgresColumns(database);
    const named = (kind: string) =>
      new Set(columns.filter((c) => c.kind === kind).map((c) => c.name));
    assert.deepEqual(named('uuid'), ID_COLUMNS);
    assert.deepEqual(named('bytea'), BYTES_COLUMNS);
    const mistaken = columns.filter(({ name, kind }) => kind === 'text' && isIdColumn(name));
    assert.deepEqual(mistaken, []);
  });
});

test('both databases have the same indexes', async () => {
  await withMigrated(null, async (sqlite) => {
    await withMigrated(await testDatabaseUrl(), async (postgres) => {
      const here = sql<{ name: string }>`
        select name from sqlite_schema where type = 'index' and sql is not null order by 1`;
      const there = sql<{ name: string }>`
        select relname::text collate "C" as name from pg_class c join pg_index i on c.oid = indexrelid
        where relnamespace = current_schema()::regnamespace
          and not exists (select 1 from pg_constraint where conindid = c.oid) order by 1`;
      const { rows } = await there.execute(postgres.system());
      assert.deepEqual((await here.execute(sqlite.system())).rows, rows);
    });
  });
});

test('every table with a tenant is under forced row-level security, except for credential', async () => {
  await withMigrated(await testDatabaseUrl(), async (database) => {
    const { rows } = await sql<{ name: string; forced: number; policies: number }>`
      select c.relname::text as name, (relrowsecurity and relforcerowsecurity) as forced,
        (select count(*) from pg_policy where polrelid = c.oid) as policies
      from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id'
      where c.relkind = 'r'`.execute(database.system());
    assert.ok(rows.length > 15);
    for (const { name, forced, policies } of rows) {
      const expected = name === 'credential' ? [0, 0] : [1, 1];
      assert.deepEqual([forced, policies], expected, name);
    }
  });
});

test('the migrations give the schema that was reviewed', async () => {
  await withMigrated(null, async (database) => {
    const file = new URL('./golden/schema.sqlite.txt', import.meta.url);
    golden(file, await readSchema(database.system()));
  });
  await withMigrated(await testDatabaseUrl(), async (database) => {
    const file = new URL('./golden/schema.postgres.txt', import.meta.url);
    golden(file, await readSchema(database.system()));
  });
});

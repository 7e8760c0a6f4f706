// Proves the test database itself: fresh, real, owned by a role that row-level security binds, and
// durable only when asked. A cluster doesn't outlive its starter, whatever ends the starter.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import pg from 'pg';
import { createDatabase, startPostgres, testDatabaseUrl } from './postgres.ts';

async function rowOf<T extends pg.QueryResultRow>(url: string, text: string): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<T>(text);
    const [row] = rows;
    assert(row !== undefined);
    return row;
  } finally {
    await client.end();
  }
}

test('a test database is a PostgreSQL 18 in UTF-8 with bytewise collation', async () => {
  const row = await rowOf<{ version: number; encoding: string; collation: string }>(
    await testDatabaseUrl(),
    `select current_setting('server_version_num')::int as version,
      pg_encoding_to_char(encoding) as encoding, datcollate as collation
      from pg_database where datname = current_database()`,
  );
  assert.equal(Math.floor(row.version / 10_000), 18);
  assert.deepEqual([row.encoding, row.collation], ['UTF8', 'C']);
});

test('the owner of a test database is no superuser and does not bypass row-level security', async () => {
  const row = await rowOf(
    await testDatabaseUrl(),
    'select rolsuper, rolbypassrls, rolcreaterole from pg_roles where rolname = current_user',
  );
  assert.deepEqual(row, { rolsuper: false, rolbypassrls: false, rolcreaterole: false });
});

test('two test databases share nothing', async () => {
  const [first, second] = [await testDatabaseUrl(), await testDatabaseUrl()];
  assert.notEqual(first, second);
  const name = "select to_regclass('only_here')::text as name";
  const client = new pg.Client({ connectionString: first });
  await client.connect();
  await client.query('create table only_here (id int)');
  await client.end();
  assert.deepEqual(await rowOf(first, name), { name: 'only_here' });
  assert.deepEqual(await rowOf(second, name), { name: null });
});

test('a durable cluster syncs its writes, and stops for good', async () => {
  const postgres = await startPostgres({ durable: true });
  const url = await createDatabase(postgres.adminUrl);
  const settings = await rowOf(
    url,
    `select current_setting('fsync') as fsync, current_setting('synchronous_commit') as sync,
      current_setting('full_page_writes') as pages`,
  );
  assert.deepEqual(settings, { fsync: 'on', sync: 'on', pages: 'on' });
  await postgres.stop();
  await postgres.stop();
  await assert.rejects(rowOf(url, 'select 1'), { code: 'ECONNREFUSED' });
});

test('a cluster ends when its starter is killed', async () => {
  const program = `
    const { startPostgres } = await import(${JSON.stringify(import.meta.resolve('./postgres.ts'))});
    console.log((await startPostgres({ durable: false })).adminUrl);
    setInterval(() => {}, 60_000);`;
  const starter = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [adminUrl] = await once(createInterface({ input: starter.stdout }), 'line');
  const client = new pg.Client({ connectionString: String(adminUrl) });
  await client.connect();
  // The connection reports its loss as an error; the test asserts that loss.
  const cut = new Promise((resolve) => client.on('error', resolve));
  starter.kill('SIGKILL');
  await cut;
});

// The features of SQLite alone: threads for reading and writing, one process per file, files for
// their owner only.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { type Database, openDatabase } from '../../src/db/db.ts';
import { migrate } from '../../src/db/migrate.ts';
import { eventually } from '../harness.ts';
import { addTenant, countTenants, NOW_MS, temporaryDirectory } from './fixture.ts';

async function withSqlite(body: (database: Database, directory: string) => Promise<void>) {
  const { path: directory, remove } = await temporaryDirectory();
  const database = await openDatabase({ url: null, directory: path.join(directory, 'data') });
  await migrate(database, NOW_MS);
  await body(database, path.join(directory, 'data'));
  await database.close();
  await remove();
}

/** The number of turns that the event loop of this thread makes while `work` is under way. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let counting = true;
  const count = () => {
    turns++;
    if (counting) setImmediate(count);
  };
  setImmediate(count);
  await work();
  counting = false;
  return turns;
}

const LONG = sql`select count(*) from (
  with recursive n (i) as (select 1 union all select i + 1 from n where i < 300000) select i from n)`;

test('a list runs in the reader thread while this thread goes on; a read by key runs here', async () => {
  await withSqlite(async (database) => {
    const id = randomUUID();
    assert.equal(await turnsDuring(() => LONG.execute(database.tenant(id))), 0);
    assert.ok((await turnsDuring(() => LONG.execute(database.lists(id)))) > 10);
  });
});

test('what a burst has written moves from the log into the file once it is quiet', async () => {
  await withSqlite(async (database, directory) => {
    const db = database.system();
    const name = 'n'.repeat(100_000);
    await Promise.all(
      Array.from({ length: 200 }, (_, n) => addTenant(db, randomUUID(), `${name} ${n}`)),
    );
    const bytes = async (): Promise<number> => (await stat(path.join(directory, 'muster.db'))).size;
    await eventually(async () => (await bytes()) > 200 * name.length);
  });
});

test('raw text is sent where it belongs: what may write goes to the writer', async () => {
  await withSqlite(async (database) => {
    const db = database.system();
    await addTenant(db, randomUUID(), 'before');
    await sql`with named as (select 'after' as name)
      update tenant set name = (select name from named)`.execute(db);
    const { rows } = await sql`with t as (select name from tenant) select * from t`.execute(db);
    assert.deepEqual(rows, [{ name: 'after' }]);
  });
});

test('a second server on the same directory is refused, also in the same process', async () => {
  await withSqlite(async (database, directory) => {
    const second = openDatabase({ url: null, directory });
    await assert.rejects(second, { name: 'DatabaseInUseError', message: /another Muster server/ });
    const { said } = startServer(directory);
    assert.equal(await said, 'DatabaseInUseError');
    const beside = await openDatabase({ url: null, directory, lock: false });
    await addTenant(beside.system(), randomUUID(), 'by muster admin');
    await beside.close();
    assert.equal(await countTenants(database.system()), 1);
  });
});

test('the lock of a server that was killed is free at once', async () => {
  const { path: directory, remove } = await temporaryDirectory();
  const { child, said } = startServer(directory);
  assert.equal(await said, 'open');
  await assert.rejects(openDatabase({ url: null, directory }), { name: 'DatabaseInUseError' });
  child.kill('SIGKILL');
  await once(child, 'exit');
  await (await openDatabase({ url: null, directory })).close();
  await remove();
});

function childScript(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}

function startServer(directory: string) {
  const script = childScript('./locking.child.ts');
  const child = spawn(process.execPath, [script, directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const said = once(child.stdout, 'data').then(([bytes]) => String(bytes).trim());
  return { child, said };
}

test('the end of the writer thread is the end of the process, with its reason', async () => {
  const { path: directory, remove } = await temporaryDirectory();
  const script = childScript('./defect.child.ts');
  const child = spawn(process.execPath, [script, directory], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const [code] = await once(child, 'close');
  assert.notEqual(code, 0);
  assert.match(said, /the SQLite thread .*sqlite.writer\.worker\.ts ended/);
  await remove();
});

test('the directory and its files are for their owner only', async () => {
  await withSqlite(async (_, directory) => {
    const modeOf = async (file: string) => (await stat(path.join(directory, file))).mode & 0o777;
    assert.equal(await modeOf('.'), 0o700);
    for (const file of ['muster.db', 'muster.db-wal', 'muster.db-shm', 'muster.lock']) {
      assert.equal(await modeOf(file), 0o600, file);
    }
  });
});

test('a file that is no database is refused with its reason, and the lock is given back', async () => {
  const { path: directory, remove } = await temporaryDirectory();
  await writeFile(path.join(directory, 'muster.db'), 'not a database'.repeat(1000));
  await assert.rejects(openDatabase({ url: null, directory }), /not a database/);
  await rm(path.join(directory, 'muster.db'));
  await (await openDatabase({ url: null, directory })).close();
  await remove();
});

// Starts that must not succeed, and starts at the same moment: each says what to do, and nothing is
// made twice.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { call, endpoints } from '@muster/contract';
import pg from 'pg';
import { emptyPlace, type Place, type SpawnedServer, spawnServer } from '../harness.ts';

/** The output of a start that fails; the harness tells the exit code in its first line. */
async function refusalOf(place: Place, env: Record<string, string> = {}): Promise<string> {
  let server: SpawnedServer;
  try {
    server = await spawnServer(place, env);
  } catch (error) {
    assert.ok(error instanceof Error);
    return error.message;
  }
  await server.stop('SIGKILL');
  assert.fail('it started');
}

test('a second process on the same SQLite folder is refused, and the first goes on', async () => {
  const place = await emptyPlace('sqlite');
  const first = await spawnServer(place);
  try {
    const refusal = await refusalOf(place);
    assert.match(refusal, /ended with 1:/);
    assert.match(refusal, /another Muster server already uses the database/);
    assert.doesNotMatch(refusal, /\n {4}at /, 'an expected refusal has no stack');
    const { status } = await fetch(`${first.url}/readyz`);
    assert.equal(status, 200);
  } finally {
    await first.stop('SIGKILL');
    await place.remove();
  }
});

test('a node with another master key is refused on PostgreSQL', async () => {
  const place = await emptyPlace('postgres');
  try {
    const first = await spawnServer(place);
    await first.stop('SIGTERM');
    const refusal = await refusalOf(place, { MUSTER_MASTER_KEY: '8'.repeat(64) });
    assert.match(refusal, /ended with 1:/);
    assert.match(refusal, /master key is not the one/);
    assert.doesNotMatch(refusal, /8{64}/, 'a secret never reaches a message');
    const second = await spawnServer(place);
    assert.equal(await second.stop('SIGTERM'), 0, 'the right key still opens it');
  } finally {
    await place.remove();
  }
});

test('a PostgreSQL older than the oldest that is tested is refused in one sentence, and left empty', async () => {
  const place = await emptyPlace('postgres');
  const client = new pg.Client({ connectionString: String(place.env['MUSTER_DATABASE_URL']) });
  await client.connect();
  try {
    // For those who connect from now on the server says that it is another one.
    await client.query(`create schema older;
      create function older.current_setting(name text) returns text language sql as
        $$ select case name when 'server_version_num' then '140023' else '14.23' end $$;
      do $$ begin execute format('alter database %I set search_path = older, pg_catalog, public',
        current_database()); end $$`);
    const refusal = await refusalOf(place);
    assert.match(refusal, /ended with 1:\nMuster needs PostgreSQL 15 or newer, .* is 14\.23\.\n$/);
    const { rows } = await client.query("select to_regclass('public.schema_version') as made");
    assert.deepEqual(rows, [{ made: null }]);
  } finally {
    await client.end();
    await place.remove();
  }
});

test('PostgreSQL without a master key is refused with how to make one', async () => {
  const place = await emptyPlace('postgres');
  try {
    const refusal = await refusalOf(place, { MUSTER_MASTER_KEY: '' });
    assert.match(refusal, /MUSTER_MASTER_KEY is required/);
  } finally {
    await place.remove();
  }
});

test('a misspelt setting is named, and the exit code is 2', async () => {
  const place = await emptyPlace('sqlite');
  try {
    const refusal = await refusalOf(place, { MUSTER_PROT: '8080', MUSTER_LOG_LEVEL: 'loud' });
    assert.match(refusal, /ended with 2:/);
    assert.match(refusal, /MUSTER_PROT/);
    assert.match(refusal, /MUSTER_LOG_LEVEL/, 'all faults at once');
  } finally {
    await place.remove();
  }
});

test('of nodes that start at once on an empty PostgreSQL database one makes the first run', async () => {
  const place = await emptyPlace('postgres');
  const other = await emptyPlace('postgres');
  const started: SpawnedServer[] = [];
  try {
    const env = { MUSTER_DATA: other.env['MUSTER_DATA'] ?? '' };
    const starts = await Promise.allSettled([spawnServer(place), spawnServer(place, env)]);
    for (const start of starts) {
      if (start.status === 'fulfilled') started.push(start.value);
    }
    const faults = starts.flatMap((start) => (start.status === 'rejected' ? [start.reason] : []));
    assert.deepEqual(faults, []);
    const tokens = started.map((server) => server.operatorToken).filter((token) => token !== '');
    assert.equal(tokens.length, 1);
    for (const { url } of started) {
      const options = { baseUrl: url, key: tokens[0] as string };
      const { body } = await call(endpoints.listRunners, {}, options);
      assert.equal(body.items.length, 1);
    }
  } finally {
    await Promise.all(started.map((server) => server.stop('SIGKILL')));
    await place.remove();
    await other.remove();
  }
});

// The features of PostgreSQL alone: row-level security that holds when a query forgets its tenant,
// locks and lost connections.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { sql } from 'kysely';
import pg from 'pg';
import { ADMIN_URL_VARIABLE } from '../../../../tools/postgres.ts';
import { type Database, type DatabaseEvent, type Db, openDatabase } from '../../src/db/db.ts';
import { dbFailure } from '../../src/db/db-errors.ts';
import { skipLocked } from '../../src/db/dialect.ts';
import {
  addTenant,
  failureOf,
  findingRow,
  migratedDatabaseUrl,
  newTenant,
  NOW_MS,
} from './fixture.ts';

async function withPostgres(
  poolMax: number,
  body: (database: Database, url: string) => Promise<void>,
): Promise<void> {
  const url = await migratedDatabaseUrl();
  const database = await openDatabase({ url, directory: '', poolMax });
  await body(database, url);
  await database.close();
}

/** Two tenants with one finding each. */
async function twoTenants(database: Database): Promise<[string, string]> {
  const ours = await newTenant(database);
  const theirs = await newTenant(database);
  for (const id of [ours, theirs]) {
    await database.tenant(id).insertInto('finding').values(findingRow(id)).execute();
  }
  return [ours, theirs];
}

test('one tenant can neither read, change, delete nor add the rows of another', async () => {
  await withPostgres(2, async (database) => {
    const [ours, theirs] = await twoTenants(database);
    const db = database.tenant(ours);
    const seen = await db.selectFrom('finding').select('tenant_id').execute();
    assert.deepEqual(seen, [{ tenant_id: ours }]);
    const changed = await db.updateTable('finding').set({ title: 'mine' }).executeTakeFirst();
    assert.equal(changed.numUpdatedRows, 1n);
    const moved = db.updateTable('finding').set({ tenant_id: theirs }).execute();
    await assert.rejects(moved, /row-level security/);
    const added = db.insertInto('finding').values(findingRow(theirs)).execute();
    await assert.rejects(added, /row-level security/);
    await db.deleteFrom('finding').execute();
    const left = await database.system().selectFrom('finding').select('tenant_id').execute();
    assert.deepEqual(left, [{ tenant_id: theirs }]);
  });
});

test('a session that names no tenant sees nothing and adds nothing', async () => {
  await withPostgres(2, async (database, url) => {
    const [ours] = await twoTenants(database);
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const count = async () => (await client.query('select 1 from finding')).rowCount;
    assert.equal(await count(), 0);
    await client.query("select set_config('muster.tenant', '', false)");
    assert.equal(await count(), 0);
    const insert = 'insert into event (tenant_id, id, at, kind, data) values ($1, $2, 0, $3, $3)';
    await assert.rejects(client.query(insert, [ours, randomUUID(), '']), /row-level security/);
    await client.end();
  });
});

test('one connection that serves tenants in turn never shows one the rows of another', async () => {
  await withPostgres(1, async (database) => {
    const [ours, theirs] = await twoTenants(database);
    const scopes = Array.from({ length: 40 }, (_, n) => (n % 3 === 0 ? ours : theirs));
    await Promise.all(
      scopes.map(async (id) => {
        const read = (db: Db) => db.selectFrom('finding').select('tenant_id').execute();
        assert.deepEqual(await read(database.tenant(id)), [{ tenant_id: id }]);
        assert.deepEqual(await database.transaction(id, read), [{ tenant_id: id }]);
        assert.equal((await read(database.system())).length, 2);
      }),
    );
  });
});

test('a role that row-level security does not bind is reported', async () => {
  const events: DatabaseEvent[] = [];
  const onEvent = (event: DatabaseEvent) => events.push(event);
  const url = process.env[ADMIN_URL_VARIABLE] ?? null;
  await (await openDatabase({ url, directory: '', onEvent })).close();
  assert.deepEqual(events, [{ kind: 'row_security_bypassed', role: 'postgres' }]);
});

test('transactions that lock each other out both succeed: the loser runs again', async () => {
  await withPostgres(4, async (database) => {
    const ids = [await newTenant(database), await newTenant(database)] as const;
    const bothHold = Promise.withResolvers<void>();
    let holding = 0;
    let runs = 0;
    const crossing = (own: string, other: string) =>
      database.transaction('system', async (tx) => {
        runs++;
        const touch = (id: string) =>
          tx
            .updateTable('tenant')
            .set((eb) => ({ created_at: eb('created_at', '+', 1) }))
            .where('id', '=', id)
            .execute();
        await touch(own);
        if (++holding >= 2) bothHold.resolve();
        await bothHold.promise;
        await touch(other);
      });
    await Promise.all([crossing(ids[0], ids[1]), crossing(ids[1], ids[0])]);
    assert.equal(runs, 3);
    const rows = await database.system().selectFrom('tenant').select('created_at').execute();
    assert.deepEqual(rows, [{ created_at: NOW_MS + 2 }, { created_at: NOW_MS + 2 }]);
  });
});

test('a claim passes over what another transaction has claimed', async () => {
  await withPostgres(4, async (database) => {
    await twoTenants(database);
    const claim = (tx: Db) =>
      tx.selectFrom('finding').select('id').orderBy('id').limit(1).$call(skipLocked).execute();
    await database.transaction('system', async (tx) => {
      const [first] = await claim(tx);
      const [second] = await database.transaction('system', claim);
      assert.ok(first && second && first.id !== second.id);
    });
  });
});

test('a lost connection is reported as such, and the next statement gets another', async () => {
  await withPostgres(1, async (database) => {
    const db = database.system();
    const suicide = sql`select pg_terminate_backend(pg_backend_pid())`.execute(db);
    assert.deepEqual(dbFailure(await failureOf(suicide)), { kind: 'connection' });
    await addTenant(db, randomUUID(), 'after');
  });
});

test('a server that is not there is an unavailable database', async () => {
  const url = 'postgresql://nobody@127.0.0.1:1/none';
  const failure = await failureOf(openDatabase({ url, directory: '' }));
  assert.deepEqual(dbFailure(failure), { kind: 'connection' });
});

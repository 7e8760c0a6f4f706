// Transactions and single statements: all or nothing, each failing for itself alone, tried again
// where that helps.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Db } from '../../src/db/db.ts';
import { dbFailure, isUnavailable } from '../../src/db/db-errors.ts';
import { insertRows } from '../../src/db/dialect.ts';
import {
  addTenant,
  assetRow,
  countTenants,
  failureOf,
  findingRow,
  newTenant,
  type Cases,
} from './fixture.ts';

/** Transactions, single statements, close. */
export const transactionCases: Cases = {
  'a transaction is seen whole after its commit, and by itself before': async (database) => {
    const answer = await database.transaction('system', async (tx) => {
      await addTenant(tx, randomUUID(), 'one');
      await addTenant(tx, randomUUID(), 'two');
      assert.equal(await countTenants(tx), 2);
      assert.equal(await countTenants(database.system()), 0);
      return 'done';
    });
    assert.equal(answer, 'done');
    assert.equal(await countTenants(database.system()), 2);
  },

  'a body that throws leaves nothing behind, and its error is the one that is thrown': async (
    database,
  ) => {
    const reason = new Error('changed my mind');
    const work = database.transaction('system', async (tx) => {
      await addTenant(tx, randomUUID(), 'one');
      throw reason;
    });
    await assert.rejects(work, reason);
    assert.equal(await countTenants(database.system()), 0);
  },

  'after a failed statement a transaction can only roll back': async (database) => {
    const caught = database.transaction('system', async (tx) => {
      await addTenant(tx, randomUUID(), 'same');
      await assert.rejects(addTenant(tx, randomUUID(), 'same'));
    });
    await assert.rejects(caught, /failed before/);
    assert.equal(await countTenants(database.system()), 0);
  },

  'statements sent together fail for themselves alone': async (database) => {
    const names = ['a', 'b', 'a', 'c', 'b', 'd'];
    const results = await Promise.allSettled(
      names.map((name) => addTenant(database.system(), randomUUID(), name)),
    );
    const failures = results.filter(({ status }) => status === 'rejected');
    assert.equal(failures.length, 2);
    const stored = await database
      .system()
      .selectFrom('tenant')
      .select('name')
      .orderBy('name')
      .execute();
    assert.deepEqual(
      stored.map(({ name }) => name),
      ['a', 'b', 'c', 'd'],
    );
  },

  'concurrent transactions and single statements all come to their turn': async (database) => {
    const work: Promise<unknown>[] = [];
    for (let n = 0; n < 30; n++) {
      work.push(addTenant(database.system(), randomUUID(), `single ${n}`));
      const both = async (tx: Db) => {
        await addTenant(tx, randomUUID(), `first of ${n}`);
        await addTenant(tx, randomUUID(), `second of ${n}`);
      };
      work.push(database.transaction('system', both));
    }
    await Promise.all(work);
    assert.equal(await countTenants(database.system()), 90);
  },

  'a body is run again after a failure that a second attempt can cure, a bounded number of times':
    async (database) => {
      let attempts = 0;
      const deadlock = Object.assign(new Error('deadlock detected'), { code: '40P01' });
      await database.transaction('system', async (tx) => {
        attempts++;
        await addTenant(tx, randomUUID(), 'one');
        if (attempts < 3) throw deadlock;
      });
      assert.equal(attempts, 3);
      assert.equal(await countTenants(database.system()), 1);
      attempts = 0;
      const hopeless = database.transaction('system', async () => {
        attempts++;
        throw deadlock;
      });
      await assert.rejects(hopeless, deadlock);
      assert.equal(attempts, 5);
    },

  'a violated constraint is named for what it is': async (database) => {
    const tenantId = await newTenant(database);
    const violated = async (work: Promise<unknown>) => dbFailure(await failureOf(work));
    const db = database.system();
    await addTenant(db, randomUUID(), 'taken');
    assert.deepEqual(await violated(addTenant(db, randomUUID(), 'taken')), {
      kind: 'unique',
      constraint: 'tenant_name_key',
    });
    const row = findingRow(tenantId);
    await insertRows(db, 'finding', [row]);
    assert.deepEqual(await violated(insertRows(db, 'finding', [row])), {
      kind: 'unique',
      constraint: 'finding_pkey',
    });
    const asset = assetRow(tenantId);
    await insertRows(db, 'asset', [asset]);
    const twin = insertRows(db, 'asset', [{ ...asset, id: randomUUID() }]);
    assert.deepEqual(await violated(twin), { kind: 'unique', constraint: 'asset_by_value' });
    const stranger = db.insertInto('finding').values(findingRow(randomUUID())).execute();
    assert.deepEqual(await violated(stranger), { kind: 'foreign_key' });
    const nameless = db
      .insertInto('tenant')
      .values({ id: randomUUID(), name: null as never, created_at: 0 });
    assert.deepEqual(await violated(nameless.execute()), { kind: 'constraint' });
  },

  'statements sent together are committed together': async (database) => {
    await database.together('system', async (tx) => {
      await Promise.all([addTenant(tx, randomUUID(), 'one'), addTenant(tx, randomUUID(), 'two')]);
    });
    assert.equal(await countTenants(database.system()), 2);
  },

  'of statements sent together none is committed when one fails': async (database) => {
    const id = randomUUID();
    const twins = database.together('system', async (tx) => {
      await Promise.all([
        addTenant(tx, id, 'one'),
        addTenant(tx, id, 'its twin'),
        addTenant(tx, randomUUID(), 'three'),
      ]);
    });
    await assert.rejects(twins);
    const unsendable = database.together('system', async (tx) => {
      await Promise.all([
        addTenant(tx, randomUUID(), 'one'),
        addTenant(tx, randomUUID(), Symbol('no value of a database') as never),
      ]);
    });
    await assert.rejects(unsendable);
    const failed = database.together('system', async (tx) => {
      await Promise.all([addTenant(tx, randomUUID(), 'one'), Promise.reject(new Error('mine'))]);
    });
    await assert.rejects(failed, { message: 'mine' });
    assert.equal(await countTenants(database.system()), 0);
    await addTenant(database.system(), id, 'afterwards');
    assert.equal(await countTenants(database.system()), 1);
  },

  'a statement that waits for another one is too late for the transaction': async (database) => {
    const late = database.together('system', async (tx) => {
      await addTenant(tx, randomUUID(), 'one');
      await addTenant(tx, randomUUID(), 'two');
    });
    await assert.rejects(late, { message: 'the transaction was ended before' });
  },

  'close waits for what is under way and refuses what comes later': async (database, { again }) => {
    const inside = Promise.withResolvers<void>();
    const transaction = database.transaction('system', async (tx) => {
      await addTenant(tx, randomUUID(), 'first');
      inside.resolve();
      await addTenant(tx, randomUUID(), 'second');
    });
    await inside.promise;
    const single = addTenant(database.system(), randomUUID(), 'third');
    const closed = database.close();
    await assert.rejects(
      database.transaction('system', async () => {}),
      { name: 'DatabaseClosedError' },
    );
    await Promise.all([transaction, single, closed]);
    await assert.rejects(
      async () => countTenants(database.system()),
      (error: unknown) => isUnavailable(error),
    );
    const other = await again();
    assert.equal(await countTenants(other.system()), 3);
    await other.close();
  },

  'a scope is a tenant id and nothing else': async (database) => {
    for (const scope of ['*', '', 'System', 'ABCDEF01-0000-7000-8000-000000000000']) {
      assert.throws(() => database.tenant(scope), TypeError);
      assert.throws(() => database.lists(scope), TypeError);
      await assert.rejects(
        database.transaction(scope, async () => {}),
        TypeError,
      );
    }
  },
};

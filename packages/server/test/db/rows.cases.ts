// Many rows in one call: all or none, the same values as one by one, and the number of rows that
// changed.

import assert from 'node:assert/strict';
import { insertRows, reusableBytes, updateRows } from '../../src/db/dialect.ts';
import { findingRow, newTenant, NOW_MS, type Cases } from './fixture.ts';

/** insertRows and updateRows. */
export const rowCases: Cases = {
  'rows inserted together come back as they were given': async (database) => {
    const tenantId = await newTenant(database);
    const db = database.tenant(tenantId);
    const rows = Array.from({ length: 300 }, (_, n) =>
      findingRow(tenantId, {
        title: `№ ${n} \u{1F512} "quoted" \\ back \n line`,
        evidence: n % 2 === 0 ? new Uint8Array(n).fill(n) : Buffer.from(`evidence ${n}`),
        base_fingerprint: n % 2 === 0 ? null : `fingerprint ${n}`,
        first_seen_at: Number.MAX_SAFE_INTEGER - n,
      }),
    );
    assert.equal(await insertRows(db, 'finding', rows), 300);
    const stored = await db.selectFrom('finding').selectAll().execute();
    const byId = new Map(stored.map((row) => [row.id, row]));
    for (const row of rows) {
      const expected = { ...row, evidence: new Uint8Array(row.evidence) };
      assert.deepStrictEqual(byId.get(row.id), expected);
    }
  },

  'room that deleted rows leave inside the file is known where the file is ours': async (
    database,
  ) => {
    const tenantId = await newTenant(database);
    const db = database.tenant(tenantId);
    const sealed = new Uint8Array(100_000);
    const piece = { tenant_id: tenantId, upload_id: tenantId, sealed };
    for (let seq = 0; seq < 10; seq += 1)
      await db
        .insertInto('upload_chunk')
        .values({ ...piece, seq })
        .execute();
    const before = await reusableBytes(database.system());
    await db.deleteFrom('upload_chunk').where('upload_id', '=', tenantId).execute();
    const gained = (await reusableBytes(database.system())) - before;
    if (database.kind === 'sqlite') assert.ok(gained >= 900_000, String(gained));
    else assert.equal(gained, 0);
  },

  'one row that fails takes all of its batch along, and nothing else': async (database) => {
    const tenantId = await newTenant(database);
    const db = database.tenant(tenantId);
    const taken = findingRow(tenantId);
    const outcomes = await Promise.allSettled([
      insertRows(db, 'finding', [taken]),
      insertRows(db, 'finding', [findingRow(tenantId), taken, findingRow(tenantId), taken]),
      insertRows(db, 'finding', [findingRow(tenantId)]),
    ]);
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    );
    assert.equal((await db.selectFrom('finding').select('id').execute()).length, 2);
  },

  'rows inserted inside a transaction go with it': async (database) => {
    const tenantId = await newTenant(database);
    const work = database.transaction(tenantId, async (tx) => {
      assert.equal(
        await insertRows(tx, 'finding', [findingRow(tenantId), findingRow(tenantId)]),
        2,
      );
      throw new Error('no');
    });
    await assert.rejects(work, /no/);
    const rows = await database.tenant(tenantId).selectFrom('finding').select('id').execute();
    assert.deepEqual(rows, []);
  },

  'a row that is there already is kept or updated, as asked': async (database) => {
    const tenantId = await newTenant(database);
    const db = database.tenant(tenantId);
    const old = findingRow(tenantId, { title: 'old', path: 'old' });
    await insertRows(db, 'finding', [old]);
    const newer = { ...old, title: 'new', path: 'new' };
    const key = ['tenant_id', 'id'] as const;
    const kept = await insertRows(db, 'finding', [newer, findingRow(tenantId)], {
      onConflict: { columns: key },
    });
    assert.equal(kept, 1);
    const title = async () =>
      await db
        .selectFrom('finding')
        .select(['title', 'path'])
        .where('id', '=', old.id)
        .executeTakeFirst();
    assert.deepEqual(await title(), { title: 'old', path: 'old' });
    const updated = await insertRows(db, 'finding', [newer, findingRow(tenantId)], {
      onConflict: { columns: key, update: ['title'] },
    });
    assert.equal(updated, 2);
    assert.deepEqual(await title(), { title: 'new', path: 'old' });
  },

  'rows updated together change what is given and nothing else': async (database) => {
    const tenantId = await newTenant(database);
    const db = database.tenant(tenantId);
    const rows = Array.from({ length: 50 }, () => findingRow(tenantId));
    await insertRows(db, 'finding', rows);
    const changes = rows.slice(0, 40).map(({ id }, n) => ({
      tenant_id: tenantId,
      id,
      path: n % 2 === 0 ? null : `moved/${n}`,
      evidence: new Uint8Array([n]),
      status_at: NOW_MS + n,
    }));
    const missing = { ...changes[0], id: findingRow(tenantId).id };
    const changed = await updateRows(db, 'finding', ['tenant_id', 'id'], [...changes, missing]);
    assert.equal(changed, 40);
    const stored = await db.selectFrom('finding').selectAll().execute();
    const byId = new Map(stored.map((row) => [row.id, row]));
    rows.forEach((row, n) => {
      assert.deepStrictEqual(byId.get(row.id), { ...row, ...changes[n] });
    });
  },

  'an update of many rows that fails for one changes none': async (database) => {
    const tenantId = await newTenant(database);
    const db = database.tenant(tenantId);
    const rows = [findingRow(tenantId), findingRow(tenantId)];
    await insertRows(db, 'finding', rows);
    const changes = rows.map(({ id }, n) => ({
      tenant_id: tenantId,
      id,
      severity: n === 0 ? 4 : 9,
    }));
    await assert.rejects(updateRows(db, 'finding', ['tenant_id', 'id'], changes as never));
    const stored = await db.selectFrom('finding').select('severity').execute();
    assert.deepEqual(stored, [{ severity: 1 }, { severity: 1 }]);
  },

  'no rows are no work, and rows with other keys than the first are refused': async (database) => {
    const tenantId = await newTenant(database);
    const db = database.tenant(tenantId);
    assert.equal(await insertRows(db, 'finding', []), 0);
    assert.equal(await updateRows(db, 'finding', ['tenant_id', 'id'], []), 0);
    const { path: _, ...without } = findingRow(tenantId);
    await assert.rejects(insertRows(db, 'finding', [findingRow(tenantId), without]), TypeError);
  },
};

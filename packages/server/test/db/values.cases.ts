// The values that columns take and give back are the same on both databases, and so are the
// refusals.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { findingRow, newTenant, NOW_MS, type Cases } from './fixture.ts';

/** The values that columns take and give back. */
export const valueCases: Cases = {
  'a row comes back as it was stored: text, integers, byte strings and null': async (database) => {
    const tenantId = await newTenant(database);
    const row = findingRow(tenantId, {
      title: 'naïve “quotes” \u{1F512} \\ \' " \n',
      evidence: Uint8Array.from({ length: 256 }, (_, byte) => byte),
      status_at: Number.MAX_SAFE_INTEGER,
      start_line: null,
    });
    const db = database.tenant(tenantId);
    await db.insertInto('finding').values(row).execute();
    const stored = await db.selectFrom('finding').selectAll().execute();
    assert.deepStrictEqual(stored, [row]);
    assert.deepStrictEqual(
      await database.lists(tenantId).selectFrom('finding').selectAll().execute(),
      [row],
    );
  },

  'an integer beyond 2^53 in the database throws instead of losing precision': async (database) => {
    const tenantId = await newTenant(database);
    const db = database.tenant(tenantId);
    await db.insertInto('finding').values(findingRow(tenantId)).execute();
    await sql`update finding set status_at = 9007199254740993`.execute(db);
    await assert.rejects(db.selectFrom('finding').select('status_at').execute(), RangeError);
    await assert.rejects(
      database.lists(tenantId).selectFrom('finding').select('status_at').execute(),
      /too large|beyond 2\^53/,
    );
  },

  'a value that one of the databases could not keep is refused by both': async (database) => {
    const refused = [2 ** 53, 1.5, Number.NaN, 'a\0b', '\ud800', true, undefined, 1n, new Date()];
    for (const value of refused) {
      const insert = sql`update tenant set name = ${value}`.execute(database.system());
      await assert.rejects(insert, /is not stored|are stored/, String(value));
    }
  },

  'counts, sums and conditions are numbers': async (database) => {
    const tenantId = await newTenant(database);
    const db = database.tenant(tenantId);
    await db
      .insertInto('finding')
      .values([findingRow(tenantId, { severity: 0 }), findingRow(tenantId, { severity: 3 })])
      .execute();
    const row = await db
      .selectFrom('finding')
      .select((eb) => [
        eb.fn.countAll<number>().as('n'),
        eb.fn.sum<number>('status_at').as('total'),
        eb(eb.fn.max('severity'), '=', 3).as('worst'),
      ])
      .executeTakeFirstOrThrow();
    assert.deepStrictEqual(row, { n: 2, total: 2 * NOW_MS, worst: 1 });
  },

  'text is ordered byte by byte': async (database) => {
    const names = ['a', 'B', 'é', 'Z', 'z', '_', '\u{1F512}', '\uff5e'];
    const db = database.system();
    const rows = names.map((name) => ({ id: randomUUID(), name, created_at: 0 }));
    await db.insertInto('tenant').values(rows).execute();
    const stored = await db.selectFrom('tenant').select('name').orderBy('name').execute();
    const expected = names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    assert.deepStrictEqual(
      stored.map(({ name }) => name),
      expected,
    );
  },
};

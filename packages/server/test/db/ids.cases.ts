// Ids are lower-case text in TypeScript wherever a query can mention one, and only columns that
// hold ids are touched.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Db } from '../../src/db/db.ts';
import { forUpdate, idValue, isAmong, skipLocked } from '../../src/db/dialect.ts';
import type { Severity } from '../../src/db/tables.ts';
import { findingRow, newTenant, type Case, type Cases } from './fixture.ts';

const IDS = [1, 2, 3, 4, 5].map((n) => `0197b0a0-0000-7000-8000-00000000000${n}`);
const [first, second, third, fourth, fifth] = IDS as [string, string, string, string, string];

/** Five findings whose severities are 0, 1, 1, 1, 2 in the order of their ids. */
async function fiveFindings(db: Db, tenantId: string): Promise<void> {
  const severities = [0, 1, 1, 1, 2] as const;
  const rows = IDS.map((id, at) => findingRow(tenantId, { id, severity: severities[at] ?? 0 }));
  await db.insertInto('finding').values(rows).execute();
}

/** A case on a database with one tenant and its five findings. */
const withFindings =
  (body: (db: Db, tenantId: string) => Promise<void>): Case =>
  async (database) => {
    const tenantId = await newTenant(database);
    const db = database.tenant(tenantId);
    await fiveFindings(db, tenantId);
    await body(db, tenantId);
  };

const selected = (db: Db) => db.selectFrom('finding').select('id').orderBy('id');
const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id);

/** Ids in queries and results. */
export const idCases: Cases = {
  'an id is found by every comparison': withFindings(async (db, tenantId) => {
    const found = async (query: ReturnType<typeof selected>) => idsOf(await query.execute());
    const all = selected(db).where('finding.tenant_id', '=', tenantId);
    assert.deepEqual(await found(all.where('id', '=', third)), [third]);
    assert.deepEqual(await found(all.where('finding.id', '!=', third)), [
      first,
      second,
      fourth,
      fifth,
    ]);
    assert.deepEqual(await found(all.where('id', 'in', [first, fifth])), [first, fifth]);
    assert.deepEqual(await found(all.where('id', 'not in', [first, fifth])), [
      second,
      third,
      fourth,
    ]);
    assert.deepEqual(await found(all.where('id', '>', fourth)), [fifth]);
    assert.deepEqual(await found(all.where('id', '<=', second)), [first, second]);
    assert.deepEqual(await found(all.where((eb) => eb.between('id', second, third))), [
      second,
      third,
    ]);
    assert.deepEqual(
      await found(all.where((eb) => eb.or([eb('id', '=', first), eb.not(eb('id', '<', fifth))]))),
      [first, fifth],
    );
    assert.deepEqual(await found(all.where(sql<boolean>`id = ${idValue(db, second)}`)), [second]);
  }),

  'a list is continued after a pair of columns': withFindings(async (db) => {
    const page = await selected(db)
      .clearOrderBy()
      .where((eb) =>
        eb(eb.refTuple('severity', 'finding.id'), '>', eb.tuple<Severity, string>(1, second)),
      )
      .orderBy('severity')
      .orderBy('id')
      .limit(2)
      .execute();
    assert.deepEqual(idsOf(page), [third, fourth]);
    const pairs = await selected(db)
      .where((eb) =>
        eb(eb.refTuple('severity', 'id'), 'in', [
          eb.tuple<Severity, string>(0, first),
          eb.tuple<Severity, string>(1, fifth),
        ]),
      )
      .execute();
    assert.deepEqual(idsOf(pairs), [first]);
  }),

  'ids are text in updates, returning clauses, aliases, joins and subqueries': withFindings(
    async (db, tenantId) => {
      const uploadId = randomUUID();
      const updated = await db
        .updateTable('finding')
        .set({ created_upload_id: uploadId })
        .where('id', '=', first)
        .returning(['id', 'created_upload_id as seen_upload_id'])
        .execute();
      assert.deepEqual(updated, [{ id: first, seen_upload_id: uploadId }]);
      const inner = db.selectFrom('finding').select('id').where('created_upload_id', '=', uploadId);
      assert.deepEqual(idsOf(await selected(db).where('id', 'in', inner).execute()), [first]);
      const joined = await db
        .selectFrom('finding as f')
        .innerJoin('finding as g', (join) =>
          join.onRef('g.id', '=', 'f.id').on('g.created_upload_id', '=', uploadId),
        )
        .select(['f.id as finding_id', 'g.tenant_id'])
        .execute();
      assert.deepEqual(joined, [{ finding_id: first, tenant_id: tenantId }]);
      const deleted = await db.deleteFrom('finding').where('id', 'in', IDS).executeTakeFirst();
      assert.equal(deleted.numDeletedRows, 5n);
    },
  ),

  'ids are found among any number of them, whatever the tables have': withFindings(async (db) => {
    const found = async (ids: readonly string[]) =>
      idsOf(
        await selected(db)
          .where(isAmong(db, 'id', ids))
          .execute(),
      );
    assert.deepEqual(await found([third, randomUUID(), first]), [first, third]);
    assert.deepEqual(await found([]), []);
    const many = Array.from({ length: 70_000 }, () => randomUUID());
    assert.deepEqual(await found([...many, second]), [second]);
  }),

  'an insert from a select takes an id that is selected as a value': withFindings(async (db) => {
    const eventId = randomUUID();
    await db
      .insertInto('finding_event')
      .columns(['tenant_id', 'finding_id', 'id', 'at', 'kind', 'by_whom', 'data'])
      .expression((eb) =>
        eb
          .selectFrom('finding')
          .select((from) => [
            'tenant_id',
            'finding.id as finding_id',
            idValue(db, eventId).as('id'),
            'status_at as at',
            from.val('resolved').as('kind'),
            from.val('operator').as('by_whom'),
            from.val('{}').as('data'),
          ])
          .where('id', '=', first),
      )
      .execute();
    const events = await db.selectFrom('finding_event').select(['id', 'finding_id']).execute();
    assert.deepEqual(events, [{ id: eventId, finding_id: first }]);
  }),

  'a rule id that looks like a UUID stays text': withFindings(async (db, tenantId) => {
    const rule = randomUUID();
    await db
      .insertInto('finding')
      .values(findingRow(tenantId, { rule_id: rule }))
      .execute();
    const rows = await db
      .selectFrom('finding')
      .select(['rule_id', sql<number>`length(rule_id)`.as('characters')])
      .where('rule_id', '=', rule)
      .execute();
    assert.deepEqual(rows, [{ rule_id: rule, characters: 36 }]);
  }),

  'a text that is not a UUID is refused in an id column': withFindings(async (db) => {
    await assert.rejects(selected(db).where('id', '=', 'nonsense').execute(), /uuid/i);
  }),

  'locks are asked for in the same text on both databases': withFindings(async (db) => {
    const claim = selected(db).limit(1).$call(skipLocked);
    assert.deepEqual(idsOf(await claim.execute()), [first]);
    assert.deepEqual(idsOf(await selected(db).limit(1).$call(forUpdate).execute()), [first]);
    const claimed = await db
      .with('next', (q) =>
        q.selectFrom('finding').select('id').orderBy('id').limit(2).$call(skipLocked),
      )
      .updateTable('finding')
      .from('next')
      .set({ status: 'confirmed' })
      .whereRef('finding.id', '=', 'next.id')
      .returning('finding.id')
      .execute();
    assert.deepEqual(idsOf(claimed).toSorted(), [first, second]);
  }),
};

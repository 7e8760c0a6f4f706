// Starting on a database: from nothing, again, several nodes at once, and the two cases that are
// refused.

import assert from 'node:assert/strict';
import { sql } from 'kysely';
import { readSchema } from '../../src/db/dialect.ts';
import { migrate, readMigrations } from '../../src/db/migrate.ts';
import { type Cases, copiedMigrations, countTenants, NOW_MS } from './fixture.ts';

/** Starts on an empty, migrated, newer or changed database. */
export const migrationCases: Cases = {
  'a migrated database is left as it is by a second start': async (database) => {
    const before = await readSchema(database.system());
    assert.deepEqual(await migrate(database, NOW_MS), []);
    assert.equal(await readSchema(database.system()), before);
    assert.match(before, /finding_by_status/);
  },

  'nodes that start at the same moment apply every migration once': async (database, { again }) => {
    const { from, add, remove } = await copiedMigrations();
    const newest = (await readMigrations(database.kind)).length;
    await add(database.kind, 'next', 'create table next (n integer);');
    await add(database.kind, 'last', 'create table last (n integer);');
    const others = await Promise.all([again(), again()]);
    const nodes = [database, ...others];
    const applied = await Promise.all(nodes.map((node) => migrate(node, NOW_MS, from)));
    assert.deepEqual(
      applied.flat().toSorted((a, b) => a - b),
      [newest + 1, newest + 2],
    );
    await Promise.all(others.map((node) => node.close()));
    await remove();
  },

  'a migration that fails leaves neither its tables nor its row': async (database) => {
    const { from, add, remove } = await copiedMigrations();
    const text = 'create table half (n integer); insert into nowhere values (1);';
    await add(database.kind, 'half', text);
    await assert.rejects(migrate(database, NOW_MS, from), /nowhere/);
    assert.doesNotMatch(await readSchema(database.system()), /half/);
    assert.deepEqual(await migrate(database, NOW_MS), []);
    await remove();
  },

  'a database newer than the program is refused': async (database) => {
    const newest = (await readMigrations(database.kind)).length;
    await database
      .system()
      .insertInto('schema_version')
      .values({ version: newest + 1, name: 'future', sha256: 'x', applied_at: NOW_MS })
      .execute();
    await assert.rejects(migrate(database, NOW_MS), {
      name: 'MigrationError',
      message: new RegExp(`schema ${newest + 1} \\(future\\), this program knows ${newest}:`),
    });
  },

  'a migration that was changed after it had been applied is refused': async (database) => {
    await database.system().updateTable('schema_version').set({ sha256: 'other' }).execute();
    await assert.rejects(migrate(database, NOW_MS), /migration 1 \(start\) was changed/);
    assert.equal(await countTenants(database.system()), 0);
  },

  'the row of a migration says what was applied and when': async (database) => {
    const known = await readMigrations(database.kind);
    const { rows } = await sql`select * from schema_version order by version`.execute(
      database.system(),
    );
    const expected = known.map(({ version, name, sha256 }) => {
      return { version, name, sha256, applied_at: NOW_MS };
    });
    assert.deepEqual(rows, expected);
    assert.equal(known[0]?.name, 'start');
  },
};

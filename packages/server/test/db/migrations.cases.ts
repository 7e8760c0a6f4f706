// Starting on a database: from nothing, again, several nodes at once, and the two cases that are
// refused.

import assert from 'node:assert/strict';
import { cp, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { sql } from 'kysely';
import { readSchema } from '../../src/db/dialect.ts';
import { migrate, readMigrations } from '../../src/db/migrate.ts';
import { countTenants, NOW_MS, type Cases, temporaryDirectory } from './fixture.ts';

const ORIGINAL = new URL('../../migrations/', import.meta.url);

/**
 * A copy of the migrations that the test may change: as a URL for `migrate`, and a folder to write
 * into.
 */
async function copiedMigrations() {
  const { path: folder, remove } = await temporaryDirectory();
  await cp(ORIGINAL, folder, { recursive: true });
  return { from: pathToFileURL(`${folder}/`), folder, remove };
}

/** Starts on an empty, migrated, newer or changed database. */
export const migrationCases: Cases = {
  'a migrated database is left as it is by a second start': async (database) => {
    const before = await readSchema(database.system());
    assert.deepEqual(await migrate(database, NOW_MS), []);
    assert.equal(await readSchema(database.system()), before);
    assert.match(before, /finding_by_status/);
  },

  'nodes that start at the same moment apply every migration once': async (database, { again }) => {
    const { from, folder, remove } = await copiedMigrations();
    const { kind } = database;
    await writeFile(path.join(folder, kind, '0002_second.sql'), 'create table second (n integer);');
    await writeFile(path.join(folder, kind, '0003_third.sql'), 'create table third (n integer);');
    const others = await Promise.all([again(), again()]);
    const nodes = [database, ...others];
    const applied = await Promise.all(nodes.map((node) => migrate(node, NOW_MS, from)));
    assert.deepEqual(
      applied.flat().toSorted((a, b) => a - b),
      [2, 3],
    );
    await Promise.all(others.map((node) => node.close()));
    await remove();
  },

  'a migration that fails leaves neither its tables nor its row': async (database) => {
    const { from, folder, remove } = await copiedMigrations();
    const text = 'create table half (n integer); insert into nowhere values (1);';
    await writeFile(path.join(folder, database.kind, '0002_half.sql'), text);
    await assert.rejects(migrate(database, NOW_MS, from), /nowhere/);
    assert.doesNotMatch(await readSchema(database.system()), /half/);
    assert.deepEqual(await migrate(database, NOW_MS), []);
    await remove();
  },

  'a database newer than the program is refused': async (database) => {
    await database
      .system()
      .insertInto('schema_version')
      .values({ version: 2, name: 'future', sha256: 'x', applied_at: NOW_MS })
      .execute();
    await assert.rejects(migrate(database, NOW_MS), /schema 2 \(future\), this program knows 1/);
  },

  'a migration that was changed after it had been applied is refused': async (database) => {
    await database.system().updateTable('schema_version').set({ sha256: 'other' }).execute();
    await assert.rejects(migrate(database, NOW_MS), /migration 1 \(start\) was changed/);
    assert.equal(await countTenants(database.system()), 0);
  },

  'the row of a migration says what was applied and when': async (database) => {
    const [start] = await readMigrations(database.kind);
    const { rows } = await sql`select * from schema_version`.execute(database.system());
    const expected = { version: 1, name: 'start', sha256: start?.sha256, applied_at: NOW_MS };
    assert.deepEqual(rows, [expected]);
  },
};

// What queries become, without running them: their texts for each dialect, and the plan that SQLite
// makes of a text on a migrated, empty database, whose statistics stand in its migrations.

import { DatabaseSync } from 'node:sqlite';
import path from 'node:path';
import { type CompiledQuery, DummyDriver, Kysely } from 'kysely';
import { type Db, openDatabase } from '../../src/db/db.ts';
import { postgresDialect, sqliteDialect } from '../../src/db/dialect.ts';
import { IdPlugin } from '../../src/db/id-plugin.ts';
import { migrate } from '../../src/db/migrate.ts';
import type { Tables } from '../../src/db/tables.ts';
import { copiedMigrations, NOW_MS, temporaryDirectory } from '../db/fixture.ts';
import type { Backend } from '../harness.ts';

/** What `run` asks a database for; it gets no rows. */
export async function recorded(
  backend: Backend,
  run: (db: Db) => Promise<unknown>,
): Promise<CompiledQuery[]> {
  const queries: CompiledQuery[] = [];
  const dialect = backend === 'sqlite' ? sqliteDialect : postgresDialect;
  const db = new Kysely<Tables>({
    dialect: dialect(() => new DummyDriver()),
    log: (event) => void queries.push(event.query),
  });
  await run(backend === 'sqlite' ? db.withPlugin(new IdPlugin()) : db);
  return queries;
}

/** `stepsOf` gives SQLite's plan for a text, on the newest schema or on that of `versionMax`. */
export async function withSqlitePlans(
  body: (stepsOf: (text: string) => string[]) => void | Promise<void>,
  versionMax?: number,
): Promise<void> {
  const { path: directory, remove } = await temporaryDirectory();
  const migrations = await copiedMigrations(versionMax);
  const database = await openDatabase({ url: null, directory });
  await migrate(database, NOW_MS, migrations.from);
  await database.close();
  // Opened anew: statistics are read with the schema.
  const db = new DatabaseSync(path.join(directory, 'muster.db'), { readOnly: true });
  try {
    await body((text) =>
      db
        .prepare(`explain query plan ${text}`)
        .all()
        .map(({ detail }) => String(detail)),
    );
  } finally {
    db.close();
    await migrations.remove();
    await remove();
  }
}

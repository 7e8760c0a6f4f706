// The conformance suite on PostgreSQL: every rule on a fresh database of the test cluster.

import { testDatabaseUrl } from '../../../../tools/postgres.ts';
import { openDatabase } from '../../src/db/db.ts';
import { migrate } from '../../src/db/migrate.ts';
import { databaseConformance } from './conformance.ts';
import { NOW_MS, type Opened } from './fixture.ts';

async function open(): Promise<Opened> {
  const url = await testDatabaseUrl();
  const again = () => openDatabase({ url, directory: '', poolMax: 4 });
  const database = await again();
  await migrate(database, NOW_MS);
  return { database, again, dispose: () => database.close() };
}

databaseConformance('PostgreSQL', open);

// The conformance suite on PostgreSQL: every rule on a fresh database of the test cluster.

import { openDatabase } from '../../src/db/db.ts';
import { databaseConformance } from './conformance.ts';
import { migratedDatabaseUrl, type Opened } from './fixture.ts';

async function open(): Promise<Opened> {
  const url = await migratedDatabaseUrl();
  const again = () => openDatabase({ url, directory: '', poolMax: 4 });
  const database = await again();
  return { database, again, dispose: () => database.close() };
}

databaseConformance('PostgreSQL', open);

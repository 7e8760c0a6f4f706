// The conformance suite on SQLite: every rule on a fresh file with its threads.

import { openDatabase } from '../../src/db/db.ts';
import { migrate } from '../../src/db/migrate.ts';
import { databaseConformance } from './conformance.ts';
import { NOW_MS, type Opened, temporaryDirectory } from './fixture.ts';

async function open(): Promise<Opened> {
  const { path: directory, remove } = await temporaryDirectory();
  const database = await openDatabase({ url: null, directory });
  await migrate(database, NOW_MS);
  return {
    database,
    again: () => openDatabase({ url: null, directory, lock: false }),
    dispose: async () => {
      await database.close();
      await remove();
    },
  };
}

databaseConformance('SQLite', open);

// A process that is killed while it rebuilds a table: everything is done, nothing is committed.

import { openDatabase } from '../../src/db/db.ts';
import { rebuildTable } from '../../src/db/dialect.ts';

const [directory = '', table = '', createTable = ''] = process.argv.slice(2);
const database = await openDatabase({ url: null, directory });
await database.transaction('system', async (tx) => {
  await rebuildTable(tx, table, createTable);
  process.stdout.write('rebuilt\n', () => process.kill(process.pid, 'SIGKILL'));
  await new Promise(() => {});
});

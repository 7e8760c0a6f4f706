// A second server process for the lock's test: opens the given directory and holds it until it is
// killed.

import { openDatabase } from '../../src/db/db.ts';

const [directory = ''] = process.argv.slice(2);
try {
  await openDatabase({ url: null, directory });
  process.stdout.write('open\n');
} catch (error) {
  process.stdout.write(`${error instanceof Error ? error.name : 'unknown'}\n`);
}

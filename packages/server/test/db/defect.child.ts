// A process whose writer thread dies of a defect, garbage on a port, so that a test can see the
// consequences.

import { openDatabase } from '../../src/db/db.ts';

const [directory = ''] = process.argv.slice(2);
const database = await openDatabase({ url: null, directory });
const { data } = database.workerData();
if (data.kind === 'sqlite') data.port.postMessage('garbage');
// The port keeps this process alive: only the end of the writer thread can end it.
if (data.kind === 'sqlite') data.port.ref();

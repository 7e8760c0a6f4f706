// A stand-in for an ingest worker in the tests: opens the database from its workerData and does as
// told. Messages: 'write' inserts rows in one transaction, 'hold' opens a transaction and keeps it,
// 'end' closes and ends the thread.

import { randomUUID } from 'node:crypto';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { openInWorker } from '../../src/db/db.ts';
import { insertRows } from '../../src/db/dialect.ts';
import { addTenant, countTenants, findingRow } from './fixture.ts';

const { data, tenantId, name } = workerData;
const database = await openInWorker(data);
const port = parentPort as MessagePort;

async function obey(told: 'write' | 'hold' | 'end'): Promise<void> {
  if (told === 'write') {
    await addTenant(database.system(), randomUUID(), `single of ${name}`);
    await database.transaction(tenantId, async (tx) => {
      await insertRows(tx, 'finding', [findingRow(tenantId), findingRow(tenantId)]);
      await insertRows(tx, 'finding', [findingRow(tenantId)]);
    });
    const rows = await database.lists(tenantId).selectFrom('finding').select('id').execute();
    port.postMessage({ tenants: await countTenants(database.system()), findings: rows.length });
  } else if (told === 'hold') {
    await database.transaction('system', async (tx) => {
      await addTenant(tx, randomUUID(), 'never committed');
      port.postMessage('holding');
      await new Promise(() => {});
    });
  } else {
    await database.close();
    port.close();
  }
}

port.on('message', (told: 'write' | 'hold' | 'end') => {
  void obey(told);
});
port.postMessage('ready');

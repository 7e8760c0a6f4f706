// Worker threads open the same database from workerData(), and can die at any moment without
// stopping the others.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Database } from '../../src/db/db.ts';
import { addTenant, countTenants, newTenant, type Cases } from './fixture.ts';

async function startWorker(database: Database, tenantId: string, name: string): Promise<Worker> {
  const { data, transfer } = database.workerData();
  const worker = new Worker(new URL('./writing.worker.ts', import.meta.url), {
    workerData: { data, tenantId, name },
    transferList: transfer,
  });
  const [ready] = await once(worker, 'message');
  assert.equal(ready, 'ready');
  return worker;
}

async function told(worker: Worker, what: 'write' | 'hold'): Promise<unknown> {
  worker.postMessage(what);
  const [answer] = await once(worker, 'message');
  return answer;
}

async function ended(worker: Worker): Promise<void> {
  worker.postMessage('end');
  const [code] = await once(worker, 'exit');
  assert.equal(code, 0);
}

/** Worker threads on the same database. */
export const workerCases: Cases = {
  'workers write and read the same database, and end when they close it': async (database) => {
    const tenantId = await newTenant(database);
    const names = ['one', 'two', 'three'];
    const workers = await Promise.all(names.map((name) => startWorker(database, tenantId, name)));
    await Promise.all(workers.map((worker) => told(worker, 'write')));
    const last = await startWorker(database, tenantId, 'four');
    assert.deepEqual(await told(last, 'write'), { tenants: 5, findings: 12 });
    await Promise.all([...workers, last].map(ended));
    assert.equal(await countTenants(database.system()), 5);
  },

  'the transaction of a worker that dies is rolled back and holds nobody up': async (database) => {
    const tenantId = await newTenant(database);
    const worker = await startWorker(database, tenantId, 'doomed');
    assert.equal(await told(worker, 'hold'), 'holding');
    const waiting = [
      addTenant(database.system(), randomUUID(), 'single'),
      database.transaction('system', (tx) => addTenant(tx, randomUUID(), 'transaction')),
    ];
    await worker.terminate();
    await Promise.all(waiting);
    assert.equal(await countTenants(database.system()), 3);
  },
};

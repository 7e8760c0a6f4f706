// Requests that wait for the end of an upload, on both databases: an end that is told in this
// process wakes them at once, and one look for all of them finds the uploads that other nodes
// ended.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Database } from '../../../src/db/db.ts';
import { AwaitedUploads } from '../../../src/ingest/queue/awaited-uploads.ts';
import { end } from '../../../src/ingest/finish/end.ts';
import type { RunnerCaller } from '../../../src/keys/authenticate.ts';
import { present } from '../../../src/lib/assert.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { createLogger } from '../../../src/lib/log.ts';
import { BACKENDS } from '../../harness.ts';
import { claim, newCaller, openStage, receive, type Stage, watchedDeps } from '../crash/scene.ts';

const LOG = createLogger('silent');
const FOR_LONG_MS = 600_000;

for (const backend of BACKENDS) {
  describe(`waiting for the end of uploads on ${backend}`, { concurrency: false }, () => {
    let stage: Stage;
    let caller: RunnerCaller;
    before(async () => {
      stage = await openStage(backend);
      caller = await newCaller(stage);
    });
    after(async () => await stage.close());

    let serial = 0;
    const several = async (count: number): Promise<string[]> => {
      const ids: string[] = [];
      for (let n = 0; n < count; n += 1)
        ids.push(await receive(stage, caller, 'ctis', Buffer.from(String((serial += 1)))));
      return ids;
    };
    /** Another node ends the next upload; this process is told nothing. */
    const endNext = async (): Promise<string> => {
      const upload = present(await claim(stage), 'an upload');
      const problem = { code: 'not_ctis', detail: 'told by a test' };
      assert.equal(await end(stage, upload, 'refused', null, problem), 'refused');
      return upload.id;
    };
    /** Time stands still, so only a told end stops a wait. */
    const standing: Clock = {
      nowMs: () => stage.clock.nowMs(),
      monotonicMs: () => 0,
      sleep: async (_ms, signal) =>
        await new Promise((resolve) => {
          if (signal?.aborted === true) resolve();
          signal?.addEventListener('abort', () => resolve(), { once: true });
        }),
    };

    test('many that wait are looked at together; each row is read at its beginning and its end', async () => {
      const ids = await several(40);
      const reads = { rows: 0, looks: 0 };
      const looked = Promise.withResolvers<void>();
      const database: Database = {
        ...watchedDeps(stage, () => {}).database,
        tenant: (id) => {
          reads.rows += 1;
          return stage.database.tenant(id);
        },
        system: () => {
          reads.looks += 1;
          if (reads.looks === 3) looked.resolve();
          return stage.database.system();
        },
      };
      const awaited = new AwaitedUploads(database, stage.clock, LOG);
      const waits = ids.map((id) => awaited.waitFor(caller.tenantId, id, FOR_LONG_MS));
      await looked.promise;
      assert.equal(reads.rows, ids.length, 'three looks read no row anew');
      for (const _ of ids) await endNext();
      const rows = await Promise.all(waits);
      assert.deepEqual(
        rows.map((row) => row?.state),
        ids.map(() => 'refused'),
      );
      assert.equal(reads.rows, 2 * ids.length);
    });

    test('what is told here ends a wait without any look', async () => {
      const [id = ''] = await several(1);
      const awaited = new AwaitedUploads(stage.database, standing, LOG);
      const wait = awaited.waitFor(caller.tenantId, id, FOR_LONG_MS);
      assert.equal(await endNext(), id);
      awaited.tell(id);
      assert.equal((await wait)?.state, 'refused');
    });

    test('whoever stops lets nobody wait', async () => {
      const [id = ''] = await several(1);
      const awaited = new AwaitedUploads(stage.database, standing, LOG);
      const wait = awaited.waitFor(caller.tenantId, id, FOR_LONG_MS);
      awaited.stop();
      assert.equal((await wait)?.state, 'received');
      const late = await awaited.waitFor(caller.tenantId, id, FOR_LONG_MS);
      assert.equal(late?.state, 'received');
      await endNext();
    });
  });
}

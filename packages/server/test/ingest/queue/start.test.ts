// When the ingest threads are started: with the first upload that is told, else after a while, for
// uploads that were left from before or came to another node.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { IngestWorkers } from '../../../src/ingest/queue/workers.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { createLogger } from '../../../src/lib/log.ts';
import { sarif, sarifResult } from '../../http/reports.ts';
import { newCaller, openStage, receive, SEAL_KEY, SECRET_KEY } from '../crash/scene.ts';

const START_AFTER_MS = 3_600_000;

for (const how of ['told', 'left from before'] as const) {
  test(`an upload that is ${how} is processed by threads that had not been started`, async () => {
    const stage = await openStage();
    const waited = Promise.withResolvers<void>();
    const clock: Clock = {
      nowMs: () => stage.clock.nowMs(),
      monotonicMs: () => stage.clock.monotonicMs(),
      sleep: async (ms, signal) =>
        await (ms === START_AFTER_MS && how !== 'told'
          ? waited.promise
          : stage.clock.sleep(ms, signal)),
    };
    const workers = new IngestWorkers({
      database: stage.database,
      clock,
      log: createLogger('silent'),
      sealKey: SEAL_KEY,
      secretKey: SECRET_KEY,
      count: 1,
      heapMiBMax: 512,
      probe: null,
      startAfterMs: START_AFTER_MS,
      onEnded: () => {},
    });
    try {
      const caller = await newCaller(stage);
      const id = await receive(stage, caller, 'sarif', sarif([sarifResult()]));
      workers.start();
      const wait = workers.waitFor(caller.tenantId, id, START_AFTER_MS - 1);
      if (how === 'told') workers.wake();
      else waited.resolve();
      assert.equal((await wait)?.state, 'processed');
    } finally {
      await workers.stop(1000);
      await stage.close();
    }
  });
}

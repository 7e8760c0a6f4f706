// Poisonous uploads in real threads (contract §5): an upload that kills, stalls, exhausts or
// confuses its worker is tried three times and set aside with the reason, while other uploads are
// processed and the server goes on.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { limits } from '@muster/contract';
import { WATCH_EVERY_MS } from '../../src/ingest/queue/workers.ts';
import { BACKENDS, eventually } from '../harness.ts';
import { POISON_PROBE } from './poison.probe.ts';
import { ctis, ctisFinding } from './reports.ts';
import { type Fields, ok } from './wire.ts';
import { look, newRunner, runnerCall, startWorld, type World } from './world.ts';

const ASYNC = { prefer: 'respond-async' };
let serial = 0;
const report = (): Fields => {
  serial += 1;
  return ctis([ctisFinding()], { repository: `github.com/acme/poison-${serial}` });
};

// These tests wait for seconds, on clocks that are real in another thread: they run side by side.
describe('poisonous uploads', { concurrency: true }, () => {
  for (const backend of BACKENDS) {
    describe(`on ${backend}`, { concurrency: false }, () => {
      let world: World;
      before(async () => {
        const env = { MUSTER_INGEST_HEAP_MIB: '64' };
        world = await startWorld(backend, env, { ingestProbe: POISON_PROBE });
      });
      after(async () => await world.stop());

      const hand = async (category: string, key = world.own.runner.key): Promise<string> => {
        const path = `/ingest?category=${category}`;
        return String(ok(await runnerCall(world, key, path, report(), ASYNC), 202)['job_id']);
      };
      const uploadOf = async (id: string): Promise<Fields> =>
        await look(world, world.own.viewer, `/api/v1/uploads/${id}`);
      const becomes = async (id: string, state: string): Promise<Fields> =>
        await eventually(async () => {
          const upload = await uploadOf(id);
          return upload['state'] === state && upload;
        });
      const setAside = async (id: string, why: RegExp): Promise<void> => {
        const upload = await becomes(id, 'failed');
        const problem = upload['problem'] as Fields;
        assert.equal(problem['code'], 'processing_failed');
        assert.match(String(problem['detail']), why);
        assert.equal(upload['attempts'], limits.uploadAttemptsMax);
      };

      for (const [category, why] of [
        ['crash', /3 times .* crashed/],
        ['throw', /3 times .* a defect/],
        ['exhaust', /3 times .* ran out of memory/],
      ] as const) {
        test(`what makes its worker ${category} is set aside with the reason; others go on`, async () => {
          const poison = await hand(category);
          // By the same runner behind it, by another runner, by another tenant: none of them waits
          // for its end.
          const neighbour = await newRunner(world);
          const others = [await hand('good'), await hand('good', neighbour.key)];
          const theirs = ok(
            await runnerCall(world, world.other.runner.key, '/ingest', report()),
            201,
          );
          assert.equal(theirs['outcome'], 'complete');
          for (const id of others) await becomes(id, 'processed');
          await setAside(poison, why);
        });
      }

      test('what stalls its worker costs the worker; the upload is tried again and set aside', async () => {
        const poison = await hand('stall');
        for (let attempt = 1; attempt <= limits.uploadAttemptsMax; attempt += 1) {
          await eventually(async () => {
            const { state, attempts } = await uploadOf(poison);
            return state === 'processing' && attempts === attempt;
          });
          const { key } = world.other.runner;
          const waiting = runnerCall(world, key, '/ingest', report(), ASYNC);
          const behind = String(ok(await waiting, 202)['job_id']);
          for (let ms = 0; ms <= limits.uploadStallMs; ms += WATCH_EVERY_MS) {
            world.server.clock.age(WATCH_EVERY_MS);
            await world.server.round();
          }
          // The next thread first processes the uploads that waited behind the stall.
          await eventually(async () => {
            const path = `/api/v1/uploads/${behind}`;
            return (await look(world, world.other.viewer, path))['state'] === 'processed';
          });
          assert.equal((await uploadOf(poison))['fault'], 'stalled');
        }
        await setAside(poison, /no progress for 4 minutes/);
      });
    });
  }
});

// Scopes (contract §7): every route of a runner against a key with each scope alone. The answer to
// a key without the scope is chosen for its effect on deployed clients: 404 is "not for you, go
// on", 401 "keep the report, get a key".

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { KEY_SCOPES, type KeyScope } from '@muster/contract';
import { callOf, makeThings, type Things, withAuth } from '../http/endpoint-table.ts';
import { type Fields, ok, problemOf, send } from '../http/wire.ts';
import {
  forgiveFailures,
  newCommand,
  newKey,
  newRunner,
  poll,
  runnerCall,
  startWorld,
  type World,
} from '../http/world.ts';

/** The endpoints that each scope opens. */
const OPENS: Readonly<Record<KeyScope, readonly string[]>> = {
  heartbeat: ['heartbeat', 'pollCommands'],
  commands: [
    'acknowledgeCommand',
    'startCommand',
    'completeCommand',
    'failCommand',
    'releaseCommand',
    'reportProgress',
    'appendLog',
  ],
  ingest: [
    'ingest',
    'ingestCtis',
    'ingestSarif',
    'validateReport',
    'uploadJob',
    'checkFingerprints',
    'startScan',
    'endScan',
    'showOwnScan',
  ],
  renew: ['renewKey'],
};

const WITHOUT = {
  heartbeat: null,
  commands: 'not_found',
  ingest: 'unauthorized',
  renew: 'not_found',
} as const;

describe('scopes', { concurrency: false }, () => {
  let world: World;
  let things: Things;
  const keys = new Map<KeyScope, string>();
  before(async () => {
    world = await startWorld();
    things = await makeThings(world);
    for (const scope of KEY_SCOPES)
      keys.set(scope, await newKey(world, world.own.runner.id, { scopes: [scope] }));
  });
  after(async () => await world.stop());

  test('every route of a runner is opened by exactly one scope', () => {
    const ids = withAuth('runner').map(({ id }) => id);
    assert.deepEqual(Object.values(OPENS).flat().sort(), ids.sort());
  });

  for (const needed of KEY_SCOPES) {
    for (const held of KEY_SCOPES) {
      const without = held === needed ? null : WITHOUT[needed];
      for (const endpoint of withAuth('runner').filter(({ id }) => OPENS[needed].includes(id))) {
        const outcome = without === null ? 'is open to' : `answers ${without} to`;
        test(`${endpoint.id} ${outcome} a key with the scope ${held} alone`, async () => {
          forgiveFailures(world);
          const answer = await send(world.url, {
            ...callOf(endpoint, things),
            key: keys.get(held),
          });
          if (without !== null) problemOf(answer, without);
          // 409: a neighbour of this test has moved the command on.
          else assert.ok(answer.status < 300 || answer.status === 409, answer.text);
        });
      }
    }
  }
});

describe('a CI key with only `ingest`', { concurrency: false }, () => {
  let world: World;
  before(async () => {
    world = await startWorld();
  });
  after(async () => await world.stop());

  test('hands in and beats; of waiting commands it learns nothing and can touch none', async () => {
    const runner = await newRunner(world);
    const key = await newKey(world, runner.id, { scopes: ['ingest'] });
    const report = { version: '1.0', metadata: {}, findings: [] };
    ok(await runnerCall(world, key, '/ingest', report), 201);
    const id = await newCommand(world, { runner_id: runner.id });
    const polled = await poll(world, runner.key);
    assert.equal((JSON.parse(polled.text) as Fields[])[0]?.['id'], id);
    assert.equal((await poll(world, key)).text, '[]');
    const heard = ok(await runnerCall(world, key, '/heartbeat', {}));
    assert.equal(heard['pending_jobs'], undefined);
    problemOf(await runnerCall(world, key, `/commands/${id}/acknowledge`), 'not_found');
    ok(await runnerCall(world, runner.key, `/commands/${id}/acknowledge`));
  });

  test('is not advised to renew, which it can’t; the key that can is', async () => {
    const runner = await newRunner(world);
    const life = { expires_in: 3600 };
    const narrow = await newKey(world, runner.id, { ...life, scopes: ['ingest'] });
    const wide = await newKey(world, runner.id, life);
    world.server.clock.advance(1_800_000);
    assert.equal(ok(await runnerCall(world, narrow, '/heartbeat', {}))['actions'], undefined);
    assert.deepEqual(ok(await runnerCall(world, wide, '/heartbeat', {}))['actions'], [
      'rotate_key',
    ]);
  });

  test('is refused by reason in the metric only', async () => {
    const key = await newKey(world, world.own.runner.id, { scopes: ['renew'] });
    const body = { version: '1.0', metadata: {}, findings: [] };
    const problem = problemOf(await runnerCall(world, key, '/ingest', body), 'unauthorized');
    assert.ok(!JSON.stringify(problem).includes('scope'));
    const { text } = await send(world.url, { path: '/metrics' });
    assert.match(text, /^muster_credentials_refused_total\{reason="scope"\} 2$/m);
  });
});

// Presence (contract §3): never → online → late → offline, by the clock. A jump of the clock is
// time in which the server was stalled, and never counts against a runner; so the clock goes in
// steps smaller than a stall, one for each round of upkeep that /metrics shows.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { BACKENDS, eventually } from '../harness.ts';
import { ok, problemOf, send } from '../http/wire.ts';
import {
  flushes,
  newRunner,
  otherSecret,
  poll,
  type Runner,
  runnerCall,
  showRunner,
  startWorld,
  type World,
} from '../http/world.ts';

/** Two of these and a round of upkeep are still no stall. */
const STEP_MS = 4_900;
const DOORBELL = { 'x-openctem-sensor-features': 'doorbell' };

/** One round of upkeep later, with the clock one step ahead of the real one. */
async function step(world: World): Promise<void> {
  world.server.clock.advance(STEP_MS);
  await world.server.round();
}

const presenceOf = async (world: World, { id }: Runner): Promise<string> =>
  String((await showRunner(world, id))['presence']);

async function silenceOf(world: World, { id }: Runner): Promise<number> {
  const seen = Date.parse(String((await showRunner(world, id))['last_seen_at']));
  return world.server.clock.nowMs() - seen;
}

/** Steps until the quiet runner is offline; gives its presences in order. */
async function watchUntilOffline(
  world: World,
  quiet: Runner,
  each: () => Promise<void>,
): Promise<string[]> {
  const history = ['online'];
  while (history.at(-1) !== 'offline') {
    await step(world);
    await each();
    const silentMs = await silenceOf(world, quiet);
    const now = await presenceOf(world, quiet);
    if (now !== history.at(-1)) history.push(now);
    if (now === 'offline') assert.ok(silentMs > 90_000, `offline after ${silentMs} ms`);
    if (now === 'late') assert.ok(silentMs > 45_000, `late after ${silentMs} ms`);
    assert.ok(silentMs < 150_000, `still ${now} after ${silentMs} ms at 30 s a beat`);
  }
  return history;
}

async function wholeLife(world: World): Promise<void> {
  const beat = async (runner: Runner, body = {}, headers = {}): Promise<unknown> =>
    ok(await runnerCall(world, runner.key, '/heartbeat', body, headers));
  const [unseen, quiet, slow, talker, done] = [
    await newRunner(world),
    await newRunner(world),
    await newRunner(world),
    await newRunner(world),
    await newRunner(world),
  ];
  assert.equal(await presenceOf(world, quiet), 'never');
  // Several beats: the expected interval comes down to the advised one.
  for (let n = 0; n < 8; n += 1) await beat(quiet, {}, DOORBELL);
  assert.equal(await presenceOf(world, quiet), 'online');
  await beat(slow);
  await beat(done, { status: 'stopped' });
  assert.equal(await presenceOf(world, done), 'stopped');
  const history = await watchUntilOffline(world, quiet, async () => {
    assert.equal((await poll(world, talker.key)).status, 200);
    problemOf(await runnerCall(world, otherSecret(quiet.key), '/heartbeat'), 'unauthorized');
    assert.equal(await presenceOf(world, talker), 'online');
  });
  assert.deepEqual(history, ['online', 'late', 'offline']);
  assert.equal(await presenceOf(world, unseen), 'never');
  assert.notEqual(await presenceOf(world, slow), 'offline', '60 s a beat: not before 180 s');
  assert.equal(await presenceOf(world, done), 'stopped');
  await beat(quiet);
  assert.equal(await presenceOf(world, quiet), 'online');
  await beat(done);
  assert.equal(await presenceOf(world, done), 'online');
}

describe('presence', { concurrency: true }, () => {
  for (const backend of BACKENDS) {
    test(`a runner goes never → online → late → offline, never before 90 s, on ${backend}`, async () => {
      const world = await startWorld(backend);
      try {
        await wholeLife(world);
      } finally {
        await world.stop();
      }
    });

    test(`time in which the server was away costs nobody his presence, on ${backend}`, async () => {
      const world = await startWorld(backend);
      try {
        const runner = await newRunner(world);
        ok(await runnerCall(world, runner.key, '/heartbeat', {}, DOORBELL));
        const before = await flushes(world);
        world.server.clock.advance(3_600_000);
        await eventually(async () => (await flushes(world)) > before + 1);
        assert.equal(await presenceOf(world, runner), 'online');
      } finally {
        await world.stop();
      }
    });

    test(`every authenticated call is a sign of life, and no refused one, on ${backend}`, async () => {
      const world = await startWorld(backend);
      try {
        const nobody = await newRunner(world);
        problemOf(await runnerCall(world, otherSecret(nobody.key), '/heartbeat'), 'unauthorized');
        assert.equal(await presenceOf(world, nobody), 'never');
        const calls = [
          ['GET', '/commands'],
          ['POST', '/renew'],
          ['POST', '/ingest/check'],
          ['GET', '/ingest/jobs/01a1fc23-b6cf-7067-93f1-625de03b92e4'],
          ['POST', '/commands/01a1fc23-b6cf-7067-93f1-625de03b92e4/start'],
        ] as const;
        for (const [method, path] of calls) {
          const { id, key } = await newRunner(world);
          await send(world.url, { method, path: `/api/v1/agent${path}`, key, body: '' });
          assert.equal(await presenceOf(world, { id, key }), 'online', path);
        }
      } finally {
        await world.stop();
      }
    });
  }
});

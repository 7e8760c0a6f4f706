// The end of a runner: begun work is finished and handed over, or given back; the heartbeats go on
// until then.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { call, endpoints } from '@muster/contract';
import { eventually } from '../../server/test/harness.ts';
import { gate, Rig, work } from './rig.ts';

test('a runner that stops beats until its work has ended, so that the lease holds', async (t) => {
  const rig = await Rig.start(t);
  const { handler, begun, end } = work('done');
  const runner = await rig.runner({ handlers: { health_check: handler } });
  const id = await rig.command();
  await begun;
  const stopped = runner.stop();
  for (let step = 0; step < 6; step += 1) {
    await rig.server.pass(30_000);
    const beat = await rig.network.next('/heartbeat');
    assert.equal(beat.body['status'], 'stopping');
    assert.deepEqual(beat.body['running'], [id]);
    await rig.network.next('/heartbeat');
  }
  end();
  await stopped;
  const done = await rig.show(id);
  assert.equal(done.status, 'completed');
  assert.equal(done.result, 'done');
  assert.equal(rig.network.to('/heartbeat').at(-1)?.body['status'], 'stopped');
});

test('a stopping runner takes nothing more', async (t) => {
  const rig = await Rig.start(t);
  const { handler, begun, end } = work();
  const runner = await rig.runner({ handlers: { health_check: handler }, maxConcurrentJobs: 3 });
  await rig.command();
  await begun;
  const stopped = runner.stop();
  const second = await rig.command();
  await rig.network.next('/heartbeat');
  end();
  await stopped;
  assert.equal((await rig.show(second)).status, 'pending');
});

test('what was claimed and not begun when the runner stops is given back', async (t) => {
  const rig = await Rig.start(t);
  const stops: Promise<void>[] = [];
  let executions = 0;
  const runner = await rig.runner({
    handlers: { health_check: async () => (executions += 1) },
  });
  rig.network.fate = ({ path: at }) => {
    if (at.endsWith('/acknowledge')) stops.push(runner.stop());
    return null;
  };
  const id = await rig.command();
  await eventually(async () => stops.length > 0);
  await Promise.all(stops);
  const command = await rig.show(id);
  assert.equal(command.status, 'pending');
  assert.equal(command.attempts[0]?.outcome, 'released');
  assert.equal(executions, 0);
});

test('a runner that has to end now tells its handlers, and gives unfinished work back', async (t) => {
  const rig = await Rig.start(t);
  const [heeding, deaf] = [gate(), work()];
  const runner = await rig.runner({
    handlers: {
      health_check: (_, { signal }) =>
        new Promise((_resolve, reject) => {
          heeding.open();
          signal.addEventListener('abort', () => reject(new Error('broken off')));
        }),
      deaf: deaf.handler,
    },
    maxConcurrentJobs: 2,
  });
  const [first, second] = [await rig.command(), await rig.command('deaf')];
  await Promise.all([heeding.opened, deaf.begun]);
  const giveUp = new AbortController();
  const stopped = runner.stop(giveUp.signal);
  giveUp.abort();
  await stopped;
  // In this hurried time the end may come before the answer.
  await rig.until(first, 'pending');
  assert.equal((await rig.show(second)).status, 'running', 'its lease will end');
});

test('a runner that stops while its server is away leaves its results in the spool', async (t) => {
  const rig = await Rig.start(t);
  const { handler, begun, end } = work();
  const options = { handlers: { health_check: handler }, stateDirectory: rig.folder };
  const runner = await rig.runner(options);
  const id = await rig.command();
  await begun;
  rig.network.fate = () => 'refused';
  const stopped = runner.stop();
  end();
  await stopped;
  rig.network.fate = () => null;
  const next = await rig.runner(options);
  assert.equal((await rig.until(id, 'completed')).attempt, 1);
  await next.stop();
});

test('stopping twice is stopping once', async (t) => {
  const rig = await Rig.start(t);
  const runner = await rig.runner();
  await Promise.all([runner.stop(), runner.stop(AbortSignal.abort())]);
  const stops = rig.network.to('/heartbeat').filter(({ body }) => body['status'] === 'stopped');
  assert.equal(stops.length, 1);
  const fleet = await call(endpoints.listRunners, {}, rig.operator);
  assert.equal(fleet.body.items[0]?.presence, 'stopped');
});

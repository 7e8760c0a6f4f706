// A runner at work: commands arrive by a poll that waits, several are in work at once, handlers
// report their progress.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { call, endpoints, limits } from '@muster/contract';
import { eventually } from '../../server/test/harness.ts';
import { Declined } from '../src/index.ts';
import { gate, Rig, unavailable } from './rig.ts';

test('a command arrives by the poll that waits for it, without a heartbeat', async (t) => {
  const rig = await Rig.start(t);
  // No heartbeat comes after the first.
  rig.timing.longestMs = 5000;
  const runner = await rig.runner({ handlers: { health_check: async () => 'done' } });
  await eventually(async () => rig.network.to('/commands').length === 1);
  let polls = 0;
  rig.network.fate = ({ path: at }) => {
    if (at.endsWith('/acknowledge')) polls = rig.network.to('/commands').length;
    return null;
  };
  const id = await rig.command();
  await rig.until(id, 'completed');
  assert.equal(polls, 1, 'it waited');
  assert.equal(rig.network.to('/heartbeat').length, 1);
  await runner.stop();
});

test('it works on as many at once as it has slots, and says how many are free', async (t) => {
  const rig = await Rig.start(t);
  const working = gate();
  let most = 0;
  let now = 0;
  const runner = await rig.runner({
    maxConcurrentJobs: 3,
    handlers: {
      health_check: async () => {
        now += 1;
        most = Math.max(most, now);
        await working.opened;
        now -= 1;
      },
    },
  });
  const ids: string[] = [];
  for (let n = 0; n < 5; n += 1) ids.push(await rig.command());
  await eventually(async () => now === 3);
  const beat = await rig.network.next('/heartbeat');
  assert.deepEqual(beat.body['capacity'], { slots_total: 3, slots_free: 0, active_jobs: 3 });
  assert.equal(beat.body['max_concurrent_jobs'], 3);
  assert.equal((beat.body['running'] as string[]).length, 3);
  working.open();
  for (const id of ids) assert.equal((await rig.until(id, 'completed')).attempt, 1);
  assert.equal(most, 3);
  await runner.stop();
});

test('what it announces decides what it is offered', async (t) => {
  const rig = await Rig.start(t, { alone: true });
  const runner = await rig.runner({
    handlers: { scan: async () => null, health_check: async () => null },
    scanners: ['semgrep'],
    capabilities: ['sast'],
    tools: [{ name: 'git', version: '2.51' }],
  });
  const [other, wanted] = [
    await rig.command('scan', { payload: { scanner: 'trivy' } }),
    await rig.command('scan', { payload: { scanner: 'semgrep' } }),
  ];
  const both = await rig.command('health_check', {
    target: { capabilities: ['sast'], tools: ['git'] },
  });
  await rig.until(wanted, 'completed');
  await rig.until(both, 'completed');
  assert.equal((await rig.show(other)).status, 'pending');
  await runner.stop();
});

test('a handler that declines gives its command back, and is not asked again', async (t) => {
  const rig = await Rig.start(t);
  let asked = 0;
  const runner = await rig.runner({
    handlers: {
      health_check: async () => {
        asked += 1;
        throw new Declined('no such tool here');
      },
      other: async () => null,
    },
  });
  const id = await rig.command();
  await rig.until(await rig.command('other'), 'completed');
  await eventually(async () => (await rig.show(id)).attempts[0]?.outcome === 'released');
  await rig.until(await rig.command('other'), 'completed');
  const command = await rig.show(id);
  assert.equal(command.status, 'pending');
  assert.equal(asked, 1);
  await runner.stop();
});

test('work is not begun when its start is refused', async (t) => {
  const rig = await Rig.start(t);
  let executions = 0;
  rig.network.fate = ({ path: at }) =>
    at.endsWith('/start') ? Response.json({ code: 'lease_lost' }, { status: 409 }) : null;
  const runner = await rig.runner({
    handlers: { health_check: async () => (executions += 1) },
  });
  await rig.command();
  await eventually(async () => rig.faults.some((what) => what.startsWith('command ')));
  assert.equal(executions, 0);
  await runner.stop();
});

test('a canceled command aborts its handler; what the handler then throws ends it as canceled', async (t) => {
  const rig = await Rig.start(t);
  const runner = await rig.runner({
    handlers: {
      health_check: (_, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(new Error('stopped')));
        }),
    },
  });
  const id = await rig.command();
  await rig.until(id, 'running');
  await call(endpoints.cancelCommand, { params: { id } }, rig.operator);
  await rig.until(id, 'canceled');
  await runner.stop();
});

test('a paused runner claims nothing until the pause is lifted', async (t) => {
  const rig = await Rig.start(t);
  const runner = await rig.runner({ handlers: { health_check: async () => null } });
  const [own] = (await call(endpoints.listRunners, {}, rig.operator)).body.items;
  const params = { id: own?.id ?? '' };
  await call(endpoints.pauseRunner, { params }, rig.operator);
  await rig.network.next('/heartbeat');
  await rig.network.next('/heartbeat');
  const id = await rig.command();
  const polls = rig.network.to('/commands').length;
  await rig.network.next('/heartbeat');
  assert.equal(rig.network.to('/commands').length, polls);
  await call(endpoints.resumeRunner, { params }, rig.operator);
  await rig.until(id, 'completed');
  await runner.stop();
});

const logOf = async (rig: Rig, id: string) =>
  (await call(endpoints.commandLog, { params: { id } }, rig.operator)).body;

test('log lines arrive once and in order, whatever is lost on the way; progress is the latest', async (t) => {
  const rig = await Rig.start(t);
  let calls = 0;
  rig.network.fate = ({ path: at }) => {
    if (!at.endsWith('/logs')) return null;
    calls += 1;
    return calls % 3 === 1 ? 'lost' : calls % 3 === 2 ? unavailable() : null;
  };
  const told = gate();
  const runner = await rig.runner({
    handlers: {
      health_check: async (_, { log, progress }) => {
        progress(10, 'begun');
        for (let line = 0; line < 2500; line += 1) log(`line ${line}`);
        progress(50, 'half');
        await told.opened;
        log('one\r\ntwo\n');
      },
    },
  });
  const id = await rig.command();
  await eventually(async () => (await rig.show(id)).progress?.percent === 50);
  told.open();
  await rig.until(id, 'completed');
  const first = await logOf(rig, id);
  const rest = await call(
    endpoints.commandLog,
    { params: { id }, query: { offset: String(first.next_offset) } },
    rig.operator,
  );
  const lines = [...first.lines, ...rest.body.lines].map(({ text }) => text);
  const expected = Array.from({ length: 2500 }, (_, line) => `line ${line}`);
  assert.deepEqual(lines, [...expected, 'one', 'two']);
  await runner.stop();
});

test('a log that can not be sent is bounded, says what is missing, and holds up no result', async (t) => {
  const rig = await Rig.start(t);
  let isDown = true;
  rig.network.fate = ({ path: at }) => (isDown && at.endsWith('/logs') ? unavailable() : null);
  const filled = gate();
  const runner = await rig.runner({
    handlers: {
      health_check: async (_, { log }) => {
        for (let n = 0; n < 1000; n += 1) log('x'.repeat(2 * limits.commandLogLineBytesMax));
        filled.open();
      },
      // A server that takes no log lines at all.
      other: async (_, { log }) => log('unheard'),
    },
  });
  const other = await rig.command('other');
  await rig.until(other, 'completed');
  const id = await rig.command();
  await filled.opened;
  isDown = false;
  await rig.until(id, 'completed');
  const { lines } = await logOf(rig, id);
  assert.ok(lines.length < 600, `${lines.length} lines`);
  assert.match(lines.at(-1)?.text ?? '', /^… \d+ lines are missing here/);
  assert.ok(Buffer.byteLength(lines[0]?.text ?? '') <= limits.commandLogLineBytesMax);
  await runner.stop();
});

test('a fault of the network in each kind of call costs nothing but a repeat', async (t) => {
  const rig = await Rig.start(t);
  const seen = new Map<string, number>();
  rig.network.fate = ({ path: at }) => {
    const kind = at.split('/').at(-1) ?? '';
    const times = (seen.get(kind) ?? 0) + 1;
    seen.set(kind, times);
    return times === 1 ? 'refused' : times === 2 ? 'lost' : times === 3 ? unavailable() : null;
  };
  let executions = 0;
  const runner = await rig.runner({
    handlers: { health_check: async () => (executions += 1) },
  });
  const id = await rig.command();
  const done = await rig.until(id, 'completed');
  assert.equal(done.attempt, 1);
  assert.equal(executions, 1);
  await runner.stop();
});

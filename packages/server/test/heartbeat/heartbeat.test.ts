// Heartbeats (contract §3): which members are read, what is answered, and what a paused runner may
// do. presence.test.ts tests when a silent runner counts as late or offline.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { limits } from '@muster/contract';
import { BACKENDS, eventually } from '../harness.ts';
import { ctis, ctisFinding } from '../http/reports.ts';
import { type Fields, ok, problemOf, send } from '../http/wire.ts';
import {
  look,
  move,
  newCommand,
  newRunner,
  operate,
  poll,
  type Runner,
  runnerCall,
  showCommand,
  showRunner,
  startWorld,
  type World,
} from '../http/world.ts';

const DOORBELL = { 'x-openctem-sensor-features': 'doorbell' };

/** The August agent (RP §4.1, A1). */
const OLD_ERA: Fields = {
  name: 'agent-build01',
  status: 'running',
  message: '',
  scanners: ['semgrep', 'trivy-fs'],
  collectors: [],
  uptime_seconds: 120,
  total_scans: 3,
  errors: 0,
  cpu_percent: 12.5,
  memory_percent: 40.25,
  active_jobs: 1,
  region: 'eu-west-1',
};

/** A late K2 sensor: all of the above, and more. */
const NEW_ERA: Fields = {
  ...OLD_ERA,
  version: '0.8.0',
  hostname: 'build01',
  disk_read_mbps: 1.5,
  outbox: { pending_count: 0, pending_bytes: 0, oldest_age_seconds: 0, dead_letter_count: 0 },
  tools: [{ name: 'semgrep', version: '1.90.0', installed: true, capabilities: ['sast'] }],
  capabilities: ['sast', 'sca'],
  max_concurrent_jobs: 5,
  os: 'linux',
  arch: 'amd64',
  resources: { cpu_cores: 8, cpu_used_pct: 12.5, mem_total_bytes: 1e10, load1: 0.4 },
  capacity: { slots_total: 5, slots_free: 4, active_jobs: 1, per_tool: {} },
  queue: { claimed: 0, running: 0, queued_local: 0, oldest_age_seconds: 0 },
  running: [],
  sdk: { name: 'openctem-sdk-go', version: '0.17.0' },
  sensor: { name: 'sensor', version: '0.8.0', commit: 'abc', build_time: '2026-10-03' },
  instance_id: '0123456789abcdef0123456789abcdef',
  manifest_digest: 'sha256:00',
  from_the_future: { anything: true },
};

for (const backend of BACKENDS) {
  let world: World;
  before(async () => {
    world = await startWorld(backend);
  });
  after(async () => await world.stop());

  const beat = async (runner: Runner, body: Fields | string, headers = {}): Promise<Fields> =>
    ok(await runnerCall(world, runner.key, '/heartbeat', body, headers));

  /** The operator's view of the heartbeats, once `done` is true of it. */
  const reported = async (runner: Runner, done: (seen: Fields) => boolean): Promise<Fields> =>
    await eventually(async () => {
      const seen = (await showRunner(world, runner.id))['reported'] as Fields | null;
      return seen !== null && done(seen) ? seen : null;
    });

  describe(`what is read of a heartbeat, on ${backend}`, { concurrency: true }, () => {
    for (const [era, body] of Object.entries({ 'the first era': OLD_ERA, 'the second': NEW_ERA })) {
      test(`a heartbeat of ${era} is kept, member by member`, async () => {
        const runner = await newRunner(world);
        await beat(runner, body);
        const seen = await reported(runner, (members) => members['name'] === body['name']);
        const { from_the_future: _future, ...known } = body;
        for (const [name, value] of Object.entries(known))
          assert.deepEqual(seen[name], value, name);
        const shown = await showRunner(world, runner.id);
        assert.equal(shown['region'], 'eu-west-1');
        if (body === NEW_ERA) {
          assert.equal(shown['version'], '0.8.0');
          assert.equal(shown['hostname'], 'build01');
        }
      });
    }

    test('absent and null metrics overwrite nothing', async () => {
      const runner = await newRunner(world);
      await beat(runner, { cpu_percent: 42, version: '1', hostname: 'h', active_jobs: 3 });
      await beat(runner, { name: 'later', cpu_percent: null, active_jobs: 0 });
      await beat(runner, '');
      const seen = await reported(runner, ({ name }) => name === 'later');
      assert.equal(seen['cpu_percent'], 42);
      assert.equal(seen['active_jobs'], 0, 'a zero that was sent is a value');
      assert.equal((await showRunner(world, runner.id))['version'], '1');
    });

    test('connection-test is a sign of life and brings no metrics, not even a name', async () => {
      const runner = await newRunner(world);
      await beat(runner, { name: 'agent-1', cpu_percent: 42, status: 'running' });
      await beat(runner, { name: 'connection-test', cpu_percent: 0, status: 'stopped' });
      const seen = await reported(runner, ({ name }) => name !== undefined);
      assert.equal(seen['name'], 'agent-1');
      assert.equal(seen['cpu_percent'], 42);
      assert.equal((await showRunner(world, runner.id))['presence'], 'online');
    });

    for (const body of ['[]', '"text"', '7', 'true']) {
      test(`the body ${body} is no heartbeat, yet a sign of life`, async () => {
        const runner = await newRunner(world);
        problemOf(await runnerCall(world, runner.key, '/heartbeat', body), 'invalid_body');
        assert.equal((await showRunner(world, runner.id))['presence'], 'online');
      });
    }

    test('a heartbeat that is no JSON is refused, yet a sign of life', async () => {
      const runner = await newRunner(world);
      problemOf(await runnerCall(world, runner.key, '/heartbeat', '{"a":'), 'invalid_json');
      assert.equal((await showRunner(world, runner.id))['presence'], 'online');
    });
  });

  describe(`what a runner says of itself, on ${backend}`, { concurrency: true }, () => {
    const health = (shown: Fields): unknown[] => [shown['health'], shown['health_message']];
    /** What one runner's page says after these heartbeats. */
    const after = async (...beats: Fields[]): Promise<unknown[]> => {
      const runner = await newRunner(world);
      for (const body of beats) await beat(runner, body);
      await beat(runner, { region: 'the last one' });
      await reported(runner, ({ region }) => region === 'the last one');
      return health(await showRunner(world, runner.id));
    };

    test('an error and its message are told wherever presence is', async () => {
      const name = `unwell on ${backend}`;
      const runner = await newRunner(world, name);
      assert.deepEqual(health(await showRunner(world, runner.id)), [null, null]);
      const told = ['error', 'disk is full'];
      await beat(runner, { status: 'error', message: 'disk is full', scanners: [] });
      await reported(runner, ({ status }) => status === 'error');
      const shown = await showRunner(world, runner.id);
      assert.deepEqual([shown['presence'], ...health(shown)], ['online', ...told]);
      const query = `/api/v1/runners?name=${encodeURIComponent(name)}`;
      const [listed] = (await look(world, world.own.viewer, query))['items'] as Fields[];
      assert.deepEqual(health(listed ?? {}), told);
      const waiting = `/api/v1/commands/${await newCommand(world, { runner_id: runner.id })}/waiting?limit=250`;
      const items = (await look(world, world.own.viewer, waiting))['items'] as Fields[];
      assert.deepEqual(health(items.find((item) => item['runner_id'] === runner.id) ?? {}), told);
      await beat(runner, { status: 'stopped' });
      const stopped = await eventually(async () => {
        const page = await showRunner(world, runner.id);
        return page['health'] === 'ok' ? page : null;
      });
      assert.deepEqual([stopped['presence'], ...health(stopped)], ['stopped', 'ok', null]);
    });

    test('degraded is told apart; every other status is well, and none at all is none', async () => {
      assert.deepEqual(await after({ status: ' Degraded ', message: 'slow' }), [
        'degraded',
        'slow',
      ]);
      assert.deepEqual(await after({ status: 'ERROR', message: '  ' }), ['error', null]);
      for (const status of ['running', 'online', 'idle', 'stopping', 'toString']) {
        assert.deepEqual(await after({ status, message: 'all is well' }), ['ok', 'all is well']);
      }
      assert.deepEqual(await after({ message: 'of no status' }, { status: 7 }, {}), [null, null]);
    });

    test('the message ends with the status that it came with', async () => {
      const error = { status: 'error', message: 'no licence' };
      assert.deepEqual(await after(error, { status: 'running' }), ['ok', null]);
      assert.deepEqual(await after(error, { status: 'error', message: null }), ['error', null]);
      assert.deepEqual(await after(error, { cpu_percent: 7 }, {}), ['error', 'no licence']);
      const probe = { name: 'connection-test', status: 'running', message: 'connection test' };
      assert.deepEqual(await after(error, probe), ['error', 'no licence']);
    });
  });

  describe(`odd members on ${backend}`, { concurrency: true }, () => {
    test('members of a wrong type are left out, the others taken, the operator told', async () => {
      const runner = await newRunner(world);
      const wrong = { cpu_percent: 'much', running: 'none', scanners: [1], uptime_seconds: {} };
      await beat(runner, { name: 'good', memory_percent: 50, ...wrong });
      const seen = await reported(runner, ({ name }) => name === 'good');
      assert.equal(seen['memory_percent'], 50);
      const told = JSON.stringify(seen);
      for (const name of Object.keys(wrong)) {
        assert.equal(seen[name], undefined, name);
        assert.ok(told.includes(name), `the operator isn't told of ${name}: ${told}`);
      }
    });

    test('an unknown member is not called one of the wrong type', async () => {
      const runner = await newRunner(world);
      await beat(runner, { name: 'new', from_the_future: 1 });
      const seen = await reported(runner, ({ name }) => name === 'new');
      const ignored = (seen['ignored_members'] ?? []) as string[];
      assert.ok(!ignored.includes('from_the_future') || seen['from_the_future'] === undefined);
    });
  });

  describe(`the doorbell, on ${backend}`, { concurrency: false }, () => {
    test('with the feature header: pace and config version; without it: neither', async () => {
      const runner = await newRunner(world);
      const plain = await beat(runner, { name: 'a' });
      assert.deepEqual(Object.keys(plain).sort(), ['agent_id', 'status', 'tenant_id']);
      for (const features of ['doorbell', 'results-v2, Doorbell', 'DOORBELL,x']) {
        const reply = await beat(runner, {}, { 'x-openctem-sensor-features': features });
        const pace = Number(reply['next_heartbeat_seconds']);
        assert.ok(pace >= 15 && pace <= 33, `idle: 30 s, the first sooner, not ${pace}`);
        assert.match(String(reply['config_version']), /^[0-9a-f]{16}$/);
        assert.equal(reply['pending_jobs'], undefined);
      }
      const other = await beat(runner, {}, { 'x-openctem-sensor-features': 'undoorbelled' });
      assert.equal(other['config_version'], undefined);
    });

    test('work that waits is told with and without the header, and only what it may claim', async () => {
      const runner = await newRunner(world);
      const elsewhere = await newRunner(world);
      await newCommand(world, { runner_id: elsewhere.id });
      const later = new Date(world.server.clock.nowMs() + 3_600_000).toISOString();
      await newCommand(world, { runner_id: runner.id, scheduled_at: later });
      assert.equal((await beat(runner, {}))['pending_jobs'], undefined);
      const id = await newCommand(world, { runner_id: runner.id });
      for (const headers of [{}, DOORBELL]) {
        const reply = await beat(runner, {}, headers);
        assert.equal(reply['pending_jobs'], 1);
        assert.ok(Number(reply['next_heartbeat_seconds']) <= 6, 'work waiting: 5 s');
      }
      ok(await move(world, runner.key, id, 'acknowledge'));
      assert.equal((await beat(runner, {}))['pending_jobs'], undefined);
    });

    test('a command that a client keeps ignoring doesn’t hurry it; new work does', async () => {
      const runner = await newRunner(world);
      const pace = async (): Promise<number> =>
        Number((await beat(runner, {}, DOORBELL))['next_heartbeat_seconds']);
      const odd = await newCommand(world, { runner_id: runner.id, type: 'odd' });
      for (let n = 0; n < 3; n += 1) {
        assert.ok((await pace()) <= 6);
        await poll(world, runner.key);
      }
      assert.ok((await pace()) > 6, 'idle: it was offered three times');
      assert.equal((await beat(runner, {}))['pending_jobs'], 1, 'and waits all the same');
      const wanted = await newCommand(world, { runner_id: runner.id });
      assert.ok((await pace()) <= 6);
      for (const id of [odd, wanted]) ok(await move(world, runner.key, id, 'acknowledge'));
      ok(await move(world, runner.key, odd, 'release'));
      assert.ok((await pace()) <= 6, 'it did claim it once');
    });

    test('a cancel request reaches the holder by cancel_command_ids, and nobody else', async () => {
      const [holder, bystander] = [await newRunner(world), await newRunner(world)];
      const id = await newCommand(world, { runner_id: holder.id });
      ok(await move(world, holder.key, id, 'acknowledge'));
      await operate(world, world.own.analyst, `/api/v1/commands/${id}/cancel`, undefined, 200);
      const body = { queue: {}, running: [id] };
      assert.deepEqual((await beat(holder, body, DOORBELL))['cancel_command_ids'], [id]);
      assert.equal((await beat(bystander, body, DOORBELL))['cancel_command_ids'], undefined);
      ok(await move(world, holder.key, id, 'fail', { error_message: 'canceled' }));
      assert.equal((await beat(holder, {}, DOORBELL))['cancel_command_ids'], undefined);
    });
  });

  for (const [verb, admin] of [
    ['pause', 'paused'],
    ['drain', 'draining'],
  ] as const) {
    test(`a ${admin} runner is told so, polls nothing, claims nothing, and finishes what it holds, on ${backend}`, async () => {
      const runner = await newRunner(world);
      const take = async (verbs: string[]): Promise<string> => {
        const id = await newCommand(world, { runner_id: runner.id });
        for (const verb of verbs) ok(await move(world, runner.key, id, verb));
        return id;
      };
      const started = await take(['acknowledge']);
      const failing = await take(['acknowledge', 'start']);
      const released = await take(['acknowledge']);
      const waiting = await take([]);
      await operate(world, world.own.admin, `/api/v1/runners/${runner.id}/${verb}`, undefined, 200);
      assert.equal((await showRunner(world, runner.id))['admin'], admin);
      for (const headers of [{}, DOORBELL]) {
        const reply = await beat(runner, {}, headers);
        assert.deepEqual(reply['actions'], [verb]);
        assert.equal(reply['pending_jobs'], undefined, 'nothing it could claim now');
      }
      assert.equal((await poll(world, runner.key)).text, '[]');
      problemOf(await move(world, runner.key, waiting, 'acknowledge'), 'runner_paused');
      ok(await move(world, runner.key, started, 'acknowledge'));
      ok(await move(world, runner.key, started, 'start'));
      ok(await move(world, runner.key, started, 'complete', { result: 1 }));
      ok(await move(world, runner.key, failing, 'fail', { error_message: 'x' }));
      ok(await move(world, runner.key, released, 'release'));
      ok(await runnerCall(world, runner.key, '/ingest', ctis([ctisFinding()])), 201);
      const renewed = ok(await runnerCall(world, runner.key, '/renew'));
      ok(await runnerCall(world, String(renewed['api_key']), '/heartbeat'));
      assert.equal((await showCommand(world, waiting))['status'], 'pending');
      await operate(world, world.own.admin, `/api/v1/runners/${runner.id}/resume`, undefined, 200);
      assert.equal((await beat(runner, {}))['actions'], undefined);
      ok(await move(world, runner.key, waiting, 'acknowledge'));
    });
  }

  describe(`keys in their second half, on ${backend}`, () => {
    test('rotate_key is advised from half of a key’s life, never to keys without an end', async () => {
      const reply = ok(
        await send(world.url, {
          method: 'POST',
          path: '/api/v1/agent/enroll',
          key: world.own.enrolment,
          body: {},
        }),
        201,
      );
      const enrolled = { id: String(reply['agent_id']), key: String(reply['api_key']) };
      assert.equal((await beat(enrolled, {}, DOORBELL))['actions'], undefined);
      world.server.clock.advance(limits.keyLifeMs / 2 - 60_000);
      assert.equal((await beat(enrolled, {}, DOORBELL))['actions'], undefined);
      world.server.clock.advance(60_000);
      for (const headers of [{}, DOORBELL])
        assert.deepEqual((await beat(enrolled, {}, headers))['actions'], ['rotate_key']);
      assert.equal((await beat(world.own.runner, {}, DOORBELL))['actions'], undefined);
      const renewed = ok(await runnerCall(world, enrolled.key, '/renew'));
      const fresh = { id: enrolled.id, key: String(renewed['api_key']) };
      assert.equal((await beat(fresh, {}, DOORBELL))['actions'], undefined);
    });
  });
}

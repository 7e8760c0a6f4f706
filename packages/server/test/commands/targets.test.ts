// Who may take a command (contract §4): labels from the operator, tools, capabilities and slots
// from heartbeats of both eras; 404 for everybody else; and the answer to "why is it not picked
// up?".

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BACKENDS } from '../harness.ts';
import { type Fields, listOf, ok, problemOf } from '../http/wire.ts';
import {
  look,
  move,
  newCommand,
  operate,
  poll,
  type Runner,
  runnerCall,
  startWorld,
  type World,
} from '../http/world.ts';

for (const backend of BACKENDS) {
  let world: World;
  before(async () => {
    world = await startWorld(backend);
  });
  after(async () => await world.stop());

  /** A runner with these labels that has reported these facts. */
  const runnerWith = async (labels: Fields, reported: Fields = {}): Promise<Runner> => {
    const body = { name: 'aimed at', labels };
    const made = await operate(world, world.own.admin, '/api/v1/runners', body, 201);
    const runner = {
      id: String((made['runner'] as Fields)['id']),
      key: String(made['api_key']),
    };
    ok(await runnerCall(world, runner.key, '/heartbeat', reported));
    return runner;
  };
  const offered = async (runner: Runner, query = '?limit=100'): Promise<unknown[]> =>
    listOf(await poll(world, runner.key, query)).map(({ id }) => id);
  const pendingJobs = async (runner: Runner): Promise<unknown> =>
    ok(await runnerCall(world, runner.key, '/heartbeat', {}))['pending_jobs'];
  const whyOf = async (id: string, runner: Runner): Promise<Fields> => {
    let next: string | null = '';
    while (next !== null) {
      const query = next === '' ? '' : `&after=${next}`;
      const path = `/api/v1/commands/${id}/waiting?limit=2${query}`;
      const page: Fields = await look(world, world.own.viewer, path);
      const item = (page['items'] as Fields[]).find((one) => one['runner_id'] === runner.id);
      if (item !== undefined) return item;
      next = page['next'] as string | null;
    }
    return assert.fail('the runner is on no page');
  };
  const codes = (item: Fields): unknown[] => (item['reasons'] as Fields[]).map(({ code }) => code);

  describe(`targets on ${backend}`, { concurrency: false }, () => {
    test('all of the labels must be had; for everybody else there is no such command', async () => {
      const fit = await runnerWith({ zone: 'dmz', size: 'large' });
      const half = await runnerWith({ zone: 'dmz' });
      const target = { labels: { size: 'large', zone: 'dmz' } };
      const id = await newCommand(world, { type: 'custom', target });
      assert.deepEqual(await offered(half), []);
      assert.deepEqual(await offered(fit), [id]);
      for (const verb of ['acknowledge', 'start', 'complete', 'fail', 'release'])
        problemOf(await move(world, half.key, id, verb), 'not_found');
      assert.deepEqual([await pendingJobs(half), await pendingJobs(fit)], [undefined, 1]);
      assert.deepEqual(codes(await whyOf(id, half)), ['label_missing']);
      assert.deepEqual(
        [codes(await whyOf(id, fit)), (await whyOf(id, fit))['can_take']],
        [[], true],
      );
      ok(await move(world, fit.key, id, 'acknowledge'));
    });

    test('tools and capabilities are read from heartbeats of both eras', async () => {
      const old = await runnerWith({}, { scanners: ['semgrep'], capabilities: ['sast'] });
      const tools = [
        { name: 'semgrep', installed: true, capabilities: ['sast'] },
        { name: 'zap', installed: false, capabilities: ['dast'] },
      ];
      const young = await runnerWith({}, { tools });
      const bare = await runnerWith({});
      const target = { tools: ['semgrep'], capabilities: ['sast'] };
      const id = await newCommand(world, { type: 'custom', target });
      const dast = await newCommand(world, { type: 'custom', target: { capabilities: ['dast'] } });
      for (const runner of [old, young]) assert.deepEqual(await offered(runner), [id]);
      assert.deepEqual(await offered(bare), []);
      assert.deepEqual(codes(await whyOf(id, bare)), ['tool_missing', 'capability_missing']);
      assert.deepEqual(codes(await whyOf(dast, young)), ['capability_missing']);
      ok(
        await runnerCall(world, bare.key, '/heartbeat', {
          scanners: ['semgrep'],
          capabilities: ['sast'],
        }),
      );
      assert.deepEqual(await offered(bare), [id], 'what it reports now counts at once');
    });

    test('a holder that loses what was asked for still finishes its command', async () => {
      const runner = await runnerWith({}, { capabilities: ['rare'] });
      const id = await newCommand(world, { type: 'custom', target: { capabilities: ['rare'] } });
      ok(await move(world, runner.key, id, 'acknowledge'));
      ok(await runnerCall(world, runner.key, '/heartbeat', { capabilities: [] }));
      ok(await move(world, runner.key, id, 'start'));
      ok(await move(world, runner.key, id, 'complete', { result: 1 }));
    });

    test('a scan is not offered to a runner that names its scanners without this one', async () => {
      const other = await runnerWith({}, { scanners: ['trivy-fs'] });
      const silent = await runnerWith({});
      const id = await newCommand(world, { payload: { scanner: 'nuclei' } });
      assert.ok(!(await offered(other)).includes(id));
      assert.ok((await offered(silent)).includes(id), 'one that says nothing may have it');
      assert.deepEqual(codes(await whyOf(id, other)), ['tool_missing']);
      await operate(world, world.own.admin, `/api/v1/commands/${id}/cancel`, undefined, 200);
    });

    test('urgent commands for others do not hide what a runner can do', async () => {
      const runner = await runnerWith({ pool: 'slow' });
      const other = { type: 'custom', priority: 'critical', target: { labels: { pool: 'none' } } };
      await Promise.all(Array.from({ length: 300 }, () => newCommand(world, other)));
      const target = { labels: { pool: 'slow' } };
      const id = await newCommand(world, { type: 'custom', priority: 'low', target });
      assert.deepEqual(await offered(runner, '?limit=1'), [id]);
    });

    test('a command is for one runner or for whichever fits, not both', async () => {
      const runner = await runnerWith({});
      const body = { type: 'custom', runner_id: runner.id, target: { tools: ['x'] } };
      const problem = await operate(world, world.own.analyst, '/api/v1/commands', body, 400);
      assert.equal(problem['code'], 'invalid_body');
      assert.equal((problem['errors'] as Fields[])[0]?.['pointer'], '/target');
    });
  });

  describe(`slots on ${backend}`, { concurrency: false }, () => {
    test('a poll offers at most the free slots; old clients that announce none are not limited', async () => {
      const runner = await runnerWith({}, { max_concurrent_jobs: 2 });
      const mine = { type: 'custom', runner_id: runner.id };
      const made = [
        await newCommand(world, mine),
        await newCommand(world, mine),
        await newCommand(world, mine),
      ];
      assert.deepEqual(await offered(runner), made.slice(0, 2));
      assert.equal(await pendingJobs(runner), 2);
      for (const id of made.slice(0, 2)) ok(await move(world, runner.key, id, 'acknowledge'));
      assert.deepEqual(await offered(runner), []);
      assert.equal(await pendingJobs(runner), undefined);
      assert.deepEqual(codes(await whyOf(String(made[2]), runner)), ['no_free_slot']);
      const answer = poll(world, runner.key, '?wait=60');
      ok(await move(world, runner.key, String(made[0]), 'complete', {}));
      assert.deepEqual(
        listOf(await answer).map(({ id }) => id),
        [made[2]],
        'a slot became free',
      );
    });

    test('work that is not ours takes slots, too', async () => {
      const capacity = { slots_total: 4, slots_free: 1, active_jobs: 3 };
      const runner = await runnerWith({}, { capacity, running: [], queue: {} });
      const mine = { type: 'custom', runner_id: runner.id };
      const first = await newCommand(world, mine);
      await newCommand(world, mine);
      assert.deepEqual(await offered(runner), [first]);
    });
  });

  describe(`why it waits, on ${backend}`, { concurrency: false }, () => {
    test('every reason has its code, for the command and for the runner', async () => {
      const [one, two] = [await runnerWith({}), await runnerWith({})];
      const at = new Date(world.server.clock.nowMs() + 3_600_000).toISOString();
      const id = await newCommand(world, { type: 'custom', runner_id: one.id, scheduled_at: at });
      const page = await look(world, world.own.viewer, `/api/v1/commands/${id}/waiting`);
      assert.equal(page['is_waiting'], true);
      assert.deepEqual(codes(page), ['not_before']);
      assert.deepEqual(codes(await whyOf(id, two)), ['pinned_elsewhere']);
      assert.equal((await whyOf(id, one))['can_take'], false, 'not yet');
      await operate(world, world.own.admin, `/api/v1/runners/${one.id}/pause`, undefined, 200);
      assert.deepEqual(codes(await whyOf(id, one)), ['paused']);
      await operate(world, world.own.admin, `/api/v1/runners/${two.id}/revoke`, undefined, 200);
      const ofTwo = codes(await whyOf(id, two));
      for (const code of ['revoked', 'scope_missing'])
        assert.ok(ofTwo.includes(code), String(code));
    });

    test('a runner that was offered it and ignores it is told of, and one that is gone', async () => {
      const [idle, gone] = [await runnerWith({}), await runnerWith({})];
      ok(await runnerCall(world, gone.key, '/heartbeat', { status: 'stopped' }));
      const id = await newCommand(world, { type: 'odd', target: { labels: {} } });
      for (let n = 0; n < 3; n += 1) await offered(idle);
      assert.deepEqual(codes(await whyOf(id, idle)), ['ignored']);
      assert.deepEqual(codes(await whyOf(id, gone)), ['offline']);
      ok(await move(world, idle.key, id, 'acknowledge'));
      const page = await look(world, world.own.viewer, `/api/v1/commands/${id}/waiting`);
      assert.deepEqual([page['is_waiting'], page['items']], [false, []]);
    });
  });
}

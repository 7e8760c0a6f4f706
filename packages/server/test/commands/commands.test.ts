// Commands (contract §4): the table of transitions row by row, with repeats, conflicts and
// strangers; the offers of a poll and their order. Leases, cancels and races are in
// late-answers.test.ts.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BACKENDS, eventually } from '../harness.ts';
import { type Fields, listOf, ok, problemOf } from '../http/wire.ts';
import {
  move,
  newCommand,
  newRunner,
  operate,
  poll,
  type Runner,
  showCommand,
  startWorld,
  type World,
} from '../http/world.ts';

const VERBS = ['acknowledge', 'start', 'complete', 'fail', 'release'] as const;

for (const backend of BACKENDS) {
  let world: World;
  let one: Runner;
  let two: Runner;
  before(async () => {
    world = await startWorld(backend);
    one = await newRunner(world, 'one');
    two = await newRunner(world, 'two');
  });
  after(async () => await world.stop());

  /** A command that runner `one` has brought as far as these calls go. */
  const brought = async (verbs: readonly string[], more: Fields = {}): Promise<string> => {
    const id = await newCommand(world, more);
    for (const verb of verbs) ok(await move(world, one.key, id, verb));
    return id;
  };
  const statusOf = async (id: string): Promise<unknown> => (await showCommand(world, id))['status'];
  /** 409 with any of the codes, and the command as it was. */
  const refused = async (
    by: Runner,
    id: string,
    verb: string,
    codes: string[],
  ): Promise<Fields> => {
    // A sign of life may extend the lease at any time; nothing else may move.
    const lookAtIt = async (): Promise<Fields> => {
      const { lease_expires_at: _lease, ...rest } = await showCommand(world, id);
      return rest;
    };
    const before = await lookAtIt();
    const answer = await move(world, by.key, id, verb, { result: 'other', error_message: 'other' });
    assert.equal(answer.status, 409, `${verb}: ${answer.text}`);
    const code = String((JSON.parse(answer.text) as Fields)['code']);
    assert.ok(codes.includes(code), `${verb}: ${code} is none of ${codes.join(', ')}`);
    const problem = problemOf(answer, code as 'lease_lost');
    if (code === 'invalid_transition') assert.equal(problem['state'], before['status']);
    assert.deepEqual(await lookAtIt(), before, `${verb} changed something`);
    return problem;
  };

  const idsOf = async (runner: Runner, query = '?limit=100'): Promise<unknown[]> =>
    listOf(await poll(world, runner.key, query)).map(({ id }) => id);

  describe(`transitions on ${backend}`, { concurrency: false }, () => {
    test('acknowledge claims a pending command: attempt 1, a lease, and a repeat changes nothing', async () => {
      const id = await newCommand(world);
      const claimed = ok(await move(world, one.key, id, 'acknowledge'));
      assert.equal(claimed['status'], 'acknowledged');
      assert.equal(claimed['attempt'], 1);
      assert.equal(claimed['agent_id'], one.id);
      const leaseMs = Date.parse(String(claimed['lease_expires_at'])) - world.server.clock.nowMs();
      assert.ok(leaseMs > 80_000, `a lease of ${leaseMs} ms`);
      assert.deepEqual(ok(await move(world, one.key, id, 'acknowledge')), claimed);
      assert.equal((await showCommand(world, id))['holder_id'], one.id);
    });

    test('a command that another runner holds is command_claimed for every call', async () => {
      for (const verbs of [['acknowledge'], ['acknowledge', 'start']]) {
        const id = await brought(verbs);
        for (const verb of VERBS) await refused(two, id, verb, ['command_claimed']);
      }
    });

    test('start moves acknowledged to running, once', async () => {
      const id = await brought(['acknowledge']);
      const running = ok(await move(world, one.key, id, 'start'));
      assert.equal(running['status'], 'running');
      assert.deepEqual(ok(await move(world, one.key, id, 'start')), running);
      assert.deepEqual(ok(await move(world, one.key, id, 'acknowledge')), running);
    });

    test('nothing but acknowledge moves a pending command that is nobody’s', async () => {
      const id = await newCommand(world);
      for (const verb of ['start', 'complete', 'fail', 'release'])
        await refused(one, id, verb, ['invalid_transition']);
      assert.equal(await statusOf(id), 'pending');
    });
  });

  describe(`complete on ${backend}`, { concurrency: false }, () => {
    test('complete is taken from running and from acknowledged, for clients that never start', async () => {
      for (const verbs of [['acknowledge'], ['acknowledge', 'start']]) {
        const id = await brought(verbs);
        const result = { status: 'completed', exit_code: 0, metadata: { a: [1, 'ü'] } };
        const done = ok(await move(world, one.key, id, 'complete', { result }));
        assert.equal(done['status'], 'completed');
        assert.deepEqual(done['result'], result);
        const spaced = JSON.stringify({ result }, null, 2);
        assert.deepEqual(ok(await move(world, one.key, id, 'complete', spaced)), done);
        await refused(one, id, 'complete', ['transition_conflict']);
        await refused(one, id, 'fail', ['transition_conflict']);
        await refused(one, id, 'release', ['invalid_transition']);
        for (const verb of VERBS) {
          const codes = ['command_claimed', 'invalid_transition'];
          await refused(two, id, verb, codes);
        }
      }
    });

    test('a result that is too large is cut visibly, and its repeat is still known', async () => {
      const id = await brought(['acknowledge']);
      const result = {
        findings: Array.from({ length: 40_000 }, (_, n) => `finding ${n} "quoted"`),
      };
      const done = ok(await move(world, one.key, id, 'complete', { result }));
      assert.equal(done['status'], 'completed');
      const kept = done['result'] as Fields;
      const text = JSON.stringify(result);
      assert.deepEqual([kept['truncated'], kept['bytes']], [true, Buffer.byteLength(text)]);
      const start = String(kept['start']);
      assert.ok(start.endsWith('…') && text.startsWith(start.slice(0, -1)));
      assert.deepEqual(ok(await move(world, one.key, id, 'complete', { result })), done);
      result.findings[39_999] = 'another';
      problemOf(await move(world, one.key, id, 'complete', { result }), 'transition_conflict');
    });

    test('complete without a body, with an empty or a broken one, has no result (RP §5.3)', async () => {
      for (const body of ['', '{}', '{"result":null}', '{"result"']) {
        const id = await brought(['acknowledge', 'start']);
        const done = ok(await move(world, one.key, id, 'complete', body));
        assert.equal(done['status'], 'completed', body);
      }
    });
  });

  describe(`fail on ${backend}`, { concurrency: false }, () => {
    test('fail ends it; the same message again is a repeat, another one a conflict', async () => {
      for (const verbs of [['acknowledge'], ['acknowledge', 'start']]) {
        const id = await brought(verbs);
        const failed = ok(await move(world, one.key, id, 'fail', { error_message: 'no disk' }));
        assert.equal(failed['status'], 'failed');
        assert.equal(failed['error_message'], 'no disk');
        const again = ok(await move(world, one.key, id, 'fail', { error_message: 'no disk' }));
        assert.deepEqual(again, failed);
        await refused(one, id, 'fail', ['transition_conflict']);
        await refused(one, id, 'complete', ['transition_conflict']);
      }
    });

    test('an unparsable body of fail means “Unknown error” (RP §5.3)', async () => {
      const id = await brought(['acknowledge']);
      const failed = ok(await move(world, one.key, id, 'fail', 'out of disk'));
      assert.equal(failed['error_message'], 'Unknown error');
    });

    test('the runner a command is pinned to may fail it unclaimed, and repeat that', async () => {
      const id = await newCommand(world, { runner_id: one.id });
      const failed = ok(await move(world, one.key, id, 'fail', { error_message: 'no such tool' }));
      assert.equal(failed['status'], 'failed');
      assert.deepEqual(
        ok(await move(world, one.key, id, 'fail', { error_message: 'no such tool' })),
        failed,
      );
      await refused(one, id, 'fail', ['transition_conflict']);
    });

    test('with retry_on_fail a failed command is offered again until its attempts are used', async () => {
      const id = await newCommand(world, {
        retry_on_fail: true,
        max_attempts: 2,
        runner_id: one.id,
      });
      ok(await move(world, one.key, id, 'acknowledge'));
      const body = { error_message: 'first' };
      assert.equal(ok(await move(world, one.key, id, 'fail', body))['status'], 'pending');
      assert.equal(
        ok(await move(world, one.key, id, 'fail', body))['status'],
        'pending',
        'a repeat',
      );
      const claimed = ok(await move(world, one.key, id, 'acknowledge'));
      assert.equal(claimed['attempt'], 2);
      const ended = ok(await move(world, one.key, id, 'fail', { error_message: 'second' }));
      assert.equal(ended['status'], 'failed');
      const { attempts } = await showCommand(world, id);
      assert.deepEqual(
        (attempts as Fields[]).map(({ outcome }) => outcome),
        ['failed', 'failed'],
      );
    });
  });

  describe(`release and fences on ${backend}`, { concurrency: false }, () => {
    test('release gives it back, once; then others may claim it and the former holder may not act', async () => {
      for (const verbs of [['acknowledge'], ['acknowledge', 'start']]) {
        const id = await brought(verbs);
        const back = ok(await move(world, one.key, id, 'release'));
        assert.equal(back['status'], 'pending');
        assert.equal(back['lease_expires_at'], undefined);
        assert.deepEqual(ok(await move(world, one.key, id, 'release')), back);
        assert.equal(ok(await move(world, two.key, id, 'acknowledge'))['attempt'], 2);
        await refused(one, id, 'acknowledge', ['lease_lost']);
        for (const verb of ['start', 'complete', 'fail'])
          await refused(one, id, verb, ['lease_lost', 'command_claimed']);
        assert.equal((await showCommand(world, id))['holder_id'], two.id);
      }
    });

    test('a call that names its attempt is fenced by it', async () => {
      const id = await brought(['acknowledge', 'release', 'acknowledge']);
      for (const verb of ['start', 'complete', 'fail', 'release']) {
        const answer = await move(world, one.key, id, verb, { attempt: 1 });
        if (verb === 'release' && answer.status === 200) continue;
        problemOf(answer, 'lease_lost');
      }
      const now = await showCommand(world, id);
      assert.equal(now['status'], 'acknowledged', 'attempt 1 touched attempt 2');
      assert.equal(now['attempt'], 2);
      ok(await move(world, one.key, id, 'start', { attempt: 2 }));
      ok(await move(world, one.key, id, 'complete', { attempt: 2, result: 1 }));
      ok(await move(world, one.key, id, 'complete', { attempt: 2, result: 1 }));
    });

    test('what is another tenant’s, pinned elsewhere or no id at all is 404 for every call', async () => {
      const pinned = await newCommand(world, { runner_id: two.id });
      const theirs = await operate(
        world,
        world.other.admin,
        '/api/v1/commands',
        { type: 'x' },
        201,
      );
      for (const id of [pinned, String(theirs['id']), 'garbage', '%00', pinned.toUpperCase()]) {
        for (const verb of VERBS) {
          const answer = await move(world, one.key, id, verb);
          assert.ok([400, 404].includes(answer.status), `${verb} ${id}: ${answer.text}`);
          if (id !== '%00') problemOf(answer, 'not_found');
        }
      }
      assert.equal(await statusOf(pinned), 'pending');
    });

    test('an error message is cut to 4 KiB without breaking a character', async () => {
      const id = await brought(['acknowledge']);
      const long = '€'.repeat(3000);
      const failed = ok(await move(world, one.key, id, 'fail', { error_message: long }));
      const kept = String(failed['error_message']);
      assert.ok(Buffer.byteLength(kept) <= 4096);
      assert.ok(Buffer.byteLength(kept) > 4000);
      assert.ok(!kept.includes('\ufffd'));
      assert.ok(kept.startsWith('€€€') && kept.endsWith('…'), 'cut visibly');
      ok(await move(world, one.key, id, 'fail', { error_message: long }));
    });
  });

  describe(`polls on ${backend}`, { concurrency: false }, () => {
    test('the most urgent come first, then the oldest, and nothing is reserved', async () => {
      const runner = await newRunner(world);
      const made: Record<string, string> = {};
      for (const name of ['low', 'normal-1', 'high', 'normal-2', 'critical-1', 'critical-2']) {
        const priority = name.split('-')[0];
        made[name] = await newCommand(world, { priority, runner_id: runner.id });
      }
      const order = ['critical-1', 'critical-2', 'high', 'normal-1', 'normal-2', 'low'];
      const mine = new Set(Object.values(made));
      for (let n = 0; n < 2; n += 1) {
        const offered = (await idsOf(runner)).filter((id) => mine.has(String(id)));
        assert.deepEqual(
          offered,
          order.map((name) => made[name]),
        );
      }
      const three = listOf(await poll(world, runner.key, '?limit=3'));
      assert.equal(three.length, 3);
    });

    test('only what this runner could claim is offered', async () => {
      const pinned = await newCommand(world, { runner_id: two.id, priority: 'critical' });
      const anyones = await newCommand(world, { priority: 'critical' });
      assert.ok(!(await idsOf(one)).includes(pinned));
      assert.ok((await idsOf(two)).includes(pinned));
      for (const runner of [one, two]) assert.ok((await idsOf(runner)).includes(anyones));
      ok(await move(world, one.key, anyones, 'acknowledge'));
      for (const runner of [one, two]) assert.ok(!(await idsOf(runner)).includes(anyones));
      const theirs = listOf(await poll(world, world.other.runner.key, '?limit=100'));
      assert.ok(!theirs.some(({ id }) => id === anyones || id === pinned));
    });

    test('what a client keeps ignoring goes behind what it was not offered', async () => {
      const runner = await newRunner(world);
      for (let n = 0; n < 100; n += 1)
        await newCommand(world, { type: 'odd', runner_id: runner.id, priority: 'critical' });
      for (let n = 0; n < 10; n += 1) await idsOf(runner);
      const wanted = await newCommand(world, { runner_id: runner.id, priority: 'low' });
      assert.ok((await idsOf(runner, '?limit=10')).includes(wanted));
    });
  });

  describe(`time on ${backend}`, { concurrency: false }, () => {
    test('not before scheduled_at: neither offered nor claimed; then both', async () => {
      const at = new Date(world.server.clock.nowMs() + 60_000).toISOString();
      const id = await newCommand(world, { scheduled_at: at, priority: 'critical' });
      assert.ok(!(await idsOf(one)).includes(id));
      await refused(one, id, 'acknowledge', ['invalid_transition']);
      world.server.clock.advance(61_000);
      assert.ok((await idsOf(one)).includes(id));
      ok(await move(world, one.key, id, 'acknowledge'));
    });

    test('what would expire before it may be claimed is not created', async () => {
      const at = (seconds: number): string =>
        new Date(world.server.clock.nowMs() + seconds * 1000).toISOString();
      const body = { type: 'test', expires_in: 60, scheduled_at: at(61) };
      const path = '/api/v1/commands';
      const problem = await operate(world, world.own.analyst, path, body, 400);
      assert.equal(problem['code'], 'invalid_body');
      assert.equal((problem['errors'] as Fields[])[0]?.['pointer'], '/scheduled_at');
      await operate(world, world.own.analyst, path, { ...body, scheduled_at: at(50) }, 201);
    });

    test('what was given back and then canceled can’t be claimed again by who had it', async () => {
      for (const [verb, more] of [
        ['release', {}],
        ['fail', { retry_on_fail: true }],
      ] as const) {
        const id = await brought(['acknowledge', 'start', verb], more);
        assert.equal(await statusOf(id), 'pending');
        await operate(world, world.own.admin, `/api/v1/commands/${id}/cancel`, undefined, 200);
        await refused(one, id, 'acknowledge', ['invalid_transition']);
      }
    });

    test('what is pinned to a revoked runner is canceled, also when it was held', async () => {
      const gone = await newRunner(world);
      const ids = [
        await newCommand(world, { runner_id: gone.id }),
        await newCommand(world, { runner_id: gone.id }),
      ];
      ok(await move(world, gone.key, String(ids[1]), 'acknowledge'));
      const free = await newCommand(world);
      await operate(world, world.own.admin, `/api/v1/runners/${gone.id}/revoke`, undefined, 200);
      await world.server.pass(10 * 60_000);
      for (const id of ids) {
        const shown = await showCommand(world, id);
        assert.equal(shown['status'], 'canceled');
        assert.equal(shown['reason'], 'runner_revoked');
      }
      assert.equal(await statusOf(free), 'pending');
    });

    test('a pending command expires: no longer offered, nor claimed; a held one does not', async () => {
      const id = await newCommand(world, { expires_in: 60 });
      const held = await newCommand(world, { expires_in: 60 });
      ok(await move(world, one.key, held, 'acknowledge'));
      world.server.clock.advance(61_000);
      assert.ok(!(await idsOf(one)).includes(id));
      const problem = problemOf(
        await move(world, one.key, id, 'acknowledge'),
        'invalid_transition',
      );
      assert.equal(typeof problem['state'], 'string');
      await eventually(async () => (await statusOf(id)) === 'expired');
      assert.equal(await statusOf(held), 'acknowledged');
      ok(await move(world, one.key, held, 'complete', {}));
    });
  });
}

// Waiting polls (contract §4, `?wait=` and `Prefer: wait=`): answered as soon as there is a command
// for this runner, and in any case when the runner is paused, the key dies, the caller goes, time
// is over, or the server stops.

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { BACKENDS, eventually } from '../harness.ts';
import { type Answer, type Fields, listOf, ok, problemOf, send } from '../http/wire.ts';
import {
  keyIdOf,
  look,
  move,
  newCommand,
  newKey,
  newRunner,
  operate,
  poll,
  revokeKey,
  type Runner,
  runnerCall,
  showRunner,
  startWorld,
  type World,
} from '../http/world.ts';

const ids = (answer: Answer): unknown[] => listOf(answer).map(({ id }) => id);

for (const backend of BACKENDS) {
  let world: World;
  before(async () => {
    world = await startWorld(backend);
  });
  after(async () => await world.stop());

  /**
   * A poll that has arrived: a sign of life was counted for it, and it waits or will look after the
   * next change.
   */
  const waiting = async (runner: Runner, seconds = 60): Promise<{ answer: Promise<Answer> }> => {
    const answer = poll(world, runner.key, `?wait=${seconds}`);
    await eventually(async () => (await showRunner(world, runner.id))['presence'] === 'online');
    return { answer };
  };

  describe(`waiting polls on ${backend}`, { concurrency: false }, () => {
    test('a command that is created while a runner waits is its answer', async () => {
      const runner = await newRunner(world);
      const { answer } = await waiting(runner);
      const id = await newCommand(world, { runner_id: runner.id });
      assert.deepEqual(ids(await answer), [id]);
    });

    test('a command for anybody reaches one who waits', async () => {
      const [one, two] = [await newRunner(world), await newRunner(world)];
      const answers = [(await waiting(one)).answer, (await waiting(two)).answer];
      const id = await newCommand(world);
      const first = await Promise.race(answers);
      assert.deepEqual(ids(first), [id]);
      ok(await move(world, one.key, id, 'acknowledge'));
      for (const { id: pinned } of [one, two]) await newCommand(world, { runner_id: pinned });
      await Promise.all(answers);
    });

    test('runners that come together are shown different commands, and none is reserved', async () => {
      const runners = await Promise.all(Array.from({ length: 5 }, () => newRunner(world)));
      const made = await Promise.all(runners.map(() => newCommand(world)));
      const shown: unknown[] = [];
      for (const { key } of runners) shown.push(...ids(await poll(world, key, '?limit=1')));
      assert.deepEqual(new Set(shown), new Set<unknown>(made));
      for (const id of made) ok(await move(world, runners[0]?.key ?? '', id, 'acknowledge'));
    });

    test('a command that is given back reaches another runner that waits', async () => {
      const [one, two] = [await newRunner(world), await newRunner(world)];
      const id = await newCommand(world);
      ok(await move(world, one.key, id, 'acknowledge'));
      const { answer } = await waiting(two);
      ok(await move(world, one.key, id, 'release'));
      assert.deepEqual(ids(await answer), [id]);
      ok(await move(world, two.key, id, 'acknowledge'));
    });

    test('a command becomes an answer when its time has come', async () => {
      const runner = await newRunner(world);
      const at = new Date(world.server.clock.nowMs() + 20_000).toISOString();
      const id = await newCommand(world, { runner_id: runner.id, scheduled_at: at });
      const { answer } = await waiting(runner);
      world.server.clock.advance(20_001);
      assert.deepEqual(ids(await answer), [id]);
    });

    test('Prefer: wait=n does the same and is confirmed; the query beats it', async () => {
      const runner = await newRunner(world);
      const path = '/api/v1/agent/commands';
      const headers = { prefer: 'respond-async, wait=1' };
      const answer = await send(world.url, { path, key: runner.key, headers });
      assert.deepEqual(ids(answer), []);
      assert.equal(answer.headers['preference-applied'], 'wait=1');
      const now = await send(world.url, { path: `${path}?wait=0`, key: runner.key, headers });
      assert.equal(now.headers['preference-applied'], undefined);
    });

    test('an unreadable wait is no wait, and the answer is still a bare array', async () => {
      const runner = await newRunner(world);
      for (const wait of ['', 'soon', '-5', 'NaN'])
        assert.deepEqual(ids(await poll(world, runner.key, `?wait=${wait}`)), []);
    });

    test('a runner that takes one thing at a time ignores nothing of what it was offered', async () => {
      const runner = await newRunner(world);
      const made: string[] = [];
      for (let n = 0; n < 6; n += 1)
        made.push(await newCommand(world, { runner_id: runner.id, priority: 'critical' }));
      for (let n = 0; n < 5; n += 1) {
        assert.deepEqual(ids(await poll(world, runner.key, '?limit=100&wait=60')), made.slice(n));
        ok(await move(world, runner.key, String(made[n]), 'acknowledge'));
      }
      const low = await newCommand(world, { runner_id: runner.id, priority: 'low' });
      assert.deepEqual(ids(await poll(world, runner.key, '?wait=60')), [made[5], low]);
    });

    test('what a runner gave back is offered to others at once, and to it after a rest', async () => {
      const [one, two] = [await newRunner(world), await newRunner(world)];
      const id = await newCommand(world, { priority: 'critical' });
      ok(await move(world, one.key, id, 'acknowledge'));
      ok(await move(world, one.key, id, 'release'));
      assert.equal(ids(await poll(world, one.key)).includes(id), false);
      const why = `/api/v1/commands/${id}/waiting?limit=250`;
      const { items } = await look(world, world.own.viewer, why);
      const reasons = (items as Fields[])
        .filter((each) => each['runner_id'] === one.id)
        .flatMap((each) => each['reasons'] as Fields[]);
      assert.deepEqual(
        reasons.map(({ code }) => code),
        ['given_back'],
      );
      assert.equal(ids(await poll(world, two.key)).includes(id), true);
      world.server.clock.age(5000);
      assert.equal(ids(await poll(world, one.key)).includes(id), true);
      ok(await move(world, two.key, id, 'acknowledge'));
    });

    test('a poll that waits while a command rests is answered with it when it has rested', async () => {
      const runner = await newRunner(world);
      const id = await newCommand(world, { runner_id: runner.id });
      ok(await move(world, runner.key, id, 'acknowledge'));
      ok(await move(world, runner.key, id, 'release'));
      world.server.clock.age(4500);
      assert.deepEqual(ids(await poll(world, runner.key)), []);
      assert.deepEqual(ids(await poll(world, runner.key, '?wait=60')), [id]);
    });

    test('what a client keeps ignoring does not end its waiting polls, but comes at their end', async () => {
      const runner = await newRunner(world);
      const ignored = await newCommand(world, { type: 'odd', runner_id: runner.id });
      for (let n = 0; n < 3; n += 1)
        assert.deepEqual(ids(await poll(world, runner.key)), [ignored]);
      assert.deepEqual(ids(await poll(world, runner.key, '?wait=1')), [ignored]);
      const { answer } = await waiting(runner);
      const fresh = await newCommand(world, { runner_id: runner.id, priority: 'low' });
      assert.deepEqual(ids(await answer), [fresh, ignored]);
    });
  });

  describe(`the end of waiting on ${backend}`, { concurrency: false }, () => {
    const administer = async (runner: Runner, verb: 'pause' | 'resume'): Promise<void> => {
      await operate(world, world.own.admin, `/api/v1/runners/${runner.id}/${verb}`, undefined, 200);
    };

    test('a runner that is paused while it waits is answered [] at once, and gets nothing while it is paused', async () => {
      const runner = await newRunner(world);
      const { answer } = await waiting(runner);
      await administer(runner, 'pause');
      assert.deepEqual(ids(await answer), []);
      await newCommand(world, { runner_id: runner.id });
      assert.deepEqual(ids(await poll(world, runner.key)), []);
      assert.deepEqual(ids(await poll(world, runner.key, '?wait=1')), []);
    });

    test('who asks while it is paused waits until it is resumed, or to the end', async () => {
      const runner = await newRunner(world);
      await administer(runner, 'pause');
      const id = await newCommand(world, { runner_id: runner.id });
      const { answer } = await waiting(runner);
      // Whatever else it is told, the runner is still paused.
      await newCommand(world, { runner_id: runner.id, priority: 'low' });
      await administer(runner, 'resume');
      assert.equal(ids(await answer)[0], id);
    });

    test('a key that may not claim waits as long as it asked, for nothing', async () => {
      const runner = await newRunner(world);
      const narrow = await newKey(world, runner.id, { scopes: ['heartbeat'] });
      const id = await newCommand(world, { runner_id: runner.id });
      let isAnswered = false;
      // This poll is answered when the server of these tests stops.
      void poll(world, narrow, '?wait=60').finally(() => {
        isAnswered = true;
      });
      assert.deepEqual(ids(await poll(world, narrow)), []);
      assert.deepEqual(ids(await poll(world, runner.key, '?wait=60')), [id]);
      assert.equal(isAnswered, false);
    });

    test('a key that was revoked while its poll waits is handed nothing', async () => {
      const runner = await newRunner(world);
      const second = await newKey(world, runner.id);
      assert.notEqual(keyIdOf(second), keyIdOf(runner.key));
      const answer = poll(world, second, '?wait=60');
      await eventually(async () => (await showRunner(world, runner.id))['presence'] === 'online');
      await revokeKey(world, second);
      await newCommand(world, { runner_id: runner.id });
      const heard = await answer;
      if (heard.status === 200) assert.deepEqual(ids(heard), []);
      else problemOf(heard, 'unauthorized');
    });

    test('a poll counts as a sign of life', async () => {
      const runner = await newRunner(world);
      await waiting(runner, 1);
      assert.notEqual((await showRunner(world, runner.id))['last_seen_at'], null);
    });

    test('a caller that hangs up leaves nothing behind: the next poll gets the command', async () => {
      const runner = await newRunner(world);
      const { hostname, port } = new URL(world.url);
      const socket = connect(Number(port), hostname);
      socket.write(
        `GET /api/v1/agent/commands?wait=60 HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${runner.key}\r\n\r\n`,
      );
      await eventually(async () => (await showRunner(world, runner.id))['presence'] === 'online');
      socket.destroy();
      const id = await newCommand(world, { runner_id: runner.id });
      assert.deepEqual(ids(await poll(world, runner.key, '?wait=60')), [id]);
      ok(await runnerCall(world, runner.key, '/heartbeat', {}));
    });
  });

  describe(`a server that stops, on ${backend}`, () => {
    test('answers everybody who waits with [] at once', async () => {
      const own = await startWorld(backend);
      const answers = Array.from({ length: 20 }, () => poll(own, own.own.runner.key, '?wait=60'));
      await eventually(
        async () => (await showRunner(own, own.own.runner.id))['presence'] === 'online',
      );
      const arrived = Promise.all(answers);
      await own.stop();
      for (const answer of await arrived) assert.deepEqual(ids(answer), []);
    });
  });
}

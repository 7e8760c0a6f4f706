// Leases, late answers, cancels and races (contract §4): at most a duplicate execution, never a
// duplicate commit.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BACKENDS, eventually } from '../harness.ts';
import { type Fields, fieldsOf, ok, problemOf } from '../http/wire.ts';
import {
  move,
  newCommand,
  newRunner,
  operate,
  poll,
  type Runner,
  runnerCall,
  showCommand,
  startWorld,
  type World,
} from '../http/world.ts';

/** Longer than any lease of a runner that beats every 60 s, or is less often observed. */
const LEASE_OVER_MS = 200_000;

for (const backend of BACKENDS) {
  let world: World;
  before(async () => {
    world = await startWorld(backend);
  });
  after(async () => await world.stop());

  const held = async (runner: Runner, verbs: string[], more: Fields = {}): Promise<string> => {
    const id = await newCommand(world, { runner_id: runner.id, ...more });
    for (const verb of verbs) ok(await move(world, runner.key, id, verb));
    return id;
  };
  const becomes = async (id: string, status: string): Promise<Fields> =>
    await eventually(async () => {
      const command = await showCommand(world, id);
      return command['status'] === status ? command : null;
    });
  const cancel = async (id: string): Promise<Fields> =>
    await operate(world, world.own.analyst, `/api/v1/commands/${id}/cancel`, undefined, 200);
  const outcomes = (command: Fields): unknown[] =>
    (command['attempts'] as Fields[]).map(({ outcome }) => outcome);

  describe(`leases on ${backend}`, { concurrency: false }, () => {
    test('a lost lease returns the command, pin kept, and late answers are lease_lost', async () => {
      const runner = await newRunner(world);
      const other = await newRunner(world);
      const pinned = await held(runner, ['acknowledge', 'start']);
      const free = await newCommand(world);
      ok(await move(world, runner.key, free, 'acknowledge'));
      await world.server.pass(LEASE_OVER_MS);
      const returned = await becomes(pinned, 'pending');
      assert.equal(returned['runner_id'], runner.id, 'the pin is kept');
      assert.equal(returned['holder_id'], null);
      assert.deepEqual(outcomes(returned), ['lost']);
      await becomes(free, 'pending');
      for (const verb of ['start', 'complete', 'release'])
        problemOf(await move(world, runner.key, free, verb), 'lease_lost');
      assert.equal(ok(await move(world, other.key, free, 'acknowledge'))['attempt'], 2);
      for (const verb of ['acknowledge', 'start', 'complete', 'fail', 'release'])
        problemOf(await move(world, runner.key, free, verb), 'lease_lost');
      ok(await move(world, other.key, free, 'complete', { result: 'the second' }));
      problemOf(await move(world, runner.key, free, 'complete', { result: 'late' }), 'lease_lost');
      assert.equal((await showCommand(world, free))['result'], 'the second');
      assert.equal(ok(await move(world, runner.key, pinned, 'acknowledge'))['attempt'], 2);
    });

    test('after max_attempts a lost command has failed, with the reason runner_lost', async () => {
      const runner = await newRunner(world);
      const id = await held(runner, ['acknowledge'], { max_attempts: 1 });
      await world.server.pass(LEASE_OVER_MS);
      const failed = await becomes(id, 'failed');
      assert.equal(failed['reason'], 'runner_lost');
      problemOf(await move(world, runner.key, id, 'complete', { result: 1 }), 'lease_lost');
      assert.equal((await showCommand(world, id))['status'], 'failed');
    });

    test('what was given back doesn’t count against max_attempts, and few of such attempts are kept', async () => {
      const runner = await newRunner(world);
      const id = await newCommand(world, { runner_id: runner.id, max_attempts: 2 });
      for (let n = 0; n < 30; n += 1) {
        ok(await move(world, runner.key, id, 'acknowledge'));
        ok(await move(world, runner.key, id, 'release'));
      }
      const { attempt, released, attempts } = await showCommand(world, id);
      assert.deepEqual([attempt, released], [30, 30]);
      assert.equal((attempts as Fields[]).length, 21);
      ok(await move(world, runner.key, id, 'release'), 200);
      ok(await move(world, runner.key, id, 'acknowledge'));
      await world.server.pass(LEASE_OVER_MS);
      await becomes(id, 'pending');
      ok(await move(world, runner.key, id, 'acknowledge'));
      await world.server.pass(LEASE_OVER_MS);
      assert.equal((await becomes(id, 'failed'))['reason'], 'runner_lost');
    });

    test('any sign of life renews leases, but only until the timeout; what is listed, beyond it', async () => {
      const lister = await newRunner(world);
      const silent = await newRunner(world);
      const listed = await held(lister, ['acknowledge', 'start'], { timeout: 60 });
      const unlisted = await held(silent, ['acknowledge', 'start'], { timeout: 60 });
      const long = await held(silent, ['acknowledge', 'start'], { timeout: 3600 });
      const leaseOf = async (id: string): Promise<unknown> =>
        (await showCommand(world, id))['lease_expires_at'];
      // The signs of life until here are written first.
      await world.server.round();
      const before = { listed: await leaseOf(listed), unlisted: await leaseOf(unlisted) };
      const longBefore = await leaseOf(long);
      await world.server.pass(100_000);
      ok(await runnerCall(world, lister.key, '/heartbeat', { running: [listed] }));
      assert.equal((await poll(world, silent.key)).status, 200);
      await eventually(async () => (await leaseOf(listed)) !== before.listed);
      await eventually(async () => (await leaseOf(long)) !== longBefore);
      assert.equal(await leaseOf(unlisted), before.unlisted, 'past its timeout');
      await world.server.pass(100_000);
      await becomes(unlisted, 'pending');
      assert.equal((await showCommand(world, listed))['status'], 'running');
      assert.equal((await showCommand(world, long))['status'], 'running');
    });
  });

  describe(`listed commands on ${backend}`, { concurrency: false }, () => {
    test('a runner that lists what it runs doesn’t renew what it doesn’t list', async () => {
      const runner = await newRunner(world);
      const listed = await held(runner, ['acknowledge', 'start']);
      const forgotten = await held(runner, ['acknowledge', 'start']);
      const before = (await showCommand(world, listed))['lease_expires_at'];
      await world.server.pass(100_000);
      ok(await runnerCall(world, runner.key, '/heartbeat', { running: [listed] }));
      await eventually(
        async () => (await showCommand(world, listed))['lease_expires_at'] !== before,
      );
      await world.server.pass(100_000);
      await becomes(forgotten, 'pending');
      assert.equal((await showCommand(world, listed))['status'], 'running');
    });
  });

  describe(`cancels on ${backend}`, { concurrency: false }, () => {
    test('a pending command is canceled at once, and again', async () => {
      const runner = await newRunner(world);
      const id = await held(runner, []);
      const canceled = await cancel(id);
      assert.equal(canceled['status'], 'canceled');
      assert.deepEqual(await cancel(id), canceled);
      assert.equal((await poll(world, runner.key, '?limit=100')).text.includes(id), false);
      const problem = problemOf(
        await move(world, runner.key, id, 'acknowledge'),
        'invalid_transition',
      );
      assert.equal(problem['state'], 'canceled');
    });

    const ends = { fail: 'canceled', release: 'canceled', complete: 'completed' };
    for (const [verb, status] of Object.entries(ends)) {
      test(`a held command goes on until its ${verb}; then it is ${status}`, async () => {
        for (const verbs of [['acknowledge'], ['acknowledge', 'start']]) {
          const runner = await newRunner(world);
          const id = await held(runner, verbs, { retry_on_fail: true });
          const asked = await cancel(id);
          assert.notEqual(asked['status'], 'canceled');
          assert.equal(typeof asked['cancel_requested_at'], 'string');
          // A flush of presence in between may extend the lease.
          const { lease_expires_at: lease } = asked;
          const again = { ...(await cancel(id)), lease_expires_at: lease };
          assert.deepEqual(again, asked, 'asking twice is asking once');
          ok(await move(world, runner.key, id, verb, { result: 1, error_message: 'stopped' }));
          ok(await move(world, runner.key, id, verb, { result: 1, error_message: 'stopped' }));
          assert.equal((await showCommand(world, id))['status'], status);
        }
      });
    }

    test('the lease end of a command to be canceled is canceled, unconfirmed', async () => {
      const runner = await newRunner(world);
      const id = await held(runner, ['acknowledge', 'start']);
      await cancel(id);
      await world.server.pass(LEASE_OVER_MS);
      assert.equal((await becomes(id, 'canceled'))['reason'], 'unconfirmed');
      assert.equal((await move(world, runner.key, id, 'complete', {})).status, 409);
      assert.equal((await showCommand(world, id))['status'], 'canceled');
    });
  });

  describe(`races on ${backend}`, () => {
    test('of 20 runners that acknowledge one command at once, exactly one gets it', async () => {
      const runners = await Promise.all(Array.from({ length: 20 }, () => newRunner(world)));
      for (let round = 0; round < 5; round += 1) {
        const id = await newCommand(world);
        const answers = await Promise.all(
          runners.map(({ key }) => move(world, key, id, 'acknowledge')),
        );
        const winners = runners.filter((_, index) => answers[index]?.status === 200);
        assert.equal(winners.length, 1);
        for (const answer of answers.filter(({ status }) => status !== 200))
          problemOf(answer, 'command_claimed');
        const command = await showCommand(world, id);
        assert.equal(command['holder_id'], winners[0]?.id);
        assert.equal(command['attempt'], 1);
        assert.equal((command['attempts'] as Fields[]).length, 1);
      }
    });

    test('of 20 different results at once, one stands and the others are conflicts', async () => {
      const runner = await newRunner(world);
      const id = await held(runner, ['acknowledge', 'start']);
      const results = Array.from({ length: 20 }, (_, n) => n);
      const answers = await Promise.all(
        results.map((result) => move(world, runner.key, id, 'complete', { result })),
      );
      const winners = answers.filter(({ status }) => status === 200);
      assert.equal(winners.length, 1);
      const [winner] = winners;
      assert.ok(winner !== undefined);
      for (const answer of answers) if (answer !== winner) problemOf(answer, 'transition_conflict');
      assert.equal((await showCommand(world, id))['result'], fieldsOf(winner)['result']);
    });

    test('20 equal calls at once are one transition and 19 repeats', async () => {
      const runner = await newRunner(world);
      const id = await held(runner, []);
      for (const verb of ['acknowledge', 'start', 'complete']) {
        const answers = await Promise.all(
          Array.from({ length: 20 }, () => move(world, runner.key, id, verb, { result: 1 })),
        );
        for (const answer of answers) ok(answer);
      }
      const command = await showCommand(world, id);
      assert.equal(command['attempt'], 1);
      assert.deepEqual(outcomes(command), ['completed']);
    });
  });

  describe(`a server that was away, on ${backend}`, () => {
    test('time in which the server was stalled costs no runner its lease (contract §3)', async () => {
      const runner = await newRunner(world);
      const id = await held(runner, ['acknowledge', 'start']);
      world.server.clock.advance(3_600_000);
      // The runner was there all the time, and beats as soon as the server listens again.
      ok(await runnerCall(world, runner.key, '/heartbeat', { running: [id] }));
      await world.server.round();
      await world.server.round();
      assert.equal((await showCommand(world, id))['status'], 'running');
      assert.equal(ok(await move(world, runner.key, id, 'complete', {}))['status'], 'completed');
    });
  });
}

// The life of keys (contract §7): candidate → proven → retired, lost answers, budgets, revocation.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { limits } from '@muster/contract';
import { BACKENDS } from '../harness.ts';
import { type Answer, type Fields, ok, problemOf, send } from '../http/wire.ts';
import {
  forgiveFailures,
  keyIdOf,
  look,
  newKey,
  newRunner,
  operate,
  revokeKey,
  type Runner,
  runnerCall,
  startWorld,
  type World,
} from '../http/world.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

for (const backend of BACKENDS) {
  let world: World;
  before(async () => {
    world = await startWorld(backend);
  });
  after(async () => await world.stop());

  const beat = async (key: string): Promise<Answer> => await runnerCall(world, key, '/heartbeat');
  const good = async (key: string): Promise<Fields> => ok(await beat(key));
  const dead = async (key: string): Promise<Fields> => problemOf(await beat(key), 'unauthorized');
  const renew = async (key: string): Promise<string> =>
    String(ok(await runnerCall(world, key, '/renew'))['api_key']);
  const stateOf = async (runner: Runner, key: string): Promise<unknown> => {
    const page = await look(world, world.own.admin, `/api/v1/keys?runner_id=${runner.id}`);
    const keys = page['items'] as Fields[];
    return keys.find((candidate) => candidate['key_id'] === keyIdOf(key))?.['state'];
  };
  /** Two installations show themselves in turn, never in the same millisecond, and are noticed. */
  const sightings = async (key: string): Promise<void> => {
    for (const instance of ['a', 'b', 'a', 'b']) {
      ok(await runnerCall(world, key, '/heartbeat', { instance_id: instance }));
      world.server.clock.advance(1);
    }
    await world.server.round();
  };
  const warningsOf = async ({ id }: Runner): Promise<unknown[]> => {
    const shown = await look(world, world.own.viewer, `/api/v1/runners/${id}`);
    return (shown['warnings'] as Fields[]).map(({ code }) => code);
  };
  const pass = (ms: number): void => {
    world.server.clock.advance(ms);
    forgiveFailures(world);
  };

  describe(`renewal on ${backend}`, { concurrency: false }, () => {
    test('a renewed key is a candidate until it is used, then proven; the old one lives 15 minutes more', async () => {
      const runner = await newRunner(world);
      const next = await renew(runner.key);
      assert.equal(await stateOf(runner, next), 'candidate');
      pass(HOUR_MS);
      await good(runner.key);
      await good(next);
      assert.equal(await stateOf(runner, next), 'proven');
      pass(13 * MINUTE_MS);
      await good(runner.key);
      pass(2 * MINUTE_MS);
      await dead(runner.key);
      await good(next);
      assert.equal((await good(next))['agent_id'], runner.id);
    });

    test('while two installations share a key, the old one lives to the end of the overlap', async () => {
      const runner = await newRunner(world);
      await sightings(runner.key);
      const next = await renew(runner.key);
      await good(next);
      pass(DAY_MS - MINUTE_MS);
      await good(runner.key);
      pass(2 * MINUTE_MS);
      await dead(runner.key);
      await good(next);
    });

    test('a clone that is noticed only after the new key was used gives the old one its overlap, too', async () => {
      const runner = await newRunner(world);
      const other = await renew(runner.key);
      await good(other);
      // Longer apart than a heartbeat and its grace: each sight of the two keeps the warning.
      for (let minute = 0; minute < 20; minute += 1) {
        pass(MINUTE_MS);
        for (const [key, instance] of [
          [other, 'a'],
          [runner.key, 'b'],
        ] as const)
          ok(await runnerCall(world, key, '/heartbeat', { instance_id: instance }));
        await world.server.round();
      }
      pass(DAY_MS - HOUR_MS);
      await good(runner.key);
      pass(HOUR_MS);
      await dead(runner.key);
      await good(other);
    });

    test('a clone that is noticed within the grace keeps the old key to the end of the overlap, also once it is gone', async () => {
      const runner = await newRunner(world);
      const other = await renew(runner.key);
      await good(other);
      pass(14 * MINUTE_MS);
      await sightings(other);
      pass(HOUR_MS);
      assert.deepEqual(await warningsOf(runner), []);
      await good(runner.key);
      pass(DAY_MS - 2 * HOUR_MS);
      await good(runner.key);
      pass(HOUR_MS);
      await dead(runner.key);
    });

    test('a clone that is noticed after the grace revives no key', async () => {
      const runner = await newRunner(world);
      const other = await renew(runner.key);
      await good(other);
      pass(limits.keyGraceMs + 1);
      await dead(runner.key);
      await sightings(other);
      assert.deepEqual(await warningsOf(runner), ['cloned']);
      pass(2000);
      await dead(runner.key);
      await good(other);
    });

    test('two installations that renew a shared key each keep what they got, until the overlap ends', async () => {
      const runner = await newRunner(world);
      await sightings(runner.key);
      const [first, second] = [await renew(runner.key), await renew(runner.key)];
      await good(first);
      await good(second);
      await good(first);
      pass(DAY_MS + MINUTE_MS);
      await dead(first);
      await good(second);
    });

    test('with a key what it was renewed to is revoked, unless that is in use', async () => {
      const runner = await newRunner(world);
      const stolen = await newKey(world, runner.id, {});
      const candidate = await renew(stolen);
      const used = await renew(runner.key);
      await good(used);
      await revokeKey(world, stolen);
      await revokeKey(world, runner.key);
      pass(2000);
      await dead(stolen);
      await dead(candidate);
      await dead(runner.key);
      await good(used);
    });

    test('a lost answer locks nobody out: the old key renews again, hours later', async () => {
      const runner = await newRunner(world);
      await renew(runner.key);
      pass(12 * HOUR_MS);
      const next = await renew(runner.key);
      await good(runner.key);
      await good(next);
    });

    test('a superseded candidate is accepted until one of them is proven, then only that one', async () => {
      const runner = await newRunner(world);
      const [first, second, third] = [
        await renew(runner.key),
        await renew(runner.key),
        await renew(runner.key),
      ];
      assert.equal(await stateOf(runner, first), 'superseded');
      await good(second);
      await dead(first);
      await dead(third);
      await good(runner.key);
      pass(limits.keyGraceMs);
      await dead(runner.key);
      await good(second);
    });
  });

  describe(`renewed keys on ${backend}`, { concurrency: false }, () => {
    test('after a proof at most two keys of the line are alive, however many were made', async () => {
      const runner = await newRunner(world);
      const keys = [runner.key];
      for (let n = 0; n < 4; n += 1) keys.push(await renew(runner.key));
      const uses = await Promise.all(keys.slice(1).map(async (key) => (await beat(key)).status));
      assert.ok(uses.includes(200), 'one of them got through');
      forgiveFailures(world);
      const alive = await Promise.all(keys.map(async (key) => (await beat(key)).status));
      const count = alive.filter((status) => status === 200).length;
      assert.ok(count >= 1 && count <= 2, `${count} keys are alive`);
    });

    test('a renewed key carries the scopes of the one it was renewed with, and lives 90 days', async () => {
      const runner = await newRunner(world);
      const narrow = await newKey(world, runner.id, { scopes: ['ingest', 'renew'] });
      const reply = ok(await runnerCall(world, narrow, '/renew'));
      const lifeMs = Date.parse(String(reply['expires_at'])) - world.server.clock.nowMs();
      assert.ok(Math.abs(lifeMs - 90 * DAY_MS) < MINUTE_MS);
      const next = String(reply['api_key']);
      await good(next);
      const page = await look(world, world.own.admin, `/api/v1/keys?runner_id=${runner.id}`);
      const shown = (page['items'] as Fields[]).find(({ key_id: id }) => id === keyIdOf(next));
      assert.deepEqual(shown?.['scopes'], ['heartbeat', 'ingest', 'renew']);
      pass(90 * DAY_MS - HOUR_MS);
      await good(next);
      pass(2 * HOUR_MS);
      await dead(next);
    });

    test('the presented key never lives beyond its own expiry', async () => {
      const runner = await newRunner(world);
      const short = await newKey(world, runner.id, { expires_in: 300 });
      await good(await renew(short));
      pass(4 * MINUTE_MS);
      await good(short);
      pass(2 * MINUTE_MS);
      await dead(short);
    });

    test('keys made by an operator don’t expire unless asked', async () => {
      const runner = await newRunner(world);
      pass(1000 * DAY_MS);
      await good(runner.key);
    });

    test('five renewals at once, then one in 120 s; the presented key stays good; others are free', async () => {
      const [runner, other] = [await newRunner(world), await newRunner(world)];
      for (let n = 0; n < limits.renewBurst; n += 1) await renew(runner.key);
      const answer = await runnerCall(world, runner.key, '/renew');
      problemOf(answer, 'rate_limited');
      assert.ok(Number(answer.headers['retry-after']) <= 120);
      await good(runner.key);
      await renew(other.key);
      world.server.clock.age(Number(answer.headers['retry-after']) * 1000);
      const next = await renew(runner.key);
      problemOf(await runnerCall(world, runner.key, '/renew'), 'rate_limited');
      problemOf(await runnerCall(world, next, '/renew'), 'rate_limited');
    });
  });

  describe(`revocation on ${backend}`, { concurrency: false }, () => {
    test('a revoked key is dead at once, its siblings live on, and a repeat is harmless', async () => {
      const runner = await newRunner(world);
      const extra = await newKey(world, runner.id);
      await good(extra);
      await revokeKey(world, extra);
      await dead(extra);
      await revokeKey(world, extra);
      await good(runner.key);
    });

    test('a revoked runner is shut out with every key, candidates too, for good', async () => {
      const runner = await newRunner(world);
      const keys = [runner.key, await newKey(world, runner.id), await renew(runner.key)];
      const path = `/api/v1/runners/${runner.id}`;
      await operate(world, world.own.admin, `${path}/revoke`, undefined, 200);
      for (const key of keys) await dead(key);
      await operate(world, world.own.admin, `${path}/revoke`, undefined, 200);
      const call = { method: 'POST', path: `${path}/resume`, key: world.own.admin };
      problemOf(await send(world.url, call), 'invalid_transition');
      for (const key of keys) await dead(key);
    });

    test('a revoked runner gets no new key', async () => {
      const runner = await newRunner(world);
      const path = `/api/v1/runners/${runner.id}/revoke`;
      await operate(world, world.own.admin, path, undefined, 200);
      const body = { runner_id: runner.id };
      const call = { method: 'POST', path: '/api/v1/keys', key: world.own.admin, body };
      const answer = await send(world.url, call);
      if (answer.status === 201) await dead(String(ok(answer, 201)['api_key']));
      else assert.ok([404, 409].includes(answer.status), answer.text);
    });

    test('of a key only its beginning is ever shown again', async () => {
      const runner = await newRunner(world);
      await good(runner.key);
      const { text } = await send(world.url, {
        path: `/api/v1/keys?runner_id=${runner.id}`,
        key: world.own.admin,
      });
      assert.ok(text.includes(keyIdOf(runner.key)));
      assert.ok(!text.includes(runner.key.slice(-38)));
      assert.ok(!/secret|hash/i.test(text), text);
    });
  });
}

// Operators' work with existing keys: they roll them, let them expire, bind them to addresses, and
// see the state of each.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { limits } from '@muster/contract';
import { BACKENDS } from '../harness.ts';
import { type Answer, type Fields, ok, placeOf, problemOf, send } from '../http/wire.ts';
import {
  forgiveFailures,
  keyIdOf,
  look,
  newKey,
  newRunner,
  operate,
  revokeKey,
  runnerCall,
  startWorld,
  type World,
} from '../http/world.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

for (const backend of BACKENDS) {
  let world: World;
  before(async () => {
    // Loopback is a trusted proxy here, so that a test chooses its peer address.
    world = await startWorld(backend, { MUSTER_TRUSTED_PROXIES: '127.0.0.1' });
  });
  after(async () => await world.stop());

  const beat = async (key: string, from?: string): Promise<Answer> =>
    await runnerCall(
      world,
      key,
      '/heartbeat',
      '',
      from === undefined ? {} : { 'x-forwarded-for': from },
    );
  const good = async (key: string, from?: string): Promise<Fields> => ok(await beat(key, from));
  const dead = async (key: string, from?: string): Promise<Fields> =>
    problemOf(await beat(key, from), 'unauthorized');
  const renew = async (key: string): Promise<string> =>
    String(ok(await runnerCall(world, key, '/renew'))['api_key']);
  const roll = async (key: string, body: Fields = {}): Promise<Fields> =>
    await operate(world, world.own.admin, `/api/v1/keys/${keyIdOf(key)}/roll`, body, 201);
  const rolled = async (key: string): Promise<string> => String((await roll(key))['api_key']);
  const patch = async (key: string, body: Fields): Promise<Answer> =>
    await send(world.url, {
      method: 'PATCH',
      path: `/api/v1/keys/${keyIdOf(key)}`,
      key: world.own.admin,
      body,
    });
  const shown = async (key: string): Promise<Fields> => {
    const page = await look(world, world.own.admin, '/api/v1/keys?limit=250');
    const all = page['items'] as Fields[];
    return all.find(({ key_id: id }) => id === keyIdOf(key)) ?? {};
  };
  const pass = (ms: number): void => {
    world.server.clock.advance(ms);
    forgiveFailures(world);
  };

  describe(`rolling a key on ${backend}`, { concurrency: false }, () => {
    test('makes a candidate beside it; the old key lives until 15 minutes after the new one’s first use', async () => {
      const { key } = await newRunner(world);
      const next = await rolled(key);
      assert.equal((await shown(next))['state'], 'candidate');
      pass(DAY_MS);
      await good(key);
      await good(next);
      await good(key);
      pass(15 * MINUTE_MS);
      await dead(key);
      await good(next);
    });

    test('keeps scopes, allow-list and length of life unless told otherwise', async () => {
      const { id } = await newRunner(world);
      const facts = { scopes: ['ingest'], allow_from: ['127.0.0.1'], expires_in: 3600 };
      const key = await newKey(world, id, facts);
      pass(30 * MINUTE_MS);
      const nowMs = world.server.clock.nowMs();
      const lifeOf = (reply: Fields): number | null => {
        const at = (reply['key'] as Fields)['expires_at'];
        return at === null ? null : Math.round((Date.parse(at as string) - nowMs) / MINUTE_MS);
      };
      const reply = await roll(key);
      const made = reply['key'] as Fields;
      assert.deepEqual(
        [made['scopes'], made['allow_from']],
        [['heartbeat', 'ingest'], ['127.0.0.1']],
      );
      assert.equal(lifeOf(reply), 60);
      assert.equal(lifeOf(await roll(key, { expires_in: 600 })), 10);
      assert.equal(lifeOf(await roll(key, { expires_in: null })), null);
    });

    test('a lost answer costs nothing: it is rolled again, and at most two keys of the line live', async () => {
      const { key } = await newRunner(world);
      const [lost, kept] = [await rolled(key), await rolled(key)];
      assert.equal((await shown(lost))['state'], 'superseded');
      await good(kept);
      await dead(lost);
      await good(key);
    });

    test('that nobody has used rolls what it was to succeed: that has the grace, and the unused one none', async () => {
      const { key } = await newRunner(world);
      const unused = await rolled(key);
      const kept = await rolled(unused);
      await good(kept);
      await good(key);
      await dead(unused);
      await good(kept);
      pass(limits.keyGraceMs);
      await dead(key);
    });

    test('that a machine enrolled with and has not used ends it with the first use of the new one', async () => {
      const call = { method: 'POST', path: '/api/v1/agent/enroll', body: {} };
      const made = await operate(world, world.own.admin, '/api/v1/enrolment-tokens', {}, 201);
      const unused = ok(await send(world.url, { ...call, key: String(made['api_key']) }), 201);
      const kept = await rolled(String(unused['api_key']));
      await good(kept);
      await dead(String(unused['api_key']));
      await good(kept);
    });

    test('and revoking it before the new one was used leaves the new one: nobody else can have it', async () => {
      const { key } = await newRunner(world);
      const next = await rolled(key);
      const renewed = await renew(key);
      await revokeKey(world, key);
      await dead(renewed);
      await good(next);
    });

    test('and renewing it leave the other keys of the runner alone, renewed or not', async () => {
      const { id, key } = await newRunner(world);
      const ci = await newKey(world, id, { scopes: ['ingest'] });
      const nextCi = await rolled(ci);
      const next = await renew(key);
      assert.equal((await shown(nextCi))['state'], 'candidate', 'another line was renewed');
      await good(nextCi);
      await good(next);
      pass(limits.keyGraceMs);
      await good(nextCi);
      await good(await renew(next));
      pass(limits.keyGraceMs);
      await good(nextCi);
      await dead(ci);
      await dead(key);
    });

    test('is refused for keys that are dead, and for tokens', async () => {
      const { id, key } = await newRunner(world);
      const short = await newKey(world, id, { expires_in: 60 });
      await revokeKey(world, key);
      pass(MINUTE_MS);
      for (const worn of [key, short, world.own.admin, world.own.enrolment]) {
        const path = `/api/v1/keys/${keyIdOf(worn)}/roll`;
        const call = { method: 'POST', path, key: world.own.admin, body: {} };
        problemOf(await send(world.url, call), 'invalid_transition');
      }
    });
  });

  describe(`the expiry of a key on ${backend}`, { concurrency: false }, () => {
    test('can be set, moved and taken away; at once means at once', async () => {
      const { key } = await newRunner(world);
      await good(key);
      ok(await patch(key, { expires_in: 600 }));
      pass(9 * MINUTE_MS);
      await good(key);
      ok(await patch(key, { expires_in: 600 }));
      pass(9 * MINUTE_MS);
      await good(key);
      assert.equal(ok(await patch(key, { expires_in: null }))['expires_at'], null);
      pass(1000 * DAY_MS);
      await good(key);
      ok(await patch(key, { expires_in: 0 }));
      await dead(key);
    });

    test('of operator tokens and enrolment tokens too', async () => {
      const made = await operate(world, world.own.admin, '/api/v1/enrolment-tokens', {}, 201);
      const token = String(made['api_key']);
      ok(await patch(token, { expires_in: 0 }));
      const call = { method: 'POST', path: '/api/v1/agent/enroll', key: token, body: {} };
      problemOf(await send(world.url, call), 'unauthorized');
      ok(await patch(world.own.viewer, { expires_in: 0 }));
      problemOf(
        await send(world.url, { path: '/api/v1/me', key: world.own.viewer }),
        'unauthorized',
      );
      ok(await patch(world.own.viewer, { expires_in: null }));
      ok(await send(world.url, { path: '/api/v1/me', key: world.own.viewer }));
    });
  });

  describe(`a key with an allow-list on ${backend}`, { concurrency: false }, () => {
    test('is accepted from its blocks only; elsewhere it is like an unknown key, and counted by reason', async () => {
      const { id } = await newRunner(world);
      const key = await newKey(world, id, { allow_from: ['192.0.2.0/24', '2001:db8::/32'] });
      const counted = async (): Promise<number> => {
        const { text } = await send(world.url, { path: '/metrics' });
        const line = /^muster_credentials_refused_total\{reason="address"\} (\d+)$/m.exec(text);
        return Number(line?.[1] ?? 0);
      };
      const before = await counted();
      for (const from of ['192.0.2.9', '::ffff:192.0.2.9', '2001:db8::9']) await good(key, from);
      for (const from of ['192.0.3.9', '2001:db9::9', 'unknown', undefined])
        assert.ok(!JSON.stringify(await dead(key, from)).includes('address'));
      await good(key, '192.0.2.9');
      assert.equal(await counted(), before + 4);
    });

    test('that an operator sets, narrows or lifts holds for the very next call, cached or not', async () => {
      const { key } = await newRunner(world);
      await good(key, '192.0.2.1');
      ok(await patch(key, { allow_from: ['192.0.2.1'] }));
      await good(key, '192.0.2.1');
      await dead(key, '192.0.2.2');
      ok(await patch(key, { allow_from: ['192.0.2.2'] }));
      await dead(key, '192.0.2.1');
      assert.deepEqual((await shown(key))['allow_from'], ['192.0.2.2']);
      assert.equal(ok(await patch(key, { allow_from: null }))['allow_from'], null);
      await good(key, '198.51.100.1');
    });

    test('does not prove a candidate from elsewhere, and a renewed key has the same list', async () => {
      const { id } = await newRunner(world);
      const key = await newKey(world, id, { allow_from: ['192.0.2.0/24'] });
      const headers = { 'x-forwarded-for': '192.0.2.9' };
      const next = String(ok(await runnerCall(world, key, '/renew', '', headers))['api_key']);
      await dead(next, '198.51.100.1');
      assert.equal((await shown(next))['state'], 'candidate');
      await good(next, '192.0.2.9');
    });

    test('what is no block is refused with its place', async () => {
      const { id, key } = await newRunner(world);
      const faulty = { allow_from: ['192.0.2.0/24', 'example.org'] };
      const call = {
        method: 'POST',
        path: '/api/v1/keys',
        key: world.own.admin,
        body: { runner_id: id, ...faulty },
      };
      for (const answer of [await patch(key, faulty), await send(world.url, call)]) {
        const problem = problemOf(answer, 'invalid_body');
        assert.equal(problem['pointer'], '/allow_from/1');
        placeOf(problem);
      }
      problemOf(await patch(key, {}), 'invalid_body');
      problemOf(await patch(key, { allow_from: [] }), 'invalid_body');
    });
  });

  test(`the list of keys on ${backend} says when and from where each was used last`, async () => {
    const { key } = await newRunner(world);
    assert.equal((await shown(key))['last_used_at'], null);
    await good(key, '192.0.2.77');
    await world.server.round();
    const facts = await shown(key);
    assert.equal(facts['last_used_from'], '192.0.2.77');
    const age = world.server.clock.nowMs() - Date.parse(String(facts['last_used_at']));
    assert.ok(age >= 0 && age < MINUTE_MS);
    assert.ok(Date.parse(String(facts['created_at'])) > 0);
  });
}

test('without trusted proxies the allow-list looks at the peer, whatever a header says', async () => {
  const world = await startWorld();
  try {
    const elsewhere = await newKey(world, world.own.runner.id, { allow_from: ['192.0.2.0/24'] });
    const here = await newKey(world, world.own.runner.id, { allow_from: ['127.0.0.0/8', '::1'] });
    const headers = { 'x-forwarded-for': '192.0.2.9' };
    problemOf(await runnerCall(world, elsewhere, '/heartbeat', '', headers), 'unauthorized');
    ok(await runnerCall(world, here, '/heartbeat', '', headers));
  } finally {
    await world.stop();
  }
});

// The unauthorised matrix (architecture §6, contract §2): every endpoint of the table against every
// kind of caller that must not get in. All refusals of credentials are one 401; things of others
// are 404; too small a role is 403.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Endpoint, endpointList, limits, ROLES } from '@muster/contract';
import { callOf, makeThings, rowOf, TABLE, type Things, withAuth } from './endpoint-table.ts';
import { type Answer, fieldsOf, ok, problemOf, send } from './wire.ts';
import {
  forgiveFailures,
  keyText,
  newKey,
  newRunner,
  operate,
  otherSecret,
  revokeKey,
  runnerCall,
  startWorld,
  type World,
} from './world.ts';

type Kind = 'runner' | 'operator' | 'enrolment';
const PREFIX: Record<Kind, string> = {
  runner: 'mst_rnr_',
  operator: 'mst_op_',
  enrolment: 'mst_enr_',
};

/** Name of the case → headers and query that must not open anything. */
type Refused = Record<string, { headers?: Record<string, string>; query?: string }>;

const bearer = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });
const flipLast = (key: string): string => key.slice(0, -1) + (key.endsWith('0') ? '1' : '0');

function badly(kind: Kind, good: string): Refused {
  return {
    'no key': {},
    'an empty bearer': { headers: { authorization: 'Bearer ' } },
    'another scheme': { headers: { authorization: `Basic ${good}` } },
    'a malformed key': bearer('nonsense'),
    'a key of another product': bearer(`rda_${'0'.repeat(64)}`),
    'a truncated key': bearer(good.slice(0, -1)),
    'a wrong checksum': bearer(flipLast(good)),
    'an unknown key id': bearer(keyText(PREFIX[kind], 'A'.repeat(12), 'B'.repeat(32))),
    'the right id with a wrong secret': bearer(otherSecret(good)),
    'a malformed X-API-Key': { headers: { 'x-api-key': 'nonsense' } },
    'the key in the query only': { query: `api_key=${good}&key=${good}&access_token=${good}` },
    'the key in a cookie only': { headers: { cookie: `api_key=${good}; Authorization=${good}` } },
  };
}

/** Keys that were good once, and good keys of other kinds. */
async function wornOut(world: World): Promise<Record<Kind, Refused>> {
  const { own } = world;
  const expired = await newKey(world, own.runner.id, { expires_in: 60 });
  const revoked = await newKey(world, own.runner.id);
  const retired = await newKey(world, own.runner.id);
  const renewed = String(ok(await runnerCall(world, retired, '/renew'))['api_key']);
  ok(await runnerCall(world, renewed, '/heartbeat'));
  const gone = await newRunner(world, 'gone');
  await operate(world, own.admin, `/api/v1/runners/${gone.id}/revoke`, undefined, 200);
  await revokeKey(world, revoked);
  const token = async (body: Record<string, unknown>): Promise<string> =>
    String((await operate(world, own.admin, '/api/v1/enrolment-tokens', body, 201))['api_key']);
  const expiredToken = await token({ expires_in: 60 });
  const revokedToken = await token({});
  const usedToken = await token({ uses: 1 });
  await revokeKey(world, revokedToken);
  ok(await runnerCall(world, usedToken, '/enroll', { name: 'only one' }), 201);
  world.server.clock.advance(limits.keyGraceMs + 60_000);
  const another = {
    'a runner key': bearer(own.runner.key),
    'an operator token': bearer(own.admin),
    'an enrolment token': bearer(own.enrolment),
  };
  const { 'a runner key': _r, ...notRunner } = another;
  const { 'an operator token': _o, ...notOperator } = another;
  const { 'an enrolment token': _e, ...notEnrolment } = another;
  return {
    runner: {
      ...badly('runner', own.runner.key),
      ...notRunner,
      'an expired key': bearer(expired),
      'a retired key': bearer(retired),
      'a revoked key': bearer(revoked),
      'a key of a revoked runner': bearer(gone.key),
    },
    operator: { ...badly('operator', own.admin), ...notOperator },
    enrolment: {
      ...badly('enrolment', own.enrolment),
      ...notEnrolment,
      'an expired token': bearer(expiredToken),
      'a revoked token': bearer(revokedToken),
      'a used-up token': bearer(usedToken),
    },
  };
}

/** The part that must be the same in all 401s: everything but the time, the place and the id. */
function essence(answer: Answer): string {
  const { request_id: id, instance: path, ...body } = fieldsOf(answer);
  const text = answer.text.replace(String(id), 'ID').replace(`"${String(path)}"`, 'PATH');
  const { date: _d, 'x-request-id': _i, 'content-length': _l, ...sent } = answer.headers;
  const { 'keep-alive': _k, ...headers } = sent;
  // The end of the connection says only whether the body was read, and the order of headers says
  // nothing.
  const lines = Object.entries({ ...headers, connection: '' }).map((line) => line.join(': '));
  lines.sort();
  return JSON.stringify([text, body, lines, answer.status]);
}

describe('the unauthorised matrix', { concurrency: false }, () => {
  let world: World;
  let things: Things;
  let refused: Record<Kind, Refused>;
  const exercised = new Set<string>();
  const essences = new Map<string, string>();
  before(async () => {
    world = await startWorld();
    things = await makeThings(world);
    refused = await wornOut(world);
  });
  after(async () => await world.stop());

  const refuses = async (endpoint: Endpoint, kind: Kind): Promise<void> => {
    forgiveFailures(world);
    const call = callOf(endpoint, things);
    for (const [name, { headers = {}, query }] of Object.entries(refused[kind])) {
      const path = query === undefined ? call.path : `${call.path}?${query}`;
      const answer = await send(world.url, { ...call, path, headers });
      assert.equal(answer.status, 401, `${endpoint.id} with ${name}: ${answer.text}`);
      problemOf(answer, 'unauthorized');
      essences.set(essence(answer), `${endpoint.id} with ${name}`);
    }
    exercised.add(endpoint.id);
  };

  for (const kind of ['runner', 'operator', 'enrolment'] as const) {
    for (const endpoint of withAuth(kind)) {
      test(`${endpoint.id} refuses every caller without a good ${kind} key`, async () => {
        await refuses(endpoint, kind);
      });
    }
  }

  for (const endpoint of withAuth('none')) {
    test(`${endpoint.id} answers without a key and does not care for a bad one`, async () => {
      const call = callOf(endpoint, things);
      for (const key of [undefined, 'nonsense', world.own.runner.key]) {
        const { status } = await send(world.url, { ...call, key });
        assert.ok(Object.hasOwn(endpoint.replies, status), `${endpoint.id}: ${status}`);
      }
      exercised.add(endpoint.id);
    });
  }

  test('credentials are judged before the body is: a broken body with a bad key is 401', async () => {
    forgiveFailures(world);
    for (const endpoint of endpointList) {
      if (endpoint.auth.kind === 'none' || endpoint.method === 'GET') continue;
      const call = { ...callOf(endpoint, things), body: '{', key: 'nonsense' };
      problemOf(await send(world.url, call), 'unauthorized');
    }
  });

  test('every 401 is the same, apart from request_id and instance', () => {
    assert.deepEqual([...essences.values()].slice(1), [], 'answers that differ from the first');
  });

  test('every endpoint of the contract has its row, and every row its endpoint', () => {
    const ids = endpointList.map(({ id }) => id).sort();
    assert.deepEqual(Object.keys(TABLE).sort(), ids);
    assert.deepEqual([...exercised].sort(), ids);
  });
});

const keyFor = (endpoint: Endpoint, tenant: World['own']): string =>
  endpoint.auth.kind === 'runner'
    ? tenant.runner.key
    : endpoint.auth.kind === 'enrolment'
      ? tenant.enrolment
      : tenant.admin;

describe('good keys that belong elsewhere', { concurrency: false }, () => {
  let world: World;
  let things: Things;
  before(async () => {
    world = await startWorld();
    things = await makeThings(world);
  });
  after(async () => await world.stop());

  for (const endpoint of endpointList.filter(({ auth }) => auth.kind !== 'none')) {
    const row = rowOf(endpoint);
    if (row.stranger === 'hidden') {
      test(`${endpoint.id} tells another tenant that there is nothing`, async () => {
        const key = keyFor(endpoint, world.other);
        problemOf(await send(world.url, { ...callOf(endpoint, things), key }), 'not_found');
      });
    } else {
      test(`${endpoint.id} shows another tenant nothing of this one`, async () => {
        const key = keyFor(endpoint, world.other);
        const answer = await send(world.url, { ...callOf(endpoint, things), key });
        assert.ok(answer.status < 300, answer.text);
        for (const id of [...Object.values(things), world.own.id, world.own.runner.id])
          assert.ok(!answer.text.includes(id), `${id} in ${answer.text}`);
        if (endpoint.id === 'checkFingerprints') {
          assert.deepEqual(fieldsOf(answer)['existing'], []);
        }
      });
    }
    if (row.neighbour === 'hidden') {
      test(`${endpoint.id} tells another runner of the tenant that there is nothing`, async () => {
        const { key } = await newRunner(world, 'neighbour');
        problemOf(await send(world.url, { ...callOf(endpoint, things), key }), 'not_found');
      });
    }
  }
});

describe('roles', { concurrency: false }, () => {
  let world: World;
  let things: Things;
  before(async () => {
    world = await startWorld();
    things = await makeThings(world);
  });
  after(async () => await world.stop());

  for (const endpoint of withAuth('operator')) {
    const needed = endpoint.auth.kind === 'operator' ? ROLES.indexOf(endpoint.auth.role) : 0;
    for (const role of ROLES.slice(0, needed)) {
      test(`${endpoint.id} is forbidden for a ${role}`, async () => {
        const call = { ...callOf(endpoint, things), key: world.own[role] };
        problemOf(await send(world.url, call), 'forbidden');
      });
    }
    for (const role of ROLES.slice(needed)) {
      test(`${endpoint.id} lets a ${role} in`, async () => {
        const call = { ...callOf(endpoint, things), key: world.own[role] };
        const { status, text } = await send(world.url, call);
        assert.ok(status !== 401 && status !== 403 && status < 500, `${status} ${text}`);
      });
    }
  }
});

describe('the limit on refused credentials', () => {
  let world: World;
  before(async () => {
    world = await startWorld();
  });
  after(async () => await world.stop());

  test('refused credentials are limited per peer address; good keys are not', async () => {
    const attempt = async (): Promise<Answer> => await runnerCall(world, 'nonsense', '/heartbeat');
    let answer = await attempt();
    for (let n = 0; answer.status === 401 && n < 10 * limits.authFailureBurst; n += 1)
      answer = await attempt();
    problemOf(answer, 'rate_limited');
    ok(await runnerCall(world, world.own.runner.key, '/heartbeat'));
    ok(await send(world.url, { path: '/api/v1/me', key: world.own.viewer }));
    const forwarded = await runnerCall(world, 'nonsense', '/heartbeat', '', {
      'x-forwarded-for': '203.0.113.7',
    });
    problemOf(forwarded, 'rate_limited');
    world.server.clock.advance(-3_600_000);
    world.server.clock.age(Number(answer.headers['retry-after']) * 1000);
    problemOf(await attempt(), 'unauthorized');
  });

  test('an enrolment token that is used up is refused as often as a wrong one', async () => {
    forgiveFailures(world);
    const token = await operate(world, world.own.admin, '/api/v1/enrolment-tokens', {}, 201);
    const enrol = async (): Promise<Answer> =>
      await runnerCall(world, String(token['api_key']), '/enroll', {});
    ok(await enrol(), 201);
    for (let n = 0; n < limits.authFailureBurst; n += 1) problemOf(await enrol(), 'unauthorized');
    problemOf(await enrol(), 'rate_limited');
  });
});

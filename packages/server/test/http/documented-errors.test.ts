// Every error that the endpoint table documents is provoked: a code without a case fails, and so
// does a case that the table doesn't know. Errors that can't be provoked beside other calls have a
// server of their own: a database that goes away, a disk that is nearly full.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Endpoint, endpointList, type ErrorCode, errors } from '@muster/contract';
import { present } from '../../src/lib/assert.ts';
import { testDatabaseUrl } from '../../../../tools/postgres.ts';
import { type CutOff, cutOff } from './cut-off.ts';
import { callOf, makeThings, type Things } from './endpoint-table.ts';
import { POISON_PROBE } from './poison.probe.ts';
import { goodKey, provocationOf } from './provocations.ts';
import { exchange, placeOf, problemOf, send } from './wire.ts';
import { forgiveFailures, startWorld, type World } from './world.ts';

/** Codes whose answers have a place (contract §2: `pointer` or `errors` where there is one). */
const PLACED: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'invalid_json',
  'invalid_body',
  'invalid_parameter',
]);

/** Codes for which the whole server must be in trouble: they are provoked further down. */
const TROUBLE: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'unavailable',
  'storage_full',
  'processing_failed',
]);

const documenting = (code: ErrorCode): Endpoint[] =>
  endpointList.filter(({ errors: codes }) => (codes as readonly ErrorCode[]).includes(code));

const isForbiddenNonsense = (endpoint: Endpoint, code: ErrorCode): boolean =>
  code === 'forbidden' && endpoint.auth.kind === 'operator' && endpoint.auth.role === 'viewer';

// Each has a server of its own, and the first waits long for slow bodies: side by side.
describe('every documented error', { concurrency: true }, () => {
  describe('in quiet times', { concurrency: true }, () => {
    let world: World;
    let things: Things;
    before(async () => {
      const env = { MUSTER_TRUSTED_PROXIES: '127.0.0.1' };
      world = await startWorld('sqlite', env);
      things = await makeThings(world);
    });
    after(async () => await world.stop());

    for (const endpoint of endpointList) {
      for (const code of endpoint.errors) {
        if (TROUBLE.has(code) || isForbiddenNonsense(endpoint, code)) continue;
        test(`${endpoint.id} answers ${code} as the registry says`, async () => {
          const provoke = provocationOf(endpoint, code);
          assert.ok(provoke !== null, `no case provokes ${code} at ${endpoint.id}`);
          const answer = await provoke({ world, things, endpoint });
          const problem = problemOf(answer, code);
          if (PLACED.has(code)) placeOf(problem);
          if (code === 'invalid_transition') assert.equal(typeof problem['state'], 'string');
          if (code === 'report_refused') assert.equal(typeof problem['receipt'], 'object');
          const path = endpoint.path.replace(/\{\w+\}/, '');
          assert.ok(String(problem['instance']).startsWith(path.split('//')[0] ?? path));
          assert.ok(!String(problem['instance']).includes('?'), 'no query in instance');
        });
      }
    }
  });

  describe('a database that is away', { concurrency: false }, () => {
    let world: World;
    let things: Things;
    let way: CutOff;
    before(async () => {
      way = await cutOff(await testDatabaseUrl());
      world = await startWorld('postgres', { MUSTER_DATABASE_URL: way.url });
      things = await makeThings(world);
    });
    after(async () => {
      way.mend();
      await world.stop();
      await way.close();
    });

    for (const endpoint of documenting('unavailable')) {
      test(`${endpoint.id} answers unavailable with Retry-After, and again as before afterwards`, async () => {
        const key = goodKey({ world, things, endpoint });
        const call = { key, ...callOf(endpoint, things) };
        assert.ok((await send(world.url, call)).status < 300);
        way.cut();
        // Signs of life can't be written either: from then on a heartbeat would be a false 200.
        await assert.rejects(world.server.round());
        problemOf(await send(world.url, call), 'unavailable');
        assert.equal((await send(world.url, { path: '/healthz' })).status, 200);
        way.mend();
        await world.server.round();
        const { status, text } = await send(world.url, call);
        assert.ok(status < 300, text);
      });
    }
  });

  describe('a disk that is nearly full', { concurrency: false }, () => {
    let world: World;
    let things: Things;
    let free = Number.MAX_SAFE_INTEGER;
    before(async () => {
      const ports = { freeBytes: async () => free, reusableBytes: async () => 0 };
      world = await startWorld('sqlite', {}, ports);
      things = await makeThings(world);
      free = 0;
      await world.server.round();
    });
    after(async () => await world.stop());

    for (const endpoint of documenting('storage_full')) {
      test(`${endpoint.id} answers storage_full with Retry-After`, async () => {
        const key = goodKey({ world, things, endpoint });
        const answer = await send(world.url, { key, ...callOf(endpoint, things) });
        problemOf(answer, 'storage_full');
      });
    }
  });

  describe('a document that crashes its worker', { concurrency: true }, () => {
    let world: World;
    let things: Things;
    before(async () => {
      world = await startWorld('sqlite', {}, { ingestProbe: POISON_PROBE });
      things = await makeThings(world);
    });
    after(async () => await world.stop());

    for (const endpoint of documenting('processing_failed')) {
      test(`${endpoint.id} answers processing_failed, and with which upload`, async () => {
        const provoke = present(provocationOf(endpoint, 'processing_failed'), 'a case');
        const problem = problemOf(await provoke({ world, things, endpoint }), 'processing_failed');
        assert.match(String(problem['detail']), /3 times .* crashed/);
        assert.equal(typeof problem['upload_id'], 'string');
      });
    }
  });

  describe('the table itself', () => {
    test('an endpoint that any operator may call documents no forbidden', () => {
      const wrong = endpointList.filter((endpoint) =>
        endpoint.errors.some((code) => isForbiddenNonsense(endpoint, code)),
      );
      assert.deepEqual(
        wrong.map(({ id }) => id),
        [],
      );
    });

    test('an endpoint with a body documents what a body can be refused for', () => {
      for (const { id, bodyKind, errors: documented } of endpointList) {
        if (bodyKind === 'none') continue;
        for (const code of ['body_too_large', 'unsupported_encoding', 'invalid_encoding'] as const)
          assert.ok(documented.includes(code), `${id} does not document ${code}`);
        assert.ok(documented.includes('invalid_json'), `${id} does not document invalid_json`);
      }
    });

    test('an endpoint with a key documents that refused credentials are limited', () => {
      const silent = endpointList.filter(
        ({ auth, errors: documented }) =>
          auth.kind !== 'none' && !(documented as readonly ErrorCode[]).includes('rate_limited'),
      );
      assert.deepEqual(
        silent.map(({ id }) => id),
        [],
      );
    });

    test('every code of the registry belongs to an endpoint, or to none in particular', () => {
      const general: ErrorCode[] = ['method_not_allowed', 'internal', 'not_found'];
      const documented = new Set(endpointList.flatMap((endpoint) => [...endpoint.errors]));
      const orphans = (Object.keys(errors) as ErrorCode[]).filter(
        (code) => !documented.has(code) && !general.includes(code),
      );
      assert.deepEqual(orphans, []);
    });
  });

  describe('errors that belong to no endpoint', () => {
    let world: World;
    before(async () => {
      world = await startWorld();
    });
    after(async () => await world.stop());

    test('a path that does not exist is not_found', async () => {
      for (const path of ['/nothing', '/api/v1/agent/nothing', '/api/v1', '/api/v3/x'])
        problemOf(await send(world.url, { path, key: world.own.admin }), 'not_found');
    });

    test('another method is method_not_allowed, and Allow names those that are taken', async () => {
      const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
      for (const { path } of endpointList) {
        const taken = endpointList
          .filter((endpoint) => endpoint.path === path)
          .map(({ method }) => method as string);
        const concrete = path.replace(/\{\w+\}/, '01a1fc23-b6cf-7067-93f1-625de03b92e4');
        if (path.startsWith('/api/v2/')) continue;
        for (const method of methods.filter((candidate) => !taken.includes(candidate))) {
          const answer = await send(world.url, { method, path: concrete, key: world.own.admin });
          problemOf(answer, 'method_not_allowed');
          const allowed = String(answer.headers['allow']).split(', ');
          for (const one of taken) assert.ok(allowed.includes(one), `${path}: ${allowed.join()}`);
        }
      }
    });

    test('problem types point at a page that the server has', async () => {
      const problem = problemOf(await send(world.url, { path: '/nothing' }), 'not_found');
      const [page, anchor] = String(problem['type']).split('#');
      const answer = await send(world.url, { path: String(page) });
      assert.equal(answer.status, 200);
      assert.ok(answer.text.includes(`id="${anchor}"`), `${anchor} is not on the page`);
    });

    test('a request that is no HTTP gets a problem document with all its members', async () => {
      const heard = await exchange(world.url, (socket) => void socket.write('NONSENSE\r\n\r\n'));
      const [head = '', text = ''] = heard.split('\r\n\r\n');
      assert.match(head, /^HTTP\/1\.1 400 /);
      assert.match(head, /content-type: application\/problem\+json/i);
      const problem = JSON.parse(text) as Record<string, unknown>;
      for (const name of ['type', 'title', 'status', 'detail', 'code', 'error', 'message'])
        assert.ok(problem[name] !== undefined, `${name} is missing in ${text}`);
    });

    test('refused credentials beyond the limit are rate_limited with Retry-After', async () => {
      forgiveFailures(world);
      let answer = await send(world.url, { path: '/api/v1/me', key: 'x' });
      while (answer.status === 401)
        answer = await send(world.url, { path: '/api/v1/me', key: 'x' });
      problemOf(answer, 'rate_limited');
    });
  });

  describe('a server that stops', () => {
    test('readyz answers unavailable with Retry-After, as a problem document', async () => {
      const world = await startWorld();
      const head = 'GET /readyz HTTP/1.1\r\nHost: test\r\n';
      let stopped: Promise<void> = Promise.resolve();
      const heard = await exchange(world.url, async (socket) => {
        socket.write(head);
        // A whole exchange on another connection: the server has then seen the bytes written before
        // it.
        await send(world.url, { path: '/healthz' });
        await send(world.url, { path: '/healthz' });
        stopped = world.stop();
        socket.write('Connection: close\r\n\r\n');
      });
      await stopped;
      assert.match(heard, /^HTTP\/1\.1 503 /, heard);
      assert.match(heard, /content-type: application\/problem\+json/i);
      assert.match(heard, /retry-after: [1-9]/i);
      assert.match(heard, /"code":"unavailable"/);
    });
  });
});

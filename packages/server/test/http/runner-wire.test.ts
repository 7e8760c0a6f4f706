// The checklist of RP §14 and §1.1, one rule for each test: the details on which already deployed
// clients depend, byte by byte. Bodies in their encodings are in bodies.test.ts.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { endpointList } from '@muster/contract';
import { makeThings, type Things } from './endpoint-table.ts';
import { ctis, ctisFinding } from './reports.ts';
import {
  type Answer,
  exchange,
  type Fields,
  fieldsOf,
  listOf,
  ok,
  problemOf,
  send,
} from './wire.ts';
import {
  forgiveFailures,
  move,
  newCommand,
  newRunner,
  poll,
  runnerCall,
  startWorld,
  type World,
} from './world.ts';

const AGENT = '/api/v1/agent';
const EMPTY = { 'content-type': 'application/json', 'content-length': '0' };

let world: World;
let things: Things;
let key: string;
before(async () => {
  world = await startWorld();
  things = await makeThings(world);
  key = world.own.runner.key;
});
after(async () => await world.stop());

/** A POST without a body and without a Content-Type, as renew is sent. */
const bare = async (path: string, headers: Record<string, string>): Promise<Answer> =>
  await send(world.url, { method: 'POST', path, headers: { 'content-length': '0', ...headers } });

describe('answers that clients decode', () => {
  test('a poll is a bare array, `[]` when there is nothing', async () => {
    const { key: fresh } = await newRunner(world);
    const empty = await poll(world, fresh);
    assert.equal(empty.status, 200);
    assert.equal(empty.text, '[]');
    await newCommand(world, { type: 'health_check' });
    assert.equal(listOf(await poll(world, fresh)).length, 1);
  });

  test('renew is exactly 200, without body and without Content-Type', async () => {
    const answer = await bare(`${AGENT}/renew`, { authorization: `Bearer ${key}` });
    const reply = ok(answer, 200);
    assert.match(String(reply['api_key']), /^mst_rnr_[0-9A-Za-z]{50}$/);
    assert.ok(String(reply['api_key']).startsWith(String(reply['api_prefix'])));
    assert.equal(answer.headers['cache-control'], 'no-store');
    assert.ok(!Number.isNaN(Date.parse(String(reply['expires_at']))));
  });

  test('enroll is 201 and answers a key that works at once', async () => {
    const call = { method: 'POST', path: `${AGENT}/enroll`, key: world.own.enrolment };
    const answer = await send(world.url, { ...call, body: { name: 'x' } });
    const reply = ok(answer, 201);
    assert.equal(answer.headers['cache-control'], 'no-store');
    const beat = ok(await runnerCall(world, String(reply['api_key']), '/heartbeat', {}));
    assert.equal(beat['agent_id'], reply['agent_id']);
    assert.equal(beat['tenant_id'], world.own.id);
  });

  test('a heartbeat without the feature header answers its three members only', async () => {
    const { id, key: fresh } = await newRunner(world);
    const reply = ok(await runnerCall(world, fresh, '/heartbeat', { name: 'agent-x' }));
    const base = { agent_id: id, tenant_id: world.own.id, status: 'ok' };
    const { pending_jobs: _p, next_heartbeat_seconds: _n, ...rest } = reply;
    assert.deepEqual(rest, base);
  });

  test('acknowledge, start and complete answer 200 to empty POSTs with a JSON type', async () => {
    const id = await newCommand(world, { runner_id: world.own.runner.id });
    for (const verb of ['acknowledge', 'start', 'complete']) {
      const path = `${AGENT}/commands/${id}/${verb}`;
      ok(await bare(path, { ...EMPTY, authorization: `Bearer ${key}` }));
    }
  });

  test('an empty heartbeat with a JSON type and Content-Length 0 is a sign of life', async () => {
    ok(await bare(`${AGENT}/heartbeat`, { ...EMPTY, authorization: `Bearer ${key}` }));
  });
});

describe('commands on the wire', () => {
  const times = ['expires_at', 'acknowledged_at', 'started_at', 'completed_at', 'scheduled_at'];

  function checkTimes(command: Fields): void {
    for (const [name, value] of Object.entries(command)) {
      assert.notEqual(value, null, `${name} is null`);
      if (!name.endsWith('_at')) continue;
      assert.match(String(value), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/, name);
    }
  }

  test('times are RFC 3339 in UTC or absent, never null and never empty', async () => {
    const { key: fresh } = await newRunner(world);
    const id = await newCommand(world, { priority: 'critical' });
    const [offered = {}] = listOf(await poll(world, fresh, '?limit=1'));
    assert.equal(offered['id'], id);
    checkTimes(offered);
    for (const name of times) assert.equal(offered[name], undefined, name);
    assert.equal(offered['agent_id'], undefined, 'nobody has it yet');
    const steps = [
      ['acknowledge', 'acknowledged'],
      ['start', 'running'],
      ['complete', 'completed'],
    ] as const;
    for (const [verb, status] of steps) {
      const command = ok(await move(world, fresh, id, verb, { result: { exit_code: 0 } }));
      checkTimes(command);
      assert.equal(command['status'], status);
    }
  });

  test('`limit` is clamped, never refused', async () => {
    const { id: runner, key: fresh } = await newRunner(world);
    for (let n = 0; n < 12; n += 1)
      await newCommand(world, { runner_id: runner, priority: 'high' });
    const lengthOf = async (query: string): Promise<number> =>
      listOf(await poll(world, fresh, query)).length;
    assert.equal(await lengthOf(''), 10);
    assert.equal(await lengthOf('?limit=1'), 1);
    assert.equal(await lengthOf('?limit=0'), 10);
    assert.equal(await lengthOf('?limit=-5'), 10);
    assert.equal(await lengthOf('?limit=many'), 10);
    assert.ok((await lengthOf('?limit=1000')) >= 12);
    assert.ok((await lengthOf('?limit=100&unknown=1')) >= 12);
  });

  test('a payload comes back as it was given, and an id that is no UUID is 404', async () => {
    const { id: runner, key: fresh } = await newRunner(world);
    const payload = {
      scanner: 'semgrep',
      target: '/src',
      nested: { ['__proto__']: [1, 'ä', null] },
    };
    await newCommand(world, { runner_id: runner, payload, priority: 'critical' });
    const [offered = {}] = listOf(await poll(world, fresh, '?limit=1'));
    assert.equal(JSON.stringify(offered['payload']), JSON.stringify(payload));
    problemOf(await move(world, fresh, 'not-a-uuid', 'acknowledge'), 'not_found');
  });
});

describe('reports as deployed agents send them', () => {
  test('a flat report without metadata.id is taken, and a scan_id is made', async () => {
    const report = ctis([ctisFinding({ rule: 'flat' })]);
    const receipt = ok(await runnerCall(world, key, '/ingest', report), 201);
    assert.match(String(receipt['scan_id']), /.+/);
    assert.equal(receipt['findings_created'], 1);
    for (const name of ['assets_created', 'assets_updated', 'findings_updated', 'findings_skipped'])
      assert.equal(typeof receipt[name], 'number', name);
    assert.equal(receipt['errors'], undefined, 'a clean report has no errors');
  });

  test('metadata.id comes back as scan_id', async () => {
    const report = ctis([]);
    const metadata = { ...(report['metadata'] as Fields), id: 'run-77' };
    const receipt = ok(await runnerCall(world, key, '/ingest', { ...report, metadata }), 201);
    assert.equal(receipt['scan_id'], 'run-77');
  });

  test('a report wrapped in {"report": …} is the same report', async () => {
    const report = ctis([ctisFinding({ rule: 'wrapped' })]);
    const receipt = ok(await runnerCall(world, key, '/ingest', { report }), 201);
    assert.equal(receipt['findings_created'], 1);
    const again = ok(await runnerCall(world, key, '/ingest/ctis', report), 201);
    assert.equal(again['findings_created'], 0);
  });

  test('unknown members at every level are warnings, never a refusal', async () => {
    const extra = { brand_new: { a: 1 } };
    const report = ctis([ctisFinding({ rule: 'extra', more: extra })], { more: extra });
    const metadata = { ...(report['metadata'] as Fields), ...extra };
    const body = { ...report, metadata, tool: { name: 'testtool', ...extra } };
    const receipt = ok(await runnerCall(world, key, '/ingest', body), 201);
    assert.equal((receipt['findings'] as Fields)['created'], 1);
    const pointers = (receipt['warnings'] as Fields[]).map(({ pointer }) => pointer);
    for (const place of ['', '/metadata', '/tool', '/findings/0'])
      assert.ok(pointers.includes(`${place}/brand_new`), `${place}: ${pointers.join(' ')}`);
  });

  test('of a member name that comes twice the last wins', async () => {
    const findings = JSON.stringify([ctisFinding({ rule: 'twice' })]);
    const text = `{"version":"1.0","metadata":{},"findings":[{},{}],"findings":${findings}}`;
    const receipt = ok(await runnerCall(world, key, '/ingest', text), 201);
    assert.equal((receipt['findings'] as Fields)['received'], 1);
  });

  test("curl's form content type with a JSON body is read as JSON", async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const report = ctis([ctisFinding({ rule: 'curl' })]);
    ok(await runnerCall(world, key, '/ingest', report, headers), 201);
    ok(await runnerCall(world, key, '/heartbeat', { version: 'curl' }, headers));
    const multipart = { 'content-type': 'multipart/form-data; boundary=x' };
    ok(await runnerCall(world, key, '/heartbeat', { version: 'curl' }, multipart));
    ok(await runnerCall(world, key, '/heartbeat', { version: 'curl' }, { 'content-type': '???' }));
  });

  test('`Prefer: respond-async` is 202 with Location, and the job has the receipt', async () => {
    const report = ctis([ctisFinding({ rule: 'async' })]);
    const answer = await runnerCall(world, key, '/ingest', report, { prefer: 'respond-async' });
    const accepted = ok(answer, 202);
    assert.equal(answer.headers['preference-applied'], 'respond-async');
    const place = `${AGENT}/ingest/jobs/${String(accepted['job_id'])}`;
    assert.equal(answer.headers['location'], place);
    const job = ok(await send(world.url, { path: `${place}?wait=60`, key }));
    assert.equal(job['status'], 'completed');
    assert.equal((job['result'] as Fields)['findings_created'], 1);
  });
});

describe('credentials and headers', () => {
  test('both header forms open the door; a usable Bearer wins over X-API-Key', async () => {
    const path = `${AGENT}/heartbeat`;
    const call = { method: 'POST', path, body: '' };
    ok(await send(world.url, { ...call, headers: { authorization: `Bearer ${key}` } }));
    ok(await send(world.url, { ...call, headers: { 'x-api-key': key } }));
    const basic = { authorization: 'Basic eDp5', 'x-api-key': key };
    ok(await send(world.url, { ...call, headers: basic }));
    const wrong = { authorization: 'Bearer nonsense', 'x-api-key': key };
    problemOf(await send(world.url, { ...call, headers: wrong }), 'unauthorized');
  });

  test('X-Agent-ID is not trusted: the key alone says who is calling', async () => {
    const other = await newRunner(world);
    const headers = { 'x-agent-id': other.id };
    const reply = ok(await runnerCall(world, key, '/heartbeat', {}, headers));
    assert.equal(reply['agent_id'], world.own.runner.id);
    ok(await runnerCall(world, key, '/heartbeat', {}, { 'x-agent-id': 'garbage' }));
  });

  test('X-Request-ID is on every answer, and a well-formed one comes back', async () => {
    const headers = { 'x-request-id': 'abc-123' };
    for (const path of ['/healthz', `${AGENT}/commands`, '/nothing', '/api/v2/sensor/hello']) {
      const given = await send(world.url, { path, key, headers });
      assert.equal(given.headers['x-request-id'], 'abc-123', path);
      const made = await send(world.url, { path, key });
      assert.match(String(made.headers['x-request-id']), /^[A-Za-z0-9._-]{8,}$/, path);
    }
    const hostile = await send(world.url, {
      path: '/healthz',
      headers: { 'x-request-id': 'a b"<' },
    });
    assert.notEqual(hostile.headers['x-request-id'], 'a b"<');
  });

  test('the probe for v2 is a 404 of plain application/json, with and without a key', async () => {
    for (const path of ['/api/v2/sensor/hello', '/api/v2/', '/api/v2/sensor/keys']) {
      for (const given of [undefined, key, 'nonsense']) {
        for (const method of ['GET', 'POST']) {
          const answer = await send(world.url, { method, path, key: given });
          assert.equal(answer.status, 404, `${method} ${path}`);
          assert.match(String(answer.headers['content-type']), /^application\/json\b/, path);
          fieldsOf(answer);
        }
      }
    }
  });

  test('nothing redirects: a trailing slash is handled, odd paths are 404', async () => {
    ok(await send(world.url, { method: 'POST', path: `${AGENT}/heartbeat/`, key, body: '' }));
    assert.equal((await poll(world, key, '/')).status, 200);
    ok(await send(world.url, { path: `/api/v1/runners/${things.runner}/`, key: world.own.viewer }));
    const odd = ['//api/v1/agent/commands', '/api/v1/agent/commands//', '/api//v1/agent/commands'];
    const paths = [...odd, ...endpointList.map(({ path }) => path), '/api', '/api/v1/agent', '/'];
    for (const path of paths) {
      for (const slash of ['', '/']) {
        const { status, headers } = await send(world.url, { path: path + slash, key });
        assert.ok(status < 300 || status >= 400, `${path}${slash} answers ${status}`);
        assert.equal(headers['location'], undefined);
      }
    }
  });
});

describe('methods nobody asked for', () => {
  test('HEAD is GET without a body where there is a GET, and else 405 or 404', async () => {
    forgiveFailures(world);
    const head = await send(world.url, { method: 'HEAD', path: '/healthz' });
    assert.equal(head.text, '');
    assert.ok([200, 405].includes(head.status), String(head.status));
    const list = await send(world.url, { method: 'HEAD', path: '/api/v1/runners' });
    assert.equal(list.text, '');
    assert.ok([401, 405].includes(list.status), String(list.status));
    const post = await send(world.url, { method: 'HEAD', path: `${AGENT}/heartbeat`, key });
    assert.equal(post.status, 405);
  });

  test('OPTIONS is no way around the key, and opens no other origin', async () => {
    for (const path of ['/api/v1/runners', `${AGENT}/heartbeat`]) {
      const headers = { origin: 'https://evil.example', 'access-control-request-method': 'POST' };
      const answer = await send(world.url, { method: 'OPTIONS', path, headers });
      assert.ok([204, 401, 404, 405].includes(answer.status), String(answer.status));
      assert.equal(answer.headers['access-control-allow-origin'], undefined);
    }
  });

  test('`Expect: 100-continue` is answered before the body', async () => {
    const heard = await exchange(world.url, (socket) => {
      socket.write(
        `POST ${AGENT}/heartbeat HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer ${key}\r\n` +
          'Expect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\n',
      );
      socket.once('data', () => socket.write('{}'));
    });
    assert.match(heard, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /);
  });
});

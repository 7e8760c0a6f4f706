// The commands against a server: what they ask, what they print for people and for machines, and
// what errors become.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EXIT } from '../src/exit-codes.ts';
import { ID, KEY, OTHER_ID, problem, run, serve, TOKEN } from './harness.ts';

const TIME = '2026-11-20T08:14:02.000Z';

const finding = (id: string, more: Record<string, unknown> = {}) => ({
  id,
  asset_id: OTHER_ID,
  asset: 'shop',
  tool: 'larkspur',
  category: '',
  type: 'vulnerability',
  rule_id: 'js/sql',
  title: 'SQL statement built from user input',
  severity: 'high',
  severity_overridden: false,
  status: 'open',
  resolution: null,
  status_by: 'report',
  status_at: TIME,
  accepted_until: null,
  path: 'src/search.js',
  start_line: 41,
  matched_by: 'new',
  first_seen_at: TIME,
  last_seen_at: TIME,
  unfinished: false,
  ...more,
});

const key = {
  key_id: 'abc',
  prefix: 'mst_rnr_abc',
  kind: 'runner',
  name: 'k',
  runner_id: ID,
  role: null,
  scopes: null,
  state: 'proven',
  uses_left: null,
  created_at: TIME,
  created_by: 'x',
  expires_at: null,
  retires_at: null,
  first_used_at: null,
  last_used_at: null,
  last_used_from: null,
};

test('A list asks with the operator token and the filters, and shows a line for each item', async (t) => {
  const { url, seen } = await serve(t, () => ({
    status: 200,
    body: { items: [finding(ID)], next: null },
  }));
  const argv = ['findings', 'list', '--severity', 'high', '--asset', OTHER_ID, '--rule', 'js/sql'];
  const { exit, out, err } = await run(argv, { url });
  assert.deepEqual({ exit, err }, { exit: EXIT.ok, err: '' });
  assert.equal(seen[0]?.headers.authorization, `Bearer ${TOKEN}`);
  assert.equal(seen[0]?.url.pathname, '/api/v1/findings');
  assert.deepEqual(Object.fromEntries(seen[0]?.url.searchParams ?? []), {
    limit: '50',
    status: 'active',
    default_branch: 'true',
    severity: 'high',
    asset_id: OTHER_ID,
    rule_id: 'js/sql',
  });
  assert.match(out, new RegExp(`^ID .*\\n${ID} +high +open +js/sql +src/search.js:41 +SQL`));
});

test('--limit stops in the middle of the pages and says that there is more; --all goes through', async (t) => {
  const { url, seen } = await serve(t, ({ url: { searchParams } }) => {
    const from = Number(searchParams.get('after') ?? 0);
    const size = Math.min(Number(searchParams.get('limit')), 250);
    const items = Array.from({ length: Math.min(size, 600 - from) }, (_, at) =>
      finding(String(from + at)),
    );
    const next = from + items.length < 600 ? String(from + items.length) : null;
    return { status: 200, body: { items, next } };
  });
  const some = await run(['findings', 'list', '--limit', '300', '--json'], { url });
  const ids = (JSON.parse(some.out) as { id: string }[]).map(({ id }) => id);
  assert.deepEqual(
    ids,
    Array.from({ length: 300 }, (_, at) => String(at)),
  );
  assert.deepEqual(
    seen.map((each) => each.url.searchParams.get('limit')),
    ['250', '50'],
  );
  assert.match(some.err, /There are more than these 300/);
  const all = await run(['findings', 'list', '--all', '--json'], { url });
  assert.equal((JSON.parse(all.out) as unknown[]).length, 600);
  assert.equal(all.err, '');
});

test('An empty list says what to do; an empty list by a filter says that nothing matches', async (t) => {
  const { url } = await serve(t, () => ({ status: 200, body: { items: [], next: null } }));
  const none = await run(['findings', 'list'], { url });
  assert.deepEqual([none.exit, none.out], [EXIT.ok, '']);
  assert.match(none.err, /No findings yet\. Upload a report: muster upload report\.sarif/);
  assert.match((await run(['findings', 'list', '--tool', 'x'], { url })).err, /Nothing matches/);
  for (const noun of ['runners', 'uploads', 'assets', 'commands', 'keys', 'enrolment-tokens']) {
    assert.match((await run([noun, 'list'], { url })).err, /yet/, noun);
    assert.equal((await run([noun, 'list', '--json'], { url })).out, '[]\n', noun);
  }
});

test('--json keeps every member and the times as the wire has them', async (t) => {
  const body = { ...finding(ID), detail: { severity_from: 'level' }, refs: [], events: [] };
  const { url } = await serve(t, () => ({ status: 200, body }));
  const { out } = await run(['findings', 'show', ID, '--json'], { url });
  assert.deepEqual(JSON.parse(out), body);
});

test('Text from scanned code can not steer the terminal, not even on one', async (t) => {
  const hostile = finding(ID, { title: '\u001b[2J\u009bowned', path: 'a\u202eb' });
  const body = { ...hostile, detail: { description: '\u001b]0;x\u0007' }, refs: [], events: [] };
  const { url } = await serve(t, ({ url: { pathname } }) => ({
    status: 200,
    body: pathname.endsWith(ID) ? body : { items: [hostile], next: null },
  }));
  for (const argv of [['list'], ['show', ID]]) {
    const { out } = await run(['findings', ...argv, '--no-color'], { url, terminal: 200 });
    assert.doesNotMatch(out, /(?!\n)[\p{Cc}\u202e]/u);
  }
});

test('Colours appear on a terminal only, and not with --no-color, NO_COLOR or a dumb one', async (t) => {
  const { url } = await serve(t, () => ({
    status: 200,
    body: { items: [finding(ID)], next: null },
  }));
  const hasColours = async (terminal: number | null, env = {}, ...more: string[]) => {
    const where = terminal === null ? {} : { terminal };
    const { out } = await run(['findings', 'list', ...more], { url, env, ...where });
    return out.includes('\u001b[');
  };
  assert.equal(await hasColours(120), true);
  assert.equal(await hasColours(null), false);
  assert.equal(await hasColours(120, {}, '--no-color'), false);
  assert.equal(await hasColours(120, { NO_COLOR: '1' }), false);
  assert.equal(await hasColours(120, { TERM: 'dumb' }), false);
});

test('A new secret stands alone on stdout, with what to know about it on stderr', async (t) => {
  const { url, seen } = await serve(t, ({ url: { pathname } }) => ({
    status: 201,
    body: pathname.endsWith('runners')
      ? { runner: { id: ID, name: 'build-1' }, api_key: 'mst_rnr_new', key }
      : { api_key: 'mst_new', key },
  }));
  const runner = await run(['runners', 'create', 'build-1', '--label', 'a=b'], { url });
  assert.equal(runner.out, 'mst_rnr_new\n');
  assert.match(runner.err, /not shown again/);
  assert.doesNotMatch(runner.err, /mst_rnr_new/);
  assert.deepEqual(JSON.parse(seen[0]?.body ?? ''), { name: 'build-1', labels: { a: 'b' } });
  const token = ['enrolment-tokens', 'create', '--uses', '3', '--expires-in', '7d'];
  assert.equal((await run(token, { url })).out, 'mst_new\n');
  assert.deepEqual(JSON.parse(seen[1]?.body ?? ''), { uses: 3, expires_in: 604_800 });
  const scoped = ['keys', 'create', '--runner', ID, '--scope', 'ingest,renew', '--json'];
  assert.deepEqual(JSON.parse((await run(scoped, { url })).out), { api_key: 'mst_new', key });
  assert.deepEqual(JSON.parse(seen[2]?.body ?? ''), { runner_id: ID, scopes: ['ingest', 'renew'] });
});

test('Keys are rolled, expired and bound to addresses; each takes exactly one wish', async (t) => {
  const prefix = 'mst_rnr_4fT9aQm2XcLb';
  const facts = { ...key, prefix, allow_from: ['192.0.2.0/24'], expires_at: null };
  const { url, seen } = await serve(t, ({ url: { pathname } }) =>
    pathname.endsWith('/roll')
      ? { status: 201, body: { api_key: 'mst_new', key: facts } }
      : { status: 200, body: facts },
  );
  const keys = async (...words: string[]) => await run(['keys', ...words], { url });
  assert.equal((await keys('roll', 'K1', '--expires-in', '1h')).out, 'mst_new\n');
  assert.deepEqual(JSON.parse((await keys('expire', 'K1', '--in', '1m', '--json')).out), facts);
  await keys('expire', 'K1', '--now');
  assert.match((await keys('expire', 'K1', '--never')).out, /expires: never/);
  assert.match((await keys('allow', 'K1', '--from', '192.0.2.0/24')).out, /192\.0\.2\.0\/24/);
  await keys('allow', 'K1', '--anywhere');
  assert.deepEqual(
    seen.map(({ url: { pathname }, body }) => [pathname, JSON.parse(body) as unknown]),
    [
      ['/api/v1/keys/K1/roll', { expires_in: 3600 }],
      ['/api/v1/keys/K1', { expires_in: 60 }],
      ['/api/v1/keys/K1', { expires_in: 0 }],
      ['/api/v1/keys/K1', { expires_in: null }],
      ['/api/v1/keys/K1', { allow_from: ['192.0.2.0/24'] }],
      ['/api/v1/keys/K1', { allow_from: null }],
    ],
  );
  for (const words of [
    ['expire', 'K1'],
    ['expire', 'K1', '--now', '--never'],
    ['allow', 'K1'],
    ['allow', 'K1', '--anywhere', '--from', '::1'],
  ])
    assert.equal((await keys(...words)).exit, EXIT.usage);
  assert.equal(seen.length, 6);
});

test('A command is created from options; its payload may come from the line or from stdin', async (t) => {
  const { url, seen } = await serve(t, () => ({
    status: 201,
    body: { id: ID, status: 'pending' },
  }));
  const options = ['--priority', 'high', '--timeout', '30m', '--expires-in', '2h'];
  const more = ['--max-attempts', '2', '--retry-on-fail', '--runner', ID];
  const line = await run(
    ['commands', 'create', 'scan', '--payload', '{"a":1}', ...options, ...more],
    { url },
  );
  assert.equal(line.exit, EXIT.ok);
  assert.deepEqual(JSON.parse(seen[0]?.body ?? ''), {
    type: 'scan',
    payload: { a: 1 },
    runner_id: ID,
    priority: 'high',
    expires_in: 7200,
    timeout: 1800,
    max_attempts: 2,
    retry_on_fail: true,
  });
  await run(['commands', 'create', 'scan', '--payload', '@-'], { url, input: '[2]' });
  assert.deepEqual(JSON.parse(seen[1]?.body ?? ''), { type: 'scan', payload: [2] });
  const broken = await run(['commands', 'create', 'scan', '--payload', '{a}'], { url });
  assert.deepEqual([broken.exit, seen.length], [EXIT.usage, 2]);
});

test('A status is set with its reason and its end, and an end goes with accepted only', async (t) => {
  const until = '2027-01-31T12:00:00Z';
  const { url, seen } = await serve(t, () => ({
    status: 200,
    body: finding(ID, { status: 'accepted', accepted_until: until }),
  }));
  const argv = ['findings', 'set-status', ID, 'accepted', '--until', until, '--comment', 'why'];
  const { exit, out } = await run(argv, { url });
  assert.equal(exit, EXIT.ok);
  assert.match(out, /is accepted until 2027-01-31/);
  assert.equal(seen[0]?.method, 'PATCH');
  assert.deepEqual(JSON.parse(seen[0]?.body ?? ''), {
    status: 'accepted',
    comment: 'why',
    accepted_until: '2027-01-31T12:00:00.000Z',
  });
  const wrong = await run(['findings', 'set-status', ID, 'open', '--until', '30d'], { url });
  assert.deepEqual([wrong.exit, seen.length], [EXIT.usage, 1]);
});

test('The rejected items of an upload are listed with their place, or it says that there are none', async (t) => {
  const item = {
    pointer: '/findings/7',
    code: 'item_not_object',
    detail: 'is a number',
    item: '7',
  };
  const { url, seen } = await serve(t, ({ url: { pathname } }) => ({
    status: 200,
    body: { items: pathname.includes(OTHER_ID) ? [] : [item], next: null },
  }));
  const { exit, out } = await run(['uploads', 'rejections', ID], { url });
  assert.equal(exit, EXIT.ok);
  assert.equal(seen[0]?.url.pathname, `/api/v1/uploads/${ID}/rejections`);
  assert.match(out, /^WHERE .*\n\/findings\/7 +item_not_object +is a number +7/);
  const json = await run(['uploads', 'rejections', ID, '--json'], { url });
  assert.deepEqual(JSON.parse(json.out), [item]);
  const none = await run(['uploads', 'rejections', OTHER_ID], { url });
  assert.match(none.err, /Every item of this upload could be used/);
});

test('A refusal is one paragraph with title, detail, place, what to do, code and request', async (t) => {
  const places = [
    { pointer: '/name', code: 'maxLength', detail: 'must not be longer than 255 characters' },
    { pointer: '/labels', code: 'type', detail: 'must be object' },
  ];
  const { url } = await serve(t, () =>
    problem('invalid_body', 'Two members are wrong.', { errors: places }),
  );
  const { exit, out, err } = await run(['runners', 'create', 'x'], { url });
  assert.deepEqual([exit, out], [EXIT.refused, '']);
  assert.equal(
    err,
    'muster: The body does not have the expected shape. Two members are wrong. Where: /name must not be longer than ' +
      '255 characters; /labels must be object. What to do: Correct the members that `errors` points at. ' +
      '(invalid_body, HTTP 400, request req-1)\n',
  );
});

test('401 and 403 have an exit code of their own', async (t) => {
  for (const code of ['unauthorized', 'forbidden'] as const) {
    const { url } = await serve(t, () => problem(code, 'No.'));
    assert.equal((await run(['me'], { url })).exit, EXIT.unauthorised, code);
  }
});

test('Without a token, or with a secret of another kind, nothing is sent', async (t) => {
  const { url, seen } = await serve(t, () => ({ status: 200, body: {} }));
  const none = await run(['me'], { url, env: { MUSTER_TOKEN: '' } });
  assert.equal(none.exit, EXIT.unauthorised);
  assert.match(none.err, /MUSTER_TOKEN/);
  const wrong = await run(['me'], { url, env: { MUSTER_TOKEN: KEY } });
  assert.equal(wrong.exit, EXIT.unauthorised);
  assert.match(wrong.err, /holds a runner key/);
  assert.doesNotMatch(wrong.err, new RegExp(KEY));
  assert.equal((await run(['me', '--token', 'zwölf\n'], { url })).exit, EXIT.unauthorised);
  assert.equal(seen.length, 0);
});

test('Where nothing listens, or something else does, no Muster server is reached', async (t) => {
  const closed = await run(['me'], { url: 'http://127.0.0.1:1' });
  assert.equal(closed.exit, EXIT.unreachable);
  assert.match(closed.err, /No Muster server answered at http:\/\/127\.0\.0\.1:1/);
  const page = { status: 200, body: '<html>', headers: { 'content-type': 'text/html' } };
  const login = { status: 302, headers: { location: '/login' } };
  for (const answer of [page, { ...page, status: 404 }, { ...page, status: 502 }, login]) {
    const { url } = await serve(t, () => answer);
    assert.equal((await run(['me'], { url })).exit, EXIT.unreachable, String(answer.status));
  }
  const { url } = await serve(t, () => 'hang up');
  assert.equal((await run(['me'], { url })).exit, EXIT.unreachable);
});

test('An address that can not be one is a mistake; a slash at its end and a path are fine', async (t) => {
  for (const wrong of ['localhost:7878', 'ftp://x', 'http://u:p@x', 'http://x/?a=b', 'nonsense']) {
    assert.equal((await run(['me'], { url: wrong })).exit, EXIT.usage, wrong);
  }
  const me = { name: 'a', role: 'admin', tenant: 'default', tenant_id: ID };
  const { url, seen } = await serve(t, () => ({ status: 200, body: me }));
  const { exit } = await run(['me'], { url: `${url}/muster/` });
  assert.deepEqual([exit, seen[0]?.url.pathname], [EXIT.ok, '/muster/api/v1/me']);
});

test('Ids are sent as one path segment, whatever they hold', async (t) => {
  const { url, seen } = await serve(t, () => problem('not_found', 'There is no such runner.'));
  await run(['runners', 'revoke', '../keys/x?y'], { url });
  assert.equal(seen[0]?.url.pathname, '/api/v1/runners/..%2Fkeys%2Fx%3Fy/revoke');
});

test('commands why says how many runners can take it, and of each other why not', async (t) => {
  const { url, seen } = await serve(t, () => ({
    status: 200,
    body: {
      command_id: ID,
      status: 'pending',
      is_waiting: true,
      reasons: [],
      items: [
        { runner_id: OTHER_ID, name: 'idle', presence: 'online', can_take: true, reasons: [] },
        {
          runner_id: ID,
          name: 'full',
          presence: 'online',
          can_take: false,
          reasons: [{ code: 'no_free_slot', detail: 'It works on as much as it can at once.' }],
        },
      ],
      next: null,
    },
  }));
  const { exit, out } = await run(['commands', 'why', ID], { url });
  assert.equal(exit, EXIT.ok);
  assert.equal(seen[0]?.url.pathname, `/api/v1/commands/${ID}/waiting`);
  assert.match(out, /^1 of these 2 runners can take it/);
  assert.match(out, /full +no +It works on as much as it can at once\./);
});

test('commands logs --follow asks from where it was until the command has ended', async (t) => {
  const line = (at: number) => ({ line: at, attempt: 1, at: TIME, text: `line ${at}` });
  const { url, seen } = await serve(t, ({ url: { searchParams } }) => {
    const from = Number(searchParams.get('offset'));
    return {
      status: 200,
      body: {
        command_id: ID,
        status: 'running',
        lines: [line(from)],
        next_offset: from + 1,
        dropped_lines: from === 2 ? 5 : 0,
        is_complete: from === 2,
      },
    };
  });
  const { exit, out, err } = await run(['commands', 'logs', ID, '--follow'], { url });
  assert.equal(exit, EXIT.ok);
  assert.equal(out, 'line 0\nline 1\nline 2\n');
  assert.match(err, /5 further lines were not kept/);
  assert.deepEqual(
    seen.map((call) => call.url.searchParams.get('wait')),
    ['30', '30', '30'],
  );
});

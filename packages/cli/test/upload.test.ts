// muster upload against a server: what it sends, what it prints, what it tries again, and how it
// ends.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { EXIT } from '../src/exit-codes.ts';
import { type Answer, ID, KEY, problem, receipt, run, type Seen, serve } from './harness.ts';

const SARIF = '{"version":"2.1.0","runs":[]}';
const CTIS = '{"version":"1.3","metadata":{},"findings":[]}';

function file(t: TestContext, name: string, content: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'muster-cli-test-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

const taken: Answer = { status: 201, body: receipt({ created: 2, unchanged: 1 }) };

test('A report is sent compressed, to the route of its format, with the runner key and what is said about it', async (t) => {
  const { url, seen } = await serve(t, () => taken);
  const path = file(t, 'report.json', SARIF);
  const about = [
    '--repository',
    'https://git.example/shop',
    '--branch',
    'main',
    '--commit',
    'c0ffee',
  ];
  const more = [
    '--default-branch',
    '--category',
    'nightly',
    '--coverage',
    'partial',
    '--wait',
    '5',
  ];
  const { exit } = await run(['upload', path, ...about, ...more], { url });
  assert.equal(exit, EXIT.ok);
  const [request] = seen as [Seen];
  assert.equal(request.url.pathname, '/api/v1/agent/ingest/sarif');
  assert.equal(request.headers['content-encoding'], 'zstd');
  assert.equal(request.headers['content-type'], 'application/sarif+json');
  assert.equal(request.headers.authorization, `Bearer ${KEY}`);
  assert.match(String(request.headers['idempotency-key']), /^[0-9a-f-]{36}$/);
  assert.equal(request.body, SARIF);
  assert.deepEqual(Object.fromEntries(request.url.searchParams), {
    repository_url: 'https://git.example/shop',
    branch: 'main',
    commit_sha: 'c0ffee',
    default_branch: 'true',
    category: 'nightly',
    coverage: 'partial',
    wait: '5',
  });
});

test('CTIS goes to the route for CTIS, and --format overrules the content', async (t) => {
  const { url, seen } = await serve(t, () => taken);
  await run(['upload', file(t, 'report.json', CTIS)], { url });
  await run(['upload', '--format', 'ctis', file(t, 'report.json', SARIF)], { url });
  assert.deepEqual(
    seen.map((each) => each.url.pathname),
    ['/api/v1/agent/ingest', '/api/v1/agent/ingest'],
  );
});

test('The receipt shows all outcomes, including those that did not occur', async (t) => {
  const { url } = await serve(t, () => ({
    status: 201,
    body: receipt({ created: 1200, not_problem: 3 }, { resolved: 4, warnings_total: 2 }),
  }));
  const { out } = await run(['upload', file(t, 'report.sarif', SARIF)], { url });
  const rows = [
    ['findings', '1,203'],
    ['created', '1,200'],
    ['changed', '0'],
    ['unchanged', '0'],
    ['reopened', '0'],
    ['duplicate', '0'],
    ['not a problem', '3'],
    ['rejected', '0'],
    ['resolved', '4'],
    ['warnings', '2'],
  ];
  for (const [name, count] of rows) assert.match(out, new RegExp(`^ +${name} +${count}$`, 'm'));
});

test('A report that was taken in part has an exit code of its own, and the first rejections are shown', async (t) => {
  const rejections = Array.from({ length: 7 }, (_, at) => ({
    pointer: `/runs/0/results/${at}`,
    code: 'item_not_object',
    detail: 'A result must be an object.',
  }));
  const body = receipt(
    { created: 20, rejected: 9 },
    { rejections, rejections_by_code: { item_not_object: 9 } },
  );
  const { url } = await serve(t, () => ({ status: 201, body }));
  const { exit, out } = await run(['upload', file(t, 'report.sarif', SARIF)], { url });
  assert.equal(exit, EXIT.partial);
  assert.match(out, /\/runs\/0\/results\/4 {2}A result must be an object\. \(item_not_object\)/);
  assert.doesNotMatch(out, /\/runs\/0\/results\/5/);
  assert.match(out, /and 4 more: muster uploads show/);
});

test('A refused report is explained with its rejections, and the next file is sent all the same', async (t) => {
  const refused = receipt(
    { rejected: 1 },
    {
      outcome: 'refused',
      rejections: [{ pointer: '/runs/0/results/0', code: 'no_rule', detail: 'It names no rule.' }],
      rejections_by_code: { no_rule: 1 },
    },
  );
  const { url } = await serve(t, (_, count) =>
    count === 1 ? problem('report_refused', '1 of 1.', { upload_id: ID, receipt: refused }) : taken,
  );
  const paths = [file(t, 'a.sarif', SARIF), file(t, 'b.sarif', SARIF)];
  const { exit, out, err } = await run(['upload', ...paths], { url });
  assert.equal(exit, EXIT.refused);
  assert.match(
    err,
    /a\.sarif: Too much of the report .*\(report_refused, HTTP 422, request req-1, upload /,
  );
  assert.match(err, /\/runs\/0\/results\/0 {2}It names no rule\./);
  assert.match(out, /b\.sarif: taken in whole/);
});

test('What gets no answer, 429 or 503 is sent again: the same bytes with the same Idempotency-Key', async (t) => {
  const big = `{"version":"2.1.0","runs":[${'{"tool":{}},'.repeat(50_000)}{}]}`;
  const { url, seen } = await serve(t, (_, count) => {
    if (count === 1) return 'hang up';
    if (count === 2) return { status: 200, body: { existing: [], missing: [] } };
    if (count === 3) return problem('unavailable', 'Busy.', {}, { 'retry-after': '7' });
    return count === 4 ? problem('rate_limited', 'Slow down.', {}, { 'retry-after': '2' }) : taken;
  });
  const { exit, pauses } = await run(['upload', file(t, 'big.sarif', big)], { url });
  assert.equal(exit, EXIT.ok);
  const uploads = seen.filter((each) => each.url.pathname.endsWith('/sarif'));
  assert.equal(uploads.length, 4);
  for (const each of uploads) {
    assert.equal(each.body, big);
    assert.ok(each.wire.equals(uploads[0]?.wire as Buffer));
    assert.equal(each.headers['idempotency-key'], uploads[0]?.headers['idempotency-key']);
  }
  assert.deepEqual(pauses, [1000, 7000, 4000]);
});

test('Every file has an Idempotency-Key of its own, even when the content is the same', async (t) => {
  const { url, seen } = await serve(t, () => taken);
  await run(['upload', file(t, 'a.sarif', SARIF), file(t, 'b.sarif', SARIF)], { url });
  assert.equal(new Set(seen.map((each) => each.headers['idempotency-key'])).size, 2);
});

test('After four tries it is over; a pause longer than a minute is not waited for', async (t) => {
  const down = await serve(t, () => problem('unavailable', 'Busy.'));
  const tired = await run(['upload', file(t, 'a.sarif', SARIF)], { url: down.url });
  assert.deepEqual([tired.exit, down.seen.length], [EXIT.refused, 4]);
  const long = await serve(t, () =>
    problem('rate_limited', 'Later.', {}, { 'retry-after': '3600' }),
  );
  const told = await run(['upload', file(t, 'a.sarif', SARIF)], { url: long.url });
  assert.deepEqual([told.exit, long.seen.length, told.pauses], [EXIT.refused, 1, []]);
});

test('Where no server is reached, nothing more is tried with the other files', async (t) => {
  const { url, seen } = await serve(t, () => 'hang up');
  const { exit, out } = await run(
    ['upload', '--json', file(t, 'a.sarif', SARIF), file(t, 'b.sarif', SARIF)],
    { url },
  );
  assert.equal(exit, EXIT.unreachable);
  const uploads = seen.filter((each) => each.url.pathname.endsWith('/sarif'));
  assert.equal(uploads.length, 4);
  assert.equal((JSON.parse(out) as unknown[]).length, 1);
});

test('A refused key ends the command at once', async (t) => {
  const { url, seen } = await serve(t, () => problem('unauthorized', 'A valid key is needed'));
  const { exit, err } = await run(
    ['upload', file(t, 'a.sarif', SARIF), file(t, 'b.sarif', SARIF)],
    { url },
  );
  assert.deepEqual([exit, seen.length], [EXIT.unauthorised, 1]);
  assert.match(err, /--key or MUSTER_KEY/);
});

test('A refusal that got lost with the connection is found out by asking again', async (t) => {
  const { url, seen } = await serve(t, ({ url: { pathname } }) =>
    pathname.endsWith('/check') ? problem('unauthorized', 'A valid key is needed') : 'hang up',
  );
  const { exit } = await run(['upload', file(t, 'a.sarif', SARIF)], { url });
  assert.deepEqual([exit, seen.length], [EXIT.unauthorised, 2]);
});

const job = (status: string, more: Record<string, unknown> = {}): Answer => ({
  status: 200,
  body: {
    job_id: ID,
    upload_id: ID,
    report_id: ID,
    attempts: 1,
    items_done: 10,
    items_total: 40,
    status,
    ...more,
  },
});
const accepted: Answer = {
  status: 202,
  body: { job_id: ID, upload_id: ID, status: 'pending', report_id: ID, duplicate: false },
};

test('After a 202 the job is followed until its receipt is there', async (t) => {
  const { url, seen } = await serve(t, (_, count) => {
    if (count === 1) return accepted;
    if (count === 2) return 'hang up';
    return count === 3 ? job('processing') : job('completed', { result: receipt({ created: 1 }) });
  });
  const { exit, out } = await run(['upload', file(t, 'a.sarif', SARIF)], { url });
  assert.equal(exit, EXIT.ok);
  assert.match(out, /taken in whole/);
  assert.deepEqual(
    seen.map((each) => each.url.pathname.split('/').slice(4, 6).join('/')),
    ['ingest/sarif', 'ingest/jobs', 'ingest/jobs', 'ingest/jobs'],
  );
});

test('A job that failed is told like a refusal', async (t) => {
  const failed = problem('report_refused', 'All of it.', { receipt: receipt({ rejected: 1 }) });
  const { url } = await serve(t, (_, count) =>
    count === 1 ? accepted : job('failed', { error: failed.body }),
  );
  const { exit, err } = await run(['upload', file(t, 'a.sarif', SARIF)], { url });
  assert.equal(exit, EXIT.refused);
  assert.match(err, /All of it\..*report_refused, HTTP 422/);
});

test('--wait 0 asks for nothing, and an upload still in work is safe: exit code 0', async (t) => {
  const { url, seen } = await serve(t, () => accepted);
  const path = file(t, 'a.sarif', SARIF);
  const { exit, out } = await run(['upload', '--wait', '0', path], { url });
  assert.deepEqual([exit, seen.length], [EXIT.ok, 1]);
  assert.equal(seen[0]?.url.searchParams.get('wait'), '0');
  assert.match(out, new RegExp(`stored safely, still being processed.*${ID}`));
  const machine = await run(['upload', '--wait', '0', '--json', path], { url });
  assert.deepEqual(JSON.parse(machine.out), [
    {
      file: path,
      format: 'sarif',
      state: 'processing',
      upload_id: ID,
      receipt: null,
      problem: null,
    },
  ]);
});

test('--json is one document with an entry for each file, whatever became of it', async (t) => {
  const { url } = await serve(t, (_, count) =>
    count === 2 ? problem('not_sarif', 'There are no runs.', { upload_id: ID }) : taken,
  );
  const paths = ['a', 'b', 'c'].map((name) => file(t, `${name}.sarif`, SARIF));
  const { exit, out } = await run(['upload', '--json', ...paths], { url });
  assert.equal(exit, EXIT.refused);
  const outcomes = JSON.parse(out) as { file: string; state: string; problem: { code: string } }[];
  assert.deepEqual(
    outcomes.map(({ file: path, state }) => [path, state]),
    [
      [paths[0], 'processed'],
      [paths[1], 'failed'],
      [paths[2], 'processed'],
    ],
  );
  assert.equal(outcomes[1]?.problem.code, 'not_sarif');
});

test('On a terminal the way of the bytes and of the processing is shown, then taken away', async (t) => {
  const { url, seen } = await serve(t, (_, count) => {
    if (count === 1) return accepted;
    return count === 2 ? job('processing') : job('completed', { result: receipt({ created: 1 }) });
  });
  const { err } = await run(['upload', file(t, 'a.sarif', SARIF)], { url, terminal: 200 });
  assert.match(err, /100 % of 29 B/);
  assert.match(err, /processing 10 of 40/);
  assert.ok(err.endsWith('\r\u001b[K'));
  assert.equal(seen[0]?.url.searchParams.get('wait'), '1');
});

test('stdin is sent like a file, and can be sent again', async (t) => {
  const { url, seen } = await serve(t, (_, count) =>
    count === 1 ? problem('unavailable', 'Busy.') : taken,
  );
  const { exit, out } = await run(['upload', '-'], { url, input: CTIS });
  assert.equal(exit, EXIT.ok);
  assert.deepEqual(
    seen.map((each) => [each.url.pathname, each.body]),
    [
      ['/api/v1/agent/ingest', CTIS],
      ['/api/v1/agent/ingest', CTIS],
    ],
  );
  assert.match(out, /^stdin: taken in whole/);
});

test('A pipe given by name is read once and sent like stdin', async (t) => {
  const { url, seen } = await serve(t, () => taken);
  const pipe = join(file(t, 'other', ''), '../pipe');
  await promisify(execFile)('mkfifo', [pipe]);
  const [{ exit }] = await Promise.all([run(['upload', pipe], { url }), writeFile(pipe, SARIF)]);
  assert.deepEqual([exit, seen[0]?.body], [EXIT.ok, SARIF]);
});

test('When one of the files can not be used, none is sent', async (t) => {
  const { url, seen } = await serve(t, () => taken);
  const good = file(t, 'good.sarif', SARIF);
  const folder = join(good, '../folder');
  mkdirSync(folder);
  const wrong: [string, RegExp][] = [
    [`${good}.missing`, /does not exist/],
    [folder, /is a directory/],
    [file(t, 'empty.sarif', ''), /is empty/],
    [file(t, 'notes.json', '{"hello":1}'), /neither SARIF nor CTIS/],
  ];
  for (const [path, reason] of wrong) {
    const { exit, err } = await run(['upload', good, path], { url });
    assert.equal(exit, EXIT.usage);
    assert.match(err, reason);
  }
  assert.equal((await run(['upload', '-', '-'], { url, input: SARIF })).exit, EXIT.usage);
  assert.equal(seen.length, 0);
});

test('Without a runner key, or with an operator token in its place, nothing is sent', async (t) => {
  const { url, seen } = await serve(t, () => taken);
  const path = file(t, 'a.sarif', SARIF);
  for (const key of ['', 'mst_op_x']) {
    const { exit, err } = await run(['upload', path], { url, env: { MUSTER_KEY: key } });
    assert.equal(exit, EXIT.unauthorised);
    assert.match(err, /MUSTER_KEY/);
  }
  assert.equal(seen.length, 0);
});

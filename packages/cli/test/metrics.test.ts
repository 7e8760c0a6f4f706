// `muster runners metrics` against a server: what it asks, what it prints for people and for
// machines.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EXIT } from '../src/exit-codes.ts';
import { ID, run, serve } from './harness.ts';

const TIME = '2026-11-20T08:14:02.000Z';

test('The metrics of a runner are summed up for people, and whole for machines', async (t) => {
  const body = {
    from: '2026-11-20T08:00:00.000Z',
    to: '2026-11-20T08:03:00.000Z',
    step_seconds: 60,
    at: [TIME, TIME, TIME],
    series: [{ metric: 'cpu_percent', average: [10, null, 20], max: [15, null, 80] }],
  };
  const { url, seen } = await serve(t, () => ({ status: 200, body }));
  const { exit, out } = await run(['runners', 'metrics', ID, '--since', '2h', '--step', '1m'], {
    url,
  });
  assert.equal(exit, EXIT.ok);
  assert.match(out, /^METRIC +LAST +MEAN +HIGHEST\ncpu_percent +20 +15 +80\n$/);
  const { searchParams, pathname } = seen[0]?.url ?? new URL('x:');
  assert.equal(pathname, `/api/v1/runners/${ID}/metrics`);
  assert.equal(searchParams.get('step'), '60');
  assert.match(searchParams.get('from') ?? '', /Z$/);
  const json = await run(['runners', 'metrics', ID, '--json'], { url });
  assert.deepEqual(JSON.parse(json.out), body);
});

test('A runner without measurements says so, and fails nothing', async (t) => {
  const body = { from: TIME, to: TIME, step_seconds: 60, at: [], series: [] };
  const { url } = await serve(t, () => ({ status: 200, body }));
  const { exit, out, err } = await run(['runners', 'metrics', ID], { url });
  assert.equal(exit, EXIT.ok);
  assert.equal(out, '');
  assert.match(err, /has sent no measurements/);
});

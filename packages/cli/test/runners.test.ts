// The words for presence and health in the list and on the page of runners.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ID, run, serve } from './harness.ts';

const TIME = '2026-11-20T08:00:00.000Z';

const runner = (more: object) => ({
  id: ID,
  name: 'build-1',
  admin: 'active',
  presence: 'online',
  presence_since: TIME,
  health: null,
  health_message: null,
  last_seen_at: TIME,
  interval_seconds: 30,
  labels: {},
  version: null,
  hostname: null,
  region: null,
  clock_skew_ms: null,
  warnings: [],
  reported: {},
  reported_at: TIME,
  created_at: TIME,
  created_by: 'x',
  ...more,
});

test('A runner that reports an error says so with its message, in the list and on its page', async (t) => {
  const sick = runner({ health: 'error', health_message: 'disk\nis \u001b[2Jfull' });
  const { url } = await serve(t, ({ url: { pathname } }) => ({
    status: 200,
    body: pathname.endsWith(ID) ? sick : { items: [sick], next: null },
  }));
  const list = await run(['runners', 'list'], { url });
  assert.match(list.out, /online +error: disk is \\u\{1b\}\[2Jfull +active/);
  const page = await run(['runners', 'show', ID], { url });
  assert.match(
    page.out,
    /Presence +online, since .*\nHealth\n +error: disk\n +is \\u\{1b\}\[2Jfull\n/,
  );
});

test('One that is well or says nothing looks as before: green, and its message only on its page', async (t) => {
  const items = [
    runner({ name: 'silent' }),
    runner({ name: 'well', health: 'ok', health_message: 'all is well' }),
    runner({ name: 'slow', health: 'degraded' }),
    runner({ name: 'sick', health: 'error' }),
    runner({ name: 'gone', health: 'ok', presence: 'offline' }),
  ];
  const { url } = await serve(t, ({ url: { pathname } }) => ({
    status: 200,
    body: pathname.endsWith(ID) ? items[1] : { items, next: null },
  }));
  const plain = await run(['runners', 'list'], { url });
  const cells = plain.out.split('\n').map((line) => line.split(/ {2,}/).slice(1, 4));
  assert.deepEqual(cells.slice(1, 6), [
    ['silent', 'online', '-'],
    ['well', 'online', 'ok'],
    ['slow', 'online', 'degraded'],
    ['sick', 'online', 'error'],
    ['gone', 'offline', 'ok'],
  ]);
  const { out } = await run(['runners', 'list'], { url, terminal: 160 });
  const colours = out.split('\n').map((line) => /\[(\d+)m(?:online|offline)/.exec(line)?.[1]);
  assert.deepEqual(colours.slice(1, 6), ['32', '32', '33', '31', '31']);
  assert.match((await run(['runners', 'show', ID], { url })).out, /Health +ok: all is well\n/);
});

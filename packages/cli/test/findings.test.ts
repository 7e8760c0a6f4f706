// Where `muster findings list` begins, how it is narrowed to a branch, and what it says when there
// is nothing.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EXIT } from '../src/exit-codes.ts';
import { run, serve } from './harness.ts';

const EMPTY = { items: [], next: null };
const LIST = ['findings', 'list'];

test('The list begins with what is active on default branches; status and branch widen and narrow it', async (t) => {
  const { url, seen } = await serve(t, () => ({ status: 200, body: EMPTY }));
  const asked = async (...more: string[]): Promise<Record<string, string>> => {
    const from = seen.length;
    assert.equal((await run([...LIST, ...more, '--limit', '9'], { url })).exit, EXIT.ok);
    const { limit, ...query } = Object.fromEntries(seen[from]?.url.searchParams ?? []);
    assert.equal(limit, '9');
    return query;
  };
  const onDefault = { default_branch: 'true' };
  assert.deepEqual(await asked(), { status: 'active', ...onDefault });
  assert.deepEqual(await asked('--status', 'active'), { status: 'active', ...onDefault });
  assert.deepEqual(await asked('--status', 'resolved'), { status: 'resolved', ...onDefault });
  assert.deepEqual(await asked('--status', 'any'), onDefault);
  assert.deepEqual(await asked('--branch', 'a/b'), { status: 'active', branch: 'a/b' });
  assert.deepEqual(await asked('--branch', 'x', '--status', 'any'), { branch: 'x' });
  assert.deepEqual(await asked('--any-branch'), { status: 'active' });
  assert.deepEqual(await asked('--any-branch', '--status', 'any'), {});
});

test('A branch and any branch exclude each other, and nothing is asked', async (t) => {
  const { url, seen } = await serve(t, () => ({ status: 200, body: EMPTY }));
  const { exit, err } = await run([...LIST, '--branch', 'x', '--any-branch'], { url });
  assert.equal(exit, EXIT.usage);
  assert.match(err, /--branch and --any-branch exclude each other/);
  assert.equal((await run([...LIST, '--branch', ''], { url })).exit, EXIT.usage);
  assert.equal(seen.length, 0);
});

test('Nothing open is told apart from nothing at all, and a filter says where else to look', async (t) => {
  const elsewhere = { items: [{}], next: null };
  const { url } = await serve(t, ({ url: { searchParams } }) => ({
    status: 200,
    body: searchParams.has('status') || searchParams.has('default_branch') ? EMPTY : elsewhere,
  }));
  const none = await run(LIST, { url });
  assert.deepEqual([none.exit, none.out], [EXIT.ok, '']);
  assert.match(none.err, /Nothing is open on the default branches\./);
  assert.match(none.err, /muster findings list --status any --any-branch/);
  assert.equal((await run([...LIST, '--json'], { url })).out, '[]\n');
  const filtered = await run([...LIST, '--tool', 'x'], { url });
  assert.match(filtered.err, /Nothing matches these filters\. Look everywhere: --status any/);
  const { url: bare } = await serve(t, () => ({ status: 200, body: EMPTY }));
  assert.match((await run(LIST, { url: bare })).err, /No findings yet\. Upload a report/);
  const everywhere = [...LIST, '--status', 'any', '--any-branch'];
  assert.match((await run(everywhere, { url: bare })).err, /No findings yet/);
  const { err } = await run([...everywhere, '--tool', 'x'], { url: bare });
  assert.match(err, /^Nothing matches these filters\.$/m);
});

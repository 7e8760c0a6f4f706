// A disk that is nearly full (contract §2, Errors): uploads are refused before the database fails,
// everything else goes on, and uploads are taken again when there is room.

import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import pg from 'pg';
import { dbFailure } from '../../src/db/db-errors.ts';
import { classify } from '../../src/http/problems.ts';
import { ctis, ctisFinding } from './reports.ts';
import { ok, problemOf, send } from './wire.ts';
import { move, newCommand, poll, runnerCall, startWorld } from './world.ts';

const REPORT = ctis([ctisFinding()], { repository: 'github.com/acme/disk' });
const GIB = 2 ** 30;

test('below the watermark uploads are 503 storage_full, all else goes on, and room ends it', async () => {
  let free = 100 * GIB;
  let reusable = 0;
  const env = { MUSTER_DISK_FREE_BYTES_MIN: String(GIB) };
  const ports = { freeBytes: async () => free, reusableBytes: async () => reusable };
  const world = await startWorld('sqlite', env, ports);
  const { key } = world.own.runner;
  const metric = async (name: string): Promise<string | undefined> =>
    new RegExp(`^${name} (\\S+)$`, 'm').exec(
      (await send(world.url, { path: '/metrics' })).text,
    )?.[1];
  try {
    ok(await runnerCall(world, key, '/ingest', REPORT), 201);
    const command = await newCommand(world);
    free = GIB - 1;
    await world.server.round();
    for (const path of ['/ingest', '/ingest/ctis', '/ingest/sarif']) {
      const problem = problemOf(await runnerCall(world, key, path, REPORT), 'storage_full');
      assert.match(String(problem['detail']), /disk/);
    }
    ok(await runnerCall(world, key, '/heartbeat', {}));
    assert.equal((await poll(world, key)).status, 200);
    ok(await move(world, key, command, 'acknowledge'));
    ok(await move(world, key, command, 'complete', { result: {} }));
    ok(await runnerCall(world, key, '/renew'));
    // A probe of readiness must not take heartbeats away from this node.
    assert.equal(ok(await send(world.url, { path: '/readyz' }))['storage'], 'low');
    assert.equal(await metric('muster_disk_low'), '1');
    assert.equal(await metric('muster_disk_free_bytes'), String(GIB - 1));
    // Deleted rows leave room inside the file, which doesn't shrink; only the log beside it needs
    // the disk.
    reusable = 2 * GIB;
    free = 2 ** 26 - 1;
    await world.server.round();
    problemOf(await runnerCall(world, key, '/ingest', REPORT), 'storage_full');
    free = 2 ** 26;
    await world.server.round();
    ok(await runnerCall(world, key, '/ingest', REPORT), 201);
    [free, reusable] = [GIB, 0];
    await world.server.round();
    ok(await runnerCall(world, key, '/ingest', REPORT), 201);
    assert.equal(ok(await send(world.url, { path: '/readyz' }))['storage'], 'ok');
    assert.equal(await metric('muster_disk_low'), '0');
  } finally {
    await world.stop();
  }
});

test('with the watermark 0 the disk is watched, and refuses nothing', async () => {
  const env = { MUSTER_DISK_FREE_BYTES_MIN: '0' };
  const world = await startWorld('sqlite', env, { freeBytes: async () => 0 });
  try {
    ok(await runnerCall(world, world.own.runner.key, '/ingest', REPORT), 201);
  } finally {
    await world.stop();
  }
});

test('free space that can’t be read stops neither the start nor uploads', async () => {
  const freeBytes = async (): Promise<number> => await Promise.reject(new Error('no such disk'));
  const world = await startWorld('sqlite', {}, { freeBytes });
  try {
    ok(await runnerCall(world, world.own.runner.key, '/ingest', REPORT), 201);
  } finally {
    await world.stop();
  }
});

test('a database that has run out of space is storage_full, on both databases', () => {
  const small = new DatabaseSync(':memory:');
  small.exec('create table t (v blob); pragma max_page_count = 4');
  let full: unknown;
  try {
    small.exec('insert into t values (zeroblob(1000000))');
  } catch (error) {
    full = error;
  }
  small.close();
  // PostgreSQL 18 manual, appendix A: 53100 disk_full.
  const other = Object.assign(new pg.DatabaseError('could not extend file', 0, 'error'), {
    code: '53100',
  });
  for (const error of [full, other]) {
    assert.equal(dbFailure(error)?.kind, 'full');
    assert.equal(classify(error).code, 'storage_full');
  }
});

// One time for all nodes (docs/adr/0014): whatever a node's own clock says, the node takes the time
// of the shared database.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Database } from '../../src/db/db.ts';
import { ALIGN_EVERY_MS, DatabaseClock } from '../../src/db/database-clock.ts';
import { databaseNowMs } from '../../src/db/dialect.ts';
import { TestClock } from '../harness.ts';
import { openStage, ServerNode, newRunner, SimulatedClock, storedRunner } from '../stories.ts';

const HOUR_MS = 3_600_000;

const timeOf = async (database: Database): Promise<number> =>
  (await databaseNowMs(database.system())) ?? 0;

test('a node whose clock is hours off has the time of PostgreSQL', async () => {
  const { database, dispose } = await openStage('postgres');
  for (const offMs of [-HOUR_MS, 0, 5 * HOUR_MS]) {
    const own = new SimulatedClock();
    own.advance((await timeOf(database)) - own.nowMs() + offMs);
    const clock = new DatabaseClock(database, own);
    const before = await timeOf(database);
    await clock.align();
    assert.ok(clock.nowMs() >= before - 1 && clock.nowMs() <= (await timeOf(database)) + 1);
    own.advance(1000);
    assert.ok(clock.nowMs() >= before + 999, 'time goes on by itself');
  }
  await dispose();
});

test('it is measured again after a while, and not with every call', async () => {
  const { database, dispose } = await openStage('postgres');
  const own = new SimulatedClock();
  const clock = new DatabaseClock(database, own);
  await clock.align();
  own.advance(HOUR_MS);
  const wrong = clock.nowMs();
  await clock.align();
  assert.ok(
    clock.nowMs() < wrong - HOUR_MS / 2,
    'time that didn’t pass for the database is undone',
  );
  own.advance(ALIGN_EVERY_MS - 1);
  const late = clock.nowMs();
  await clock.align();
  assert.equal(clock.nowMs(), late);
  await dispose();
});

test('a step of its own clock changes nothing, not even until it is measured again', async () => {
  const { database, dispose } = await openStage('postgres');
  const own = new TestClock();
  const clock = new DatabaseClock(database, own);
  await clock.align();
  for (const stepMs of [-HOUR_MS, 5 * HOUR_MS]) {
    const before = clock.nowMs();
    own.advance(stepMs);
    const after = clock.nowMs();
    assert.ok(after >= before && after < before + HOUR_MS / 2, `${after - before} ms`);
  }
  await dispose();
});

test('on SQLite there is one process and one clock', async () => {
  const { database, clock: own, dispose } = await openStage('sqlite');
  const clock = new DatabaseClock(database, own);
  await clock.align();
  assert.equal(clock.nowMs(), own.nowMs());
  await dispose();
});

test('nodes whose clocks are an hour apart write signs of life that the others understand', async () => {
  const stage = await openStage('postgres');
  const nodes: ServerNode[] = [];
  // One after the other: their clocks stand, and the second must be the later one.
  for (const offMs of [HOUR_MS, -HOUR_MS]) {
    const own = new SimulatedClock();
    own.advance(offMs);
    const clock = new DatabaseClock(stage.database, own);
    await clock.align();
    nodes.push(new ServerNode(stage.database, clock));
  }
  const runner = await newRunner(stage);
  for (const [at, node] of nodes.entries()) {
    await node.beat(runner.key, { version: String(at) });
    await node.round();
  }
  for (const node of nodes) await node.round();
  const stored = await storedRunner(stage, runner);
  assert.equal(stored.version, '1');
  assert.equal(stored.presence, 'online');
  await stage.dispose();
});

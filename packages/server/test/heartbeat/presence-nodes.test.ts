// Several nodes and their clocks (contract §3): their simultaneous writes about the same runners,
// the order of their locks, the measured interval when a balancer spreads the heartbeats, and the
// traces of a clock that was wrong.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from 'kysely';
import type { Database } from '../../src/db/db.ts';
import { findKey, lockKey } from '../../src/keys/keys.queries.ts';
import { lockRunner } from '../../src/keys/runner.queries.ts';
import { BACKENDS, eventually } from '../harness.ts';
import { newRunner, openStage, ServerNode, type Stage, storedRunner } from '../stories.ts';

const keyIdOf = (key: string): string => key.slice(key.length - 50, key.length - 38);

for (const backend of BACKENDS) {
  describe(`the interval of a runner, on ${backend}`, () => {
    let stage: Stage;
    before(async () => {
      stage = await openStage(backend);
    });
    after(async () => await stage.dispose());

    test('is that of its heartbeats, also when they reach three nodes in turn', async () => {
      const nodes = [1, 2, 3].map(() => new ServerNode(stage.database, stage.clock));
      const runner = await newRunner(stage);
      for (let n = 0; n < 12; n += 1) {
        await nodes[n % 3]?.beat(runner.key, { name: 'x' });
        for (const node of nodes) await node.round();
        assert.equal((await storedRunner(stage, runner)).interval_ms, 60_000);
        stage.clock.advance(60_000);
      }
    });

    test('grows when the heartbeats become rare, on whichever node', async () => {
      const nodes = [1, 2].map(() => new ServerNode(stage.database, stage.clock));
      const runner = await newRunner(stage);
      for (let n = 0; n < 6; n += 1) {
        await nodes[n % 2]?.beat(runner.key, { name: 'x' });
        for (const node of nodes) await node.round();
        stage.clock.advance(120_000);
      }
      assert.equal((await storedRunner(stage, runner)).interval_ms, 120_000);
    });
  });

  describe(`a clock that was wrong, on ${backend}`, () => {
    let stage: Stage;
    before(async () => {
      stage = await openStage(backend);
    });
    after(async () => await stage.dispose());
    const pass = async (node: ServerNode, ms: number): Promise<void> => {
      for (let left = ms; left > 0; left -= 4900) {
        stage.clock.advance(Math.min(left, 4900));
        await node.round();
      }
    };

    test('and is set back an hour freezes nobody: signs count again at once, and silence is noticed', async () => {
      const node = new ServerNode(stage.database, stage.clock);
      const [alive, silent] = [await newRunner(stage), await newRunner(stage)];
      for (const { key } of [alive, silent]) await node.beat(key, { version: 'before' });
      await node.round();
      stage.clock.advance(-3_600_000);
      await node.round();
      for (let n = 0; n < 4; n += 1) {
        await node.beat(alive.key, { version: 'after' });
        await pass(node, 60_000);
      }
      const stored = await storedRunner(stage, alive);
      assert.equal(stored.presence, 'online');
      assert.equal(stored.version, 'after');
      assert.ok((stored.last_seen_at ?? 0) <= stage.clock.nowMs());
      assert.equal((await storedRunner(stage, silent)).presence, 'offline');
    });

    test('of another node that is gone leaves nothing that a right one can’t overwrite', async () => {
      const wrong = new ServerNode(stage.database, {
        nowMs: () => stage.clock.nowMs() + 3_600_000,
        monotonicMs: () => stage.clock.monotonicMs(),
        sleep: () => Promise.resolve(),
      });
      const right = new ServerNode(stage.database, stage.clock);
      const runner = await newRunner(stage);
      await wrong.beat(runner.key, { version: 'wrong' });
      await wrong.round();
      await right.round();
      await right.beat(runner.key, { version: 'right' });
      await right.round();
      const stored = await storedRunner(stage, runner);
      assert.equal(stored.last_seen_at, stage.clock.nowMs());
      assert.equal(stored.version, 'right');
    });
  });

  test(`the last use of a key never goes back, whichever node writes last, on ${backend}`, async () => {
    const stage = await openStage(backend);
    const [one, two] = [1, 2].map(() => new ServerNode(stage.database, stage.clock));
    const runner = await newRunner(stage);
    await one?.call(runner.key, '192.0.2.1');
    stage.clock.advance(1000);
    await two?.call(runner.key, '192.0.2.2');
    await two?.round();
    await one?.round();
    const db = stage.database.tenant(stage.tenantId);
    const key = await findKey(db, stage.tenantId, keyIdOf(runner.key));
    assert.equal(key?.last_used_at, stage.clock.nowMs());
    assert.equal(key.last_used_from, '192.0.2.2');
    await stage.dispose();
  });
}

describe('locks of a flush, on PostgreSQL', () => {
  let stage: Stage;
  before(async () => {
    stage = await openStage('postgres');
  });
  after(async () => await stage.dispose());

  /** Holds the locks that `lock` takes while `body` runs. */
  const holding = async (
    lock: (tx: Parameters<Parameters<Database['transaction']>[1]>[0]) => Promise<unknown>,
    body: () => Promise<void>,
  ): Promise<void> => {
    const [locked, done] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const holder = stage.database.transaction(stage.tenantId, async (tx) => {
      await lock(tx);
      locked.resolve();
      await done.promise;
    });
    await locked.promise;
    try {
      await body();
    } finally {
      done.resolve();
      await holder;
    }
  };
  const somebodyWaits = async (): Promise<boolean> => {
    const { rows } = await sql`select 1 from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(
      stage.database.system(),
    );
    return rows.length > 0;
  };

  test('while it waits for a runner it holds none that comes later: two nodes can’t wait for each other', async () => {
    const [low, high] = [await newRunner(stage), await newRunner(stage)];
    assert.ok(low.id < high.id);
    const node = new ServerNode(stage.database, stage.clock);
    for (const { key } of [low, high]) await node.call(key);
    await node.round();
    // Heartbeats are written before other signs of life.
    await node.beat(high.key, { name: 'x' });
    await node.call(low.key);
    let flush: Promise<unknown> = Promise.resolve();
    await holding(
      (tx) => lockRunner(tx, stage.tenantId, low.id),
      async () => {
        flush = node.presence.flush([]);
        await eventually(somebodyWaits);
        const { rows } = await sql`select id from runner where id = ${high.id}::uuid
          for update skip locked`.execute(stage.database.tenant(stage.tenantId));
        assert.equal(rows.length, 1, 'the later one is free');
      },
    );
    await flush;
  });

  test('a key that a proof has in hand is passed over, and its use written with the next flush', async () => {
    const node = new ServerNode(stage.database, stage.clock);
    const runner = await newRunner(stage);
    await node.call(runner.key);
    const keyId = keyIdOf(runner.key);
    const lastUse = async (): Promise<number | null | undefined> =>
      (await findKey(stage.database.tenant(stage.tenantId), stage.tenantId, keyId))?.last_used_at;
    await holding(
      (tx) => lockKey(tx, stage.tenantId, keyId),
      async () => {
        await node.round();
        assert.equal(await lastUse(), null);
      },
    );
    await node.round();
    assert.equal(await lastUse(), stage.clock.nowMs());
  });
});

// Presence without HTTP (contract §3), by a simulated clock on both databases: the cost of
// heartbeats, several nodes that hear the same runner, and all events that must not look like a
// runner's absence.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { limits } from '@muster/contract';
import { sql } from 'kysely';
import type { Database } from '../../src/db/db.ts';
import { addRunnerKey } from '../../src/keys/operator-keys.ts';
import { BACKENDS } from '../harness.ts';
import {
  newRunner,
  openStage,
  ServerNode,
  type Stage,
  storedRunner,
  Troubled,
} from '../stories.ts';

/** Counts, in the database itself, every row that is inserted or updated, whoever does it. */
async function countWrites(database: Database): Promise<() => Promise<number>> {
  const db = database.system();
  await sql`create table row_write (n integer not null)`.execute(db);
  await sql`insert into row_write values (0)`.execute(db);
  for (const table of ['runner', 'api_key', 'runner_metrics']) {
    for (const event of ['insert', 'update']) {
      await sql
        .raw(
          database.kind === 'sqlite'
            ? `create trigger count_${table}_${event} after ${event} on ${table}
                 begin update row_write set n = n + 1; end`
            : `create or replace function count_write() returns trigger language plpgsql as
                 'begin update row_write set n = n + 1; return null; end'`,
        )
        .execute(db);
      if (database.kind === 'postgres') {
        const text = `create trigger count_${table}_${event} after ${event} on ${table}
          for each row execute function count_write()`;
        await sql.raw(text).execute(db);
      }
    }
  }
  return async () => {
    const { rows } = await sql<{ n: number }>`select n from row_write`.execute(db);
    return Number(rows[0]?.n);
  };
}

for (const backend of BACKENDS) {
  describe(`what heartbeats cost, on ${backend}`, () => {
    let stage: Stage;
    before(async () => {
      stage = await openStage(backend);
    });
    after(async () => await stage.dispose());

    test('in the steady state a heartbeat writes no row itself, and a flush one for each runner and key', async () => {
      const node = new ServerNode(stage.database, stage.clock);
      const runners = await Promise.all(
        Array.from({ length: 20 }, (_, n) => newRunner(stage, `steady ${n}`)),
      );
      const beatAll = async (): Promise<void> => {
        for (const { key } of runners) {
          const body = {
            name: 'x',
            hostname: key.slice(0, 20),
            cpu_percent: 12,
            uptime_seconds: 60,
          };
          assert.equal((await node.beat(key, body))?.status, 'ok');
        }
      };
      await beatAll();
      await node.round();
      const written = await countWrites(stage.database);
      const beats = 20;
      let onRequests = 0;
      for (let n = 0; n < beats; n += 1) {
        stage.clock.advance(30_000);
        const before = await written();
        await beatAll();
        onRequests += (await written()) - before;
        await node.round();
      }
      assert.ok(onRequests <= 0.05 * beats * runners.length, `${onRequests} rows`);
      const all = await written();
      const flushed = 2 * beats * runners.length;
      const quarters = 2 * runners.length;
      assert.ok(all >= flushed, 'one row of the runner and one of its key with each flush');
      assert.ok(all <= flushed + quarters, 'and one of its metrics, made and filled, each quarter');
      const counted = node.presence.takeRowWrites();
      assert.equal(counted.request, runners.length, 'the metric counts the first sight of each');
      assert.equal(counted.flush, flushed + 2 * runners.length, 'and what the flushes wrote');
    });
  });

  describe(`several nodes, on ${backend}`, () => {
    let stage: Stage;
    let one: ServerNode;
    let two: ServerNode;
    before(async () => {
      stage = await openStage(backend);
    });
    after(async () => await stage.dispose());
    const bothNodes = (): void => {
      one = new ServerNode(stage.database, stage.clock);
      two = new ServerNode(stage.database, stage.clock);
    };

    test('last_seen_at never goes back, whichever node flushes last, and reports are kept', async () => {
      bothNodes();
      const runner = await newRunner(stage);
      await one.beat(runner.key, { name: 'first', version: '1' });
      stage.clock.advance(1000);
      const laterMs = stage.clock.nowMs();
      await two.call(runner.key);
      await two.round();
      await one.round();
      const stored = await storedRunner(stage, runner);
      assert.equal(stored.last_seen_at, laterMs);
      assert.equal(stored.version, '1', 'the report of the earlier heartbeat is not lost');
    });

    test('an older report does not overwrite a newer one', async () => {
      bothNodes();
      const runner = await newRunner(stage);
      await one.beat(runner.key, { version: 'old' });
      stage.clock.advance(1000);
      await two.beat(runner.key, { version: 'new' });
      await two.round();
      await one.round();
      assert.equal((await storedRunner(stage, runner)).version, 'new');
    });

    test('a goodbye said to one node is not undone by what another heard before', async () => {
      bothNodes();
      const runner = await newRunner(stage);
      await one.beat(runner.key, {});
      stage.clock.advance(1000);
      await two.beat(runner.key, { status: 'stopped' });
      await one.round();
      assert.equal((await storedRunner(stage, runner)).presence, 'stopped');
    });

    test('a runner that one node noticed as offline is online at once when it calls another', async () => {
      bothNodes();
      const runner = await newRunner(stage);
      await one.beat(runner.key, {});
      for (let n = 0; n < 45; n += 1) {
        stage.clock.advance(4900);
        if (n === 0) await one.round();
        await two.round();
      }
      assert.equal((await storedRunner(stage, runner)).presence, 'offline');
      await one.call(runner.key);
      const stored = await storedRunner(stage, runner);
      assert.equal(stored.presence, 'online');
      assert.equal(stored.presence_since, stage.clock.nowMs());
    });
  });

  describe(`what must not look like absence, on ${backend}`, () => {
    let stage: Stage;
    before(async () => {
      stage = await openStage(backend);
    });
    after(async () => await stage.dispose());

    /** Rounds of upkeep without a stall. */
    const pass = async (node: ServerNode, ms: number): Promise<void> => {
      for (let left = ms; left > 0; left -= 4900) {
        stage.clock.advance(Math.min(left, 4900));
        await node.round();
      }
    };
    const presence = async (runner: { readonly id: string }): Promise<string> =>
      (await storedRunner(stage, runner)).presence;

    test('what was heard since the last flush counts, although it is not stored yet', async () => {
      const node = new ServerNode(stage.database, stage.clock);
      const runner = await newRunner(stage);
      await node.beat(runner.key, {});
      await pass(node, 100_000);
      assert.equal(await presence(runner), 'online');
      await node.call(runner.key);
      stage.clock.advance(8000);
      await node.presence.watch();
      assert.equal(await presence(runner), 'online');
    });

    test('a server that starts again after an hour hears each runner out before it judges', async () => {
      const runner = await newRunner(stage);
      const first = new ServerNode(stage.database, stage.clock);
      await first.beat(runner.key, {});
      await first.round();
      stage.clock.advance(3_600_000);
      const second = new ServerNode(stage.database, stage.clock);
      await pass(second, 100_000);
      assert.equal(await presence(runner), 'online');
      await pass(second, 15_000);
      assert.equal(await presence(runner), 'late', 'but not for ever');
      await pass(second, 90_000);
      assert.equal(await presence(runner), 'offline');
    });

    test('a stall of the event loop, however often, costs nobody anything', async () => {
      const node = new ServerNode(stage.database, stage.clock);
      const runner = await newRunner(stage);
      await node.beat(runner.key, {});
      await node.round();
      for (let n = 0; n < 5; n += 1) {
        stage.clock.advance(100_000);
        await node.round();
      }
      assert.equal(await presence(runner), 'online');
    });

    test('a database that was away for ten minutes costs nobody anything, and no heartbeat is told ok', async () => {
      const database = new Troubled(stage.database);
      const node = new ServerNode(database, stage.clock);
      const runner = await newRunner(stage);
      await node.beat(runner.key, {});
      await node.round();
      database.isAway = true;
      for (let n = 0; n < 120; n += 1) {
        stage.clock.advance(4900);
        await assert.rejects(node.round());
        await assert.rejects(node.beat(runner.key, {}));
      }
      database.isAway = false;
      await pass(node, 80_000);
      assert.equal(await presence(runner), 'online');
    });

    test('a database so slow that a round takes longer than a stall makes nobody late', async () => {
      const database = new Troubled(stage.database);
      const node = new ServerNode(database, stage.clock);
      const runner = await newRunner(stage);
      await node.beat(runner.key, {});
      database.onTransaction = () => stage.clock.advance(20_000);
      for (let n = 0; n < 10; n += 1) {
        stage.clock.advance(4900);
        await node.round();
      }
      assert.equal(await presence(runner), 'online');
    });

    test('a slow flush asks for fewer heartbeats, and the slower pace makes nobody late', async () => {
      const database = new Troubled(stage.database);
      const node = new ServerNode(database, stage.clock);
      const runner = await newRunner(stage);
      await node.beat(runner.key, {});
      database.onTransaction = () => stage.clock.advance(4000);
      await node.round();
      database.onTransaction = () => {};
      const advised = (await node.beat(runner.key, {}))?.next_heartbeat_seconds ?? 0;
      assert.ok(advised > 60 && advised <= 132, `${advised} s`);
      await pass(node, advised * 1000);
      assert.equal(await presence(runner), 'online');
      const after = (await node.beat(runner.key, {}))?.next_heartbeat_seconds ?? 0;
      assert.ok(after <= 33, 'the load is over');
    });

    test('a CI key that is done is stopped, never late or offline', async () => {
      const node = new ServerNode(stage.database, stage.clock);
      const runner = await newRunner(stage);
      const request = { runner_id: runner.id, scopes: ['ingest'] as const };
      const made = await addRunnerKey(stage.database, stage.clock, stage.tenantId, request, 'test');
      await node.call(made.key.secret.expose());
      const seen = new Set<string>();
      for (let n = 0; n < 50; n += 1) {
        await pass(node, 4900);
        seen.add(await presence(runner));
      }
      assert.deepEqual([...seen], ['online', 'stopped']);
    });

    test('a herd that reconnects after the server was away is online at once, all of it', async () => {
      const runners = await Promise.all(
        Array.from({ length: 50 }, (_, n) => newRunner(stage, `herd ${n}`)),
      );
      const first = new ServerNode(stage.database, stage.clock);
      for (const { key } of runners) await first.beat(key, {});
      await first.round();
      stage.clock.advance(limits.offlineAfterMsMin * 4);
      const second = new ServerNode(stage.database, stage.clock);
      await second.round();
      for (const { key } of runners) await second.beat(key, {});
      await pass(second, 40_000);
      for (const runner of runners) assert.equal(await presence(runner), 'online');
    });
  });
}

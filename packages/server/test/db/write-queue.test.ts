// The order of work on SQLite's one writing connection: which statements share a commit, who comes
// next, and who never waits.

import assert from 'node:assert/strict';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { SqliteConnection } from '../../src/db/sqlite/connection.ts';
import { createPrivateFile } from '../../src/db/sqlite/lock.ts';
import { NO_ROWS, packRows, type Reply } from '../../src/db/sqlite/wire.ts';
import { type Client, TRANSACTION_IDLE_MS, WriteQueue } from '../../src/db/sqlite/write-queue.ts';
import { temporaryDirectory } from './fixture.ts';

/**
 * A queue on a file with one table `t (n integer primary key)`, without any thread around it. Its
 * clock stands still, or goes on by `stepMs` at every look, so that the size of a group never
 * depends on the machine.
 */
async function openQueue(context: TestContext, onIdleTimeout = () => {}, stepMs = 0) {
  const { path: directory, remove } = await temporaryDirectory();
  const file = path.join(directory, 'queue.db');
  createPrivateFile(file);
  const connection = new SqliteConnection(file, 'writer');
  connection.script('create table t (n integer primary key) strict');
  const reader = new SqliteConnection(file, 'reader');
  let nowMs = 0;
  const clock = {
    monotonicMs: () => {
      nowMs += stepMs;
      return nowMs;
    },
  };
  const queue = new WriteQueue(connection, clock, onIdleTimeout);
  context.after(async () => {
    queue.stop();
    connection.close();
    reader.close();
    await remove();
  });
  const stored = () => reader.run('select n from t order by n', []).rows.map(([n]) => n);
  return { queue, stored };
}

function newClient(): { client: Client; sent: Reply[][] } {
  const sent: Reply[][] = [];
  const send = (replies: Reply[]) => {
    sent.push(replies);
  };
  return { client: { send, transactions: new Map(), replies: [], open: true }, sent };
}

let lastId = 0;

/** An insertion of `n`: alone, or as a step of transaction `tx`, which its first step begins. */
function insert(n: number, tx = 0, begin = false) {
  const rows = packRows([[n]]);
  return { op: 'run' as const, id: ++lastId, tx, begin, sql: 'insert into t values (?)', rows };
}

function end(op: 'commit' | 'rollback', tx: number) {
  return { op, id: ++lastId, tx };
}

const succeeded = (replies: readonly Reply[]) => replies.map((reply) => !('error' in reply));

test('single statements that wait together are answered together, each for itself', async (context) => {
  const { queue, stored } = await openQueue(context);
  const { client, sent } = newClient();
  for (const n of [1, 2, 1, 3]) queue.enqueue(client, insert(n));
  assert.deepEqual(stored(), []);
  assert.equal(queue.pump([client]), false);
  assert.deepEqual(sent.map(succeeded), [[true, true, false, true]]);
  assert.deepEqual(stored(), [1, 2, 3]);
});

test('a group of singles ends when its time is up; the rest is another group', async (context) => {
  const { queue, stored } = await openQueue(context, () => {}, 3);
  const { client, sent } = newClient();
  for (const n of [1, 2, 3, 4]) queue.enqueue(client, insert(n));
  // Looks at 3 ms (the start), 6 and 9 ms: the second statement begins within 5 ms, the third would
  // not.
  assert.equal(queue.pump([client]), true);
  assert.deepEqual(stored(), [1, 2]);
  assert.equal(queue.pump([client]), false);
  assert.deepEqual(sent.map(succeeded), [
    [true, true],
    [true, true],
  ]);
  assert.deepEqual(stored(), [1, 2, 3, 4]);
});

test('an open transaction lets nobody in before it ends', async (context) => {
  const { queue, stored } = await openQueue(context);
  const [one, two] = [newClient(), newClient()];
  queue.enqueue(one.client, insert(1, 7, true));
  queue.pump([one.client, two.client]);
  queue.enqueue(two.client, insert(2));
  queue.enqueue(two.client, insert(3, 7, true));
  assert.equal(queue.pump([one.client, two.client]), false);
  assert.deepEqual(two.sent, []);
  queue.enqueue(one.client, end('rollback', 7));
  assert.equal(queue.pump([one.client, two.client]), true);
  assert.equal(queue.pump([one.client, two.client]), false);
  assert.deepEqual(stored(), [2]);
  queue.enqueue(two.client, end('commit', 7));
  queue.pump([one.client, two.client]);
  assert.deepEqual(stored(), [2, 3]);
});

test('neither a flood of singles nor a flood of transactions starves the other', async (context) => {
  const { queue } = await openQueue(context);
  const { client, sent } = newClient();
  const order: string[] = [];
  for (let n = 0; n < 1_200; n++) queue.enqueue(client, insert(n));
  for (let tx = 1; tx <= 3; tx++) {
    queue.enqueue(client, insert(10_000 + tx, tx, true));
    queue.enqueue(client, end('commit', tx));
  }
  while (queue.pump([client])) {
    // Every turn has one group of singles, then one transaction of a step and its end.
    const replies = sent.at(-1)?.length ?? 0;
    order.push(replies > 2 ? 'both' : 'one');
  }
  assert.deepEqual(order.slice(0, 2), ['both', 'both']);
  assert.ok(queue.drained);
  assert.ok(sent.flat().every((reply) => !('error' in reply)));
});

test('a client that is gone takes its transaction and its waiting ones along', async (context) => {
  const { queue, stored } = await openQueue(context);
  const [gone, other] = [newClient(), newClient()];
  queue.enqueue(gone.client, insert(1, 1, true));
  queue.enqueue(gone.client, insert(2, 2, true));
  queue.pump([gone.client, other.client]);
  queue.enqueue(other.client, insert(3));
  queue.drop(gone.client);
  queue.pump([other.client]);
  assert.deepEqual(stored(), [3]);
  assert.ok(queue.drained);
});

test('a transaction whose owner falls silent is rolled back, and told so when it speaks', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  let woken = 0;
  const { queue, stored } = await openQueue(context, () => woken++, TRANSACTION_IDLE_MS);
  const { client, sent } = newClient();
  queue.enqueue(client, insert(1, 1, true));
  queue.pump([client]);
  context.mock.timers.tick(TRANSACTION_IDLE_MS);
  assert.equal(woken, 1);
  queue.enqueue(client, insert(2, 1));
  queue.enqueue(client, end('commit', 1));
  queue.enqueue(client, end('rollback', 1));
  queue.enqueue(client, insert(3));
  queue.pump([client]);
  assert.deepEqual(succeeded(sent.at(-1) ?? []), [false, false, true, true]);
  assert.deepEqual(stored(), [3]);
});

test('a transaction whose statement took that long is not silent: its owner has yet to hear of the end', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const { queue, stored } = await openQueue(context);
  const { client, sent } = newClient();
  queue.enqueue(client, insert(1, 1, true));
  queue.pump([client]);
  // The timer is due, and by the clock, which stands still, the statement has just ended.
  context.mock.timers.tick(TRANSACTION_IDLE_MS);
  queue.enqueue(client, insert(2, 1));
  queue.enqueue(client, end('commit', 1));
  queue.pump([client]);
  assert.deepEqual(succeeded(sent.flat()), [true, true, true]);
  assert.deepEqual(stored(), [1, 2]);
});

test('a script outside of a transaction is refused', async (context) => {
  const { queue } = await openQueue(context);
  const { client, sent } = newClient();
  queue.enqueue(client, {
    op: 'script',
    id: 1,
    tx: 0,
    begin: false,
    sql: 'drop table t',
    rows: NO_ROWS,
  });
  queue.pump([client]);
  assert.deepEqual(succeeded(sent.flat()), [false]);
});

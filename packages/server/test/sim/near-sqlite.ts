// SQLite for thousands of seeds: the server's own driver, write queue and statements on a database
// in memory, in this thread. Only the hop to the writer thread and the disk are missing: a
// simulated crash is the death of a transaction. A test shows that a history is the same on a real
// file (sim.test.ts).

import { EventEmitter } from 'node:events';
import type { MessagePort } from 'node:worker_threads';
import type { Database } from '../../src/db/db.ts';
import { SqliteConnection } from '../../src/db/sqlite/connection.ts';
import { SqlitePort } from '../../src/db/sqlite/port.ts';
import type { Request } from '../../src/db/sqlite/wire.ts';
import { type Client, done, flush, WriteQueue } from '../../src/db/sqlite/write-queue.ts';
import { SqliteDatabase, type SqliteParts } from '../../src/db/sqlite/sqlite.ts';
import { systemClock } from '../../src/lib/clock.ts';

/** The end of a port that the writer thread has elsewhere. */
class NearEnd extends EventEmitter {
  readonly #queue: WriteQueue;
  readonly #client: Client;

  constructor(connection: SqliteConnection) {
    super();
    this.#queue = new WriteQueue(connection, systemClock, () => this.#work());
    const send = (replies: unknown[]): void => void this.emit('message', replies);
    this.#client = { send, transactions: new Map(), replies: [], open: true };
  }

  postMessage(requests: readonly Request[]): void {
    for (const request of requests) {
      if (request.op !== 'close') this.#queue.enqueue(this.#client, request);
      else {
        this.#queue.stop();
        this.#client.replies.push(done(request.id));
      }
    }
    this.#work();
  }

  #work(): void {
    let isMore = true;
    while (isMore) isMore = this.#queue.pump([this.#client]);
    flush(this.#client);
  }
}

/** An empty database in memory. */
export function openNearSqlite(): Database {
  const connection = new SqliteConnection(':memory:', 'writer');
  const writer = new SqlitePort(new NearEnd(connection) as unknown as MessagePort);
  // Beside an open transaction a read waits for the transaction's end: one connection would show
  // uncommitted rows.
  const read: SqliteParts['readHere'] = async (sql, parameters) =>
    connection.inTransaction
      ? await writer.statement('run', sql, [parameters], { tx: 0, begin: false })
      : connection.run(sql, parameters);
  return new SqliteDatabase({
    writer,
    readHere: read,
    readLists: read,
    workerData: () => {
      throw new Error('a database in memory has no workers');
    },
    close: async () => {
      await writer.close();
      connection.close();
    },
  });
}

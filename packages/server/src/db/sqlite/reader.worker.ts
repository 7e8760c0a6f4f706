// The reader thread: lists, facets, search and exports of the main thread, one SELECT at a time, on
// a read-only connection of its own, so that a long SELECT stops nobody's heartbeat. openSqlite
// starts it on the first list.

import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { SqliteConnection } from './connection.ts';
import { done, failed } from './write-queue.ts';
import { packAnswer, type Reply, type Request, transferOf, unpackRows } from './wire.ts';

const { path } = workerData as { path: string };
const port = parentPort as MessagePort;
const connection = new SqliteConnection(path, 'reader');

function answer(request: Request): Reply {
  if (request.op === 'close') {
    connection.close();
    return done(request.id);
  }
  try {
    if (request.op !== 'run') throw new Error('the reader thread only reads');
    const { columns, rows } = connection.run(request.sql, unpackRows(request.rows, false)[0] ?? []);
    return { id: request.id, columns, rows: packAnswer(rows), changes: 0 };
  } catch (error) {
    return failed(request.id, error);
  }
}

port.on('message', (requests: Request[]) => {
  for (const request of requests) {
    const reply = answer(request);
    port.postMessage([reply], 'rows' in reply && reply.rows !== null ? transferOf(reply.rows) : []);
    if (request.op === 'close') port.close();
  }
});

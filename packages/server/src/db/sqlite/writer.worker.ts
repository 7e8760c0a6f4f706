// The writer thread: owns the only writing connection to the SQLite file. Messages from any number
// of ports (the main thread's and one for every ingest worker) become work in the queue; work that
// waits together when a turn begins is done together. openSqlite starts it; an exception here is a
// defect, and the end of the process.

import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../lib/clock.ts';
import { SqliteConnection } from './connection.ts';
import { type Client, done, flush, WriteQueue } from './write-queue.ts';
import type { Request } from './wire.ts';

/** What openSqlite tells the thread beside requests: another port to listen to. */
export interface Attach {
  readonly port: MessagePort;
}

const { path } = workerData as { path: string };
const main = parentPort as MessagePort;
const connection = new SqliteConnection(path, 'writer');
const clients = new Set<Client>();
const ports = new Set<MessagePort>();
const queue = new WriteQueue(connection, systemClock, wake);
let scheduled = false;
let closing: { client: Client; id: number } | null = null;

function wake(): void {
  if (scheduled) return;
  scheduled = true;
  // Immediate, not now: every message that has already arrived joins the same turn.
  setImmediate(turn);
}

function turn(): void {
  scheduled = false;
  const more = queue.pump(clients);
  if (more) wake();
  else if (closing !== null && queue.drained) finish(closing.client, closing.id);
}

function listen(port: MessagePort): void {
  const client: Client = {
    send: (replies, transfer) => port.postMessage(replies, transfer),
    transactions: new Map(),
    replies: [],
    open: true,
  };
  clients.add(client);
  ports.add(port);
  port.on('message', (message: Request[] | Attach) => {
    if (!Array.isArray(message)) {
      listen(message.port);
      return;
    }
    for (const request of message) {
      if (request.op === 'close') closing = { client, id: request.id };
      else queue.enqueue(client, request);
    }
    wake();
  });
  port.on('close', () => {
    queue.drop(client);
    clients.delete(client);
    ports.delete(port);
    wake();
  });
}

function finish(client: Client, id: number): void {
  closing = null;
  queue.stop();
  connection.checkpoint('truncate');
  connection.close();
  client.replies.push(done(id));
  flush(client);
  for (const port of ports) port.close();
}

listen(main);

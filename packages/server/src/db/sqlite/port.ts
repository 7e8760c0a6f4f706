// The asking end of a port to the writer or reader thread: requests get numbers, requests of one
// tick share a message, replies settle their promises. Once the other end is gone, all waiting
// requests are rejected, and so are all later ones. Called by sqlite.ts.

import type { MessagePort, Worker } from 'node:worker_threads';
import { release } from '../../lib/release.ts';
import { DatabaseClosedError } from '../db-errors.ts';
import {
  type Answer,
  NO_ROWS,
  type PackedRows,
  packRows,
  type Reply,
  type Request,
  SqliteError,
  transferOf,
  unpackRows,
} from './wire.ts';

interface Waiting {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

/** See the head of this file. */
export class SqlitePort {
  readonly #port: MessagePort | Worker;
  readonly #waiting = new Map<number, Waiting>();
  #outbox: Request[] = [];
  #lastId = 0;
  #lastTransaction = 0;
  #gone: DatabaseClosedError | null = null;

  constructor(port: MessagePort | Worker) {
    this.#port = port;
    port.on('message', (replies: Reply[]) => {
      for (const reply of replies) this.#settle(reply);
    });
  }

  /** A new transaction's number; nothing is sent before its first statement. */
  nextTransaction(): number {
    return ++this.#lastTransaction;
  }

  /** Asks for a statement: once, or (`many`) for every row of parameters. */
  async statement(
    op: 'run' | 'many' | 'script',
    sql: string,
    rows: readonly (readonly unknown[])[],
    transaction: { tx: number; begin: boolean },
  ): Promise<Answer> {
    const packed = op === 'script' ? NO_ROWS : packRows(rows);
    return await this.#ask({ op, sql, rows: packed, id: ++this.#lastId, ...transaction });
  }

  /** Ends a transaction that was begun. */
  async end(op: 'commit' | 'rollback', tx: number): Promise<void> {
    await this.#ask({ op, id: ++this.#lastId, tx });
  }

  /**
   * Lets the other end finish all requests that wait there, then close its file. Resolves when it
   * has.
   */
  async close(): Promise<void> {
    await this.#ask({ op: 'close', id: ++this.#lastId });
    this.abandon('it was closed');
  }

  /**
   * The other end is gone, or must not be asked any more: rejects all waiting requests and all
   * later ones.
   */
  abandon(reason: string): void {
    this.#gone ??= new DatabaseClosedError(reason);
    for (const { reject } of this.#waiting.values()) reject(this.#gone);
    this.#waiting.clear();
  }

  #ask(request: Request): Promise<Answer> {
    if (this.#gone !== null) return Promise.reject(this.#gone);
    return new Promise((resolve, reject) => {
      this.#waiting.set(request.id, { resolve, reject });
      this.#outbox.push(request);
      if (this.#outbox.length === 1) queueMicrotask(() => this.#post());
    });
  }

  #post(): void {
    const requests = this.#outbox;
    this.#outbox = [];
    const transfer = requests.flatMap((one) => ('rows' in one ? transferOf(one.rows) : []));
    this.#port.postMessage(requests, transfer);
  }

  #settle(reply: Reply): void {
    const waiting = this.#waiting.get(reply.id);
    if (waiting === undefined) return; // rejected already: this end was abandoned
    this.#waiting.delete(reply.id);
    if ('error' in reply) {
      waiting.reject(new SqliteError(reply.error));
      return;
    }
    const { columns, changes } = reply;
    waiting.resolve({ columns, changes, rows: rowsOf(reply.rows) });
  }
}

/** The rows of a reply are copies, so the reply's own bytes needn't wait for the collector. */
function rowsOf(packed: PackedRows | null): readonly (readonly unknown[])[] {
  if (packed === null) return [];
  const rows = unpackRows(packed, true);
  release(packed.bytes, packed.bytes.length);
  return rows;
}

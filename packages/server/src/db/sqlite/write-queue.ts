// Who may write when: the order of all work on the one writing connection. Single statements that wait together
// become one transaction (group commit), each failing for itself alone; interactive transactions are exclusive.
// They take turns, a group of singles before every transaction, so that neither starves. A reply is given only
// after COMMIT. Called by db/sqlite/writer.worker.ts, which brings messages in and lets `pump` run.

import type { Clock } from '../../lib/clock.ts';
import type { SqliteConnection } from './connection.ts';
import {
  type Answer,
  packAnswer,
  type Reply,
  type Request,
  SqliteError,
  toWireError,
  transferOf,
  unpackRows,
} from './wire.ts';

// A group ends after this time or number: one fsync (about 1 ms) is shared by many, and a waiting transaction waits
// for at most this long. Half costs throughput under load, double costs a transaction latency.
const GROUP_MS = 5;
const GROUP_STATEMENTS = 512;

// A transaction whose owner says nothing for this long is rolled back: it stops everybody else. The same bound
// stands on PostgreSQL (idle_in_transaction_session_timeout in postgres.ts).
export const TRANSACTION_IDLE_MS = 30_000;

// Checkpoint when idle from 4 MiB of log (SQLite's own default), and under load too from 64 MiB, so that readers
// which always overlap can't make the log grow without end. That one waits for readers, briefly, because everybody
// waits with it; behind a long export it is tried again only after another 16 MiB. While the log grows by more than
// 1 MiB from one look to the next an upload is being written, which touches the same pages again and again: earlier
// checkpoints cost it a fifth of this thread.
const CHECKPOINT_IDLE_PAGES = 1_000;
const CHECKPOINT_GROWING_PAGES = 250;
const CHECKPOINT_FORCED_PAGES = 16_000;
const CHECKPOINT_AGAIN_PAGES = 4_000;
const CHECKPOINT_PATIENCE_MS = 50;

// How soon after work the length of the log is looked at: asking after every commit cost a fifth of this thread.
const CHECKPOINT_LOOK_MS = 50;

type Statement = Extract<Request, { sql: string }>;
type Job = Exclude<Request, { op: 'close' }>;

/** One thread that asks: `send` posts replies to it. Numbers of transactions are the client's own. */
export interface Client {
  readonly send: (replies: Reply[], transfer: ArrayBuffer[]) => void;
  readonly transactions: Map<number, Transaction>;
  replies: Reply[];
  open: boolean;
}

interface Transaction {
  readonly client: Client;
  readonly number: number;
  readonly jobs: Job[];
  // 'failed': a statement failed, so that only a rollback can follow, as on PostgreSQL.
  state: 'waiting' | 'open' | 'failed';
}

interface Single {
  readonly client: Client;
  readonly request: Statement;
}

/** See the head of this file; it knows nothing of threads, and does everything when `pump` is called. */
export class WriteQueue {
  readonly #connection: SqliteConnection;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #singles: Single[] = [];
  readonly #waiting: Transaction[] = [];
  readonly #idle: NodeJS.Timeout;
  #active: Transaction | null = null;
  /** When the last statement of a transaction ended. */
  #answeredAtMs = 0;
  #checkpointTimer: NodeJS.Timeout | undefined;
  #stopped = false;
  #forcedAtPages = CHECKPOINT_FORCED_PAGES;
  /** Pages of the log when it was looked at last. */
  #seenPages = 0;

  /**
   * `clock` measures how long a group may take; `onIdleTimeout` is told to pump again after an idle transaction was
   * rolled back.
   */
  constructor(
    connection: SqliteConnection,
    clock: Pick<Clock, 'monotonicMs'>,
    onIdleTimeout: () => void,
  ) {
    this.#connection = connection;
    this.#clock = clock;
    this.#idle = setTimeout(() => {
      if (this.#active !== null) this.#abandonIdle(this.#active);
      onIdleTimeout();
    }, TRANSACTION_IDLE_MS).unref();
  }

  /** Whether nothing waits and no transaction is open. */
  get drained(): boolean {
    return this.#active === null && this.#singles.length === 0 && this.#waiting.length === 0;
  }

  /** Takes a request in; nothing is done before `pump`. */
  enqueue(client: Client, request: Job): void {
    if ('sql' in request && request.tx === 0) {
      this.#singles.push({ client, request });
      return;
    }
    let transaction = client.transactions.get(request.tx);
    if (transaction === undefined && 'sql' in request && request.begin) {
      transaction = { client, number: request.tx, jobs: [], state: 'waiting' };
      client.transactions.set(request.tx, transaction);
      this.#waiting.push(transaction);
    }
    if (transaction !== undefined) transaction.jobs.push(request);
    else if (request.op === 'rollback') client.replies.push(done(request.id));
    else client.replies.push(failed(request.id, new Error('the transaction is over: it was idle')));
  }

  /** The client's thread is gone: its open transaction is rolled back, waiting ones are dropped. */
  drop(client: Client): void {
    client.open = false;
    for (const transaction of client.transactions.values()) this.#abandon(transaction);
  }

  /**
   * Does one turn: the open transaction's statements, or one group of singles and then the next transaction.
   * Returns whether there is more to do without hearing from anybody first.
   */
  pump(clients: Iterable<Client>): boolean {
    if (this.#active === null) {
      if (this.#singles.length > 0) this.#group();
      this.#active = this.#waiting.shift() ?? null;
    }
    if (this.#active !== null) this.#advance(this.#active);
    for (const client of clients) flush(client);
    const more = this.#active === null && !this.drained;
    this.#lookLater();
    return more;
  }

  #lookLater(): void {
    this.#checkpointTimer ??= setTimeout(() => this.#checkpointNow(), CHECKPOINT_LOOK_MS).unref();
  }

  #group(): void {
    const until = this.#clock.monotonicMs() + GROUP_MS;
    const taken: Single[] = [];
    let replies: Reply[] = [];
    try {
      this.#connection.script('begin immediate');
      for (let n = 0; n < GROUP_STATEMENTS && (n === 0 || this.#clock.monotonicMs() < until); n++) {
        const single = this.#singles.shift();
        if (single === undefined) break;
        taken.push(single);
        const reply = this.#answer(single.request);
        replies.push(reply);
        // Disk full and I/O errors roll back the whole transaction, not only their statement.
        if (!this.#connection.inTransaction && 'error' in reply) throw new SqliteError(reply.error);
      }
      this.#connection.script('commit');
    } catch (error) {
      this.#rollback();
      if (taken.length === 0) taken.push(...this.#singles.splice(0, GROUP_STATEMENTS));
      replies = taken.map(({ request }, at) => {
        const reply = replies[at];
        return reply !== undefined && 'error' in reply ? reply : failed(request.id, error);
      });
    }
    taken.forEach(({ client }, at) => {
      client.replies.push(replies[at] as Reply);
    });
  }

  #advance(transaction: Transaction): void {
    this.#idle.refresh();
    for (let job = transaction.jobs.shift(); job !== undefined; job = transaction.jobs.shift()) {
      if (!('sql' in job)) {
        transaction.client.replies.push(this.#end(transaction, job));
        return;
      }
      transaction.client.replies.push(this.#step(transaction, job));
    }
    this.#answeredAtMs = this.#clock.monotonicMs();
  }

  #step(transaction: Transaction, job: Statement): Reply {
    if (transaction.state === 'failed') {
      return failed(job.id, new Error('the transaction failed before: only a rollback can follow'));
    }
    try {
      if (transaction.state === 'waiting') this.#connection.script('begin immediate');
      transaction.state = 'open';
    } catch (error) {
      transaction.state = 'failed';
      return failed(job.id, error);
    }
    const reply = this.#answer(job);
    if ('error' in reply) transaction.state = 'failed';
    return reply;
  }

  #end(transaction: Transaction, job: { op: 'commit' | 'rollback'; id: number }): Reply {
    const { state } = transaction;
    this.#forget(transaction);
    if (job.op === 'commit' && state === 'open') {
      try {
        this.#connection.script('commit');
        return done(job.id);
      } catch (error) {
        this.#rollback();
        return failed(job.id, error);
      }
    }
    this.#rollback();
    if (job.op === 'rollback') return done(job.id);
    return failed(job.id, new Error('the transaction failed before: it was rolled back'));
  }

  /**
   * The timer also fires right after a statement that took long. The owner of its transaction has
   * then not heard of the end yet: only time since that end is silence.
   */
  #abandonIdle(transaction: Transaction): void {
    const silentMs = this.#clock.monotonicMs() - this.#answeredAtMs;
    if (silentMs >= TRANSACTION_IDLE_MS) this.#abandon(transaction);
    else this.#idle.refresh();
  }

  #abandon(transaction: Transaction): void {
    if (this.#active === transaction) {
      this.#rollback();
    } else {
      const at = this.#waiting.indexOf(transaction);
      if (at >= 0) this.#waiting.splice(at, 1);
    }
    this.#forget(transaction);
  }

  #forget(transaction: Transaction): void {
    transaction.client.transactions.delete(transaction.number);
    if (this.#active === transaction) this.#active = null;
  }

  #rollback(): void {
    if (this.#connection.inTransaction) this.#connection.script('rollback');
  }

  #answer(request: Statement): Reply {
    try {
      const { columns, rows, changes } = this.#execute(request);
      return { id: request.id, columns, rows: packAnswer(rows), changes };
    } catch (error) {
      return failed(request.id, error);
    }
  }

  #execute(request: Statement): Answer {
    if (request.op === 'script') {
      if (request.tx === 0) throw new Error('a script runs inside a transaction');
      this.#connection.script(request.sql);
      return { columns: [], rows: [], changes: 0 };
    }
    const rows = unpackRows(request.rows, false);
    try {
      if (request.op === 'run') return this.#connection.run(request.sql, rows[0] ?? []);
      return { columns: [], rows: [], changes: this.#connection.runMany(request.sql, rows) };
    } finally {
      // SQLite has its own copy. Left to the collector, the chunks of a large upload would be 60 MiB before it came.
      for (const buffer of transferOf(request.rows)) buffer.transfer(0);
    }
  }

  /** Nothing is done from now on: the file is about to be closed. */
  stop(): void {
    clearTimeout(this.#idle);
    clearTimeout(this.#checkpointTimer);
    this.#stopped = true;
  }

  #checkpointNow(): void {
    this.#checkpointTimer = undefined;
    if (this.#stopped) return;
    // Inside a transaction nothing can be checkpointed; its end arms the timer again.
    if (this.#active === null) this.#checkpoint(!this.drained);
  }

  #checkpoint(busy: boolean): void {
    const { logPages, donePages } = this.#connection.checkpoint('noop');
    const growing = logPages - this.#seenPages >= CHECKPOINT_GROWING_PAGES;
    this.#seenPages = logPages;
    if (logPages >= this.#forcedAtPages) {
      const { complete } = this.#connection.checkpoint('restart', CHECKPOINT_PATIENCE_MS);
      this.#forcedAtPages = complete ? CHECKPOINT_FORCED_PAGES : logPages + CHECKPOINT_AGAIN_PAGES;
    } else if (growing) {
      this.#lookLater();
    } else if (!busy && logPages - donePages >= CHECKPOINT_IDLE_PAGES) {
      this.#connection.checkpoint('passive');
    }
  }
}

/** Posts what a client has been answered; one message however many answers. */
export function flush(client: Client): void {
  if (client.replies.length === 0) return;
  const replies = client.replies;
  client.replies = [];
  if (!client.open) return;
  const transfer = replies.flatMap((reply) =>
    'rows' in reply && reply.rows !== null ? transferOf(reply.rows) : [],
  );
  client.send(replies, transfer);
}

/** The reply that says only that something is done. */
export function done(id: number): Reply {
  return { id, columns: [], rows: null, changes: 0 };
}

/** The reply that carries an error. */
export function failed(id: number, error: unknown): Reply {
  return { id, error: toWireError(error) };
}

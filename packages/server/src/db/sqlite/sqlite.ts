// The SQLite backend: one file, one writing connection in a thread of its own. Behind Kysely stands
// our own thin driver: a SELECT outside a transaction runs on a read-only connection (this
// thread's, or for lists the reader thread's); everything else goes to the writer thread as a
// message. A reply means committed, so that the next read sees what was written. Called by db.ts.

import { join } from 'node:path';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  type QueryResult,
} from 'kysely';
import type { Database, Db, WorkerData } from '../db.ts';
import { batchOf, sqliteDialect } from '../dialect.ts';
import { IdPlugin } from '../id-plugin.ts';
import { assertId } from '../../lib/id-bytes.ts';
import { Lifetime } from '../lifetime.ts';
import { SqliteConnection } from './connection.ts';
import { createPrivateDirectory, createPrivateFile, lockDirectory } from './lock.ts';
import { SqlitePort } from './port.ts';
import type { Answer } from './wire.ts';
import type { Attach } from './writer.worker.ts';
import type { Tables } from '../tables.ts';
import { SharingDriver } from '../sharing-driver.ts';
import { type OpenTransaction, runTogether, runTransaction } from '../transaction.ts';
import { assertStorable } from '../values.ts';

/** The parameters with which an ingest worker opens the same database. */
export interface SqliteWorkerData {
  readonly kind: 'sqlite';
  readonly path: string;
  readonly port: MessagePort;
}

const WRITER = new URL('./writer.worker.ts', import.meta.url);
const READER = new URL('./reader.worker.ts', import.meta.url);

type Read = (sql: string, parameters: readonly unknown[]) => Promise<Answer>;

/** How statements reach the file from this thread. */
interface Route {
  readonly read: Read;
  readonly writer: SqlitePort;
  readonly lifetime: Lifetime;
}

/**
 * Opens the file `<directory>/muster.db`, creating it when it isn't there, and starts its writer
 * thread. With `lock` it refuses a directory that another server uses (DatabaseInUseError).
 */
export async function openSqlite(directory: string, lock: boolean): Promise<Database> {
  createPrivateDirectory(directory);
  const unlock = lock ? lockDirectory(directory) : () => {};
  try {
    return await startThreads(join(directory, 'muster.db'), unlock);
  } catch (error) {
    unlock();
    throw error;
  }
}

async function startThreads(path: string, unlock: () => void): Promise<Database> {
  createPrivateFile(path);
  const writer = await startThread(WRITER, path);
  const connection = new SqliteConnection(path, 'reader');
  let reader: Promise<Thread> | null = null;
  const inReader: Read = async (sql, parameters) => {
    reader ??= startThread(READER, path).catch((error: unknown) => {
      reader = null; // tried again by the next list
      throw error;
    });
    return await (await reader).port.statement('run', sql, [parameters], { tx: 0, begin: false });
  };
  return new SqliteDatabase({
    writer: writer.port,
    readHere: async (sql, parameters) => connection.run(sql, parameters),
    readLists: inReader,
    workerData: () => {
      const { port1, port2 } = new MessageChannel();
      writer.worker.postMessage({ port: port1 } satisfies Attach, [port1]);
      const data: SqliteWorkerData = { kind: 'sqlite', path, port: port2 };
      return { data, transfer: [port2] };
    },
    close: async () => {
      if (reader !== null) await stopThread(await reader);
      await stopThread(writer);
      connection.close();
      unlock();
    },
  });
}

/**
 * Opens the database inside an ingest worker: reads on a connection of its own, writes through the
 * port.
 */
export function openSqliteInWorker({ path, port }: SqliteWorkerData): Database {
  const connection = new SqliteConnection(path, 'reader');
  const writer = new SqlitePort(port);
  port.on('close', () => writer.abandon('the writer thread is gone'));
  const readHere: Read = async (sql, parameters) => connection.run(sql, parameters);
  return new SqliteDatabase({
    writer,
    readHere,
    readLists: readHere,
    workerData: () => {
      throw new Error('an ingest worker starts no workers of its own');
    },
    close: async () => {
      port.close();
      connection.close();
    },
  });
}

/**
 * Next to nothing of a message outlives it, and all of this room is touched before any of it is
 * collected. A twelfth of V8's own bound (96) saves 20 MiB while a report is written, in the same
 * time.
 */
const YOUNG_MIB_MAX = 8;

interface Thread {
  readonly worker: Worker;
  readonly port: SqlitePort;
  state: 'starting' | 'running' | 'stopping';
}

/**
 * Starts a thread and waits until its file is open; throws the fault of the file. From then on the
 * thread's unexpected end is the end of the process: nothing can be read or written without it.
 */
async function startThread(file: URL, path: string): Promise<Thread> {
  const resourceLimits = { maxYoungGenerationSizeMb: YOUNG_MIB_MAX };
  const worker = new Worker(file, { workerData: { path }, resourceLimits });
  const thread: Thread = { worker, port: new SqlitePort(worker), state: 'starting' };
  let cause: unknown;
  worker.on('error', (error) => {
    cause = error;
  });
  worker.on('exit', (code) => {
    const reason = `the SQLite thread ${file.pathname} ended (exit code ${code})`;
    thread.port.abandon(reason);
    // In an event handler: an uncaught exception, which ends the process.
    if (thread.state === 'running') throw new Error(reason, { cause });
  });
  try {
    await thread.port.statement('run', 'select 1', [[]], { tx: 0, begin: false });
  } catch (error) {
    throw cause ?? error;
  }
  thread.state = 'running';
  return thread;
}

async function stopThread(thread: Thread): Promise<void> {
  thread.state = 'stopping';
  const ended = new Promise<void>((resolve) => thread.worker.once('exit', () => resolve()));
  await thread.port.close();
  await ended;
}

/** The parts of an open database: where its statements go, and its end. */
export interface SqliteParts {
  readonly writer: SqlitePort;
  readonly readHere: Read;
  readonly readLists: Read;
  readonly workerData: () => WorkerData;
  readonly close: () => Promise<void>;
}

/** See the head of this file. Exported for the simulator, whose statements stay in one thread. */
export class SqliteDatabase implements Database {
  readonly kind = 'sqlite';
  readonly #parts: SqliteParts;
  readonly #db: Db;
  readonly #lists: Db;
  readonly #lifetime = new Lifetime();

  constructor(parts: SqliteParts) {
    this.#parts = parts;
    const plugins = [new IdPlugin()];
    const kysely = (read: Read) => {
      const route: Route = { read, writer: parts.writer, lifetime: this.#lifetime };
      return new Kysely<Tables>({ dialect: sqliteDialect(() => new SqliteDriver(route)), plugins });
    };
    this.#db = kysely(parts.readHere);
    this.#lists = kysely(parts.readLists);
  }

  tenant(tenantId: string): Db {
    assertId(tenantId);
    return this.#db;
  }

  lists(tenantId: string): Db {
    assertId(tenantId);
    return this.#lists;
  }

  system(): Db {
    return this.#db;
  }

  systemLists(): Db {
    return this.#lists;
  }

  async transaction<T>(scope: string, body: (tx: Db) => Promise<T>): Promise<T> {
    this.#lifetime.assertOpen();
    if (scope !== 'system') assertId(scope);
    return await runTransaction(this.#db, body);
  }

  async together(scope: string, body: (tx: Db) => Promise<unknown>): Promise<void> {
    this.#lifetime.assertOpen();
    if (scope !== 'system') assertId(scope);
    await runTogether(async () => this.#openTransaction(), body);
  }

  #openTransaction(): OpenTransaction {
    this.#lifetime.enter();
    const { readHere: read, writer } = this.#parts;
    const connection = new RoutedConnection({ read, writer, lifetime: this.#lifetime });
    connection.begin();
    return {
      db: new Kysely<Tables>({
        dialect: sqliteDialect(() => new SharingDriver(connection)),
        plugins: [new IdPlugin()],
      }),
      end: (op) => connection.end(op),
      release: () => this.#lifetime.leave(),
    };
  }

  async notify(): Promise<void> {}

  listen(): () => Promise<void> {
    return async () => {};
  }

  workerData(): WorkerData {
    this.#lifetime.assertOpen();
    return this.#parts.workerData();
  }

  close(): Promise<void> {
    return this.#lifetime.close(this.#parts.close);
  }
}

class SqliteDriver implements Driver {
  readonly #route: Route;

  constructor(route: Route) {
    this.#route = route;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<RoutedConnection> {
    this.#route.lifetime.enter();
    return new RoutedConnection(this.#route);
  }

  async beginTransaction(connection: RoutedConnection): Promise<void> {
    connection.begin();
  }

  async commitTransaction(connection: RoutedConnection): Promise<void> {
    await connection.end('commit');
  }

  async rollbackTransaction(connection: RoutedConnection): Promise<void> {
    await connection.end('rollback');
  }

  async releaseConnection(): Promise<void> {
    this.#route.lifetime.leave();
  }

  async destroy(): Promise<void> {}
}

/**
 * Kysely's connection: it holds only where a statement is sent, and the transaction it is part of.
 */
class RoutedConnection implements DatabaseConnection {
  readonly #route: Route;
  #tx = 0;
  #begun = false;
  #ended = false;

  constructor(route: Route) {
    this.#route = route;
  }

  /**
   * BEGIN IMMEDIATE travels with the first statement: the writer isn't held while that statement is
   * on its way.
   */
  begin(): void {
    this.#tx = this.#route.writer.nextTransaction();
    this.#begun = false;
    this.#ended = false;
  }

  async end(op: 'commit' | 'rollback'): Promise<void> {
    this.#ended = true;
    if (this.#begun) await this.#route.writer.end(op, this.#tx);
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    try {
      return resultOf<R>(await this.#answer(query));
    } catch (error) {
      // The stack so far is that of a message handler; this one shows the caller.
      if (error instanceof Error) Error.captureStackTrace(error);
      throw error;
    }
  }

  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    yield await Promise.reject(new Error('results are not streamed: page by key'));
  }

  #answer(query: CompiledQuery): Promise<Answer> {
    const { op, rows } = batchOf(query);
    for (const row of rows) row.forEach(assertStorable);
    const { writer, read } = this.#route;
    if (this.#ended) throw new Error('the transaction was ended before');
    if (this.#tx !== 0) {
      const begin = !this.#begun;
      this.#begun = true;
      return writer.statement(op, query.sql, rows, { tx: this.#tx, begin });
    }
    if (op === 'run' && isRead(query)) return read(query.sql, query.parameters);
    return writer.statement(op, query.sql, rows, { tx: 0, begin: false });
  }
}

const RAW_READ = /^\s*(select|with)\b/i;
const RAW_WRITE = /\b(insert|update|delete|replace)\b/i;

/**
 * Whether a statement only reads. Raw text counts as a write on the slightest doubt: that is
 * slower, never wrong.
 */
function isRead(query: CompiledQuery): boolean {
  const { kind } = query.query;
  if (kind === 'SelectQueryNode') return true;
  return kind === 'RawNode' && RAW_READ.test(query.sql) && !RAW_WRITE.test(query.sql);
}

/** Rows of values as plain objects. */
function resultOf<R>({ columns, rows, changes }: Answer): QueryResult<R> {
  const objects: R[] = rows.map((values) => {
    const row: Record<string, unknown> = {};
    for (let i = 0; i < columns.length; i++) row[columns[i] as string] = values[i];
    return row as R;
  });
  return { rows: objects, numAffectedRows: BigInt(changes) };
}

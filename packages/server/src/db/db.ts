// The database as the rest of the server sees it: a scope gives a Kysely instance, a transaction
// gives one too, and *.queries.ts functions take either. This interface and dialect.ts hide which
// database it is. Opened by configured-database.ts and admin.ts (openDatabase) and by ingest
// workers (openInWorker); whoever opens it closes it.

import type { Transferable } from 'node:worker_threads';
import type { Kysely } from 'kysely';
import type { PostgresWorkerData } from './postgres/postgres.ts';
import { openSqlite, openSqliteInWorker, type SqliteWorkerData } from './sqlite/sqlite.ts';
import type { Tables } from './tables.ts';

/** What query functions take: a scope's instance or a transaction. */
export type Db = Kysely<Tables>;

/** An event that the operator should hear about; the caller logs it. */
export type DatabaseEvent =
  | { readonly kind: 'row_security_bypassed'; readonly role: string }
  | { readonly kind: 'connection_lost'; readonly error: Error };

interface DatabaseConfig {
  /** A PostgreSQL URL; null for the SQLite file in `directory`. */
  readonly url: string | null;
  readonly directory: string;
  /** Connections to PostgreSQL at most; each holds a server process there. */
  readonly poolMax?: number;
  /**
   * False for short administrative commands, which may run beside a live server on the same SQLite
   * file.
   */
  readonly lock?: boolean;
  readonly onEvent?: (event: DatabaseEvent) => void;
}

/**
 * Made for one worker: `data` is its workerData, or part of it, and `transfer` goes into its
 * transferList.
 */
export interface WorkerData {
  readonly data: SqliteWorkerData | PostgresWorkerData;
  readonly transfer: Transferable[];
}

export interface Database {
  readonly kind: 'sqlite' | 'postgres';

  /**
   * Single statements for one tenant; on PostgreSQL row-level security hides the rows of other
   * tenants. On SQLite a SELECT runs on the calling thread (reads by key only), a write in the
   * writer thread; its promise resolves after COMMIT.
   */
  tenant(tenantId: string): Db;

  /** The same for lists, search and exports: on SQLite a SELECT runs in the reader thread. */
  lists(tenantId: string): Db;

  /**
   * Across tenants: look-up of credentials, claims, upkeep. Every call is listed in the audit
   * (tidy).
   */
  system(): Db;

  /**
   * The same for sweeps across tenants that read many rows: on SQLite a SELECT runs in the reader
   * thread.
   */
  systemLists(): Db;

  /**
   * Runs `body` in one transaction; `scope` is a tenant's id, or 'system'. `body` contains SQL on
   * `tx` and nothing else, and may run several times: a lock or serialization failure starts it
   * again, a bounded number of times. After a failed statement the transaction can only roll back.
   * On SQLite it is the only writer while it runs.
   */
  transaction<T>(scope: string, body: (tx: Db) => Promise<T>): Promise<T>;

  /**
   * The same for statements that don't wait for each other: they are sent together with the COMMIT,
   * and the answers come back together. `body` asks for all of them at once (`Promise.all`) and
   * reads no result before that; all or none of them is committed. For bulk writes: a busy thread
   * that can't send the next statement yet makes nobody wait.
   */
  together(scope: string, body: (tx: Db) => Promise<unknown>): Promise<void>;

  /**
   * Sends a text to the other processes that share this database: fewer than 8000 bytes of ASCII. A
   * hint: it may be lost. Never inside a transaction. On SQLite there is no other process, and
   * nothing happens.
   */
  notify(text: string): Promise<void>;

  /**
   * Calls `hear` with every such text, our own too, on a connection of its own that reconnects by
   * itself. Returns the function that ends it.
   */
  listen(hear: (text: string) => void): () => Promise<void>;

  /** What one worker thread needs for `openInWorker`; call it anew for each worker. */
  workerData(): WorkerData;

  /**
   * Refuses new requests, waits for those under way, then closes. On SQLite, workers must have
   * closed theirs, or ended, before: an open transaction of a worker is waited for.
   */
  close(): Promise<void>;
}

/** Opens the database and checks that it answers; its schema is `migrate`'s business. */
export async function openDatabase(config: DatabaseConfig): Promise<Database> {
  const { url, directory, poolMax, lock = true, onEvent = () => {} } = config;
  if (url === null) return await openSqlite(directory, lock);
  // Loaded where it is used: an embedded database, and each of its workers, needs no driver of
  // PostgreSQL.
  const { openPostgres } = await import('./postgres/postgres.ts');
  return await openPostgres({ kind: 'postgres', url, poolMax }, onEvent);
}

/** Opens the same database inside a worker thread, from what `workerData` gave it. */
export async function openInWorker(data: WorkerData['data']): Promise<Database> {
  if ('port' in data) return openSqliteInWorker(data);
  const { openPostgres } = await import('./postgres/postgres.ts');
  return await openPostgres(data, () => {});
}

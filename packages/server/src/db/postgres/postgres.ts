// The PostgreSQL backend: our own thin Kysely driver over a pool. Every statement runs on a
// connection whose session names the tenant whose rows it may see (muster.tenant, judged by
// row-level security). A connection remembers that name, so that it is set only when it changes.
// Times and sizes are bigint there and exact numbers here. pg is loaded on the first open: a start
// on SQLite doesn't pay for it. Called by db.ts.

import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  type QueryResult,
  sql,
} from 'kysely';
import type { Pool, PoolClient } from 'pg';
import type { Database, DatabaseEvent, Db, WorkerData } from '../db.ts';
import { dbFailure } from '../db-errors.ts';
import { batchOf, postgresDialect } from '../dialect.ts';
import { assertId } from '../../lib/id-bytes.ts';
import { Lifetime } from '../lifetime.ts';
import { HINT_CHANNEL, listenTo } from './listen.ts';
import { requireServerVersion } from './server-version.ts';
import type { Tables } from '../tables.ts';
import { SharingDriver } from '../sharing-driver.ts';
import { type OpenTransaction, runTogether, runTransaction } from '../transaction.ts';
import { assertStorable, exactNumber } from '../values.ts';

/** The parameters with which an ingest worker opens the same database. */
export interface PostgresWorkerData {
  readonly kind: 'postgres';
  readonly url: string;
  readonly poolMax: number | undefined;
}

// PostgreSQL works best with about twice as many busy connections as it has cores; several nodes
// share its default limit of 100.
const POOL_MAX = 10;

// A connection that can't be had for this long means 503 rather than a queue without end.
const CONNECT_TIMEOUT_MS = 5_000;

// No statement here takes longer, except migrations, which lift the limit. Beyond it something is
// wrong, and a stuck statement would hold its locks for ever.
const STATEMENT_TIMEOUT_MS = 60_000;
const LOCK_TIMEOUT_MS = 10_000;

// See TRANSACTION_IDLE_MS in db/sqlite/write-queue.ts.
const TRANSACTION_IDLE_MS = 30_000;

// Texts that are kept prepared on a connection, from their second use on; further ones are planned
// each time. Each costs some 10 KiB in a server process.
const PREPARED_MAX = 300;

// Texts remembered as used once: most of them are `in` lists of yet another length, never seen
// again.
const SEEN_ONCE_MAX = 1_000;

// Scopes that keep their Kysely instance; further ones are built again, which takes some
// microseconds.
const SCOPES_MAX = 1_000;

const SYSTEM = '*';

/** Opens a pool and checks that the server answers and is new enough. */
export async function openPostgres(
  data: PostgresWorkerData,
  onEvent: (event: DatabaseEvent) => void,
): Promise<Database> {
  const { default: pg } = await import('pg');
  const pool = new pg.Pool({
    connectionString: data.url,
    application_name: 'muster',
    max: data.poolMax ?? POOL_MAX,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    lock_timeout: LOCK_TIMEOUT_MS,
    idle_in_transaction_session_timeout: TRANSACTION_IDLE_MS,
    keepAlive: true,
    // Statements that are asked for together travel together (`together`); all others wait for
    // their answers anyway.
    pipeline: true,
    types: { getTypeParser: typeParser },
  });
  // A client reports its loss whether it is idle or in use; the pool would report the loss of an
  // idle one again.
  pool.on('connect', (client) => {
    client.on('error', (error) => onEvent({ kind: 'connection_lost', error }));
  });
  pool.on('error', () => {});
  const database = new PostgresDatabase(pool, data, onEvent);
  try {
    await requireServerVersion(database.system());
    await warnOfBypass(database.system(), onEvent);
  } catch (error) {
    await pool.end();
    throw error;
  }
  return database;
}

/** Row-level security doesn't bind superusers and BYPASSRLS roles: the operator hears of it. */
async function warnOfBypass(db: Db, onEvent: (event: DatabaseEvent) => void): Promise<void> {
  const { rows } = await sql<{ role: string; bypasses: number }>`
    select rolname::text as role, (rolsuper or rolbypassrls)::integer as bypasses
    from pg_roles where rolname = current_user`.execute(db);
  const [role] = rows;
  if (role?.bypasses === 1) onEvent({ kind: 'row_security_bypassed', role: role.role });
}

// Type numbers from pg_type.dat. bool and numeric are parsed too, so that a selected condition or
// sum is the same number on both databases.
const PARSERS: ReadonlyMap<number, (text: string) => unknown> = new Map<
  number,
  (text: string) => unknown
>([
  [16, (text) => (text === 't' ? 1 : 0)], // bool
  [17, (text) => Uint8Array.fromHex(text.slice(2))], // bytea: \x…
  [20, exactNumber], // int8
  [21, Number], // int2
  [23, Number], // int4
  [701, Number], // float8
  [1700, exactNumber], // numeric
]);

function typeParser(oid: number): (text: string) => unknown {
  return PARSERS.get(oid) ?? ((text) => text);
}

class PostgresDatabase implements Database {
  readonly kind = 'postgres';
  readonly #pool: Pool;
  readonly #data: PostgresWorkerData;
  readonly #scopes = new Map<string, Db>();
  readonly #sessions = new Sessions();
  readonly #lifetime = new Lifetime();
  readonly #onEvent: (event: DatabaseEvent) => void;

  constructor(pool: Pool, data: PostgresWorkerData, onEvent: (event: DatabaseEvent) => void) {
    this.#pool = pool;
    this.#data = data;
    this.#onEvent = onEvent;
  }

  tenant(tenantId: string): Db {
    assertId(tenantId);
    return this.#scope(tenantId);
  }

  lists(tenantId: string): Db {
    return this.tenant(tenantId);
  }

  system(): Db {
    return this.#scope(SYSTEM);
  }

  systemLists(): Db {
    return this.system();
  }

  async transaction<T>(scope: string, body: (tx: Db) => Promise<T>): Promise<T> {
    this.#lifetime.assertOpen();
    return await runTransaction(scope === 'system' ? this.system() : this.tenant(scope), body);
  }

  async together(scope: string, body: (tx: Db) => Promise<unknown>): Promise<void> {
    this.#lifetime.assertOpen();
    if (scope !== 'system') assertId(scope);
    await runTogether(() => this.#openTransaction(scope === 'system' ? SYSTEM : scope), body);
  }

  async #openTransaction(scope: string): Promise<OpenTransaction> {
    const driver = new PostgresDriver(this.#pool, this.#sessions, this.#lifetime, scope);
    const connection = await driver.acquireConnection();
    const begun = driver.beginTransaction(connection);
    // `end` waits for this promise and throws its error; until then nobody handles it.
    begun.catch(() => {});
    return {
      db: new Kysely<Tables>({ dialect: postgresDialect(() => new SharingDriver(connection)) }),
      end: async (op) => {
        const ended =
          op === 'commit'
            ? driver.commitTransaction(connection)
            : driver.rollbackTransaction(connection);
        await Promise.all([begun, ended]);
      },
      release: () => void driver.releaseConnection(connection),
    };
  }

  async notify(text: string): Promise<void> {
    await sql`select pg_notify(${HINT_CHANNEL}, ${text})`.execute(this.system());
  }

  listen(hear: (text: string) => void): () => Promise<void> {
    return listenTo(this.#data.url, hear, this.#onEvent);
  }

  workerData(): WorkerData {
    return { data: this.#data, transfer: [] };
  }

  close(): Promise<void> {
    return this.#lifetime.close(() => this.#pool.end());
  }

  #scope(scope: string): Db {
    let db = this.#scopes.get(scope);
    if (db === undefined) {
      if (this.#scopes.size >= SCOPES_MAX) this.#scopes.clear();
      const driver = new PostgresDriver(this.#pool, this.#sessions, this.#lifetime, scope);
      db = new Kysely<Tables>({ dialect: postgresDialect(() => driver) });
      this.#scopes.set(scope, db);
    }
    return db;
  }
}

/**
 * Knows of every physical connection which tenant's rows its session shows, and which texts it has
 * prepared.
 */
class Sessions {
  readonly #scopes = new WeakMap<PoolClient, string>();
  readonly #names = new Map<string, string>();
  readonly #seenOnce = new Set<string>();

  /**
   * Makes the session show the rows of `scope`, or ends the session. Costs a round trip only when
   * the session showed another scope.
   */
  async enter(client: PoolClient, scope: string): Promise<PoolClient> {
    if (this.#scopes.get(client) === scope) return client;
    this.#scopes.delete(client);
    try {
      await client.query("select set_config('muster.tenant', $1, false)", [scope]);
    } catch (error) {
      client.release(true);
      throw error;
    }
    this.#scopes.set(client, scope);
    return client;
  }

  /**
   * The name under which `text` is prepared; undefined on its first use, and once there are too
   * many.
   */
  nameOf(text: string): string | undefined {
    const known = this.#names.get(text);
    if (known !== undefined || this.#names.size >= PREPARED_MAX) return known;
    if (!this.#seenOnce.delete(text)) {
      if (this.#seenOnce.size >= SEEN_ONCE_MAX) this.#seenOnce.clear();
      this.#seenOnce.add(text);
      return undefined;
    }
    const name = `m${this.#names.size}`;
    this.#names.set(text, name);
    return name;
  }
}

class PostgresDriver implements Driver {
  readonly #pool: Pool;
  readonly #sessions: Sessions;
  readonly #lifetime: Lifetime;
  readonly #scope: string;

  constructor(pool: Pool, sessions: Sessions, lifetime: Lifetime, scope: string) {
    this.#pool = pool;
    this.#sessions = sessions;
    this.#lifetime = lifetime;
    this.#scope = scope;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<ScopedConnection> {
    this.#lifetime.enter();
    try {
      const client = await this.#pool.connect();
      return new ScopedConnection(await this.#sessions.enter(client, this.#scope), this.#sessions);
    } catch (error) {
      this.#lifetime.leave();
      throw error;
    }
  }

  async beginTransaction(connection: ScopedConnection): Promise<void> {
    await connection.control('begin');
  }

  async commitTransaction(connection: ScopedConnection): Promise<void> {
    const command = await connection.control('commit');
    // COMMIT of a transaction in which a statement failed is answered with ROLLBACK, and without an
    // error.
    if (command !== 'COMMIT') {
      throw new Error('the transaction failed before: it was rolled back');
    }
  }

  async rollbackTransaction(connection: ScopedConnection): Promise<void> {
    await connection.control('rollback');
  }

  async releaseConnection(connection: ScopedConnection): Promise<void> {
    connection.release();
    this.#lifetime.leave();
  }

  async destroy(): Promise<void> {}
}

/** One acquired connection; broken ones are not given back to the pool. */
class ScopedConnection implements DatabaseConnection {
  readonly #client: PoolClient;
  readonly #sessions: Sessions;
  #broken = false;
  #ended = false;

  constructor(client: PoolClient, sessions: Sessions) {
    this.#client = client;
    this.#sessions = sessions;
  }

  /**
   * BEGIN, COMMIT or ROLLBACK; returns the command that was carried out. A connection where this
   * fails is in an unknown state.
   */
  async control(text: 'begin' | 'commit' | 'rollback'): Promise<string> {
    this.#ended = text !== 'begin';
    try {
      return (await this.#client.query(text)).command;
    } catch (error) {
      this.#broken = true;
      throw error;
    }
  }

  release(): void {
    this.#client.release(this.#broken);
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    if (this.#ended) throw new Error('the transaction was ended before');
    const { op, rows } = batchOf(query);
    const values = [...(rows[0] ?? [])];
    values.forEach(assertStorable);
    try {
      if (op === 'script') {
        await this.#client.query(query.sql); // without parameters: several statements are allowed
        return { rows: [] };
      }
      const name = this.#sessions.nameOf(query.sql);
      const text = { text: query.sql, values };
      const result = await this.#client.query(name === undefined ? text : { name, ...text });
      return { rows: result.rows as R[], numAffectedRows: BigInt(result.rowCount ?? 0) };
    } catch (error) {
      // 0A000: the statements prepared on this connection are from before a migration of another
      // node.
      const stale = (error as { code?: unknown }).code === '0A000';
      if (stale || dbFailure(error)?.kind === 'connection') this.#broken = true;
      // pg's stack ends in its socket; this one shows the caller.
      if (error instanceof Error) Error.captureStackTrace(error);
      throw error;
    }
  }

  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    yield await Promise.reject(new Error('results are not streamed: page by key'));
  }
}

// One connection to the SQLite file: statements are prepared once and kept by their text (the least
// recently used go first), rows are arrays. Synchronous; the owner of the connection decides which
// thread that occupies. The writer thread has the only writing connection; the reader thread, the
// main thread and every ingest worker have a read-only one each. Integers beyond 2^53 throw
// (node:sqlite's own behaviour); they never lose precision.

import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import type { Answer } from './wire.ts';

// Kysely prints a few hundred different texts here (an `in` list of another length is another
// text). At half, list queries are prepared again now and then (about 30 µs each); double costs
// some MB of memory for each connection.
const STATEMENTS_MAX = 300;

// How long a connection waits for another process's lock (muster admin beside the server; a
// checkpoint).
const BUSY_TIMEOUT_MS = 5_000;

// Page caches in KiB: the writer touches index pages all over the file, a reader mostly nearby
// ones.
const WRITER_CACHE_KIB = 8_192;
const READER_CACHE_KIB = 2_048;

interface Prepared {
  readonly statement: StatementSync;
  columns: readonly string[];
}

const NO_ROWS: readonly (readonly unknown[])[] = [];

/** See the head of this file. */
export class SqliteConnection {
  readonly #db: DatabaseSync;
  readonly #prepared = new Map<string, Prepared>();

  /**
   * Opens the file: `writer` in WAL mode with full durability, otherwise read-only. The file must
   * exist.
   */
  constructor(path: string, mode: 'writer' | 'reader') {
    const readOnly = mode === 'reader';
    this.#db = new DatabaseSync(path, {
      readOnly,
      timeout: BUSY_TIMEOUT_MS,
      returnArrays: true,
      enableForeignKeyConstraints: true,
    });
    const cacheKib = readOnly ? READER_CACHE_KIB : WRITER_CACHE_KIB;
    this.#db.exec(`pragma cache_size = -${cacheKib}; pragma temp_store = memory`);
    if (readOnly) return;
    // FULL: a commit that was answered survives a power cut. The write queue does the checkpoints.
    this.#db.exec(
      'pragma journal_mode = wal; pragma synchronous = full; pragma wal_autocheckpoint = 0',
    );
  }

  /**
   * Whether a transaction is open; also false after SQLite itself rolled one back (disk full, I/O
   * error).
   */
  get inTransaction(): boolean {
    return this.#db.isTransaction;
  }

  /** Runs one statement with its parameters. */
  run(sql: string, parameters: readonly unknown[]): Answer {
    const prepared = this.#prepare(sql);
    const values = parameters as SQLInputValue[];
    if (prepared.columns.length === 0) {
      const { changes } = prepared.statement.run(...values);
      return { columns: prepared.columns, rows: NO_ROWS, changes: Number(changes) };
    }
    // With returnArrays every row is an array; the type declarations only know objects.
    const rows = prepared.statement.all(...values) as unknown as unknown[][];
    if (rows[0] !== undefined && rows[0].length !== prepared.columns.length) {
      prepared.columns = columnsOf(prepared.statement); // `select *` after a migration
    }
    return { columns: prepared.columns, rows, changes: rows.length };
  }

  /**
   * Runs one statement for every row of parameters, all or none, inside the transaction that is
   * open.
   */
  runMany(sql: string, rows: readonly (readonly unknown[])[]): number {
    const { statement } = this.#prepare(sql);
    this.#db.exec('savepoint many');
    let changes = 0;
    try {
      for (const row of rows) changes += Number(statement.run(...(row as SQLInputValue[])).changes);
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('rollback to many; release many');
      throw error;
    }
    this.#db.exec('release many');
    return changes;
  }

  /** Runs a text of several statements without parameters: migrations and transaction control. */
  script(sql: string): void {
    this.#db.exec(sql);
  }

  /**
   * Moves committed pages from the log into the file; `noop` only tells how many there are.
   * `restart` and `truncate` wait for readers, for `patienceMs` at most.
   */
  checkpoint(
    mode: 'noop' | 'passive' | 'restart' | 'truncate',
    patienceMs: number = BUSY_TIMEOUT_MS,
  ): { complete: boolean; logPages: number; donePages: number } {
    if (patienceMs !== BUSY_TIMEOUT_MS) this.#db.exec(`pragma busy_timeout = ${patienceMs}`);
    const [row] = this.run(`pragma wal_checkpoint(${mode})`, []).rows;
    if (patienceMs !== BUSY_TIMEOUT_MS) this.#db.exec(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`);
    const [busy, logPages, donePages] = row as [number, number, number];
    return { complete: busy === 0, logPages, donePages };
  }

  /** Closes the file; every prepared statement is gone with it. */
  close(): void {
    this.#prepared.clear();
    this.#db.close();
  }

  #prepare(sql: string): Prepared {
    let prepared = this.#prepared.get(sql);
    if (prepared !== undefined) {
      this.#prepared.delete(sql);
    } else {
      const statement = this.#db.prepare(sql);
      prepared = { statement, columns: columnsOf(statement) };
      if (this.#prepared.size >= STATEMENTS_MAX) {
        for (const oldest of this.#prepared.keys()) {
          this.#prepared.delete(oldest);
          break;
        }
      }
    }
    this.#prepared.set(sql, prepared); // re-inserted: a Map keeps the order of insertion
    return prepared;
  }
}

function columnsOf(statement: StatementSync): readonly string[] {
  return statement.columns().map((column) => column.name);
}

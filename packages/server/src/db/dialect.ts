// The complete list of differences between SQLite and PostgreSQL for those who write queries;
// everything else is one Kysely text for both. A test of the dialect anywhere else is forbidden
// (tools/tidy.test.ts). The kind is read from the adapter that a Kysely instance or transaction
// carries.

import {
  CompiledQuery,
  type Dialect,
  type Driver,
  type Insertable,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type RawBuilder,
  type SelectQueryBuilder,
  type SelectQueryNode,
  type SqlBool,
  SqliteAdapter,
  SqliteIntrospector,
  sql,
  type Updateable,
} from 'kysely';
import type { Db } from './db.ts';
import { IdCompiler, storedValue } from './id-plugin.ts';
import { postgresSchema, sqliteSchema } from './schema-dump.ts';
import { rebuildTable as rebuildSqliteTable } from './sqlite/rebuild.ts';
import type { TableName, Tables } from './tables.ts';
import { assertStorable } from './values.ts';

// ---- The two dialects, for the two drivers.

/**
 * Our writer thread serialises by itself: Kysely's own mutex around a single connection would only
 * add a wait.
 */
class ThreadedSqliteAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}

/** Prints no row locks: the writer thread runs one transaction at a time. */
class LocklessSqliteCompiler extends IdCompiler {
  protected override visitSelectQuery(node: SelectQueryNode): void {
    const { endModifiers, ...rest } = node;
    const printed = endModifiers?.filter(({ modifier }) => modifier === undefined) ?? [];
    super.visitSelectQuery(printed.length === 0 ? rest : { ...rest, endModifiers: printed });
  }
}

/** SQLite behind a driver of ours. */
export function sqliteDialect(createDriver: () => Driver): Dialect {
  return {
    createDriver,
    createAdapter: () => new ThreadedSqliteAdapter(),
    createQueryCompiler: () => new LocklessSqliteCompiler(),
    createIntrospector: (db) => new SqliteIntrospector(db),
  };
}

/** PostgreSQL behind a driver of ours. */
export function postgresDialect(createDriver: () => Driver): Dialect {
  return {
    createDriver,
    createAdapter: () => new PostgresAdapter(),
    createQueryCompiler: () => new PostgresQueryCompiler(),
    createIntrospector: (db) => new PostgresIntrospector(db),
  };
}

function isSqlite(db: Db): boolean {
  return db.getExecutor().adapter instanceof SqliteAdapter;
}

// ---- Statements beyond Kysely's own.

const BATCH = Symbol('batch');

/**
 * How a driver runs a statement: once; once for every row, all or none; or as a text of several
 * statements.
 */
interface Batch {
  readonly op: 'run' | 'many' | 'script';
  readonly rows: readonly (readonly unknown[])[];
}

interface BatchQuery extends CompiledQuery {
  readonly [BATCH]?: Batch;
}

/** For the drivers: how to run `query`. */
export function batchOf(query: CompiledQuery): Batch {
  return (query as BatchQuery)[BATCH] ?? { op: 'run', rows: [query.parameters] };
}

async function runBatch(db: Db, text: string, batch: Batch): Promise<number> {
  const query: BatchQuery = { ...CompiledQuery.raw(text), [BATCH]: batch };
  const { numAffectedRows } = await db.executeQuery(query);
  return Number(numAffectedRows ?? 0n);
}

/** Runs a text of several statements, without parameters, inside a transaction: migrations. */
export async function runScript(tx: Db, text: string): Promise<void> {
  await runBatch(tx, text, { op: 'script', rows: [] });
}

/**
 * Gives a table other constraints inside a migration's transaction: the whole `create table`
 * statement is `createTable`, its columns are the same. For SQLite alone: PostgreSQL alters
 * constraints.
 */
export async function rebuildTable(tx: Db, table: string, createTable: string): Promise<void> {
  if (!isSqlite(tx))
    throw new Error(`${table} is not rebuilt on PostgreSQL: alter its constraints`);
  await rebuildSqliteTable(tx, (text) => runScript(tx, text), table, createTable);
}

/**
 * Bytes inside the database's own file that are free to be written anew: SQLite keeps the pages of
 * what was deleted ("The freelist", file format §1.5). 0 on PostgreSQL, whose disk isn't ours to
 * watch.
 */
export async function reusableBytes(db: Db): Promise<number> {
  if (!isSqlite(db)) return 0;
  const { rows } = await sql<{ bytes: number }>`select freelist_count * page_size as bytes
    from pragma_freelist_count(), pragma_page_size()`.execute(db);
  return Number(rows[0]?.bytes ?? 0);
}

/**
 * The database's time of day, milliseconds UTC. Null on SQLite: it has no clock but this process's.
 */
export async function databaseNowMs(db: Db): Promise<number | null> {
  if (isSqlite(db)) return null;
  const { rows } = await sql<{ now_ms: number }>`select
    (extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms`.execute(db);
  return rows[0]?.now_ms ?? null;
}

/**
 * Lets only one node migrate at a time; held to the end of the transaction. On SQLite the
 * transaction itself excludes everybody else. On PostgreSQL this also lifts the time limits, for
 * this transaction.
 */
export async function migrationLock(tx: Db): Promise<void> {
  if (isSqlite(tx)) return;
  await runScript(tx, 'set local statement_timeout = 0; set local lock_timeout = 0');
  await sql`select pg_advisory_xact_lock(hashtextextended('muster.migrate', 0))`.execute(tx);
}

/** Tables, columns, constraints, indexes and policies as stable text, for the golden schema. */
export async function readSchema(db: Db): Promise<string> {
  return await (isSqlite(db) ? sqliteSchema(db) : postgresSchema(db));
}

/**
 * Locks the rows and passes over those that another transaction has locked: for claims, as
 * `query.$call(skipLocked)`. SQLite prints nothing for it: there is no other transaction.
 */
export function skipLocked<DB, TB extends keyof DB, O>(
  query: SelectQueryBuilder<DB, TB, O>,
): SelectQueryBuilder<DB, TB, O> {
  return query.forUpdate().skipLocked();
}

/**
 * Keeps the rows read here as they are to the end of the transaction, as `query.$call(forUpdate)`;
 * nothing on SQLite.
 */
export function forUpdate<DB, TB extends keyof DB, O>(
  query: SelectQueryBuilder<DB, TB, O>,
): SelectQueryBuilder<DB, TB, O> {
  return query.forUpdate();
}

/**
 * An id as a value in raw SQL, or selected as a value (`insert … select`). Everywhere else ids are
 * converted by the name of the column beside them.
 */
export function idValue(db: Db, id: string): RawBuilder<string> {
  return isSqlite(db) ? sql<string>`${storedValue('id', id)}` : sql<string>`${id}::uuid`;
}

/**
 * Whether the id column is one of `ids`. The ids travel as one parameter, so that the query's text
 * doesn't depend on their number.
 */
export function isAmong(db: Db, column: string, ids: readonly string[]): RawBuilder<SqlBool> {
  if (isSqlite(db)) {
    const among = sql`select unhex(value, '-') from json_each(${JSON.stringify(ids)})`;
    return sql<SqlBool>`${sql.ref(column)} in (${among})`;
  }
  return sql<SqlBool>`${sql.ref(column)} = any(${`{${ids.join()}}`}::uuid[])`;
}

/**
 * Whether the text column contains `part`. ASCII letters match in upper and lower case, all others
 * exactly; wildcards are taken literally, on both databases. No index helps it.
 */
export function contains(db: Db, column: string, part: string): RawBuilder<SqlBool> {
  const pattern = `%${part.replaceAll(/[!%_]/g, '!$&')}%`;
  // SQLite, "The LIKE operator": case-insensitive for ASCII letters only. PostgreSQL's LIKE is
  // exact, ILIKE folds whatever the locale does; in the collation "C" lower() knows ASCII letters
  // only.
  if (isSqlite(db)) return sql<SqlBool>`${sql.ref(column)} like ${pattern} escape '!'`;
  const lowered = pattern.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
  return sql<SqlBool>`lower(${sql.ref(column)} collate "C") like ${lowered} escape '!'`;
}

// ---- Many rows at once.

interface OnConflict<T extends TableName> {
  /** The columns of the unique constraint. */
  readonly columns: readonly (keyof Tables[T] & string)[];
  /** Columns that take the new row's values; without this the stored row stays as it is. */
  readonly update?: readonly (keyof Tables[T] & string)[];
}

interface InsertRowsOptions<T extends TableName> {
  readonly onConflict?: OnConflict<T>;
}

/**
 * Inserts rows with identical keys: all or none, inside or outside of a transaction. Returns how
 * many were inserted or updated. With `onConflict.update` no two of the rows may be in conflict
 * with each other (PostgreSQL refuses that). Rows go as one message and one prepared statement on
 * SQLite, as one JSON parameter on PostgreSQL.
 */
export async function insertRows<T extends TableName>(
  db: Db,
  table: T,
  rows: readonly Insertable<Tables[T]>[],
  { onConflict }: InsertRowsOptions<T> = {},
): Promise<number> {
  const columns = columnsOf(rows);
  if (columns.length === 0) return 0;
  const names = columns.map(quoted).join(', ');
  const into = `insert into ${quoted(table)} (${names})`;
  const end = onConflict === undefined ? '' : ` ${conflictClause(onConflict)}`;
  if (isSqlite(db)) {
    const text = `${into} values (${columns.map(() => '?').join(', ')})${end}`;
    return await runBatch(db, text, { op: 'many', rows: sqliteRows(columns, rows) });
  }
  const text = `${into} select ${names} from ${recordset(table)}${end}`;
  return await runBatch(db, text, { op: 'run', rows: [[jsonRows(columns, rows)]] });
}

export interface UpdateRowsOptions<T extends TableName> {
  /**
   * Date column → columns that it dates. All of them keep their stored values where the stored date
   * is the later one.
   */
  readonly dated?: {
    readonly [D in keyof Tables[T] & string]?: readonly (keyof Tables[T] & string)[];
  };
}

/**
 * Updates one stored row for each given row: the key columns find the row, and all other members
 * are set. All or none. Returns how many rows were found. Key columns are never null, and no two
 * rows have the same key.
 */
export async function updateRows<T extends TableName>(
  db: Db,
  table: T,
  keyColumns: readonly (keyof Tables[T] & string)[],
  rows: readonly Updateable<Tables[T]>[],
  { dated = {} }: UpdateRowsOptions<T> = {},
): Promise<number> {
  const columns = columnsOf(rows);
  if (columns.length === 0) return 0;
  const keys: readonly string[] = keyColumns;
  const set = columns.filter((column) => !keys.includes(column));
  const dateOf = datesByColumn(dated);
  if (isSqlite(db) && dateOf.size === 0) {
    const assigned = set.map((column) => `${quoted(column)} = ?`).join(', ');
    const found = keys.map((column) => `${quoted(column)} = ?`).join(' and ');
    const text = `update ${quoted(table)} set ${assigned} where ${found}`;
    return await runBatch(db, text, { op: 'many', rows: sqliteRows([...set, ...keys], rows) });
  }
  const assigned = set.map((column) => assignment(column, dateOf.get(column))).join(', ');
  const found = keys.map((key) => `"stored".${quoted(key)} = "given".${quoted(key)}`).join(' and ');
  const update = (given: string): string =>
    `update ${quoted(table)} as "stored" set ${assigned} from ${given} as "given" where ${found}`;
  if (isSqlite(db)) {
    const given = `(select ${columns.map((column) => `? as ${quoted(column)}`).join(', ')})`;
    return await runBatch(db, update(given), { op: 'many', rows: sqliteRows(columns, rows) });
  }
  const parameters = [[jsonRows(columns, rows)]];
  return await runBatch(db, update(recordset(table)), { op: 'run', rows: parameters });
}

/** Column → the column that dates it; a date dates itself. */
function datesByColumn(
  dated: Readonly<Record<string, readonly string[] | undefined>>,
): ReadonlyMap<string, string> {
  const pairs = Object.entries(dated).flatMap(([date, columns = []]) =>
    [date, ...columns].map((column) => [column, date] as const),
  );
  return new Map(pairs);
}

function assignment(column: string, date: string | undefined): string {
  const name = quoted(column);
  if (date === undefined) return `${name} = "given".${name}`;
  const isLater = `"stored".${quoted(date)} > "given".${quoted(date)}`;
  return `${name} = case when ${isLater} then "stored".${name} else "given".${name} end`;
}

/** The keys of the first row, which all the others must have too; empty when there are no rows. */
function columnsOf(rows: readonly object[]): string[] {
  return rows[0] === undefined ? [] : Object.keys(rows[0]);
}

function quoted(name: string): string {
  if (!/^[a-z_]+$/.test(name)) throw new TypeError(`not the name of a column: ${name}`);
  return `"${name}"`;
}

function conflictClause<T extends TableName>({ columns, update }: OnConflict<T>): string {
  const target = `on conflict (${columns.map(quoted).join(', ')})`;
  if (update === undefined) return `${target} do nothing`;
  const set = update.map((column) => `${quoted(column)} = excluded.${quoted(column)}`);
  return `${target} do update set ${set.join(', ')}`;
}

/**
 * Arrays of values; an id that repeats from one row to the next is converted, and later sent, once.
 */
function sqliteRows(columns: readonly string[], rows: readonly object[]): unknown[][] {
  const above: unknown[] = [];
  const converted: unknown[] = [];
  return rows.map((row) =>
    columns.map((column, at) => {
      const value = (row as Record<string, unknown>)[column];
      if (value !== above[at] || typeof value !== 'string') {
        above[at] = value;
        converted[at] = storedValue(column, value);
      }
      return converted[at];
    }),
  );
}

/**
 * The rows as one JSON array of objects; byte strings in PostgreSQL's hexadecimal form (manual,
 * §8.4.1).
 */
function jsonRows(columns: readonly string[], rows: readonly object[]): string {
  const plain = rows.map((row) => {
    const object: Record<string, unknown> = {};
    for (const column of columns) {
      const value: unknown = (row as Record<string, unknown>)[column];
      assertStorable(value);
      object[column] = value instanceof Uint8Array ? `\\x${value.toHex()}` : value;
    }
    return object;
  });
  return JSON.stringify(plain);
}

function recordset(table: string): string {
  return `json_populate_recordset(null::${quoted(table)}, $1::json)`;
}

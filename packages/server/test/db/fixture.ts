// Rows and helpers that the database tests share: a tenant, a finding with every column filled, a
// fresh directory.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Insertable, sql } from 'kysely';
import { filledDatabaseUrl } from '../../../../tools/postgres.ts';
import { type Database, type Db, openDatabase } from '../../src/db/db.ts';
import { migrate, readMigrations } from '../../src/db/migrate.ts';
import type { AssetTable, FindingTable, TableName } from '../../src/db/tables.ts';

/** The database that a backend's test file hands to the conformance suite. */
export interface Opened {
  /** Open and migrated. */
  readonly database: Database;
  /** Opens the same database once more, beside the first. */
  readonly again: () => Promise<Database>;
  /** Closes the first and removes everything that belongs to the test. */
  readonly dispose: () => Promise<void>;
}

/** A time in milliseconds: beyond 32 bits, as all of them are. */
export const NOW_MS = 1_790_000_000_000;

/** One rule, shown on a fresh database. */
export type Case = (database: Database, opened: Opened) => Promise<void>;

/** Rules by their titles: sentences that state the rule. */
export type Cases = Readonly<Record<string, Case>>;

/**
 * A fresh PostgreSQL database with this program's schema, which is made once in a test run and
 * copied.
 */
export async function migratedDatabaseUrl(): Promise<string> {
  return await filledDatabaseUrl('muster_schema', async (url) => {
    const database = await openDatabase({ url, directory: '' });
    await migrate(database, NOW_MS);
    await database.close();
  });
}

/** Makes a directory and returns it with the function that removes it. */
export async function temporaryDirectory(): Promise<{ path: string; remove: () => Promise<void> }> {
  const made = await mkdtemp(path.join(tmpdir(), 'muster-db-'));
  return { path: made, remove: () => rm(made, { recursive: true, force: true }) };
}

const MIGRATIONS = new URL('../../migrations/', import.meta.url);

/** A folder of migrations that a test may add to. */
export interface CopiedMigrations {
  /** For `migrate`. */
  readonly from: URL;
  /** Adds the migration that comes next. */
  readonly add: (kind: Database['kind'], name: string, text: string) => Promise<void>;
  readonly remove: () => Promise<void>;
}

/** A copy of the migrations, or of the first ones. */
export async function copiedMigrations(
  versionMax = Number.POSITIVE_INFINITY,
): Promise<CopiedMigrations> {
  const { path: folder, remove } = await temporaryDirectory();
  const filter = (source: string): boolean => {
    const version = /^\d{4}(?=_.*\.sql$)/.exec(path.basename(source))?.[0];
    return version === undefined || Number(version) <= versionMax;
  };
  await cp(MIGRATIONS, folder, { recursive: true, filter });
  const add = async (kind: string, name: string, text: string): Promise<void> => {
    const version = (await readdir(path.join(folder, kind))).length + 1;
    const file = `${String(version).padStart(4, '0')}_${name}.sql`;
    await writeFile(path.join(folder, kind, file), text);
  };
  return { from: pathToFileURL(`${folder}/`), add, remove };
}

/**
 * A database as release 0.1.0 left it: the operator's token, and the rows of every table, parents
 * first.
 */
export interface ReleasedDatabase {
  readonly operator_token: string;
  readonly tables: Readonly<Record<string, readonly Row[]>>;
}

/** The checked-in rows of 0.1.0; bytes stand in it as `{"hex": …}`. */
export async function releasedDatabase(): Promise<ReleasedDatabase> {
  const file = new URL('../fixtures/databases/0.1.0.json', import.meta.url);
  return JSON.parse(await readFile(file, 'utf8'), (_, value: unknown) => {
    const { hex } = (value ?? {}) as { hex?: unknown };
    return typeof hex === 'string' ? Uint8Array.fromHex(hex) : value;
  }) as ReleasedDatabase;
}

/**
 * The migration of 0.1.0 as it was: on PostgreSQL it has been edited since, to the same effect
 * (migrate.ts, EARLIER_TEXTS).
 */
async function releasedMigrations(): Promise<CopiedMigrations> {
  const copied = await copiedMigrations(1);
  const file = new URL('postgres/0001_start.sql', copied.from);
  const text = await readFile(file, 'utf8');
  const moved = /^-- [^\n]*\nalter table upload_chunk alter column sealed set storage external;\n/m;
  const released = text.replace(moved, '').replace('sealed bytea', 'sealed bytea storage external');
  await writeFile(file, released);
  return copied;
}

/** SHA-256 of the migrations that 0.1.0 was released with. */
const RELEASED_SHA256 = {
  sqlite: '32bcd2c9a5096e8048759c60329b4a4c0b2f3cf819b19215c382c1f78b1fef3f',
  postgres: '486c6ba41d4481ba531efdc425842fc60a7235a93752695db1b4fb802b1874e6',
};

/**
 * Makes the schema of 0.1.0, by the very text that it was released with, and fills it with the rows
 * of `released`.
 */
export async function fillAsReleased(
  database: Database,
  released: ReleasedDatabase,
): Promise<void> {
  const { from, remove } = await releasedMigrations();
  const [start] = await readMigrations(database.kind, from);
  assert.equal(
    start?.sha256,
    RELEASED_SHA256[database.kind],
    '0001 was applied by 0.1.0: add a migration instead of editing it (docs/migrations.md)',
  );
  assert.deepEqual(await migrate(database, NOW_MS, from), [1]);
  await remove();
  await database.transaction('system', async (tx) => {
    for (const [table, rows] of Object.entries(released.tables)) {
      assert.notEqual(rows.length, 0, table);
      await tx
        .insertInto(table as TableName)
        .values(rows as never)
        .execute();
    }
  });
}

type Row = Readonly<Record<string, unknown>>;

/** The rows of a table, each as text, in an order that both databases share. */
export async function storedRows(db: Db, table: string): Promise<string[]> {
  const { rows } = await sql<Row>`select * from ${sql.table(table)}`.execute(db);
  return asTexts(rows);
}

/** Rows as texts: columns and rows sorted, bytes in hexadecimal; of some columns alone. */
export function asTexts(rows: readonly Row[], columns?: readonly string[]): string[] {
  const bytesAsHex = (_: string, value: unknown): unknown =>
    value instanceof Uint8Array ? value.toHex() : value;
  return rows
    .map((row) => (columns ?? Object.keys(row)).toSorted().map((name) => [name, row[name]]))
    .map((entries) => JSON.stringify(entries, bytesAsHex))
    .toSorted();
}

/** Creates a tenant and returns its id. */
export async function newTenant(database: Database): Promise<string> {
  const id = randomUUID();
  await addTenant(database.system(), id, id);
  return id;
}

/** Inserts a tenant: the simplest row there is. */
export async function addTenant(db: Db, id: string, name: string): Promise<void> {
  await db.insertInto('tenant').values({ id, name, created_at: NOW_MS }).execute();
}

/** How many tenants there are. */
export async function countTenants(db: Db): Promise<number> {
  const { n } = await db
    .selectFrom('tenant')
    .select((eb) => eb.fn.countAll<number>().as('n'))
    .executeTakeFirstOrThrow();
  return n;
}

/** A finding with every column filled. */
export function findingRow(
  tenantId: string,
  given: Partial<Insertable<FindingTable>> = {},
): Insertable<FindingTable> {
  return {
    tenant_id: tenantId,
    id: randomUUID(),
    asset_id: '0197b0a0-0000-7000-8000-0000000000aa',
    tool: 'semgrep',
    category: '',
    type: 'sast',
    rule_id: 'javascript.lang.security.detect-eval',
    title: 'Detected the use of eval() with a variable',
    severity: 1,
    severity_override: null,
    status: 'open',
    resolution: null,
    status_by: 'upload',
    status_at: NOW_MS,
    accepted_until: null,
    path: 'src/server/handlers/evaluate.js',
    start_line: 42,
    evidence: new Uint8Array(64).fill(7),
    base_fingerprint: null,
    matched_by: 'new',
    first_seen_at: NOW_MS,
    created_upload_id: '0197b0a0-0000-7000-8000-0000000000bb',
    ...given,
  };
}

/** An asset: the table with a unique index that has a name of its own. */
export function assetRow(tenantId: string): Insertable<AssetTable> {
  return {
    tenant_id: tenantId,
    id: randomUUID(),
    kind: 'repository',
    kind_class: 'repository',
    value: 'github.com/acme/shop',
    name: 'acme/shop',
    criticality: null,
    is_fallback: 0,
    default_ref_id: null,
    attributes: null,
    attributes_at: 1,
    first_seen_at: NOW_MS,
    last_seen_at: NOW_MS,
    created_upload_id: randomUUID(),
  };
}

/** The error that `work` is rejected with; fails when it isn't. */
export async function failureOf(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
  } catch (error) {
    return error;
  }
  assert.fail('it succeeded');
}

// Brings a database to this program's schema: the files migrations/<kind>/NNNN_name.sql in order,
// each in one transaction together with its row in schema_version. Several nodes may start at once:
// each step is taken under a lock and looks again at what is there. Two cases are refused before
// anything is changed: a database newer than the program, and a migration that was edited after it
// had been applied.

import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { sql } from 'kysely';
import type { Database, Db } from './db.ts';
import { migrationLock, rebuildTable, runScript } from './dialect.ts';

/**
 * The schema can't be brought to this program's; the message says what to do, for the operator who
 * starts the server.
 */
export class MigrationError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'MigrationError';
  }
}

interface Migration {
  readonly version: number;
  readonly name: string;
  readonly parts: readonly Part[];
  readonly sha256: string;
  /** Checksums under which it may have been applied: its own, and those of EARLIER_TEXTS. */
  readonly accepted: readonly string[];
}

/**
 * A piece of a migration: statements to run as they are, or the `create table` by which a table is
 * rebuilt.
 */
interface Part {
  readonly text: string;
  readonly rebuilds: string | null;
}

/**
 * Migrations are never edited. The exceptions, by kind and version: checksums of earlier texts that
 * leave the same schema behind, so that databases which applied them go on.
 * - postgres 1: 0.1.0 said `storage external` inside `create table`, which PostgreSQL 15 doesn't
 * know; now a statement of its own says it.
 */
const EARLIER_TEXTS: Readonly<Record<string, Readonly<Record<number, readonly string[]>>>> = {
  postgres: { 1: ['486c6ba41d4481ba531efdc425842fc60a7235a93752695db1b4fb802b1874e6'] },
};

const FILES = new URL('../../migrations/', import.meta.url);
const FILE_NAME = /^(\d{4})_([a-z0-9_]+)\.sql$/;

/**
 * A line `-- rebuild: finding`, and below it the table's new `create table`, to the line that
 * closes it.
 */
const REBUILD = /^-- rebuild: ([a-z_]+)\n(create table \1 \(\n[^]*?^\)[^;]*;)$/m;
const REBUILD_LINE = /^-- rebuild\b/m;

/**
 * The migrations of one kind of database, in order. Throws when a number is used twice or left out.
 */
export async function readMigrations(kind: string, from: URL = FILES): Promise<Migration[]> {
  const directory = new URL(`${kind}/`, from);
  const names = (await readdir(directory)).filter((name) => name.endsWith('.sql')).sort();
  const migrations: Migration[] = [];
  for (const file of names) {
    const [, digits, name] = FILE_NAME.exec(file) ?? [];
    if (digits === undefined || name === undefined || Number(digits) !== migrations.length + 1) {
      throw new MigrationError(`${file} isn't the next migration: NNNN_name.sql, without gaps`);
    }
    const bytes = await readFile(new URL(file, directory));
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const version = Number(digits);
    const accepted = [sha256, ...(EARLIER_TEXTS[kind]?.[version] ?? [])];
    const parts = partsOf(bytes.toString('utf8'), file);
    migrations.push({ version, name, parts, sha256, accepted });
  }
  return migrations;
}

function partsOf(text: string, file: string): Part[] {
  // Between two texts the split leaves the groups: the table and its statement.
  const pieces = text.split(REBUILD);
  const parts: Part[] = [];
  for (let at = 0; at < pieces.length; at += 3) {
    const [plain = '', rebuilds, createTable = ''] = pieces.slice(at, at + 3);
    if (REBUILD_LINE.test(plain)) {
      throw new MigrationError(`${file}: "-- rebuild: x" stands right above "create table x ("`);
    }
    if (plain.trim() !== '') parts.push({ text: plain, rebuilds: null });
    if (rebuilds !== undefined) parts.push({ text: createTable, rebuilds });
  }
  return parts;
}

/**
 * Applies the missing migrations and returns the versions that this call applied: none when the
 * schema is up to date. `nowMs` is recorded as the time. Idempotent; safe beside other nodes that
 * do the same.
 */
export async function migrate(database: Database, nowMs: number, from?: URL): Promise<number[]> {
  const migrations = await readMigrations(database.kind, from);
  const applied: number[] = [];
  for (;;) {
    const version = await database.transaction('system', (tx) => step(tx, migrations, nowMs));
    if (version === null) return applied;
    applied.push(version);
  }
}

/** Applies the first migration that is missing; null when there is none. */
async function step(
  tx: Db,
  migrations: readonly Migration[],
  nowMs: number,
): Promise<number | null> {
  await migrationLock(tx);
  await sql`create table if not exists schema_version (
    version integer not null primary key,
    name text not null,
    sha256 text not null,
    applied_at bigint not null
  )`.execute(tx);
  const done = await tx.selectFrom('schema_version').selectAll().orderBy('version').execute();
  for (const { version, name, sha256 } of done) {
    const known = migrations[version - 1];
    if (known === undefined) {
      throw new MigrationError(
        `the database has schema ${version} (${name}), this program knows ${migrations.length}: ` +
          'start the newer Muster, or restore a backup from before its first start',
      );
    }
    if (!known.accepted.includes(sha256)) {
      throw new MigrationError(
        `migration ${version} (${name}) was changed after it was applied here`,
      );
    }
  }
  const next = migrations[done.length];
  if (next === undefined) return null;
  for (const { text, rebuilds } of next.parts) {
    if (rebuilds === null) await runScript(tx, text);
    else await rebuildTable(tx, rebuilds, text);
  }
  const { version, name, sha256 } = next;
  await tx
    .insertInto('schema_version')
    .values({ version, name, sha256, applied_at: nowMs })
    .execute();
  return version;
}

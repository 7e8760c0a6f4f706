// The bare loop with which ingest is compared: reads the same file, parses it with JSON.parse, and
// writes the very rows that Muster wrote for it into the same schema with the same durability, 500
// rows a transaction. Nothing is derived, matched or guarded. The rows come from a database that
// Muster filled and are in memory before the clock starts. This file decides what is written and
// times it; bare-sqlite.ts and bare-postgres.ts do the writing.

import { readFileSync } from 'node:fs';
import { openDatabase } from '../../packages/server/src/db/db.ts';
import { migrate } from '../../packages/server/src/db/migrate.ts';

export interface BareOrder {
  readonly backend: 'sqlite' | 'postgres';
  /** The source of the rows: a database file, or a PostgreSQL URL. */
  readonly filled: string;
  /** The target of the rows: a file that doesn't exist yet, or the URL of an empty database. */
  readonly target: string;
  readonly sarif: string;
}

export interface BareReport {
  readonly seconds: number;
  readonly parseSeconds: number;
  readonly rows: number;
}

export type Value = string | number | Uint8Array | null;

/** One table with its rows in the order in which they are written. */
export interface TableRows {
  readonly table: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Value[])[];
}

/** A target, opened and prepared before the clock starts. */
export interface BareTarget {
  /** Writes some rows of one table in one durable transaction. */
  insert(table: TableRows, from: number, to: number): Promise<void> | void;
  close(): Promise<void> | void;
}

/**
 * The tables that an upload fills, in the order of references, each with the column that gives the
 * order of writing. The rows of `upload_batch` are gone by then: Muster writes and deletes one for
 * each batch, the bare loop none.
 */
export const TABLES: readonly { readonly table: string; readonly order: string }[] = [
  { table: 'upload', order: 'id' },
  { table: 'upload_chunk', order: 'seq' },
  { table: 'asset', order: 'id' },
  { table: 'asset_ref', order: 'id' },
  { table: 'scope', order: 'asset_id' },
  { table: 'finding', order: 'id' },
  { table: 'finding_detail', order: 'finding_id' },
  { table: 'finding_ref', order: 'finding_id' },
  { table: 'analysis', order: 'ref_id' },
  { table: 'event', order: 'id' },
];

/** Tables that an upload refers to; copied before the clock starts. */
export const PARENTS: typeof TABLES = [{ table: 'tenant', order: 'id' }];

/** Gives an empty target the server's own schema, by the server's own migrations. */
export async function makeSchema({ backend, target }: BareOrder): Promise<void> {
  const where =
    backend === 'sqlite' ? { url: null, directory: target } : { url: target, directory: '' };
  const database = await openDatabase(where);
  await migrate(database, 0);
  await database.close();
}

/** Rows in one transaction. */
export const BATCH_ROWS = 500;

/** The timed part: the file, the parser, the rows. */
export async function runBare(
  target: BareTarget,
  tables: readonly TableRows[],
  sarif: string,
): Promise<BareReport> {
  const startedAt = performance.now();
  const document = JSON.parse(readFileSync(sarif, 'utf8')) as { readonly runs?: unknown };
  const parsedAt = performance.now();
  let rows = 0;
  for (const table of tables) {
    for (let from = 0; from < table.rows.length; from += BATCH_ROWS) {
      const to = Math.min(from + BATCH_ROWS, table.rows.length);
      await target.insert(table, from, to);
      rows += to - from;
    }
  }
  const endedAt = performance.now();
  if (document.runs === undefined) throw new Error('the document was not parsed');
  return {
    seconds: (endedAt - startedAt) / 1000,
    parseSeconds: (parsedAt - startedAt) / 1000,
    rows,
  };
}

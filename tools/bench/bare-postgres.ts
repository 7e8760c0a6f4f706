// The bare loop on PostgreSQL: one connection, one prepared `insert … select from unnest(…)` for
// each table, as the role that owns the tables and with their row-level security, which is part of
// them.

import pg from 'pg';
import { type BareTarget, PARENTS, TABLES, type TableRows, type Value } from './bare.ts';

/**
 * Larger values are sent one row at a time, in binary: as text in an array they would double in
 * size.
 */
const LARGE_TABLES: ReadonlySet<string> = new Set(['upload_chunk']);

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("select set_config('muster.tenant', '*', false)");
  return client;
}

export async function readPostgres(
  url: string,
): Promise<{ parents: TableRows[]; rows: TableRows[] }> {
  const client = await connect(url);
  const read = async ({ table, order }: { table: string; order: string }): Promise<TableRows> => {
    const query = { text: `select * from ${table} order by ${order}`, rowMode: 'array' as const };
    const { fields, rows } = await client.query<Value[]>(query);
    return { table, columns: fields.map(({ name }) => name), rows };
  };
  const all = async (tables: readonly { table: string; order: string }[]): Promise<TableRows[]> => {
    const result: TableRows[] = [];
    for (const table of tables) result.push(await read(table));
    return result;
  };
  try {
    return { parents: await all(PARENTS), rows: await all(TABLES) };
  } finally {
    await client.end();
  }
}

export async function openPostgresTarget(
  url: string,
  parents: readonly TableRows[],
): Promise<BareTarget> {
  const client = await connect(url);
  const types = await typesOfColumns(client);
  const insert = async (table: TableRows, from: number, to: number): Promise<void> => {
    await client.query('begin');
    const rows = table.rows.slice(from, to);
    if (LARGE_TABLES.has(table.table)) await insertSingly(client, table, rows);
    else await insertTogether(client, table, rows, types);
    await client.query('commit');
  };
  for (const parent of parents) await insert(parent, 0, parent.rows.length);
  return { insert, close: () => client.end() };
}

/** For each `table.column`, its type. */
async function typesOfColumns(client: pg.Client): Promise<Map<string, string>> {
  const { rows } = await client.query<{ name: string; type: string }>(
    `select table_name || '.' || column_name as name, udt_name as type
     from information_schema.columns where table_schema = 'public'`,
  );
  return new Map(rows.map(({ name, type }) => [name, type]));
}

async function insertTogether(
  client: pg.Client,
  { table, columns }: TableRows,
  rows: readonly (readonly Value[])[],
  types: ReadonlyMap<string, string>,
): Promise<void> {
  const places = columns.map((column, at) => `$${at + 1}::${types.get(`${table}.${column}`)}[]`);
  await client.query({
    name: table,
    text: `insert into ${table} (${columns.join(', ')}) select * from unnest(${places.join(', ')})`,
    values: columns.map((_, at) => rows.map((row) => row[at])),
  });
}

async function insertSingly(
  client: pg.Client,
  { table, columns }: TableRows,
  rows: readonly (readonly Value[])[],
): Promise<void> {
  const places = columns.map((_, at) => `$${at + 1}`).join(', ');
  const text = `insert into ${table} (${columns.join(', ')}) values (${places})`;
  for (const row of rows) await client.query({ name: table, text, values: [...row] });
}

// Gives a table of SQLite other constraints. SQLite can't alter them ("ALTER TABLE", §7), so the
// table is made anew from the `create table` of a migration. All rows, indexes, triggers,
// references and planner statistics stay. Everything happens inside the migration's transaction:
// when a row breaks a new constraint, or a check afterwards fails, the old table is back. Called by
// dialect.ts.

import { sql } from 'kysely';
import type { Db } from '../db.ts';

/** Holds the rows between the two tables. It is in the file, because memory might not hold it. */
const COPY = 'rebuild_copy';

interface Column {
  readonly name: string;
  readonly type: string;
}

/**
 * Makes `table` anew by `createTable`, its whole `create table` statement. Columns keep their
 * names, types and order. The rows are copied twice, so that the new table has its name from the
 * beginning: references of other tables then lead to it, and SQLite stores the text of the
 * migration for it.
 */
export async function rebuildTable(
  tx: Db,
  runText: (text: string) => Promise<void>,
  table: string,
  createTable: string,
): Promise<void> {
  const columns = await columnsOf(tx, table);
  if (columns.length === 0) throw new Error(`there is no table ${table} to rebuild`);
  await refuseActions(tx, table);
  const attached = await sql<{ text: string }>`select sql || ';' as text from sqlite_schema
    where tbl_name = ${table} and type in ('index', 'trigger') and sql is not null
    order by rowid`.execute(tx);
  const statistics = await sql<{ idx: string | null; stat: string }>`
    select idx, stat from sqlite_stat1 where tbl = ${table}`.execute(tx);
  const rows = await countRows(tx, table);

  const names = columns.map(({ name }) => `"${name}"`).join(', ');
  // Deferred: other tables refer to missing rows until the rows are back.
  await runText(`pragma defer_foreign_keys = on;
    create table ${COPY} as select ${names} from "${table}";
    drop table "${table}";
    ${createTable}`);
  await assertSameColumns(tx, table, columns);
  await runText(`insert into "${table}" (${names}) select ${names} from ${COPY};
    drop table ${COPY};
    ${attached.rows.map(({ text }) => text).join('\n')}`);
  for (const { idx, stat } of statistics.rows) {
    await sql`insert into sqlite_stat1 (tbl, idx, stat) values (${table}, ${idx}, ${stat})`.execute(
      tx,
    );
  }
  await runText('analyze sqlite_schema');

  const kept = await countRows(tx, table);
  if (kept !== rows) throw new Error(`rebuilding ${table} made ${kept} rows of ${rows}`);
  await assertReferences(tx, table);
}

async function columnsOf(tx: Db, table: string): Promise<Column[]> {
  const { rows } = await sql<Column>`select name, type from pragma_table_info(${table})
    order by cid`.execute(tx);
  return rows;
}

/** Dropping a table deletes its rows, and a reference that cascades would delete rows with them. */
async function refuseActions(tx: Db, table: string): Promise<void> {
  const { rows } = await sql<{ child: string; does: string }>`
    select child.name as child, reference.on_delete as does
    from pragma_table_list child, pragma_foreign_key_list(child.name) reference
    where child.schema = 'main' and lower(reference."table") = ${table}
      and reference.on_delete <> 'NO ACTION'`.execute(tx);
  const [first] = rows;
  if (first === undefined) return;
  throw new Error(`${table} can't be rebuilt: ${first.child} refers to it on delete ${first.does}`);
}

async function assertSameColumns(
  tx: Db,
  table: string,
  expected: readonly Column[],
): Promise<void> {
  const said = (columns: readonly Column[]): string =>
    columns.map(({ name, type }) => `${name} ${type.toLowerCase()}`).join(', ');
  const actual = said(await columnsOf(tx, table));
  if (actual === said(expected)) return;
  throw new Error(`a rebuild changes no columns; ${table} had ${said(expected)}, now ${actual}`);
}

async function countRows(tx: Db, table: string): Promise<number> {
  const { rows } = await sql<{ n: number }>`select count(*) as n from ${sql.table(table)}`.execute(
    tx,
  );
  return rows[0]?.n ?? 0;
}

/** Every row refers to one that is there: of this table and of those that refer to it. */
async function assertReferences(tx: Db, table: string): Promise<void> {
  const { rows } = await sql<{ child: string; parent: string }>`
    select "table" as child, parent from pragma_foreign_key_check()
    where "table" = ${table} or parent = ${table} limit 1`.execute(tx);
  const [broken] = rows;
  if (broken === undefined) return;
  throw new Error(`rebuilding ${table} broke a reference of ${broken.child} to ${broken.parent}`);
}

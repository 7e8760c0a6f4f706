// The bare loop on SQLite: one connection in this thread, prepared statements, WAL and FULL as
// Muster has them.

import { join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { type BareTarget, PARENTS, TABLES, type TableRows, type Value } from './bare.ts';

export function readSqlite(path: string): { parents: TableRows[]; rows: TableRows[] } {
  const db = new DatabaseSync(path, { readOnly: true, returnArrays: true });
  const read = ({ table, order }: { table: string; order: string }): TableRows => {
    const statement = db.prepare(`select * from ${table} order by ${order}`);
    const columns = statement.columns().map(({ name }) => name);
    return { table, columns, rows: statement.all() as unknown as Value[][] };
  };
  try {
    return { parents: PARENTS.map(read), rows: TABLES.map(read) };
  } finally {
    db.close();
  }
}

/** `folder` holds the database of Muster's own schema. */
export function openSqliteTarget(folder: string, parents: readonly TableRows[]): BareTarget {
  const db = new DatabaseSync(join(folder, 'muster.db'), { enableForeignKeyConstraints: true });
  db.exec('pragma journal_mode = wal; pragma synchronous = full; pragma cache_size = -65536');
  const statements = new Map<string, StatementSync>();
  const prepared = ({ table, columns }: TableRows): StatementSync => {
    let statement = statements.get(table);
    if (statement === undefined) {
      const places = columns.map(() => '?').join(', ');
      statement = db.prepare(`insert into ${table} (${columns.join(', ')}) values (${places})`);
      statements.set(table, statement);
    }
    return statement;
  };
  const insert = (table: TableRows, from: number, to: number): void => {
    const statement = prepared(table);
    db.exec('begin immediate');
    for (let at = from; at < to; at += 1) statement.run(...(table.rows[at] as Value[]));
    db.exec('commit');
  };
  for (const parent of parents) insert(parent, 0, parent.rows.length);
  return { insert, close: () => db.close() };
}

// Prints a database's schema as stable text, with which the golden tests compare: so migrations
// from zero and the schema that was reviewed can't drift apart. One function for each database,
// chosen by dialect.ts.

import { sql } from 'kysely';
import type { Db } from './db.ts';

interface Line {
  line: string;
}

function joined(...groups: readonly { rows: readonly Line[] }[]): string {
  return groups.map(({ rows }) => rows.map(({ line }) => `${line}\n`).join('')).join('\n');
}

/** SQLite keeps the text of every CREATE statement. */
export async function sqliteSchema(db: Db): Promise<string> {
  const statements = await sql<Line>`
    select sql || ';' as line from sqlite_schema
    where sql is not null and name not like 'sqlite_%'
    order by type desc, tbl_name, name`.execute(db);
  return joined(statements);
}

/** PostgreSQL's catalogue: columns, constraints, indexes, row-level security and its policies. */
export async function postgresSchema(db: Db): Promise<string> {
  const columns = await sql<Line>`
    select c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
      || coalesce(' collate ' || quote_ident(l.collname), '')
      || case when a.attnotnull then ' not null' else '' end
      || case when a.attstorage <> t.typstorage then ' storage ' || a.attstorage::text else '' end as line
    from pg_attribute a
      join pg_class c on c.oid = a.attrelid
      join pg_type t on t.oid = a.atttypid
      left join pg_collation l on l.oid = a.attcollation and l.collname <> 'default'
    where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'
      and a.attnum > 0 and not a.attisdropped
    order by c.relname collate "C", a.attnum`.execute(db);
  const constraints = await sql<Line>`
    select conrelid::regclass || ': ' || conname || ' ' || pg_get_constraintdef(oid) as line
    from pg_constraint
    where connamespace = current_schema()::regnamespace and contype <> 'n'
    order by conrelid::regclass::text collate "C", conname collate "C"`.execute(db);
  const indexes = await sql<Line>`
    select replace(indexdef, ' ' || schemaname || '.', ' ') as line from pg_indexes
    where schemaname = current_schema()
    order by tablename collate "C", indexname collate "C"`.execute(db);
  const security = await sql<Line>`
    select relname || ': row security'
      || case when relforcerowsecurity then ' forced' else '' end as line
    from pg_class
    where relnamespace = current_schema()::regnamespace and relrowsecurity
    order by relname collate "C"`.execute(db);
  const policies = await sql<Line>`
    select 'policy ' || policyname || ' for ' || cmd
      || ' on ' || string_agg(tablename, ', ' order by tablename collate "C")
      || E'\n  using ' || qual || coalesce(E'\n  with check ' || with_check, '') as line
    from pg_policies
    where schemaname = current_schema()
    group by policyname, cmd, qual, with_check
    order by policyname collate "C"`.execute(db);
  return joined(columns, constraints, indexes, security, policies);
}

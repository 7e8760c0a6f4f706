// A PostgreSQL database whose lists are long: every table that a list reads has ROWS rows of one
// tenant, so that a plan which sorts them all is told from one that reads a page.

import pg from 'pg';
import { idOf, TENANT_ID } from './lists.ts';

/** Rows of each table. */
export const ROWS = 5000;

const id = (n: string): string =>
  `('${idOf(0).slice(0, 24)}' || lpad(to_hex(${n}), 12, '0'))::uuid`;
const tenant = `'${TENANT_ID}'::uuid`;

/** Columns whose value is not the one of their type, as an expression on the row's number `i`. */
const TABLES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  runner: { id: id('i'), admin: "'active'", presence: "'online'" },
  api_key: {
    key_id: "'k' || i",
    kind: "'runner'",
    state: "'proven'",
    runner_id: id('i % 2500'),
    created_at: 'i',
  },
  command: { id: id('i'), status: "'completed'", runner_id: id('i % 250') },
  scan_session: { id: id('i'), status: "'running'", runner_id: id('i % 250') },
  upload: {
    id: id('i'),
    format: "'sarif'",
    state: "'processed'",
    runner_id: id('i % 250'),
    rehearsal: '0',
  },
  upload_rejection: { upload_id: tenant, seq: 'i' },
  asset: { id: id('i'), kind: "'repository'", value: "'v' || i", default_ref_id: id('i') },
  asset_ref: { id: id('i'), asset_id: id('i') },
  component: { asset_id: tenant, identity: "'c' || i" },
  endpoint: { asset_id: tenant, identity: "'c' || i" },
  relationship: { from_asset_id: tenant, to_asset_id: id('i') },
  finding: {
    id: id('i'),
    asset_id: id('i % 250'),
    severity: 'i % 5',
    status: "'open'",
    rule_id: "'R' || i % 50",
    path: "'src/' || i",
    created_upload_id: id('i'),
  },
  finding_ref: { finding_id: id('i'), ref_id: id('i') },
};

const BY_TYPE: Readonly<Record<string, string>> = {
  uuid: tenant,
  bytea: "'\\x00'",
  text: "'x'",
  smallint: '1',
  integer: '1',
  bigint: '1',
};

/** Fills the tables through a connection that sees them, and has PostgreSQL count them. */
export async function fill(client: pg.Client): Promise<void> {
  await client.query("set muster.tenant = '*'");
  await client.query(`insert into tenant values (${tenant}, 'lists', 1)`);
  for (const [table, given] of Object.entries(TABLES)) {
    const { rows } = await client.query<{ name: string; type: string }>(
      `select column_name as name, data_type as type from information_schema.columns
       where table_name = $1 and table_schema = current_schema()
         and (is_nullable = 'NO' or column_name = any($2)) order by ordinal_position`,
      [table, Object.keys(given)],
    );
    const names = rows.map(({ name }) => name).join(', ');
    const values = rows.map(({ name, type }) => given[name] ?? BY_TYPE[type]).join(', ');
    await client.query(
      `insert into ${table} (${names}) select ${values} from generate_series(1, ${ROWS}) i`,
    );
  }
  // Relationships that lead to the asset whose relationships are listed, and that asset itself.
  await client.query(
    `insert into relationship
     select tenant_id, to_asset_id, type, from_asset_id, 1, 1 from relationship`,
  );
  await client.query(
    `insert into asset (tenant_id, id, kind, kind_class, value, name, is_fallback, attributes_at,
       first_seen_at, last_seen_at, created_upload_id)
     values (${tenant}, ${tenant}, 'repository', 'x', 'x', 'x', 0, 1, 1, 1, ${tenant})`,
  );
}

// Rows and helpers that the database tests share: a tenant, a finding with every column filled, a
// fresh directory.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Insertable } from 'kysely';
import type { Database, Db } from '../../src/db/db.ts';
import type { AssetTable, FindingTable } from '../../src/db/tables.ts';

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

/** Makes a directory and returns it with the function that removes it. */
export async function temporaryDirectory(): Promise<{ path: string; remove: () => Promise<void> }> {
  const made = await mkdtemp(path.join(tmpdir(), 'muster-db-'));
  return { path: made, remove: () => rm(made, { recursive: true, force: true }) };
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

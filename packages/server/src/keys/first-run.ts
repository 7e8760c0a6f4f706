// The first run makes what a stranger needs to begin: tenant `default`, an operator token, an enrolment token and a
// first runner with its key. Later runs make nothing and print no secret; `muster admin` makes new ones.

import { limits, type Role } from '@muster/contract';
import type { Database } from '../db/db.ts';
import type { Clock } from '../lib/clock.ts';
import { newId, type TenantId } from '../lib/ids.ts';
import type { Secret } from '../lib/log.ts';
import { findTenantByName, insertTenant, tenantName } from './installation.queries.ts';
import { makeKey } from './keys.ts';
import { createRunner } from './runners.ts';

export const DEFAULT_TENANT = 'default';

export interface FirstRun {
  readonly operatorToken: Secret;
  readonly enrolmentToken: Secret;
  readonly runnerKey: Secret;
}

/** Null: this is not the first run. Of several nodes that start at once, one makes everything. */
export async function firstRun(database: Database, clock: Clock): Promise<FirstRun | null> {
  const nowMs = clock.nowMs();
  const tenantId = newId<TenantId>(nowMs);
  const made = await insertTenant(database.system(), {
    id: tenantId,
    name: DEFAULT_TENANT,
    created_at: nowMs,
  });
  if (made === 0) return null;
  const operatorToken = await makeOperatorToken(
    database,
    clock,
    tenantId,
    'first operator',
    'admin',
  );
  const enrolmentToken = await makeEnrolmentToken(
    database,
    clock,
    tenantId,
    'first enrolment token',
    10,
  );
  const { key } = await createRunner(
    database,
    clock,
    tenantId,
    { name: 'first-runner' },
    'first run',
  );
  return { operatorToken, enrolmentToken, runnerKey: key.secret };
}

/** Operator tokens don't expire; they are revoked. */
export async function makeOperatorToken(
  database: Database,
  clock: Clock,
  tenantId: TenantId,
  name: string,
  role: Role,
): Promise<Secret> {
  const key = await database.transaction(tenantId, async (tx) =>
    makeKey(
      tx,
      {
        tenantId,
        kind: 'operator',
        name,
        role,
        state: 'proven',
        expiresAt: null,
        createdBy: 'administrator',
      },
      clock.nowMs(),
    ),
  );
  return key.secret;
}

export async function makeEnrolmentToken(
  database: Database,
  clock: Clock,
  tenantId: TenantId,
  name: string,
  uses: number,
): Promise<Secret> {
  const nowMs = clock.nowMs();
  const key = await database.transaction(tenantId, async (tx) =>
    makeKey(
      tx,
      {
        tenantId,
        kind: 'enrolment',
        name,
        state: 'proven',
        usesLeft: uses,
        expiresAt: nowMs + limits.enrolmentTokenLifeMs,
        createdBy: 'administrator',
      },
      nowMs,
    ),
  );
  return key.secret;
}

/** A tenant's name, for showing. */
export async function nameOfTenant(database: Database, tenantId: TenantId): Promise<string> {
  return (await tenantName(database.system(), tenantId)) ?? '';
}

/** The tenant that `muster admin` acts for, by name. */
export async function tenantByName(database: Database, name: string): Promise<TenantId | null> {
  const id = await findTenantByName(database.system(), name);
  return id === undefined ? null : (id as TenantId);
}

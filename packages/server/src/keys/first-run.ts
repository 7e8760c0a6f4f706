// The first run makes everything that a new user needs to begin: tenant `default`, an operator
// token, an enrolment token and a first runner with its key. Later runs make nothing and print no
// secret; `muster admin` makes new ones.

import { limits, type Role } from '@muster/contract';
import type { Database } from '../db/db.ts';
import type { Clock } from '../lib/clock.ts';
import { newId, type TenantId } from '../lib/ids.ts';
import type { Secret } from '../lib/log.ts';
import { findTenantByName, insertTenant, tenantName } from './installation.queries.ts';
import { type KeyPlan, makeKey } from './keys.ts';
import { createRunnerIn } from './runners.ts';
import { KEY_BEGINNINGS } from './key.machine.ts';

const DEFAULT_TENANT = 'default';

export interface FirstRun {
  readonly operatorToken: Secret;
  readonly enrolmentToken: Secret;
  readonly runnerKey: Secret;
}

/**
 * Null: this is not the first run. The first run makes all or nothing; of several nodes that start
 * at once, one makes everything.
 */
export async function firstRun(database: Database, clock: Clock): Promise<FirstRun | null> {
  const nowMs = clock.nowMs();
  const tenantId = newId<TenantId>(nowMs);
  return await database.transaction('system', async (tx) => {
    const tenant = { id: tenantId, name: DEFAULT_TENANT, created_at: nowMs };
    if ((await insertTenant(tx, tenant)) === 0) return null;
    const operator = operatorPlan(tenantId, 'first operator', 'admin');
    const enrolment = enrolmentPlan(tenantId, 'first enrolment token', 10, nowMs);
    const runner = { name: 'first-runner' };
    const { key } = await createRunnerIn(tx, tenantId, runner, 'first run', nowMs);
    return {
      operatorToken: (await makeKey(tx, operator, nowMs)).secret,
      enrolmentToken: (await makeKey(tx, enrolment, nowMs)).secret,
      runnerKey: key.secret,
    };
  });
}

const operatorPlan = (tenantId: TenantId, name: string, role: Role): KeyPlan => ({
  tenantId,
  kind: 'operator',
  name,
  role,
  state: KEY_BEGINNINGS.made,
  expiresAt: null,
  createdBy: 'administrator',
});

const enrolmentPlan = (tenantId: TenantId, name: string, uses: number, nowMs: number): KeyPlan => ({
  tenantId,
  kind: 'enrolment',
  name,
  state: KEY_BEGINNINGS.made,
  usesLeft: uses,
  expiresAt: nowMs + limits.enrolmentTokenLifeMs,
  createdBy: 'administrator',
});

/** Makes an operator token. It doesn't expire; it can be revoked. */
export async function makeOperatorToken(
  database: Database,
  clock: Clock,
  tenantId: TenantId,
  name: string,
  role: Role,
): Promise<Secret> {
  const plan = operatorPlan(tenantId, name, role);
  const nowMs = clock.nowMs();
  return (await database.transaction(tenantId, async (tx) => makeKey(tx, plan, nowMs))).secret;
}

export async function makeEnrolmentToken(
  database: Database,
  clock: Clock,
  tenantId: TenantId,
  name: string,
  uses: number,
): Promise<Secret> {
  const nowMs = clock.nowMs();
  const plan = enrolmentPlan(tenantId, name, uses, nowMs);
  return (await database.transaction(tenantId, async (tx) => makeKey(tx, plan, nowMs))).secret;
}

/** A tenant's name, for display. */
export async function nameOfTenant(database: Database, tenantId: TenantId): Promise<string> {
  return (await tenantName(database.system(), tenantId)) ?? '';
}

/** The tenant that `muster admin` acts for, found by its name. */
export async function tenantByName(database: Database, name: string): Promise<TenantId | null> {
  const id = await findTenantByName(database.system(), name);
  return id === undefined ? null : (id as TenantId);
}

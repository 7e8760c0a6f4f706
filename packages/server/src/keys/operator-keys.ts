// Keys that operators make by hand: a further key of a runner, an enrolment token.

import { KEY_SCOPES, type KeyScope, limits } from '@muster/contract';
import type { Database } from '../db/db.ts';
import type { Clock } from '../lib/clock.ts';
import type { RunnerId, TenantId } from '../lib/ids.ts';
import { findKeyRow, type KeyPlan, type MadeKey, makeKey } from './keys.ts';
import type { KeyRow } from './keys.queries.ts';
import { showRunner } from './runners.ts';

export interface NewRunnerKey {
  readonly runner_id: string;
  readonly name?: string;
  readonly scopes?: readonly KeyScope[];
  /** Seconds; absent: it doesn't expire. */
  readonly expires_in?: number;
}

/** Adds a proven key to a runner; every key has the scope `heartbeat`. Problem: not_found (no such runner). */
export async function addRunnerKey(
  database: Database,
  clock: Clock,
  tenantId: TenantId,
  request: NewRunnerKey,
  createdBy: string,
): Promise<{ key: MadeKey; row: KeyRow }> {
  const runner = await showRunner(database, tenantId, request.runner_id);
  const nowMs = clock.nowMs();
  const scopes: readonly KeyScope[] =
    request.scopes === undefined
      ? KEY_SCOPES
      : [...new Set<KeyScope>(['heartbeat', ...request.scopes])];
  const plan: KeyPlan = {
    tenantId,
    kind: 'runner',
    name: request.name ?? 'added by operator',
    runnerId: runner.id as RunnerId,
    scopes,
    state: 'proven',
    expiresAt: request.expires_in === undefined ? null : nowMs + request.expires_in * 1000,
    createdBy,
  };
  return await made(database, plan, nowMs);
}

export interface NewEnrolmentToken {
  readonly name?: string;
  readonly uses?: number;
  /** Seconds; absent: limits.enrolmentTokenLifeMs. */
  readonly expires_in?: number;
  readonly labels?: Readonly<Record<string, string>>;
}

export async function addEnrolmentToken(
  database: Database,
  clock: Clock,
  tenantId: TenantId,
  request: NewEnrolmentToken,
  createdBy: string,
): Promise<{ key: MadeKey; row: KeyRow }> {
  const nowMs = clock.nowMs();
  const lifeMs =
    request.expires_in === undefined ? limits.enrolmentTokenLifeMs : request.expires_in * 1000;
  const plan: KeyPlan = {
    tenantId,
    kind: 'enrolment',
    name: request.name ?? 'enrolment token',
    labels: request.labels ?? {},
    state: 'proven',
    usesLeft: request.uses ?? 1,
    expiresAt: nowMs + lifeMs,
    createdBy,
  };
  return await made(database, plan, nowMs);
}

async function made(
  database: Database,
  plan: KeyPlan,
  nowMs: number,
): Promise<{ key: MadeKey; row: KeyRow }> {
  const key = await database.transaction(plan.tenantId, async (tx) => makeKey(tx, plan, nowMs));
  return { key, row: await findKeyRow(database, plan.tenantId, key.row.key_id) };
}

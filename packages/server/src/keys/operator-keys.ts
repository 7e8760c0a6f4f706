// Keys that operators make by hand: a further key of a runner, an enrolment token. Each is proven
// from the start, and its secret is returned once.

import { KEY_SCOPES, type KeyScope, limits } from '@muster/contract';
import type { Database } from '../db/db.ts';
import type { Clock } from '../lib/clock.ts';
import type { RunnerId, TenantId } from '../lib/ids.ts';
import { requireBlocks } from './allow-list.ts';
import { findKeyRow, type KeyPlan, type MadeKey, makeKey } from './keys.ts';
import type { KeyRow } from './keys.queries.ts';
import { showRunner } from './runners.ts';
import { KEY_BEGINNINGS } from './key.machine.ts';

interface NewRunnerKey {
  readonly runner_id: string;
  readonly name?: string;
  readonly scopes?: readonly KeyScope[];
  /** Seconds; absent: the key doesn't expire. */
  readonly expires_in?: number;
  readonly allow_from?: readonly string[];
}

/** Adds the scope `heartbeat`, which every key has. */
const withHeartbeat = (scopes: readonly KeyScope[] | undefined): readonly KeyScope[] =>
  scopes === undefined ? KEY_SCOPES : [...new Set<KeyScope>(['heartbeat', ...scopes])];

/**
 * Adds a proven key to a runner. Problem: not_found (no such runner), invalid_body (no CIDR block).
 */
export async function addRunnerKey(
  database: Database,
  clock: Clock,
  tenantId: TenantId,
  request: NewRunnerKey,
  createdBy: string,
): Promise<{ key: MadeKey; row: KeyRow }> {
  requireBlocks(request.allow_from ?? []);
  const runner = await showRunner(database, tenantId, request.runner_id);
  const nowMs = clock.nowMs();
  const plan: KeyPlan = {
    tenantId,
    kind: 'runner',
    name: request.name ?? 'added by operator',
    runnerId: runner.id as RunnerId,
    scopes: withHeartbeat(request.scopes),
    allowFrom: request.allow_from ?? null,
    state: KEY_BEGINNINGS.made,
    expiresAt: request.expires_in === undefined ? null : nowMs + request.expires_in * 1000,
    createdBy,
  };
  return await made(database, plan, nowMs);
}

interface NewEnrolmentToken {
  readonly name?: string;
  readonly uses?: number;
  /** Seconds; absent: limits.enrolmentTokenLifeMs. */
  readonly expires_in?: number;
  /** The labels that each of the token's runners gets. */
  readonly labels?: Readonly<Record<string, string>>;
  /** The labels that a runner may ask for besides: `name` or `name=value`; absent: any. */
  readonly allowed_labels?: readonly string[];
  /** The scopes of the keys made with the token. */
  readonly scopes?: readonly KeyScope[];
  /** Where the token, and the keys made with it, are accepted from. */
  readonly allow_from?: readonly string[];
}

/** Adds an enrolment token. Problem: invalid_body (no CIDR block). */
export async function addEnrolmentToken(
  database: Database,
  clock: Clock,
  tenantId: TenantId,
  request: NewEnrolmentToken,
  createdBy: string,
): Promise<{ key: MadeKey; row: KeyRow }> {
  requireBlocks(request.allow_from ?? []);
  const nowMs = clock.nowMs();
  const lifeMs =
    request.expires_in === undefined ? limits.enrolmentTokenLifeMs : request.expires_in * 1000;
  const plan: KeyPlan = {
    tenantId,
    kind: 'enrolment',
    name: request.name ?? 'enrolment token',
    labels: request.labels ?? {},
    ...(request.allowed_labels === undefined ? {} : { allowedLabels: request.allowed_labels }),
    scopes: withHeartbeat(request.scopes),
    allowFrom: request.allow_from ?? null,
    state: KEY_BEGINNINGS.made,
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

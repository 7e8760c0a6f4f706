// The life of keys (contract §7): made, proven by their first use, renewed with overlap, revoked; and enrolment,
// which turns a token into a runner and its first key. Each story is one transaction; each may be repeated.

import { type KeyScope, KEY_SCOPES, limits, type Role } from '@muster/contract';
import type { Database, Db } from '../db/db.ts';
import type { Clock } from '../lib/clock.ts';
import { newId, type RunnerId, type TenantId } from '../lib/ids.ts';
import { Secret } from '../lib/log.ts';
import { Problem } from '../lib/problem.ts';
import { randomBase62 } from '../lib/random.ts';
import type { EnrolmentCaller, RunnerCaller } from './authenticate.ts';
import {
  formatKey,
  hashSecret,
  KEY_ID_CHARS,
  type KeyKind,
  keyPrefix,
  SECRET_CHARS,
} from './key.format.ts';
import {
  findKey,
  insertKey,
  lockKey,
  type KeyPageQuery,
  type KeyRow,
  pageKeys,
  proveKey,
  retireKeys,
  revokeKeyRow,
  runnerKeys,
  setRetirement,
  supersedeCandidates,
  takeEnrolmentUse,
} from './keys.queries.ts';
import { refusal, retirementOfParent } from './keys.rules.ts';
import { findByEnrollment, insertRunner, lockRunner } from './runner.queries.ts';

export interface MadeKey {
  /** Shown to the caller once, stored nowhere. */
  readonly secret: Secret;
  readonly prefix: string;
  readonly row: Pick<KeyRow, 'key_id' | 'expires_at'>;
}

export interface KeyPlan {
  readonly tenantId: TenantId;
  readonly kind: KeyKind;
  readonly name: string;
  readonly runnerId?: RunnerId;
  readonly role?: Role;
  readonly scopes?: readonly KeyScope[];
  readonly labels?: Readonly<Record<string, string>>;
  /** Names of labels that a machine may choose by itself when it enrols; absent: any. */
  readonly allowedLabels?: readonly string[];
  /** Addresses and networks that the key may be used from; absent: from anywhere. */
  readonly allowedFrom?: readonly string[];
  readonly state: 'candidate' | 'proven';
  readonly parentKeyId?: string;
  readonly usesLeft?: number;
  readonly expiresAt: number | null;
  readonly createdBy: string;
}

/** Makes a key inside the caller's transaction. */
export async function makeKey(db: Db, plan: KeyPlan, nowMs: number): Promise<MadeKey> {
  const keyId = randomBase62(KEY_ID_CHARS);
  const secret = randomBase62(SECRET_CHARS);
  const json = (value: unknown): string | null =>
    value === undefined ? null : JSON.stringify(value);
  await insertKey(db, {
    tenant_id: plan.tenantId,
    key_id: keyId,
    kind: plan.kind,
    runner_id: plan.runnerId ?? null,
    name: plan.name,
    role: plan.role ?? null,
    scopes: json(plan.scopes),
    labels: json(plan.labels),
    allowed_labels: json(plan.allowedLabels),
    allowed_from: json(plan.allowedFrom),
    secret_hash: hashSecret(secret),
    state: plan.state,
    parent_key_id: plan.parentKeyId ?? null,
    uses_left: plan.usesLeft ?? null,
    created_at: nowMs,
    created_by: plan.createdBy,
    expires_at: plan.expiresAt,
  });
  return {
    secret: new Secret(formatKey(plan.kind, keyId, secret)),
    prefix: keyPrefix(plan.kind, keyId),
    row: { key_id: keyId, expires_at: plan.expiresAt },
  };
}

/**
 * The first use of a candidate: it becomes proven, the key it was renewed from lives a little longer, all other keys
 * of that line retire. False: it was retired meanwhile. Idempotent.
 */
export async function proveCandidate(
  database: Database,
  key: Pick<KeyRow, 'tenant_id' | 'key_id' | 'runner_id' | 'parent_key_id'>,
  nowMs: number,
): Promise<boolean> {
  const runnerId = key.runner_id;
  if (runnerId === null) return true;
  return await database.transaction(key.tenant_id, async (tx) => {
    // Proofs and renewals of one runner come one after the other, or two of its keys could retire each other.
    await lockRunner(tx, key.tenant_id, runnerId);
    if ((await proveKey(tx, key.tenant_id, key.key_id, nowMs)) === 0) {
      return (await findKey(tx, key.tenant_id, key.key_id))?.state === 'proven';
    }
    const others = (await runnerKeys(tx, key.tenant_id, runnerId)).filter(
      (other) => other.key_id !== key.key_id,
    );
    const parent = others.find((other) => other.key_id === key.parent_key_id);
    if (parent !== undefined && parent.state === 'proven') {
      const retiresAt = retirementOfParent(
        { expiresAt: parent.expires_at, retiresAt: parent.retires_at },
        nowMs,
      );
      await setRetirement(tx, key.tenant_id, parent.key_id, retiresAt);
    }
    // Keys that an operator added and nobody renewed are the operator's to revoke; the rest of the line ends here.
    const done = others.filter(
      (other) =>
        other.key_id !== key.parent_key_id &&
        (other.state !== 'proven' || other.retires_at !== null || other.parent_key_id !== null),
    );
    await retireKeys(
      tx,
      key.tenant_id,
      done.map((other) => other.key_id),
    );
    return true;
  });
}

/**
 * Renewal: adds a candidate with the presented key's scopes. The presented key is not touched; it retires only after
 * the candidate was used. A repeat supersedes the earlier candidate, which is accepted all the same until one is proven.
 */
export async function renewKey(
  database: Database,
  clock: Clock,
  caller: RunnerCaller,
): Promise<MadeKey> {
  const nowMs = clock.nowMs();
  return await database.transaction(caller.tenantId, async (tx) => {
    await lockRunner(tx, caller.tenantId, caller.runnerId);
    await requireGood(tx, caller, nowMs);
    await supersedeCandidates(tx, caller.tenantId, caller.runnerId);
    return await makeKey(
      tx,
      {
        tenantId: caller.tenantId,
        kind: 'runner',
        name: 'renewed',
        runnerId: caller.runnerId,
        scopes: caller.scopes,
        state: 'candidate',
        parentKeyId: caller.keyId,
        expiresAt: nowMs + limits.keyLifeMs,
        createdBy: `key:${caller.keyId}`,
      },
      nowMs,
    );
  });
}

/** The presented key may have been revoked since it was authenticated. Problem: unauthorized. */
async function requireGood(
  tx: Db,
  caller: { readonly tenantId: TenantId; readonly keyId: string },
  nowMs: number,
): Promise<void> {
  const key = await findKey(tx, caller.tenantId, caller.keyId);
  const reason =
    key === undefined
      ? 'gone'
      : refusal({ state: key.state, expiresAt: key.expires_at, retiresAt: key.retires_at }, nowMs);
  if (reason !== null)
    throw new Problem('unauthorized', undefined, { cause: `the key is ${reason}` });
}

export interface EnrolmentRequest {
  readonly name?: string;
  readonly hostname?: string;
  readonly version?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly enrollment_id?: string;
}

/** The newest proven key that the runner got by itself: a further enrolment goes on from there, as a renewal would. */
const lineEnd = (keys: readonly KeyRow[]): string | undefined =>
  keys
    .filter((key) => key.state === 'proven' && /^(enrolment|key):/.test(key.created_by))
    .sort((a, b) => b.created_at - a.created_at)[0]?.key_id;

export interface Enrolled {
  readonly runnerId: RunnerId;
  readonly key: MadeKey;
  /** False: a repeat found the runner that the first call had made. */
  readonly created: boolean;
}

/**
 * An enrolment token becomes a runner and its key. With `enrollment_id` a repeat with the same token finds the runner
 * again, uses up nothing, and adds a key that supersedes the unproven ones: a lost answer is neither a second runner
 * nor a lock-out. An `enrollment_id` of another token, or of a revoked runner, is answered like a wrong token.
 */
export async function enrol(
  database: Database,
  clock: Clock,
  caller: EnrolmentCaller,
  request: EnrolmentRequest,
): Promise<Enrolled> {
  const nowMs = clock.nowMs();
  const createdBy = `enrolment:${caller.keyId}`;
  const { tenantId } = caller;
  return await database.transaction(tenantId, async (tx) => {
    const plan = (runnerId: RunnerId, parentKeyId?: string): KeyPlan => ({
      tenantId,
      kind: 'runner',
      name: 'enrolled',
      runnerId,
      scopes: KEY_SCOPES,
      state: 'candidate',
      expiresAt: nowMs + limits.keyLifeMs,
      createdBy,
      ...(parentKeyId === undefined ? {} : { parentKeyId }),
    });
    // One after the other: of two equal enrolments at once, the second finds what the first made.
    await lockKey(tx, tenantId, caller.keyId);
    await requireGood(tx, caller, nowMs);
    const known =
      request.enrollment_id === undefined
        ? undefined
        : await findByEnrollment(tx, tenantId, request.enrollment_id);
    if (known !== undefined) {
      if (known.created_by !== createdBy || known.admin === 'revoked') {
        throw new Problem('unauthorized', undefined, { cause: 'enrollment_id of another token' });
      }
      const runnerId = known.id as RunnerId;
      await lockRunner(tx, tenantId, runnerId);
      await supersedeCandidates(tx, tenantId, runnerId);
      const parent = lineEnd(await runnerKeys(tx, tenantId, runnerId));
      return { runnerId, key: await makeKey(tx, plan(runnerId, parent), nowMs), created: false };
    }
    if ((await takeEnrolmentUse(tx, tenantId, caller.keyId)) === 0) {
      throw new Problem('unauthorized', undefined, { cause: 'the enrolment token is used up' });
    }
    const runnerId = newId<RunnerId>(nowMs);
    await insertRunner(tx, {
      tenantId,
      id: runnerId,
      name: request.name ?? request.hostname ?? `runner-${runnerId.slice(0, 8)}`,
      labels: { ...request.labels, ...caller.labels },
      hostname: request.hostname ?? null,
      version: request.version ?? null,
      enrollmentId: request.enrollment_id ?? null,
      createdBy,
      nowMs,
    });
    return { runnerId, key: await makeKey(tx, plan(runnerId), nowMs), created: true };
  });
}

export async function listKeys(
  database: Database,
  tenantId: TenantId,
  page: KeyPageQuery,
): Promise<KeyRow[]> {
  return await pageKeys(database.lists(tenantId), tenantId, page);
}

/** Problem: not_found. */
export async function findKeyRow(
  database: Database,
  tenantId: TenantId,
  keyId: string,
): Promise<KeyRow> {
  const row = await findKey(database.tenant(tenantId), tenantId, keyId);
  if (row === undefined) throw new Problem('not_found', 'There is no such key.');
  return row;
}

/** Effective on this node at once (the caller forgets its cache), elsewhere within limits.keyCacheMs. Idempotent. */
export async function revokeKey(
  database: Database,
  tenantId: TenantId,
  keyId: string,
): Promise<KeyRow> {
  return await database.transaction(tenantId, async (tx) => {
    await revokeKeyRow(tx, tenantId, keyId);
    const row = await findKey(tx, tenantId, keyId);
    if (row === undefined) throw new Problem('not_found');
    return row;
  });
}

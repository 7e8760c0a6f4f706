// The life of keys (contract §7): made, proven by their first use, renewed or rolled with overlap,
// changed, revoked. Each story is one transaction; each may be repeated.

import { type KeyScope, limits, type Role } from '@muster/contract';
import type { Database, Db } from '../db/db.ts';
import { present } from '../lib/assert.ts';
import type { Clock } from '../lib/clock.ts';
import type { RunnerId, TenantId } from '../lib/ids.ts';
import { Secret } from '../lib/log.ts';
import { Problem } from '../lib/problem.ts';
import { randomBase62 } from '../lib/random.ts';
import { requireBlocks } from './allow-list.ts';
import type { RunnerCaller } from './authenticate.ts';
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
  type KeyPageQuery,
  type KeyRow,
  pageKeys,
  proveKey,
  retireKeys,
  revokeKeyRow,
  runnerKeys,
  setRetirement,
  supersedeCandidates,
  changeKeyRow,
} from './keys.queries.ts';
import { factsOf, lineOf, refusal, retirementOfParent } from './keys.rules.ts';
import { lockRunner } from './runner.queries.ts';
import { KEY_BEGINNINGS } from './key.machine.ts';

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
  readonly allowedLabels?: readonly string[];
  /** Null or absent: anywhere. */
  readonly allowFrom?: readonly string[] | null;
  readonly state: (typeof KEY_BEGINNINGS)[keyof typeof KEY_BEGINNINGS];
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
    value === undefined || value === null ? null : JSON.stringify(value);
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
    allow_from: json(plan.allowFrom),
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
 * The first use of a candidate: it becomes proven, the key from which it was renewed lives a little
 * longer, and all other keys of that line retire. False: the candidate was retired in between.
 * Idempotent.
 */
export async function proveCandidate(
  database: Database,
  key: Pick<KeyRow, 'tenant_id' | 'key_id' | 'runner_id' | 'parent_key_id' | 'created_at'>,
  nowMs: number,
): Promise<boolean> {
  const runnerId = key.runner_id;
  if (runnerId === null) return true;
  return await database.transaction(key.tenant_id, async (tx) => {
    // Proofs and renewals of one runner come one after the other; otherwise two of its keys could
    // retire each other.
    const runner = await lockRunner(tx, key.tenant_id, runnerId);
    const isCloned = (runner?.cloned_until ?? 0) > nowMs;
    if ((await proveKey(tx, key.tenant_id, key.key_id, nowMs)) === 0) {
      return (await findKey(tx, key.tenant_id, key.key_id))?.state === 'proven';
    }
    const line = lineOf(await runnerKeys(tx, key.tenant_id, runnerId), key.key_id);
    const others = line.filter((other) => other.key_id !== key.key_id);
    // Nobody needs a grace for a parent that was never used: it ends with the rest.
    const parent = others.find(
      (other) => other.key_id === key.parent_key_id && other.state === 'proven',
    );
    if (parent !== undefined) {
      const retiresAt = retirementOfParent(
        { expiresAt: parent.expires_at, retiresAt: parent.retires_at },
        { createdAt: key.created_at, provenAt: nowMs },
        isCloned,
      );
      const overlapUntil = parent.overlap_until ?? key.created_at + limits.keyOverlapMs;
      const ends = { retires_at: retiresAt, overlap_until: overlapUntil };
      await setRetirement(tx, key.tenant_id, parent.key_id, ends);
    }
    // The rest of the line ends here. Other lines of the runner, such as keys that an operator
    // added, are untouched.
    const done = others.filter((other) => other !== parent);
    if (isCloned) {
      await keepForClones(tx, done, nowMs + limits.keyOverlapMs);
      return true;
    }
    await retireKeys(
      tx,
      key.tenant_id,
      done.map((other) => other.key_id),
    );
    return true;
  });
}

/**
 * Keeps the keys of a cloned runner. Two installations that share a key renew it each for itself:
 * when one uses its new key, the other's key must not end. Proven keys live to the end of the
 * overlap, unproven ones until a proof after it.
 */
async function keepForClones(tx: Db, keys: readonly KeyRow[], untilMs: number): Promise<void> {
  for (const key of keys) {
    if (key.state !== 'proven') continue;
    const untilAtMost = Math.min(untilMs, key.retires_at ?? untilMs, key.expires_at ?? untilMs);
    await setRetirement(tx, key.tenant_id, key.key_id, { retires_at: untilAtMost });
  }
}

/**
 * Renewal: adds a candidate with the presented key's scopes and allow-list. The presented key is
 * not touched; it retires only after the candidate was used. A repeat supersedes the earlier
 * candidate, which is still accepted until one of them is proven.
 */
export async function renewKey(
  database: Database,
  clock: Clock,
  caller: RunnerCaller,
): Promise<MadeKey> {
  const nowMs = clock.nowMs();
  return await database.transaction(caller.tenantId, async (tx) => {
    await lockRunner(tx, caller.tenantId, caller.runnerId);
    const key = await requireGood(tx, caller, nowMs);
    const by = `key:${caller.keyId}`;
    return await succeed(tx, key, 'renewed', nowMs + limits.keyLifeMs, by, nowMs);
  });
}

/**
 * Makes a candidate that succeeds `key`, or, where nobody has used `key` yet, the key that `key`
 * was to succeed: the key in use gets the grace. The caller holds the runner's lock.
 */
async function succeed(
  tx: Db,
  key: KeyRow,
  name: string,
  expiresAt: number | null,
  createdBy: string,
  nowMs: number,
): Promise<MadeKey> {
  const tenantId = key.tenant_id as TenantId;
  const runnerId = present(key.runner_id, 'the runner of a key with a successor') as RunnerId;
  const line = lineOf(await runnerKeys(tx, tenantId, runnerId), key.key_id);
  await supersedeCandidates(
    tx,
    tenantId,
    line.map((other) => other.key_id),
  );
  const plan: KeyPlan = {
    tenantId,
    kind: 'runner',
    name,
    runnerId,
    scopes: listed(key.scopes) as readonly KeyScope[],
    allowFrom: listed(key.allow_from),
    state: KEY_BEGINNINGS.renewed,
    parentKeyId: key.state === 'proven' ? key.key_id : (key.parent_key_id ?? key.key_id),
    expiresAt,
    createdBy,
  };
  return await makeKey(tx, plan, nowMs);
}

/** A stored list; null: there is none. */
export const listed = (json: string | null): string[] | null =>
  json === null ? null : (JSON.parse(json) as string[]);

/** The presented key may have been revoked since it was authenticated. Problem: unauthorized. */
export async function requireGood(
  tx: Db,
  caller: { readonly tenantId: TenantId; readonly keyId: string },
  nowMs: number,
): Promise<KeyRow> {
  const key = await findKey(tx, caller.tenantId, caller.keyId);
  const reason = key === undefined ? 'gone' : refusal(factsOf(key), nowMs);
  if (key === undefined || reason !== null)
    throw new Problem('unauthorized', undefined, { cause: `the key is ${reason}` });
  return key;
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

/**
 * Revokes a key: on this node at once (the caller forgets its cache), elsewhere within
 * limits.keyCacheMs. Idempotent.
 */
export async function revokeKey(
  database: Database,
  tenantId: TenantId,
  keyId: string,
): Promise<KeyRow> {
  return await database.transaction(tenantId, async (tx) => {
    const runnerId = (await findKey(tx, tenantId, keyId))?.runner_id ?? null;
    // Without the lock, a renewal that is under way would make its candidate afterwards.
    if (runnerId !== null) await lockRunner(tx, tenantId, runnerId);
    await revokeKeyRow(tx, tenantId, keyId);
    const row = await findKey(tx, tenantId, keyId);
    if (row === undefined) throw new Problem('not_found');
    return row;
  });
}

interface KeyChangeRequest {
  /** Seconds from now; null: the key doesn't expire. */
  readonly expires_in?: number | null;
  /** Null: anywhere. */
  readonly allow_from?: readonly string[] | null;
}

/**
 * Sets when a key expires and where it is accepted from; absent members stay as they are. Takes
 * effect as soon as a revocation does. A repeat counts `expires_in` anew. Problem:
 * invalid_transition (retired or revoked), invalid_body (no CIDR block), not_found.
 */
export async function changeKey(
  database: Database,
  clock: Clock,
  tenantId: TenantId,
  keyId: string,
  { expires_in: seconds, allow_from: allowFrom }: KeyChangeRequest,
): Promise<KeyRow> {
  if (allowFrom !== undefined && allowFrom !== null) requireBlocks(allowFrom);
  const nowMs = clock.nowMs();
  return await database.transaction(tenantId, async (tx) => {
    const changed = await changeKeyRow(tx, tenantId, keyId, {
      ...(seconds === undefined ? {} : { expires_at: expiryIn(seconds, nowMs) }),
      ...(allowFrom === undefined ? {} : { allow_from: allowFrom && JSON.stringify(allowFrom) }),
    });
    const row = await findKey(tx, tenantId, keyId);
    if (row === undefined) throw new Problem('not_found', 'There is no such key.');
    if (changed === 0) throw ended(row);
    return row;
  });
}

const expiryIn = (seconds: number | null, nowMs: number): number | null =>
  seconds === null ? null : nowMs + seconds * 1000;

const ended = (row: KeyRow): Problem =>
  new Problem('invalid_transition', `The key is ${row.state}; make a new one.`, {
    state: row.state,
  });

/**
 * Renewal by an operator: adds a candidate beside a runner's good key, which retires once the
 * candidate has been used (contract §7). `seconds`: how long the new key lives; null: for ever;
 * undefined: as long as the old key was to live. Problem: not_found, invalid_transition (no longer
 * good, or not a runner's key).
 */
export async function rollKey(
  database: Database,
  clock: Clock,
  tenantId: TenantId,
  keyId: string,
  seconds: number | null | undefined,
  createdBy: string,
): Promise<{ key: MadeKey; row: KeyRow }> {
  const nowMs = clock.nowMs();
  const { runner_id: runnerId, state } = await findKeyRow(database, tenantId, keyId);
  if (runnerId === null) {
    throw new Problem('invalid_transition', 'Only the keys of runners have successors.', { state });
  }
  return await database.transaction(tenantId, async (tx) => {
    await lockRunner(tx, tenantId, runnerId);
    const old = await findKey(tx, tenantId, keyId);
    if (old === undefined) throw new Problem('not_found', 'There is no such key.');
    if (refusal(factsOf(old), nowMs) !== null) {
      throw new Problem('invalid_transition', 'The key is not good any more; make a new one.', {
        state: old.state,
      });
    }
    const lifeMs = old.expires_at === null ? null : old.expires_at - old.created_at;
    const expiresAt = seconds === undefined ? lifeMs && nowMs + lifeMs : expiryIn(seconds, nowMs);
    const key = await succeed(tx, old, 'rolled', expiresAt, createdBy, nowMs);
    return { key, row: present(await findKey(tx, tenantId, key.row.key_id), 'the new key') };
  });
}

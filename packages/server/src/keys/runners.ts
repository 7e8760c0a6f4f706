// Runners as operators manage them: created with a first key, paused, resumed, revoked. Revoking a
// runner revokes all of its keys in the same transaction.

import { KEY_SCOPES, limits } from '@muster/contract';
import type { Database, Db } from '../db/db.ts';
import { present } from '../lib/assert.ts';
import type { Clock } from '../lib/clock.ts';
import { newId, parseId, type RunnerId, type TenantId } from '../lib/ids.ts';
import { Problem } from '../lib/problem.ts';
import { cut } from '../lib/text.ts';
import { type KeyPlan, type MadeKey, makeKey } from './keys.ts';
import { revokeRunnerKeys } from './keys.queries.ts';
import {
  findRunner as readRunner,
  insertRunner,
  lockRunner,
  pageRunners,
  type RunnerRow,
  setRunnerAdmin,
} from './runner.queries.ts';
import { KEY_BEGINNINGS } from './key.machine.ts';

export type { RunnerRow } from './runner.queries.ts';

/**
 * One runner by its id, or undefined. For other slices that are inside a transaction of their own.
 */
export async function findRunner(
  db: Db,
  tenantId: string,
  runnerId: string,
): Promise<RunnerRow | undefined> {
  return await readRunner(db, tenantId, runnerId);
}

/**
 * Makes the calls of one runner take turns for the rest of the transaction, so that two equal calls
 * can't both be the first. For other slices that are inside a transaction of their own.
 */
export async function takeTurn(db: Db, tenantId: string, runnerId: string): Promise<void> {
  await lockRunner(db, tenantId, runnerId);
}

/** One runner, from the id in a path. Problem: not_found. */
export async function showRunner(
  database: Database,
  tenantId: TenantId,
  idText: string,
): Promise<RunnerRow> {
  const id = parseId<RunnerId>(idText);
  const row = id === null ? undefined : await readRunner(database.tenant(tenantId), tenantId, id);
  if (row === undefined) throw new Problem('not_found', 'There is no such runner.');
  return row;
}

export async function listRunners(
  database: Database,
  tenantId: TenantId,
  filter: { admin?: RunnerRow['admin']; presence?: RunnerRow['presence']; name?: string },
  after: string | null,
  limit: number,
): Promise<RunnerRow[]> {
  return await pageRunners(database.lists(tenantId), tenantId, {
    admin: filter.admin ?? null,
    presence: filter.presence ?? null,
    namePart: filter.name ?? null,
    after,
    limit,
  });
}

interface NewRunnerRequest {
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
}

/**
 * Makes a runner and its first key, which does not expire: agents that are already deployed never
 * renew (RP §10).
 */
export async function createRunner(
  database: Database,
  clock: Clock,
  tenantId: TenantId,
  request: NewRunnerRequest,
  createdBy: string,
): Promise<{ runner: RunnerRow; key: MadeKey }> {
  const nowMs = clock.nowMs();
  return await database.transaction(tenantId, async (tx) =>
    createRunnerIn(tx, tenantId, request, createdBy, nowMs),
  );
}

/** Does the same inside the caller's transaction. */
export async function createRunnerIn(
  tx: Db,
  tenantId: TenantId,
  request: NewRunnerRequest,
  createdBy: string,
  nowMs: number,
): Promise<{ runner: RunnerRow; key: MadeKey }> {
  const id = newId<RunnerId>(nowMs);
  await insertRunner(tx, {
    tenantId,
    id,
    name: cut(request.name, limits.nameCharsMax),
    labels: request.labels ?? {},
    hostname: null,
    version: null,
    enrollmentId: null,
    createdBy,
    nowMs,
  });
  const plan: KeyPlan = {
    tenantId,
    kind: 'runner',
    name: 'first key',
    runnerId: id,
    scopes: KEY_SCOPES,
    state: KEY_BEGINNINGS.made,
    expiresAt: null,
    createdBy,
  };
  const key = await makeKey(tx, plan, nowMs);
  return { runner: present(await readRunner(tx, tenantId, id), 'the new runner'), key };
}

/**
 * Sets the admin state; revoking also revokes every key. Idempotent. Problem: invalid_transition
 * from revoked.
 */
export async function administerRunner(
  database: Database,
  tenantId: TenantId,
  idText: string,
  admin: RunnerRow['admin'],
): Promise<RunnerRow> {
  const id = parseId<RunnerId>(idText);
  if (id === null) throw new Problem('not_found', 'There is no such runner.');
  return await database.transaction(tenantId, async (tx) => {
    await lockRunner(tx, tenantId, id);
    const changed = await setRunnerAdmin(tx, tenantId, id, admin);
    const row = await readRunner(tx, tenantId, id);
    if (row === undefined) throw new Problem('not_found', 'There is no such runner.');
    if (changed === 0 && admin !== 'revoked') {
      throw new Problem('invalid_transition', 'A revoked runner stays revoked.', {
        state: row.admin,
      });
    }
    if (admin === 'revoked') await revokeRunnerKeys(tx, tenantId, id);
    return row;
  });
}

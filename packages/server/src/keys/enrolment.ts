// Enrolment: turns a token into a runner and its first key (contract §7). With `enrollment_id` it
// may be repeated: a lost answer causes neither a second runner nor a lock-out, because unproven
// keys are accepted until one of them is proven. Each call is one transaction. Called by
// agent-keys.routes.ts.

import { KEY_SCOPES, type KeyScope, limits } from '@muster/contract';
import { uniqueViolation } from '../db/db-errors.ts';
import type { Database, Db } from '../db/db.ts';
import type { Clock } from '../lib/clock.ts';
import { newId, type RunnerId, type TenantId } from '../lib/ids.ts';
import { Problem } from '../lib/problem.ts';
import type { EnrolmentCaller } from './authenticate.ts';
import { labelsBeyond } from './enrolment.rules.ts';
import { type KeyPlan, listed, type MadeKey, makeKey, requireGood } from './keys.ts';
import {
  type KeyRow,
  lockKey,
  runnerKeys,
  supersedeCandidates,
  takeEnrolmentUse,
} from './keys.queries.ts';
import { enrolledLine } from './keys.rules.ts';
import { findByEnrollment, insertRunner, lockRunner } from './runner.queries.ts';
import { KEY_BEGINNINGS } from './key.machine.ts';

interface EnrolmentRequest {
  readonly name?: string;
  readonly hostname?: string;
  readonly version?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly enrollment_id?: string;
}

export interface Enrolled {
  readonly runnerId: RunnerId;
  readonly key: MadeKey;
  /** False: a repeat found the runner that the first call had made. */
  readonly created: boolean;
}

/**
 * Turns an enrolment token into a runner and its key. A repeat with the same token finds the runner
 * again, uses up nothing, and adds a key beside the unproven ones; so a repeat works when the
 * token's uses are gone. An `enrollment_id` of another token, or of a revoked runner, is answered
 * like a wrong token. Problem: invalid_body (labels that aren't allowed).
 */
export async function enrol(
  database: Database,
  clock: Clock,
  caller: EnrolmentCaller,
  request: EnrolmentRequest,
): Promise<Enrolled> {
  const nowMs = clock.nowMs();
  requireLabels(caller, request.labels ?? {});
  try {
    return await database.transaction(caller.tenantId, async (tx) => {
      // One after the other: of two equal enrolments at once, the second finds what the first made.
      await lockKey(tx, caller.tenantId, caller.keyId);
      const token = await requireGood(tx, caller, nowMs);
      return (
        (await again(tx, caller, token, request, nowMs)) ??
        (await first(tx, caller, token, request, nowMs))
      );
    });
  } catch (error) {
    // Another token enrolled with this id a moment ago: the lock of a token holds back its own
    // enrolments only.
    if (uniqueViolation(error) !== 'runner_by_enrollment') throw error;
    throw notYours();
  }
}

const notYours = (): Problem =>
  new Problem('unauthorized', undefined, { cause: 'enrollment_id of another token' });

function requireLabels(caller: EnrolmentCaller, asked: Readonly<Record<string, string>>): void {
  const [name, ...more] = labelsBeyond(asked, caller.labels, caller.allowedLabels);
  if (name === undefined) return;
  throw new Problem(
    'invalid_body',
    `The enrolment token does not allow these labels: ${[name, ...more].join(', ')}.`,
    {
      pointer: `/labels/${pointed(name)}`,
      errors: [name, ...more].map((each) => ({
        pointer: `/labels/${pointed(each)}`,
        code: 'label_not_allowed',
        detail: 'is not allowed with this value.',
      })),
    },
  );
}

/** Escapes a label name for a JSON pointer (RFC 6901 §3); label names may have slashes. */
const pointed = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

/**
 * The runner that this token made with the same `enrollment_id`, with one more key; null: there is
 * none.
 */
async function again(
  tx: Db,
  caller: EnrolmentCaller,
  token: KeyRow,
  { enrollment_id: enrollmentId }: EnrolmentRequest,
  nowMs: number,
): Promise<Enrolled | null> {
  const { tenantId } = caller;
  const known =
    enrollmentId === undefined ? undefined : await findByEnrollment(tx, tenantId, enrollmentId);
  if (known === undefined) return null;
  if (known.created_by !== `enrolment:${caller.keyId}` || known.admin === 'revoked') {
    throw notYours();
  }
  const runnerId = known.id as RunnerId;
  await lockRunner(tx, tenantId, runnerId);
  const keys = await runnerKeys(tx, tenantId, runnerId);
  const line = enrolledLine(keys);
  await supersedeCandidates(
    tx,
    tenantId,
    line.map((key) => key.key_id),
  );
  const parent = newestProven(line);
  const plan = keyPlan(tenantId, runnerId, token, nowMs);
  const key = await makeKey(
    tx,
    parent === undefined ? plan : { ...plan, parentKeyId: parent },
    nowMs,
  );
  return { runnerId, key, created: false };
}

/** The newest proven key of the line: a further enrolment goes on from it, as a renewal would. */
const newestProven = (line: readonly KeyRow[]): string | undefined =>
  line.filter((key) => key.state === 'proven').sort((a, b) => b.created_at - a.created_at)[0]
    ?.key_id;

async function first(
  tx: Db,
  caller: EnrolmentCaller,
  token: KeyRow,
  request: EnrolmentRequest,
  nowMs: number,
): Promise<Enrolled> {
  const { tenantId } = caller;
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
    createdBy: `enrolment:${caller.keyId}`,
    nowMs,
  });
  const key = await makeKey(tx, keyPlan(tenantId, runnerId, token, nowMs), nowMs);
  return { runnerId, key, created: true };
}

/**
 * The key of an enrolled runner: it has the scopes of the token, and is accepted where the token is
 * accepted.
 */
const keyPlan = (
  tenantId: TenantId,
  runnerId: RunnerId,
  token: KeyRow,
  nowMs: number,
): KeyPlan => ({
  tenantId,
  kind: 'runner',
  name: 'enrolled',
  runnerId,
  scopes: (listed(token.scopes) as KeyScope[] | null) ?? KEY_SCOPES,
  allowFrom: listed(token.allow_from),
  state: KEY_BEGINNINGS.renewed,
  expiresAt: nowMs + limits.keyLifeMs,
  createdBy: `enrolment:${token.key_id}`,
});

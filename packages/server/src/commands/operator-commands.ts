// Commands as operators work with them: created, listed, shown with their attempts, canceled. Every
// function works inside one tenant.

import { limits, type NewCommand, PRIORITIES } from '@muster/contract';
import { findRunner } from '../keys/runners.ts';
import { Defect } from '../lib/assert.ts';
import { type CommandId, newId, parseId, type TenantId } from '../lib/ids.ts';
import { Problem } from '../lib/problem.ts';
import type { Db } from '../db/db.ts';
import { RACED, untilWritten } from '../lib/races.ts';
import {
  type AttemptRow,
  attemptsOf,
  type CommandRow,
  findCommand,
  insertCommand,
  moveCommand,
  pageCommands,
} from './command.queries.ts';
import { type LinkedUpload, uploadsFor } from './command-uploads.queries.ts';
import { announce, type CommandsDeps } from './commands.ts';
import { type Target, targetText } from './eligibility.rules.ts';

export async function listCommands(
  deps: CommandsDeps,
  tenantId: TenantId,
  filter: { status?: CommandRow['status']; type?: string; runner_id?: string },
  after: string | null,
  limit: number,
): Promise<CommandRow[]> {
  return await pageCommands(deps.database.lists(tenantId), tenantId, {
    status: filter.status ?? null,
    type: filter.type ?? null,
    runnerId: filter.runner_id ?? null,
    after,
    limit,
  });
}

/** One command with its attempts and with the uploads handed in for it. Problem: not_found. */
export async function showCommand(
  deps: CommandsDeps,
  tenantId: TenantId,
  idText: string,
): Promise<{ command: CommandRow; attempts: AttemptRow[]; uploads: LinkedUpload[] }> {
  const id = parseId<CommandId>(idText);
  const db = deps.database.lists(tenantId);
  const command = id === null ? undefined : await findCommand(db, tenantId, id);
  if (command === undefined) throw new Problem('not_found', 'There is no such command.');
  const attempts = await attemptsOf(db, tenantId, command.id);
  // A header can name any command, so only uploads of runners that held the command are shown.
  const runners = [...new Set(attempts.map((attempt) => attempt.runner_id))];
  const max = limits.commandUploadsShown;
  const uploads =
    runners.length === 0 ? [] : await uploadsFor(db, tenantId, command.id, runners, max);
  return { command, attempts, uploads };
}

/**
 * Creates a command. Problems: not_found (no such runner), invalid_body, rate_limited (too many
 * wait).
 */
export async function createCommand(
  deps: CommandsDeps,
  tenantId: TenantId,
  request: NewCommand,
  createdBy: string,
): Promise<CommandRow> {
  const nowMs = deps.clock.nowMs();
  const payload = payloadText(request);
  const runnerId = request.runner_id ?? null;
  if (runnerId !== null && request.target !== undefined) throw twoTargets();
  const scheduledAt = request.scheduled_at === undefined ? null : Date.parse(request.scheduled_at);
  const expiresAt = request.expires_in === undefined ? null : nowMs + request.expires_in * 1000;
  if (scheduledAt !== null && expiresAt !== null && scheduledAt >= expiresAt) throw neverDue();
  const row: CommandRow = {
    tenant_id: tenantId,
    id: newId<CommandId>(nowMs),
    type: request.type,
    payload,
    priority: PRIORITIES.indexOf(request.priority ?? 'normal'),
    status: 'pending',
    runner_id: runnerId,
    holder_id: null,
    attempt: 0,
    released: 0,
    max_attempts: request.max_attempts ?? limits.commandAttemptsDefault,
    retry_on_fail: request.retry_on_fail === true ? 1 : 0,
    timeout_ms: (request.timeout ?? limits.commandTimeoutMsDefault / 1000) * 1000,
    lease_until: null,
    deadline_at: null,
    created_at: nowMs,
    created_by: createdBy,
    scheduled_at: scheduledAt,
    expires_at: expiresAt,
    acknowledged_at: null,
    started_at: null,
    completed_at: null,
    cancel_requested_at: null,
    result: null,
    error_message: null,
    reason: null,
    target: runnerId === null ? targetText(targetOf(request)) : null,
    ready_at: scheduledAt === null ? nowMs : Math.max(nowMs, scheduledAt),
    progress_percent: null,
    progress_message: null,
    progress_at: null,
    log_lines: 0,
    log_bytes: 0,
    log_dropped: 0,
  };
  await deps.pendingSummary.admit(tenantId);
  await deps.database.transaction(tenantId, async (tx) => {
    const runner = runnerId === null ? null : await findRunner(tx, tenantId, runnerId);
    if (runner === undefined || runner?.admin === 'revoked') {
      throw new Problem('not_found', 'There is no such runner.', { pointer: '/runner_id' });
    }
    await insertCommand(tx, row);
  });
  announce(deps, row);
  return row;
}

function twoTargets(): Problem {
  const detail = 'A command is for one runner or for whichever has what target asks for, not both.';
  const place = { pointer: '/target', code: 'conflict', detail };
  return new Problem('invalid_body', detail, { errors: [place] });
}

function neverDue(): Problem {
  const detail = 'It would expire before it may be claimed: expires_in counts from now.';
  const place = { pointer: '/scheduled_at', code: 'conflict', detail };
  return new Problem('invalid_body', detail, { errors: [place] });
}

/**
 * The requirements that the operator gives, and those of the payload: agents fail a scan whose
 * scanner they don't have (RP §5.7).
 */
function targetOf({ type, payload, target }: NewCommand): Target {
  const named = (member: string): string | undefined => {
    const value = (payload as Readonly<Record<string, unknown>> | undefined)?.[member];
    return typeof value === 'string' ? value : undefined;
  };
  const scanner = type === 'scan' ? named('scanner') : undefined;
  const collector = type === 'collect' ? named('collector') : undefined;
  return {
    ...target,
    ...(scanner === undefined ? {} : { scanner }),
    ...(collector === undefined ? {} : { collector }),
  };
}

/**
 * The payload as it is stored. The contract has already judged the shape of known types
 * (schemas/command-payload.ts).
 */
function payloadText({ payload }: NewCommand): string | null {
  const text = payload === undefined ? null : JSON.stringify(payload);
  if (text !== null && Buffer.byteLength(text) > limits.commandPayloadBytesMax) {
    const detail = `A payload may have ${limits.commandPayloadBytesMax} bytes.`;
    throw new Problem('body_too_large', detail, { pointer: '/payload' });
  }
  return text;
}

/**
 * A pending command is canceled at once; for a held command the runner is asked. A repeat on a
 * canceled command answers the same.
 */
export async function cancelCommand(
  deps: CommandsDeps,
  tenantId: TenantId,
  commandIdText: string,
): Promise<CommandRow> {
  const commandId = parseId<CommandId>(commandIdText);
  const nowMs = deps.clock.nowMs();
  const judge = async (tx: Db): Promise<CommandRow | typeof RACED> => {
    const found = commandId === null ? undefined : await findCommand(tx, tenantId, commandId);
    if (found === undefined) throw new Problem('not_found', 'There is no such command.');
    const isAsked = found.cancel_requested_at !== null && found.status !== 'pending';
    if (found.status === 'canceled' || isAsked) return found;
    const held = found.status === 'acknowledged' || found.status === 'running';
    if (!held && found.status !== 'pending') {
      throw new Problem('invalid_transition', undefined, { state: found.status });
    }
    const set: Partial<CommandRow> = held
      ? { cancel_requested_at: nowMs }
      : { status: 'canceled', cancel_requested_at: nowMs, completed_at: nowMs };
    return (await moveCommand(tx, found, set)) > 0 ? { ...found, ...set } : RACED;
  };
  const crowded = (): Error => new Defect('a command changed under every attempt to cancel it');
  const row = await deps.database.transaction(tenantId, (tx) =>
    untilWritten(() => judge(tx), crowded),
  );
  announce(deps, row);
  return row;
}

// Commands as operators work with them: created, listed, shown with their attempts, canceled.

import { limits, type NewCommand, PRIORITIES } from '@muster/contract';
import { findRunner } from '../keys/runners.ts';
import { Defect } from '../lib/assert.ts';
import { type CommandId, newId, parseId, type TenantId } from '../lib/ids.ts';
import { Problem } from '../lib/problem.ts';
import {
  type AttemptRow,
  attemptsOf,
  type CommandRow,
  findCommand,
  insertCommand,
  moveCommand,
  pageCommands,
} from './command.queries.ts';
import type { CommandsDeps } from './commands.ts';

/** A lost race is judged again. */
const RACES_MAX = 5;

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

/** One command with its attempts. Problem: not_found. */
export async function showCommand(
  deps: CommandsDeps,
  tenantId: TenantId,
  idText: string,
): Promise<{ command: CommandRow; attempts: AttemptRow[] }> {
  const id = parseId<CommandId>(idText);
  const db = deps.database.lists(tenantId);
  const command = id === null ? undefined : await findCommand(db, tenantId, id);
  if (command === undefined) throw new Problem('not_found', 'There is no such command.');
  return { command, attempts: await attemptsOf(db, tenantId, command.id) };
}

/** Types whose payload agents read as an object (RP §5.7); everything else passes as it is. */
const OBJECT_PAYLOADS = new Set([
  'scan',
  'collect',
  'health_check',
  'validate',
  'config_update',
  'cancel',
]);

/** Creates a command. Problems: not_found (no such runner), invalid_body. */
export async function createCommand(
  deps: CommandsDeps,
  tenantId: TenantId,
  request: NewCommand,
  createdBy: string,
): Promise<CommandRow> {
  const nowMs = deps.clock.nowMs();
  const payload = payloadOf(request);
  const runnerId = request.runner_id ?? null;
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
    max_attempts: request.max_attempts ?? limits.commandAttemptsDefault,
    retry_on_fail: request.retry_on_fail === true ? 1 : 0,
    timeout_ms: (request.timeout ?? limits.commandTimeoutMsDefault / 1000) * 1000,
    lease_until: null,
    deadline_at: null,
    created_at: nowMs,
    created_by: createdBy,
    scheduled_at: request.scheduled_at === undefined ? null : Date.parse(request.scheduled_at),
    expires_at: request.expires_in === undefined ? null : nowMs + request.expires_in * 1000,
    acknowledged_at: null,
    started_at: null,
    completed_at: null,
    cancel_requested_at: null,
    result: null,
    error_message: null,
    reason: null,
  };
  await deps.database.transaction(tenantId, async (tx) => {
    const runner = runnerId === null ? null : await findRunner(tx, tenantId, runnerId);
    if (runner === undefined || runner?.admin === 'revoked') {
      throw new Problem('not_found', 'There is no such runner.', { pointer: '/runner_id' });
    }
    await insertCommand(tx, row);
  });
  deps.board.changed(tenantId);
  return row;
}

function payloadOf(request: NewCommand): string | null {
  const { payload, type } = request;
  const isObject = typeof payload === 'object' && payload !== null && !Array.isArray(payload);
  if (OBJECT_PAYLOADS.has(type) && payload !== undefined && !isObject) {
    const place = {
      pointer: '/payload',
      code: 'type',
      detail: `The payload of ${type} is an object.`,
    };
    throw new Problem('invalid_body', place.detail, { errors: [place] });
  }
  const text = payload === undefined ? null : JSON.stringify(payload);
  if (text !== null && Buffer.byteLength(text) > limits.commandPayloadBytesMax) {
    throw new Problem(
      'body_too_large',
      `A payload may have ${limits.commandPayloadBytesMax} bytes.`,
      {
        pointer: '/payload',
      },
    );
  }
  return text;
}

/** Pending → canceled at once; held → asked of the runner. A repeat on a canceled command answers the same. */
export async function cancelCommand(
  deps: CommandsDeps,
  tenantId: TenantId,
  commandIdText: string,
): Promise<CommandRow> {
  const commandId = parseId<CommandId>(commandIdText);
  const nowMs = deps.clock.nowMs();
  const row = await deps.database.transaction(tenantId, async (tx) => {
    for (let race = 0; race < RACES_MAX; race += 1) {
      const found = commandId === null ? undefined : await findCommand(tx, tenantId, commandId);
      if (found === undefined) throw new Problem('not_found', 'There is no such command.');
      if (found.status === 'canceled' || found.cancel_requested_at !== null) return found;
      const held = found.status === 'acknowledged' || found.status === 'running';
      if (!held && found.status !== 'pending') {
        throw new Problem('invalid_transition', undefined, { state: found.status });
      }
      const set: Partial<CommandRow> = held
        ? { cancel_requested_at: nowMs }
        : { status: 'canceled', cancel_requested_at: nowMs, completed_at: nowMs };
      if ((await moveCommand(tx, found, set)) > 0) return { ...found, ...set };
    }
    throw new Defect('a command changed under every attempt to cancel it');
  });
  deps.board.changed(tenantId);
  return row;
}

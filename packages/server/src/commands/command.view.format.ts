// Command rows as the wire shows them: to runners without nulls (old clients fail on them), to operators in full.

import { type Command, PRIORITIES, type RunnerCommand } from '@muster/contract';
import type { AttemptRow, CommandRow } from './command.queries.ts';

const iso = (ms: number): string => new Date(ms).toISOString();
const isoOrNull = (ms: number | null): string | null => (ms === null ? null : iso(ms));

const priorityOf = (row: CommandRow) => PRIORITIES[row.priority] ?? 'normal';
const parsed = (text: string | null): unknown =>
  text === null ? null : (JSON.parse(text) as unknown);

export function runnerCommand(row: CommandRow): RunnerCommand {
  return {
    id: row.id,
    tenant_id: row.tenant_id,
    ...((row.holder_id ?? row.runner_id) === null
      ? {}
      : { agent_id: row.holder_id ?? row.runner_id ?? '' }),
    type: row.type,
    priority: priorityOf(row),
    ...(row.payload === null ? {} : { payload: parsed(row.payload) }),
    status: row.status,
    attempt: row.attempt,
    ...(row.lease_until === null ? {} : { lease_expires_at: iso(row.lease_until) }),
    ...(row.error_message === null ? {} : { error_message: row.error_message }),
    ...(row.result === null ? {} : { result: parsed(row.result) }),
    created_at: iso(row.created_at),
    ...(row.scheduled_at === null ? {} : { scheduled_at: iso(row.scheduled_at) }),
    ...(row.expires_at === null ? {} : { expires_at: iso(row.expires_at) }),
    ...(row.acknowledged_at === null ? {} : { acknowledged_at: iso(row.acknowledged_at) }),
    ...(row.started_at === null ? {} : { started_at: iso(row.started_at) }),
    ...(row.completed_at === null ? {} : { completed_at: iso(row.completed_at) }),
    ...(row.cancel_requested_at === null
      ? {}
      : { cancel_requested_at: iso(row.cancel_requested_at) }),
  };
}

export function operatorCommand(row: CommandRow): Command {
  return {
    id: row.id,
    type: row.type,
    priority: priorityOf(row),
    status: row.status,
    reason: row.reason,
    payload: parsed(row.payload),
    runner_id: row.runner_id,
    holder_id: row.holder_id,
    attempt: row.attempt,
    max_attempts: row.max_attempts,
    retry_on_fail: row.retry_on_fail === 1,
    timeout_seconds: row.timeout_ms / 1000,
    lease_expires_at: isoOrNull(row.lease_until),
    created_at: iso(row.created_at),
    created_by: row.created_by,
    scheduled_at: isoOrNull(row.scheduled_at),
    expires_at: isoOrNull(row.expires_at),
    acknowledged_at: isoOrNull(row.acknowledged_at),
    started_at: isoOrNull(row.started_at),
    completed_at: isoOrNull(row.completed_at),
    cancel_requested_at: isoOrNull(row.cancel_requested_at),
    result: parsed(row.result),
    error_message: row.error_message,
  };
}

export const attemptView = (row: AttemptRow) => ({
  attempt: row.attempt,
  runner_id: row.runner_id,
  acknowledged_at: iso(row.acknowledged_at),
  started_at: isoOrNull(row.started_at),
  ended_at: isoOrNull(row.ended_at),
  outcome: row.outcome,
});

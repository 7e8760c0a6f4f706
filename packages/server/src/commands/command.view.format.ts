// Turns command rows into what the wire shows: to runners without nulls, because old clients fail
// on them; to operators in full.

import {
  type Command,
  type CommandLog,
  type CommandUpload,
  PRIORITIES,
  type Receipt,
  type RunnerCommand,
} from '@muster/contract';
import { isoTime, isoTimeOrNull } from '../lib/iso-time.ts';
import type { AttemptRow, CommandRow } from './command.queries.ts';
import type { LogRow } from './log/command-log.queries.ts';
import type { LinkedUpload } from './command-uploads.queries.ts';
import { parseTarget } from './eligibility.rules.ts';

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
    ...(row.lease_until === null ? {} : { lease_expires_at: isoTime(row.lease_until) }),
    ...(row.error_message === null ? {} : { error_message: row.error_message }),
    ...(row.result === null ? {} : { result: parsed(row.result) }),
    created_at: isoTime(row.created_at),
    ...(row.scheduled_at === null ? {} : { scheduled_at: isoTime(row.scheduled_at) }),
    ...(row.expires_at === null ? {} : { expires_at: isoTime(row.expires_at) }),
    ...(row.acknowledged_at === null ? {} : { acknowledged_at: isoTime(row.acknowledged_at) }),
    ...(row.started_at === null ? {} : { started_at: isoTime(row.started_at) }),
    ...(row.completed_at === null ? {} : { completed_at: isoTime(row.completed_at) }),
    ...(row.cancel_requested_at === null
      ? {}
      : { cancel_requested_at: isoTime(row.cancel_requested_at) }),
    ...(row.progress_at === null ? {} : { progress: progressOf(row) }),
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
    target: targetView(row.target),
    holder_id: row.holder_id,
    attempt: row.attempt,
    released: row.released,
    max_attempts: row.max_attempts,
    retry_on_fail: row.retry_on_fail === 1,
    timeout_seconds: row.timeout_ms / 1000,
    lease_expires_at: isoTimeOrNull(row.lease_until),
    created_at: isoTime(row.created_at),
    created_by: row.created_by,
    scheduled_at: isoTimeOrNull(row.scheduled_at),
    expires_at: isoTimeOrNull(row.expires_at),
    acknowledged_at: isoTimeOrNull(row.acknowledged_at),
    started_at: isoTimeOrNull(row.started_at),
    completed_at: isoTimeOrNull(row.completed_at),
    cancel_requested_at: isoTimeOrNull(row.cancel_requested_at),
    result: parsed(row.result),
    error_message: row.error_message,
    progress: row.progress_at === null ? null : progressOf(row),
    log: { lines: row.log_lines, bytes: row.log_bytes, dropped_lines: row.log_dropped },
  };
}

const progressOf = (row: CommandRow) => ({
  ...(row.progress_percent === null ? {} : { percent: row.progress_percent }),
  ...(row.progress_message === null ? {} : { message: row.progress_message }),
  at: isoTime(row.progress_at ?? 0),
});

/**
 * The target as the operator asked for it; requirements that follow from the payload are not
 * repeated.
 */
function targetView(text: string | null): Command['target'] {
  const target = parseTarget(text);
  if (target === null) return null;
  const { labels = {}, tools = [], capabilities = [] } = target;
  if (Object.keys(labels).length + tools.length + capabilities.length === 0) return null;
  return { labels: { ...labels }, tools: [...tools], capabilities: [...capabilities] };
}

export const attemptView = (row: AttemptRow) => ({
  attempt: row.attempt,
  runner_id: row.runner_id,
  acknowledged_at: isoTime(row.acknowledged_at),
  started_at: isoTimeOrNull(row.started_at),
  ended_at: isoTimeOrNull(row.ended_at),
  outcome: row.outcome,
});

export function uploadOfCommand(row: LinkedUpload): CommandUpload {
  const receipt = row.receipt === null ? null : (JSON.parse(row.receipt) as Receipt);
  return {
    id: row.id,
    runner_id: row.runner_id,
    state: row.state,
    tool: row.tool,
    received_at: isoTime(row.received_at),
    finished_at: isoTimeOrNull(row.finished_at),
    receipt: receipt === null ? null : summary(receipt),
  };
}

const summary = ({ outcome, findings, assets, resolved, held }: Receipt) => ({
  outcome,
  findings,
  assets,
  resolved,
  held,
});

/** Log lines from `offset` on, taken from rows that may begin before it. */
export function logView(
  command: CommandRow,
  rows: readonly LogRow[],
  offset: number,
  isOver: boolean,
): CommandLog {
  const lines = rows.flatMap((row) => {
    const texts = JSON.parse(row.lines) as string[];
    const start = row.end_line - texts.length;
    return texts.flatMap((text, index) =>
      start + index < offset
        ? []
        : [{ line: start + index, attempt: row.attempt, at: isoTime(row.received_at), text }],
    );
  });
  const next = rows.at(-1)?.end_line ?? offset;
  return {
    command_id: command.id,
    status: command.status,
    lines,
    next_offset: next,
    dropped_lines: command.log_dropped,
    is_complete: isOver && next >= command.log_lines,
  };
}

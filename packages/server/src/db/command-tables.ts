// The tables of commands: work for runners, every claim of it, its log, and scan sessions. Part of
// tables.ts, from which everybody else imports them.

import type { Flag } from './tables.ts';

export type CommandStatus =
  | 'pending'
  | 'acknowledged'
  | 'running'
  | 'completed'
  | 'failed'
  | 'canceled'
  | 'expired';
export type AttemptOutcome = 'completed' | 'failed' | 'released' | 'lost' | 'canceled';

export interface CommandTable {
  tenant_id: string;
  id: string;
  type: string;
  payload: string | null;
  priority: number;
  status: CommandStatus;
  runner_id: string | null;
  holder_id: string | null;
  attempt: number;
  /** The number of attempts that were given back. */
  released: number;
  max_attempts: number;
  retry_on_fail: Flag;
  timeout_ms: number;
  lease_until: number | null;
  deadline_at: number | null;
  created_at: number;
  created_by: string;
  scheduled_at: number | null;
  expires_at: number | null;
  acknowledged_at: number | null;
  started_at: number | null;
  completed_at: number | null;
  cancel_requested_at: number | null;
  result: string | null;
  error_message: string | null;
  reason: string | null;
  /** JSON of labels, tools and capabilities that a runner must have; null: none. */
  target: string | null;
  /** The time since which the command may be claimed. */
  ready_at: number;
  progress_percent: number | null;
  progress_message: string | null;
  progress_at: number | null;
  /** Lines and bytes that are kept, and lines that the bounds kept out. */
  log_lines: number;
  log_bytes: number;
  log_dropped: number;
}

export interface CommandAttemptTable {
  tenant_id: string;
  command_id: string;
  attempt: number;
  runner_id: string;
  acknowledged_at: number;
  started_at: number | null;
  ended_at: number | null;
  outcome: AttemptOutcome | null;
  answer_digest: Uint8Array | null;
  /** Lines that this attempt has sent so far, kept or not: the offset of its next line. */
  log_received: number;
}

export interface CommandLogTable {
  tenant_id: string;
  command_id: string;
  end_line: number;
  attempt: number;
  received_at: number;
  /** JSON array of texts. */
  lines: string;
}

export interface ScanSessionTable {
  tenant_id: string;
  id: string;
  runner_id: string;
  status: 'running' | 'completed' | 'failed' | 'canceled' | 'timeout';
  scanner_name: string;
  scanner_version: string | null;
  scanner_type: string | null;
  asset_type: string;
  asset_value: string;
  branch: string | null;
  place_digest: Uint8Array;
  commit_sha: string | null;
  base_commit_sha: string | null;
  started_at: number;
  completed_at: number | null;
  /** JSON of the runner's last word about the session. */
  answer: string | null;
}

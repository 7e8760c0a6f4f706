// A command in the hands of runners: claimed with a lease, started, finished, given back (contract
// §4). Every call judges the row with the machine and applies the decision as one guarded UPDATE.
// The poll stands in poll/poll.ts.

import { hash } from 'node:crypto';
import { type ErrorCode, type KeyScope, limits } from '@muster/contract';
import type { Database, Db } from '../db/db.ts';
import type { RunnerRow } from '../keys/runners.ts';
import { Defect } from '../lib/assert.ts';
import type { Clock } from '../lib/clock.ts';
import { type CommandId, parseId, type RunnerId, type TenantId } from '../lib/ids.ts';
import { Problem } from '../lib/problem.ts';
import { RACED, untilWritten } from '../lib/races.ts';
import {
  type CommandState,
  decide,
  type Decision,
  type OwnAttempt,
  type RunnerEvent,
} from './command.machine.ts';
import {
  type AttemptRow,
  type CommandRow,
  findCommand,
  forgetReleased,
  insertAttempt,
  lastAttemptOf,
  moveCommand,
  updateAttempt,
} from './command.queries.ts';
import { leaseMs, type OfferCounts, storedResult, truncateUtf8 } from './commands.rules.ts';
import { type CleanScan, cleanScanOf } from '../ingest/formats/common/clean-scan.rules.ts';
import { receiveCleanScan } from '../uploads/clean-scans.ts';
import { isEligible } from './eligibility.rules.ts';
import { type ProfileDeps, runnerWithProfile } from './profiles.ts';
import type { Wake } from './poll/wake.ts';
import type { PendingSummary } from './pending-summary.ts';

export interface CommandsDeps extends ProfileDeps {
  readonly database: Database;
  readonly clock: Clock;
  readonly pendingSummary: PendingSummary;
  readonly offers: OfferCounts;
  readonly wake: Wake;
  /** Seals the uploads that stand for clean scans. */
  readonly sealKey: Buffer;
  /** Tells the queue of ingest that there is an upload to process. */
  readonly hasUpload: () => void;
}

export interface Holder {
  readonly tenantId: TenantId;
  readonly runnerId: RunnerId;
}

/** A runner that moves a command, with the key it uses. */
interface Mover extends Holder {
  readonly keyId: string;
  readonly scopes: readonly KeyScope[];
}

export interface TransitionInput {
  readonly result?: unknown;
  readonly errorMessage?: string;
  readonly attempt?: number;
}

/**
 * One runner call. Returns the command as it stands afterwards; a repeat returns it unchanged.
 * Problems: not_found, command_claimed, lease_lost, invalid_transition (with `state`),
 * transition_conflict, runner_paused.
 */
export async function transition(
  deps: CommandsDeps,
  holder: Mover,
  commandIdText: string,
  event: RunnerEvent,
  input: TransitionInput,
): Promise<CommandRow> {
  const commandId = parseId<CommandId>(commandIdText);
  if (commandId === null) throw new Problem('not_found', 'There is no such command.');
  const answer = answerOf(event, input);
  const clean = event === 'complete' ? cleanScanOf(input.result) : null;
  const nowMs = deps.clock.nowMs();
  const call = { event, answer, clean, attempt: input.attempt, nowMs };
  const crowded = (): Error => new Defect('a command changed under every attempt to move it');
  const row = await deps.database.transaction(holder.tenantId, (tx) =>
    untilWritten(() => judgeAndMove(deps, tx, holder, commandId, call), crowded),
  );
  noteCall(deps, holder, row, event);
  announce(deps, row);
  if (clean !== null) deps.hasUpload();
  if (isFreed(row)) deps.wake.runner(holder.tenantId, holder.runnerId);
  return row;
}

/** Records what later offers depend on: claims, and commands given back. */
function noteCall(
  { offers, wake, clock }: CommandsDeps,
  { runnerId }: Holder,
  { id, status }: CommandRow,
  event: RunnerEvent,
): void {
  if (event === 'acknowledge') {
    offers.taken(runnerId, id);
    wake.recent.taken(id);
  }
  if (event === 'release' && status === 'pending')
    wake.givenBack.gaveBack(runnerId, id, clock.monotonicMs());
  if (event === 'complete' || event === 'fail') wake.givenBack.forget(runnerId, id);
}

/** After the commit: tells everybody who waits for this command, or shows it, that it moved. */
export function announce(
  deps: Pick<CommandsDeps, 'pendingSummary' | 'wake' | 'clock'>,
  row: CommandRow,
): void {
  deps.pendingSummary.changed(row.tenant_id);
  deps.wake.told(row.tenant_id, row.id);
  if (row.status === 'pending' && row.ready_at <= deps.clock.nowMs()) deps.wake.ready(row);
}

const isFreed = ({ status }: CommandRow): boolean =>
  status !== 'acknowledged' && status !== 'running';

interface Judged {
  readonly event: RunnerEvent;
  readonly answer: Answer;
  readonly clean: CleanScan | null;
  readonly attempt: number | undefined;
  readonly nowMs: number;
}

interface Answer {
  readonly digest: Buffer | null;
  readonly result: string | null;
  readonly errorMessage: string | null;
}

/** The body of complete or fail, as it is stored and compared. */
function answerOf(event: RunnerEvent, input: TransitionInput): Answer {
  if (event === 'complete') {
    const result = input.result === undefined ? null : JSON.stringify(input.result);
    const digest = hash('sha256', `complete ${result}`, 'buffer');
    return { digest, result: result === null ? null : storedResult(result), errorMessage: null };
  }
  if (event === 'fail') {
    const errorMessage = truncateUtf8(
      input.errorMessage ?? 'Unknown error',
      limits.commandErrorBytesMax,
    );
    return { digest: hash('sha256', `fail ${errorMessage}`, 'buffer'), result: null, errorMessage };
  }
  return { digest: null, result: null, errorMessage: null };
}

async function judgeAndMove(
  deps: CommandsDeps,
  tx: Db,
  holder: Mover,
  commandId: CommandId,
  { event, answer, clean, attempt, nowMs }: Judged,
): Promise<CommandRow | typeof RACED> {
  const { runnerId } = holder;
  const { row, runner, own, eligible } = await readForCall(deps, tx, holder, commandId);
  const decision = decide(
    stateOf(row),
    own,
    {
      event,
      runnerId,
      paused: runner.admin !== 'active',
      eligible,
      answer: answer.digest?.toString('hex') ?? null,
      attempt: attempt ?? null,
    },
    nowMs,
  );
  if (decision.kind === 'refuse') throw refusalOf(decision.code, row, nowMs);
  if (decision.kind === 'repeat') return row;
  const move = {
    decision,
    event,
    answer,
    row,
    runnerId,
    leaseMs: leaseMs(runner.interval_ms),
    nowMs,
  };
  const set = columnsOf(move);
  if ((await moveCommand(tx, row, set)) === 0) return RACED;
  await recordAttempt(tx, move);
  // What closes findings is an upload, and takes the scope of one.
  if (clean !== null && row.type === 'scan' && holder.scopes.includes('ingest')) {
    await receiveCleanScan(deps, tx, { caller: holder, commandId, payload: row.payload, clean });
  }
  return { ...row, ...set };
}

interface ForCall {
  readonly row: CommandRow;
  readonly runner: RunnerRow;
  /** The caller's newest claim: the stored row, and the same as the machine sees it. */
  readonly attempt: AttemptRow | undefined;
  readonly own: OwnAttempt | null;
  readonly eligible: boolean;
}

/** Reads everything by which a runner's call about a command is judged. Problem: not_found. */
export async function readForCall(
  deps: Pick<CommandsDeps, 'unwritten'>,
  tx: Db,
  { tenantId, runnerId }: Holder,
  commandId: CommandId,
): Promise<ForCall> {
  const row = await findCommand(tx, tenantId, commandId);
  if (row === undefined) throw new Problem('not_found', 'There is no such command.');
  const known = await runnerWithProfile(deps, tx, tenantId, runnerId);
  if (known === undefined) throw new Defect('an authenticated runner has no row');
  const attempt = await lastAttemptOf(tx, tenantId, commandId, runnerId);
  return {
    row,
    runner: known.runner,
    attempt,
    own: attempt === undefined ? null : ownOf(attempt),
    eligible: isEligible(runnerId, known.profile, row),
  };
}

/** The refusal as the caller gets it: with the state, where the caller may know of the command. */
export function refusalOf(code: ErrorCode, row: CommandRow, nowMs: number): Problem {
  if (code === 'not_found') return new Problem(code, 'There is no such command.');
  const expired = row.status === 'pending' && row.expires_at !== null && row.expires_at <= nowMs;
  const state = expired ? 'expired' : row.status;
  return new Problem(code, undefined, { state });
}

/** A move that the machine allowed. */
interface Move {
  readonly decision: Extract<Decision, { kind: 'apply' }>;
  readonly event: RunnerEvent;
  readonly answer: Answer;
  /** As it stands before the move. */
  readonly row: CommandRow;
  readonly runnerId: RunnerId;
  readonly leaseMs: number;
  readonly nowMs: number;
}

function columnsOf(move: Move): Partial<CommandRow> {
  const { decision, event, answer, row, runnerId, leaseMs: lease, nowMs } = move;
  const base = { status: decision.to, attempt: decision.attempt, reason: decision.reason };
  switch (decision.to) {
    case 'acknowledged':
      return {
        ...base,
        holder_id: runnerId,
        acknowledged_at: nowMs,
        started_at: null,
        lease_until: nowMs + lease,
        deadline_at: nowMs + row.timeout_ms,
        error_message: null,
      };
    case 'running':
      return {
        ...base,
        started_at: nowMs,
        lease_until: nowMs + lease,
        deadline_at: nowMs + row.timeout_ms,
      };
    case 'pending':
      return {
        ...base,
        holder_id: null,
        lease_until: null,
        deadline_at: null,
        acknowledged_at: null,
        started_at: null,
        ready_at: nowMs,
        released: row.released + (decision.outcome === 'released' ? 1 : 0),
        error_message: answer.errorMessage,
      };
    case 'completed':
    case 'failed':
    case 'canceled':
    case 'expired':
      return {
        ...base,
        lease_until: null,
        completed_at: nowMs,
        result: answer.result,
        error_message: answer.errorMessage,
        // A command that was never claimed has no holder, even when its pinned runner refused it.
        holder_id: event === 'fail' && row.status === 'pending' ? null : runnerId,
      };
  }
}

async function recordAttempt(tx: Db, move: Move): Promise<void> {
  const { decision, event, answer, row, runnerId, nowMs } = move;
  const key = { tenant_id: row.tenant_id, command_id: row.id, attempt: decision.attempt };
  if (event === 'acknowledge') {
    const open = {
      started_at: null,
      ended_at: null,
      outcome: null,
      answer_digest: null,
      log_received: 0,
    };
    await insertAttempt(tx, { ...key, ...open, runner_id: runnerId, acknowledged_at: nowMs });
    // The machine judges by a runner's newest attempt only. Older attempts are kept for operators,
    // in a bounded number.
    const before = decision.attempt - limits.commandReleasesKept;
    if (before > 0) await forgetReleased(tx, row, runnerId, before);
  } else if (event === 'start') {
    await updateAttempt(tx, key, { started_at: nowMs });
  } else if (row.status === 'pending') {
    // The pinned runner refused a command that it never claimed. The refusal is kept as an attempt,
    // so that a repeat is known.
    const attempt = {
      ...key,
      attempt: row.attempt + 1,
      runner_id: runnerId,
      acknowledged_at: nowMs,
    };
    await insertAttempt(tx, {
      ...attempt,
      started_at: null,
      ended_at: nowMs,
      outcome: 'failed',
      answer_digest: answer.digest,
      log_received: 0,
    });
  } else {
    const end = { ended_at: nowMs, outcome: decision.outcome, answer_digest: answer.digest };
    await updateAttempt(tx, key, end);
  }
}

export const stateOf = (row: CommandRow): CommandState => ({
  status: row.status,
  runnerId: row.runner_id,
  holderId: row.holder_id,
  attempt: row.attempt,
  released: row.released,
  maxAttempts: row.max_attempts,
  retryOnFail: row.retry_on_fail === 1,
  scheduledAt: row.scheduled_at,
  expiresAt: row.expires_at,
  cancelRequested: row.cancel_requested_at !== null,
});

const ownOf = (row: AttemptRow): OwnAttempt => ({
  attempt: row.attempt,
  startedAt: row.started_at,
  outcome: row.outcome,
  answer: row.answer_digest === null ? null : Buffer.from(row.answer_digest).toString('hex'),
});

// The one table of what may happen to a command: event × state → state, and what a repeated or late
// call means (contract §4). `decide` is pure. Its answer is applied as one guarded UPDATE: status,
// holder and attempt must still be what was judged, so two runners can never both win. A command
// may be executed twice at most, but never committed twice.

import type { CommandStatus, ErrorCode } from '@muster/contract';

export type RunnerEvent = 'acknowledge' | 'start' | 'complete' | 'fail' | 'release';
type CommandEvent = RunnerEvent | 'cancel' | 'expire' | 'lose';

type Who = 'eligible runner' | 'holder' | 'holder or pinned runner' | 'operator' | 'clock';

interface Transition {
  readonly from: readonly CommandStatus[];
  readonly by: Who;
  readonly to: readonly CommandStatus[];
}

/**
 * Every legal move. ARCHITECTURE.md prints the diagram of this table, and the property test takes
 * the table as its model.
 */
export const TRANSITIONS: Readonly<Record<CommandEvent, Transition>> = {
  acknowledge: { from: ['pending'], by: 'eligible runner', to: ['acknowledged'] },
  start: { from: ['acknowledged'], by: 'holder', to: ['running'] },
  complete: { from: ['acknowledged', 'running'], by: 'holder', to: ['completed'] },
  fail: {
    from: ['acknowledged', 'running', 'pending'],
    by: 'holder or pinned runner',
    to: ['failed', 'pending', 'canceled'],
  },
  release: { from: ['acknowledged', 'running'], by: 'holder', to: ['pending', 'canceled'] },
  cancel: { from: ['pending'], by: 'operator', to: ['canceled'] },
  expire: { from: ['pending'], by: 'clock', to: ['expired'] },
  lose: { from: ['acknowledged', 'running'], by: 'clock', to: ['pending', 'failed', 'canceled'] },
};

/** The command's row as the machine judges it. */
export interface CommandState {
  readonly status: CommandStatus;
  readonly runnerId: string | null;
  readonly holderId: string | null;
  readonly attempt: number;
  /** The number of attempts that were given back: they don't count against `maxAttempts`. */
  readonly released: number;
  readonly maxAttempts: number;
  readonly retryOnFail: boolean;
  readonly scheduledAt: number | null;
  readonly expiresAt: number | null;
  readonly cancelRequested: boolean;
}

/** The caller's newest claim of this command; null when the caller never claimed it. */
export interface OwnAttempt {
  readonly attempt: number;
  readonly startedAt: number | null;
  readonly outcome: 'completed' | 'failed' | 'released' | 'lost' | 'canceled' | null;
  readonly answer: string | null;
}

interface RunnerCall {
  readonly event: RunnerEvent;
  readonly runnerId: string;
  readonly paused: boolean;
  /** Whether the caller has what the command asks for. Pins are judged here. */
  readonly eligible: boolean;
  /** Digest of the body of complete or fail; tells a repeat from a contradiction. */
  readonly answer: string | null;
  /** The attempt that the caller names; null: the caller names none. */
  readonly attempt: number | null;
}

export type Decision =
  | {
      readonly kind: 'apply';
      readonly to: CommandStatus;
      readonly attempt: number;
      readonly outcome: OwnAttempt['outcome'];
      readonly reason: string | null;
    }
  | { readonly kind: 'repeat' }
  | { readonly kind: 'refuse'; readonly code: ErrorCode };

const refuse = (code: ErrorCode): Decision => ({ kind: 'refuse', code });
const repeat: Decision = { kind: 'repeat' };

/**
 * Decides the effect of a runner's call on a command in this state. Total: every state and event
 * has an answer.
 */
export function decide(
  state: CommandState,
  own: OwnAttempt | null,
  call: RunnerCall,
  nowMs: number,
): Decision {
  if (state.runnerId !== null && state.runnerId !== call.runnerId) return refuse('not_found');
  const holds =
    state.holderId === call.runnerId &&
    (state.status === 'acknowledged' || state.status === 'running');
  // A runner that once held the command knows of it; for all others the command doesn't exist
  // (contract §4).
  if (!call.eligible && !holds && own === null) return refuse('not_found');
  if (call.event === 'acknowledge') return decideClaim(state, own, call, holds, nowMs);
  if (call.attempt !== null && call.attempt !== own?.attempt) return refuse('lease_lost');
  return holds ? advance(state, call) : late(state, own, call);
}

/**
 * Whether the caller may write to the command (progress, log lines) without moving it. Null: yes.
 */
export function refuseWriting(
  state: CommandState,
  own: OwnAttempt | null,
  call: Pick<RunnerCall, 'runnerId' | 'eligible' | 'attempt'>,
): ErrorCode | null {
  if (state.runnerId !== null && state.runnerId !== call.runnerId) return 'not_found';
  const held = state.status === 'acknowledged' || state.status === 'running';
  const holds = held && state.holderId === call.runnerId;
  if (own === null) {
    if (!call.eligible) return 'not_found';
    return held ? 'command_claimed' : 'invalid_transition';
  }
  if (call.attempt !== null && call.attempt !== own.attempt) return 'lease_lost';
  if (holds) return null;
  if (own.outcome === 'lost' || state.attempt > own.attempt) return 'lease_lost';
  return 'invalid_transition';
}

function decideClaim(
  state: CommandState,
  own: OwnAttempt | null,
  call: RunnerCall,
  holds: boolean,
  nowMs: number,
): Decision {
  if (holds) return repeat;
  if (state.status === 'pending') {
    if (!call.eligible) return refuse('not_found');
    if (call.paused) return refuse('runner_paused');
    // The call names another attempt than the one that a claim would begin now: a duplicate that
    // comes too late.
    if (call.attempt !== null && call.attempt !== state.attempt + 1) return refuse('lease_lost');
    const due = state.scheduledAt === null || state.scheduledAt <= nowMs;
    const expired = state.expiresAt !== null && state.expiresAt <= nowMs;
    if (!due || expired) return refuse('invalid_transition');
    return move('acknowledged', state.attempt + 1, null);
  }
  if (own !== null) {
    if (own.attempt !== state.attempt || own.outcome === 'lost') return refuse('lease_lost');
    // The runner gave the command back, and the command then ended without a holder. A claim of it
    // must not be answered with success.
    const isNobodys = state.status === 'canceled' || state.status === 'expired';
    const gaveBack = own.outcome === 'released' || own.outcome === 'failed';
    if (isNobodys && gaveBack) return refuse('invalid_transition');
    // A duplicate of the claim that arrives after the work was finished says nothing new.
    return repeat;
  }
  return refuse(state.holderId === null ? 'invalid_transition' : 'command_claimed');
}

/** Decides for a caller that holds the command. */
function advance(state: CommandState, call: RunnerCall): Decision {
  switch (call.event) {
    case 'acknowledge':
      return repeat;
    case 'start':
      return state.status === 'running' ? repeat : move('running', state.attempt, null);
    case 'complete':
      return move('completed', state.attempt, 'completed');
    case 'fail':
      if (state.cancelRequested) return move('canceled', state.attempt, 'canceled');
      return state.retryOnFail && hasAttempts(state)
        ? move('pending', state.attempt, 'failed')
        : move('failed', state.attempt, 'failed', 'failed_by_runner');
    case 'release':
      return state.cancelRequested
        ? move('canceled', state.attempt, 'canceled')
        : move('pending', state.attempt, 'released');
  }
}

/**
 * Decides for a caller that doesn't hold the command: its call repeats an earlier one, comes too
 * late, or is out of place.
 */
function late(state: CommandState, own: OwnAttempt | null, call: RunnerCall): Decision {
  if (own === null) {
    if (call.event === 'fail' && state.status === 'pending' && state.runnerId !== null) {
      return move('failed', state.attempt, null, 'failed_by_runner');
    }
    const heldByOther = state.status === 'acknowledged' || state.status === 'running';
    return refuse(heldByOther ? 'command_claimed' : 'invalid_transition');
  }
  if (own.outcome === 'lost') return refuse('lease_lost');
  switch (call.event) {
    case 'acknowledge':
    case 'start':
      return own.startedAt !== null && own.attempt === state.attempt
        ? repeat
        : refuse(own.attempt === state.attempt ? 'invalid_transition' : 'lease_lost');
    case 'release':
      if (own.outcome === 'released' || own.outcome === 'canceled') return repeat;
      return refuse('invalid_transition');
    case 'complete':
    case 'fail':
      if (own.answer !== null) {
        return own.answer === call.answer ? repeat : refuse('transition_conflict');
      }
      // The runner gave the command back, and may still fail a command that is pinned to it.
      if (call.event === 'fail' && state.status === 'pending' && state.runnerId !== null) {
        return move('failed', state.attempt, null, 'failed_by_runner');
      }
      return refuse(state.attempt > own.attempt ? 'lease_lost' : 'invalid_transition');
  }
}

function move(
  to: CommandStatus,
  attempt: number,
  outcome: OwnAttempt['outcome'],
  reason: string | null = null,
): Decision {
  return { kind: 'apply', to, attempt, outcome, reason };
}

/** Whether the command may be tried again after this attempt. */
const hasAttempts = ({
  attempt,
  released,
  maxAttempts,
}: Pick<CommandState, 'attempt' | 'released' | 'maxAttempts'>): boolean =>
  attempt - released < maxAttempts;

/**
 * Decides the effect of a lease's end: the command returns to the queue (its pin is kept), or ends.
 */
export function decideLoss(
  state: Pick<CommandState, 'attempt' | 'released' | 'maxAttempts' | 'cancelRequested'>,
): { to: CommandStatus; reason: string | null } {
  if (state.cancelRequested) return { to: 'canceled', reason: 'unconfirmed' };
  if (!hasAttempts(state)) return { to: 'failed', reason: 'runner_lost' };
  return { to: 'pending', reason: null };
}

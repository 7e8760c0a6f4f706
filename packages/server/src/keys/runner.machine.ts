// The one table of what an operator may do to a runner: event × state → state (contract §3).
// Revoked is for ever: whoever wants the machine back enrols it anew.

import { RUNNER_ADMIN_STATES, type RunnerAdmin } from '@muster/contract/plain';

type RunnerEvent = 'resume' | 'pause' | 'drain' | 'revoke';

interface Move {
  readonly from: readonly RunnerAdmin[];
  readonly to: RunnerAdmin;
}

/** States that an operator can still change. */
const CHANGEABLE = ['active', 'paused', 'draining'] as const;

/** Every legal move. ARCHITECTURE.md prints its diagram. */
export const RUNNER_MOVES = {
  resume: { from: CHANGEABLE, to: 'active' },
  /** It gets no work, and finishes what it has. */
  pause: { from: CHANGEABLE, to: 'paused' },
  /** As `pause`, before it goes for good. */
  drain: { from: CHANGEABLE, to: 'draining' },
  /** Its keys end with it. */
  revoke: { from: RUNNER_ADMIN_STATES, to: 'revoked' },
} as const satisfies Readonly<Record<RunnerEvent, Move>>;

/** How a runner begins. */
export const RUNNER_BEGINNING = RUNNER_MOVES.resume.to;

/** What ends a runner. */
export const REVOKED = RUNNER_MOVES.revoke.to;

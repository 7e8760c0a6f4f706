// The one table of what may happen to a scan session: event × state → state (RP §9.1). A session
// ends once: by its runner's word, or by the clock when nobody said anything.

import type { ScanSessionTable } from '../db/tables.ts';

type SessionState = ScanSessionTable['status'];

type SessionEvent = 'complete' | 'fail' | 'cancel' | 'time_out';

interface Move {
  readonly from: readonly SessionState[];
  readonly to: SessionState;
}

/** How a session begins. */
export const SESSION_BEGINNING = 'running' satisfies SessionState;

/** Every legal move. ARCHITECTURE.md prints its diagram. */
export const SESSION_MOVES = {
  complete: { from: [SESSION_BEGINNING], to: 'completed' },
  fail: { from: [SESSION_BEGINNING], to: 'failed' },
  cancel: { from: [SESSION_BEGINNING], to: 'canceled' },
  /** Its late end counts for nothing, and is told so. */
  time_out: { from: [SESSION_BEGINNING], to: 'timeout' },
} as const satisfies Readonly<Record<SessionEvent, Move>>;

// The one table of what may happen to a key: event × state → state (contract §7). The guards of the
// UPDATEs are made of it. A key retires only after its successor was used, so that a runner that
// keeps its last good key is never locked out.

import { KEY_STATES, type KeyState } from '@muster/contract/plain';

type KeyEvent = 'supersede' | 'prove' | 'retire' | 'revoke';

interface Move {
  readonly from: readonly KeyState[];
  readonly to: KeyState;
}

/** Every legal move. ARCHITECTURE.md prints its diagram. */
export const KEY_MOVES = {
  /** A renewal was repeated before the candidate was used. A superseded key is still accepted. */
  supersede: { from: ['candidate'], to: 'superseded' },
  /** The first use. */
  prove: { from: ['candidate', 'superseded'], to: 'proven' },
  /** Another key of its line was proven; a proven parent has a grace first. */
  retire: { from: ['candidate', 'superseded', 'proven'], to: 'retired' },
  /** An operator's word, which also ends what was ended before. */
  revoke: { from: KEY_STATES, to: 'revoked' },
} as const satisfies Readonly<Record<KeyEvent, Move>>;

/**
 * How a key begins: one that has to be proven by its first use, or one that an operator made, who
 * has seen it.
 */
export const KEY_BEGINNINGS = { renewed: 'candidate', made: 'proven' } as const satisfies Readonly<
  Record<string, KeyState>
>;

/** Accepted, as far as the state says; whether a key has expired is another matter. */
export const LIVE_KEY_STATES = KEY_MOVES.retire.from;

/** Not used yet. */
export const UNPROVEN_KEY_STATES = KEY_MOVES.prove.from;

/** Ended for good. */
export const ENDED_KEY_STATES = ['retired', 'revoked'] as const satisfies readonly KeyState[];

export const isUnproven = (state: KeyState): boolean =>
  (UNPROVEN_KEY_STATES as readonly KeyState[]).includes(state);

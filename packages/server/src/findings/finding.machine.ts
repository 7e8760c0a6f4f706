// The one table of what may happen to the status of a finding: event × state → state (contract §6).
// Reports, absence, operators and the clock ask here, and the UPDATEs take the values of their
// columns from here. The decision of an operator stays until an operator changes it; the next
// report that says otherwise takes back what a report or absence did.

import { ACTIVE_STATUSES, FINDING_STATUSES, type FindingStatus } from '@muster/contract/plain';

/** How a finding was resolved. */
type Resolution = 'fixed' | 'by_operator';

/** The state that an event is judged by. */
interface FindingState {
  readonly status: FindingStatus;
  /** Absence resolved it, not an operator. */
  readonly isFixed: boolean;
  /** A suppression in a report set its status. */
  readonly isByReport: boolean;
}

/** The columns that an event sets. */
export interface FindingMove {
  readonly to: FindingStatus;
  readonly resolution: Resolution | null;
  /** Written to `status_by`. */
  readonly by: string;
}

type FindingEvent = 'suppress' | 'unsuppress' | 'reopen' | 'resolve' | 'lapse' | 'decide';

interface Row {
  readonly from: readonly FindingStatus[];
  /** Narrows `from`. */
  readonly when?: string;
  readonly by: 'report' | 'absence' | 'clock' | 'operator';
  readonly to: readonly FindingStatus[];
}

/** Every legal move. ARCHITECTURE.md prints the diagram. */
export const FINDING_MOVES = {
  /** A report has the finding, and says that it is suppressed. */
  suppress: {
    from: [...ACTIVE_STATUSES, 'resolved'],
    when: 'resolved: as fixed, and seen on the default branch',
    by: 'report',
    to: ['suppressed'],
  },
  /** A report has the finding, and suppresses it no longer. */
  unsuppress: {
    from: ['suppressed'],
    when: 'a report suppressed it',
    by: 'report',
    to: ['open'],
  },
  /** A report has the finding on the default branch again. */
  reopen: { from: ['resolved'], when: 'as fixed', by: 'report', to: ['open'] },
  /** A full report doesn't have the finding on the default branch any more. */
  resolve: { from: ACTIVE_STATUSES, by: 'absence', to: ['resolved'] },
  /** The end date of an acceptance has passed. */
  lapse: { from: ['accepted'], by: 'clock', to: ['open'] },
  decide: { from: FINDING_STATUSES, by: 'operator', to: FINDING_STATUSES },
} as const satisfies Readonly<Record<FindingEvent, Row>>;

/** True for the statuses of findings that somebody still has to do something about. */
export const isActive = (status: FindingStatus): boolean =>
  (ACTIVE_STATUSES as readonly FindingStatus[]).includes(status);

/** The columns of a finding that a report creates. */
export const created = (isSuppressed: boolean): FindingMove => ({
  to: isSuppressed ? 'suppressed' : 'open',
  resolution: null,
  by: 'report',
});

/**
 * The move that a report with the finding makes; null: the status stays. Only the default branch
 * reopens a finding.
 */
export function seen(
  state: FindingState,
  isSuppressed: boolean,
  isOnDefaultBranch: boolean,
): FindingMove | null {
  const event = eventOfSighting(state, isSuppressed, isOnDefaultBranch);
  if (event === null) return null;
  return { to: FINDING_MOVES[event].to[0], resolution: null, by: 'report' };
}

function eventOfSighting(
  { status, isFixed, isByReport }: FindingState,
  isSuppressed: boolean,
  isOnDefaultBranch: boolean,
): 'suppress' | 'unsuppress' | 'reopen' | null {
  if (isActive(status)) return isSuppressed ? 'suppress' : null;
  if (status === 'suppressed') return !isSuppressed && isByReport ? 'unsuppress' : null;
  if (status !== 'resolved' || !isFixed || !isOnDefaultBranch) return null;
  return isSuppressed ? 'suppress' : 'reopen';
}

/** The move of an active finding that is absent on the default branch. */
export const RESOLVED_BY_ABSENCE: FindingMove = {
  to: FINDING_MOVES.resolve.to[0],
  resolution: 'fixed',
  by: 'absence',
};

/** The move at the end of an acceptance. */
export const LAPSED: FindingMove = {
  to: FINDING_MOVES.lapse.to[0],
  resolution: null,
  by: 'acceptance ended',
};

/** An operator's decision: any status from any other. */
export const decided = (to: FindingStatus, operator: string): FindingMove => ({
  to,
  resolution: to === 'resolved' ? 'by_operator' : null,
  by: operator,
});

// The one table of what may happen to an upload: event × state → state (contract §5). The guards of
// the UPDATEs are made from it. From `received` on nothing is lost: every state leads to an end, or
// back to the queue.

import type { UploadState } from '@muster/contract/plain';

type UploadEvent = 'receive' | 'claim' | 'requeue' | 'process' | 'refuse' | 'fail';

interface Move {
  readonly from: readonly UploadState[];
  readonly to: UploadState;
}

/**
 * Every legal move. ARCHITECTURE.md prints the diagram. A body that is given up stays `receiving`
 * until its row is deleted.
 */
export const UPLOAD_MOVES = {
  /** The last piece of the body was committed. */
  receive: { from: ['receiving'], to: 'received' },
  /**
   * A worker takes it under a lease; from `processing` only when the lease of another worker has
   * ended.
   */
  claim: { from: ['received', 'processing'], to: 'processing' },
  /** It waits for a busy scope, its worker failed, or its process ended. */
  requeue: { from: ['processing'], to: 'received' },
  /** The report was applied, and the receipt is stored. */
  process: { from: ['processing'], to: 'processed' },
  /** The sender has to act; nothing of the report was applied. */
  refuse: { from: ['processing'], to: 'refused' },
  /** The operator has to act: the upload was tried too often without progress. */
  fail: { from: ['processing'], to: 'failed' },
} as const satisfies Readonly<Record<UploadEvent, Move>>;

/** The first state of an upload. */
export const UPLOAD_BEGINNING = 'receiving' satisfies UploadState;

/** The states of an upload that waits for its turn or is in work. */
export const WAITING_STATES = UPLOAD_MOVES.claim.from;

/** The last states of an upload. */
export const ENDED_STATES = [
  UPLOAD_MOVES.process.to,
  UPLOAD_MOVES.refuse.to,
  UPLOAD_MOVES.fail.to,
] as const;

export type EndedState = (typeof ENDED_STATES)[number];

// The one table of what may happen to an upload: event × state → state (contract §5). The guards of the UPDATEs are made of
// it. From `received` on nothing is lost: every state leads to an end, or back to the queue.

import type { UploadState } from '@muster/contract/plain';

export type UploadEvent = 'receive' | 'claim' | 'requeue' | 'process' | 'refuse' | 'fail';

interface Move {
  readonly from: readonly UploadState[];
  readonly to: UploadState;
}

/** Every legal move. ARCHITECTURE.md prints its diagram. A body that is given up stays `receiving` until its row is deleted. */
export const UPLOAD_MOVES = {
  /** The last piece of the body was committed. */
  receive: { from: ['receiving'], to: 'received' },
  /** A worker takes it under a lease; from `processing` only when the lease of another worker has ended. */
  claim: { from: ['received', 'processing'], to: 'processing' },
  /** It waits for a busy scope, its worker failed, or its process ended. */
  requeue: { from: ['processing'], to: 'received' },
  /** Applied; the receipt is stored. */
  process: { from: ['processing'], to: 'processed' },
  /** Its sender has to act; nothing of it was applied. */
  refuse: { from: ['processing'], to: 'refused' },
  /** Its operator has to act: it was tried too often without getting any further. */
  fail: { from: ['processing'], to: 'failed' },
} as const satisfies Readonly<Record<UploadEvent, Move>>;

/** How an upload begins. */
export const UPLOAD_BEGINNING = 'receiving' satisfies UploadState;

/** Waiting for its turn, or in work. */
export const WAITING_STATES = UPLOAD_MOVES.claim.from;

/** What an upload ends in. */
export const ENDED_STATES = [
  UPLOAD_MOVES.process.to,
  UPLOAD_MOVES.refuse.to,
  UPLOAD_MOVES.fail.to,
] as const;

export type EndedState = (typeof ENDED_STATES)[number];

// Counts what the first pass over a report finds, before anything is written. The receipt takes its
// counts of duplicate, rejected and irrelevant items from here. Pure.

import { limits } from '@muster/contract/plain';
import type { Located } from '../json/warnings.decode.ts';

/** The outcomes of the items of a report, counted. */
export interface Tally {
  received: number;
  duplicate: number;
  notProblem: number;
  rejected: number;
  rejections: Located[];
  rejectionsByCode: Map<string, number>;
}

export const noTally = (): Tally => ({
  received: 0,
  duplicate: 0,
  notProblem: 0,
  rejected: 0,
  rejections: [],
  rejectionsByCode: new Map(),
});

/**
 * Counts a rejection. The first limits.receiptRejectionsMax are shown, and all are counted by code.
 */
export function tallyRejection(tally: Tally, rejection: Located): void {
  if (tally.rejections.length < limits.receiptRejectionsMax) tally.rejections.push(rejection);
  const count = tally.rejectionsByCode.get(rejection.code) ?? 0;
  tally.rejectionsByCode.set(rejection.code, count + 1);
}

/** The number of items, and how many of them could not be used. */
export interface Received {
  readonly received: number;
  readonly rejected: number;
}

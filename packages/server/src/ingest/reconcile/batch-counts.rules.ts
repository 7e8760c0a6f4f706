// What the batches of an upload did, as it is stored with each of them. The receipt is their sum. Pure.

/** What one committed batch did. */
export interface BatchCounts {
  created: number;
  changed: number;
  unchanged: number;
  reopened: number;
  suppressed: number;
}

/**
 * As they are stored with a batch. `opened`: by the number of a destination, how many more of its findings are open now, those that
 * the upload created aside; without those where it is none.
 */
export type StoredCounts = BatchCounts & {
  readonly opened?: readonly (readonly [number, number])[];
};

export const noBatch = (): BatchCounts => ({
  created: 0,
  changed: 0,
  unchanged: 0,
  reopened: 0,
  suppressed: 0,
});

/** Adds `more` to `sum`. */
export function addCounts(sum: BatchCounts, more: BatchCounts): void {
  sum.created += more.created;
  sum.changed += more.changed;
  sum.unchanged += more.unchanged;
  sum.reopened += more.reopened;
  sum.suppressed += more.suppressed;
}

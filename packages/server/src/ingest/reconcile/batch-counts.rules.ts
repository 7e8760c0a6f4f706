// The counts of each batch of an upload, as they are stored with the batch. The receipt is the sum
// of the batches. Pure.

/** What one committed batch did. */
export interface BatchCounts {
  created: number;
  changed: number;
  unchanged: number;
  reopened: number;
  suppressed: number;
}

/**
 * The counts as they are stored with a batch. `opened`: how many more findings of a destination are
 * open after the batch, by the number of the destination. Findings that the upload created don't
 * count, and destinations where nothing changes are left out.
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

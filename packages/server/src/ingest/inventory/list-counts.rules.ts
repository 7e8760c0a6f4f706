// What became of the entries of one list beside the findings of a report: each received entry is
// counted once more as created, updated, duplicate or rejected. Pure.

export interface ListCounts {
  received: number;
  created: number;
  updated: number;
  duplicate: number;
  rejected: number;
}

export const noListCounts = (): ListCounts => ({
  received: 0,
  created: 0,
  updated: 0,
  duplicate: 0,
  rejected: 0,
});

// What became of one list of a report beside its findings. Pure.

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

// How surely a document is of a format, by its envelope. The format with the highest certainty
// reads the document; of equal ones the registry's first. Pure.

export const CERTAINTY = {
  none: 0,
  /** Something that only this format has, without anything to read. */
  hint: 1,
  /** Members of this format, which others may have as well. */
  likely: 2,
  /** The list of findings is there, under the name that this format gives it. */
  findings: 3,
  /** The mark of the standard and its list of findings. */
  sure: 4,
} as const;

export type Certainty = (typeof CERTAINTY)[keyof typeof CERTAINTY];

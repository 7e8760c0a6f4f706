// The common half of a decoded report: a frame that is known at once, and items that are read
// lazily, more than once if need be. Each pass over the items keeps its own notes; those of the
// first completed pass become the report's, so warnings are counted once however often the items
// are read. Used by both report readers.

import type { DecodedReport, Item } from './draft.rules.ts';
import { Notes } from './report-notes.decode.ts';

type Frame = Omit<DecodedReport, 'warnings' | 'warningsByCode' | 'items'>;

/** A report from its frame; `read` yields the items and notes into the book of its pass. */
export function decodedReport(
  frame: Frame,
  frameNotes: Notes,
  read: (notes: Notes) => Generator<Item, void, undefined>,
): DecodedReport {
  let itemNotes: Notes | null = null;
  const all = (): Notes => {
    const notes = new Notes();
    notes.append(frameNotes);
    if (itemNotes !== null) notes.append(itemNotes);
    return notes;
  };
  return {
    ...frame,
    get warnings() {
      return all().shown();
    },
    get warningsByCode() {
      return Object.fromEntries(all().counts());
    },
    *items() {
      const notes = new Notes();
      yield* read(notes);
      itemNotes ??= notes;
    },
  };
}

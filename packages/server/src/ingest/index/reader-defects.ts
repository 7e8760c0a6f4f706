// What becomes of an item whose reader failed on it. Readers are total, so a reader that throws is
// a defect of ours. It costs that item alone: the first pass rejects it (`item_unreadable`); when
// only its details are concerned, the item is stored without them (`detail_unreadable`). The sender
// is told of both, and the log of the defect.

import type { Located, Warnings } from '../json/warnings.decode.ts';
import type { IngestDeps } from '../lease/lease.ts';
import type { UploadRow } from '../store/upload.queries.ts';

/** How often a pass tells the log of a defect: a million items may meet the same one. */
const TOLD_MAX = 3;

/** The defects that one pass over the items of an upload meets. */
export class ReaderDefects {
  readonly #deps: Pick<IngestDeps, 'onDefect'>;
  readonly #uploadId: string;
  #told = 0;

  constructor(deps: Pick<IngestDeps, 'onDefect'>, upload: Pick<UploadRow, 'id'>) {
    this.#deps = deps;
    this.#uploadId = upload.id;
  }

  /** Tells the log, and returns the rejection of the item. */
  readonly reject = (pointer: string, error: unknown): Located => {
    this.tell(pointer, error);
    return unreadable(pointer);
  };

  /** What `make` returns. When it throws: `without`, a warning, and the log is told. */
  detail<T>(make: () => T, without: T, pointer: string, warnings: Warnings): T {
    try {
      return make();
    } catch (error) {
      this.tell(pointer, error);
      warnings.warn(pointer, 'detail_unreadable', DETAIL_UNREADABLE);
      return without;
    }
  }

  tell(pointer: string, error: unknown): void {
    if (this.#told >= TOLD_MAX) return;
    this.#told += 1;
    const { name, stack } = withoutMessage(error);
    this.#deps.onDefect?.({ uploadId: this.#uploadId, pointer, name, stack });
  }
}

function withoutMessage(error: unknown): { name: string; stack: string } {
  if (!(error instanceof Error)) return { name: typeof error, stack: '' };
  const { name, message, stack = '' } = error;
  // The message may have lines of its own that look like frames of the stack.
  const at = stack.indexOf(message) + message.length;
  return { name, stack: stack.slice(at).trim() };
}

/** The rejection of an item that the reader failed on. */
const unreadable = (pointer: string): Located => ({
  pointer,
  code: 'item_unreadable',
  detail: 'The server could not read this item, by a fault of its own, which its log describes.',
});

export const DETAIL_UNREADABLE =
  'The server could not read the details of this item, by a fault of its own; it is stored without them.';

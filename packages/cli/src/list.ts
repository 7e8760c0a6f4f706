// The parts that all lists share: paging to the wanted number, the table or the array, the empty
// state, the hint that there is more. Filters and columns are the commands' own.

import { limits } from '@muster/contract';
import type { Context } from './context.ts';
import { flag, integer, type Values } from './options.ts';
import type { Column } from './print/table.ts';

const LIST_DEFAULT = 50;

export const LIST = {
  limit: integer('N', 1, 1_000_000, `show at most N; default ${LIST_DEFAULT}`),
  all: flag('show all, however many there are'),
} as const;

interface PageRequest {
  readonly limit: string;
  readonly after?: string;
}

interface Page<T> {
  readonly items: readonly T[];
  readonly next: string | null;
}

interface ListView<T> {
  readonly layout: readonly Column<T>[];
  /** What to say and to do when there is nothing at all; a function asks the server first. */
  readonly empty: string | (() => Promise<string>);
  /** What to say when nothing matches; absent: just that. */
  readonly unmatched?: string;
  /** The filters in force; when some are, an empty list says only that nothing matches. */
  readonly filters: Readonly<Record<string, unknown>>;
}

/** Fetches as many pages as are wanted and prints them as one list. */
export async function printList<T>(
  context: Context,
  options: Values<typeof LIST>,
  fetchPage: (page: PageRequest) => Promise<Page<T>>,
  view: ListView<T>,
): Promise<void> {
  const wanted = options.all ? Number.POSITIVE_INFINITY : (options.limit ?? LIST_DEFAULT);
  const items: T[] = [];
  let next: string | null = null;
  do {
    const limit = String(Math.min(limits.pageLimitMax, wanted - items.length));
    const page: Page<T> = await fetchPage(next === null ? { limit } : { limit, after: next });
    for (const item of page.items) items.push(item);
    next = page.next;
  } while (next !== null && items.length < wanted);
  const { print } = context;
  if (items.length > 0 || print.isJson) print.result(items, () => print.table(view.layout, items));
  if (items.length === 0) {
    print.note(await emptyText(view));
  }
  if (next !== null) print.note(`There are more than these ${items.length}: --limit N or --all.`);
}

async function emptyText<T>({ filters, empty, unmatched }: ListView<T>): Promise<string> {
  if (Object.keys(filters).length > 0) return unmatched ?? 'Nothing matches these filters.';
  return typeof empty === 'string' ? empty : await empty();
}

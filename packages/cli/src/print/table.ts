// Turns rows into a table that fits the terminal. Columns that may shrink give up room, the widest
// first; ids never shrink, because a cut id is of no use. In a file or a pipe nothing is cut. Pure.

import { cut, cutFront, pad, plain, width } from './text.ts';

export interface Column<T> {
  readonly title: string;
  cell(row: T): string;
  /** Where the text is cut when there is too little room; absent: the column keeps its width. */
  readonly shrink?: 'end' | 'front';
  /** Left out where the columns that shrink would become too narrow to read. */
  readonly isOptional?: true;
  /** Colours the padded text of a cell. */
  paint?(text: string, row: T): string;
}

const GAP = 2;
/** A narrower column tells nothing: lines may then get longer than the terminal. */
const SHRUNK_MIN = 8;
/** An optional column is left out before another gets narrower than this. */
const READABLE = 15;

/**
 * The table with a line of titles, each line ended. `columns`: width of the terminal, null for
 * none.
 */
export function table<T>(
  layout: readonly Column<T>[],
  rows: readonly T[],
  columns: number | null,
  paintTitle: (text: string) => string = (text) => text,
): string {
  let shown = layout.map((column): Shown<T> => {
    const cells = rows.map((row) => plain(column.cell(row)));
    const widest = cells.reduce((most, cell) => Math.max(most, width(cell)), width(column.title));
    return { column, cells, room: widest };
  });
  if (columns !== null) shown = fit(shown, columns);
  const last = shown.at(-1);
  const place = (text: string, of: Shown<T>): string => {
    const fitted = of.column.shrink === 'front' ? cutFront(text, of.room) : cut(text, of.room);
    return of === last ? fitted : pad(fitted, of.room);
  };
  const gap = ' '.repeat(GAP);
  const head = shown.map((each) => paintTitle(place(each.column.title, each))).join(gap);
  const body = rows.map((row, line) =>
    shown
      .map((each) => {
        const text = place(each.cells[line] ?? '', each);
        return each.column.paint === undefined ? text : each.column.paint(text, row);
      })
      .join(gap),
  );
  return `${[head, ...body].join('\n')}\n`;
}

interface Shown<T> {
  readonly column: Column<T>;
  readonly cells: readonly string[];
  room: number;
}

/**
 * Leaves optional columns out, the last first, then narrows, until a line fits or no column can
 * give way.
 */
function fit<T>(all: readonly Shown<T>[], columns: number): Shown<T>[] {
  const readable = narrow(all, columns, READABLE);
  if (readable.fits) return readable.shown;
  const optional = all.findLast(({ column }) => column.isOptional);
  if (optional === undefined) return narrow(all, columns, SHRUNK_MIN).shown;
  return fit(
    all.filter((each) => each !== optional),
    columns,
  );
}

/**
 * Takes one character after the other from the widest column that may shrink, none below `least`.
 */
function narrow<T>(
  all: readonly Shown<T>[],
  columns: number,
  least: number,
): { readonly shown: Shown<T>[]; readonly fits: boolean } {
  const shown = all.map((each) => ({ ...each }));
  let excess = shown.reduce((sum, { room }) => sum + room, GAP * (shown.length - 1)) - columns;
  while (excess > 0) {
    let widest: Shown<T> | null = null;
    for (const each of shown) {
      if (each.column.shrink === undefined || each.room <= least) continue;
      if (widest === null || each.room > widest.room) widest = each;
    }
    if (widest === null) return { shown, fits: false };
    widest.room -= 1;
    excess -= 1;
  }
  return { shown, fits: true };
}

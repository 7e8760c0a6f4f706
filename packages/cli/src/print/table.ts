// Rows → a table that fits the terminal. Columns that may shrink give up room, the widest first; ids never do, because
// a cut id is of no use. Written to a file or a pipe nothing is cut at all. Pure.

import { cut, cutFront, pad, plain, width } from './text.ts';

export interface Column<T> {
  readonly title: string;
  cell(row: T): string;
  /** What happens when there is too little room; absent: it keeps its width. */
  readonly shrink?: 'end' | 'front';
  /** Colours the padded text of a cell. */
  paint?(text: string, row: T): string;
}

const GAP = 2;
/** Less than this tells nothing: then lines may get longer than the terminal. */
const SHRUNK_MIN = 8;

/** The table with a line of titles, each line ended. `columns`: width of the terminal, null for none. */
export function table<T>(
  layout: readonly Column<T>[],
  rows: readonly T[],
  columns: number | null,
  paintTitle: (text: string) => string = (text) => text,
): string {
  const cells = rows.map((row) => layout.map((column) => plain(column.cell(row))));
  const widths = layout.map((column, at) =>
    cells.reduce((most, line) => Math.max(most, width(line[at] ?? '')), width(column.title)),
  );
  if (columns !== null) fit(layout, widths, columns);
  const place = (text: string, at: number): string => {
    const room = widths[at] ?? 0;
    const fitted = layout[at]?.shrink === 'front' ? cutFront(text, room) : cut(text, room);
    return at === layout.length - 1 ? fitted : pad(fitted, room);
  };
  const gap = ' '.repeat(GAP);
  const head = layout.map((column, at) => paintTitle(place(column.title, at))).join(gap);
  const body = rows.map((row, line) =>
    layout
      .map((column, at) => {
        const text = place(cells[line]?.[at] ?? '', at);
        return column.paint === undefined ? text : column.paint(text, row);
      })
      .join(gap),
  );
  return `${[head, ...body].join('\n')}\n`;
}

/** Takes one character after the other from the widest column that may shrink, until the line fits. */
function fit<T>(layout: readonly Column<T>[], widths: number[], columns: number): void {
  let excess = widths.reduce((sum, each) => sum + each, GAP * (widths.length - 1)) - columns;
  while (excess > 0) {
    let widest = -1;
    for (const [at, column] of layout.entries()) {
      if (column.shrink === undefined || (widths[at] ?? 0) <= SHRUNK_MIN) continue;
      if (widest === -1 || (widths[at] ?? 0) > (widths[widest] ?? 0)) widest = at;
    }
    if (widest === -1) return;
    widths[widest] = (widths[widest] ?? 0) - 1;
    excess -= 1;
  }
}

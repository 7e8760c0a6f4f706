// A table of rows on TanStack Table's model. On narrow screens the style sheet turns each row into
// a card, in which every cell shows its column's name; the explicit roles keep it a table for
// screen readers, which `display` would take away.

import { type ColumnDef, type RowData, tableFeatures, useTable } from '@tanstack/react-table';

/** The server filters, sorts and pages: the table needs no feature beyond rows and columns. */
const features = tableFeatures({});

/** Declare columns at module scope: a new array on every render would rebuild the table. */
export type Column<Row extends RowData> = ColumnDef<typeof features, Row>;

export function DataTable<Row extends { readonly id: string }>({
  caption,
  columns,
  rows,
  rowHeader,
  isStale = false,
}: {
  /** For screen readers. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** Id of the column that names the row. */
  readonly rowHeader: string;
  readonly isStale?: boolean;
}) {
  const table = useTable({ features, columns, data: rows, getRowId: (row) => row.id });
  return (
    <table role="table" className="data" aria-busy={isStale}>
      <caption className="visually-hidden">{caption}</caption>
      <thead role="rowgroup">
        {table.getHeaderGroups().map((group) => (
          <tr role="row" key={group.id}>
            {group.headers.map((header) => (
              <th role="columnheader" scope="col" key={header.id}>
                <table.FlexRender header={header} />
              </th>
            ))}
          </tr>
        ))}
      </thead>
      <tbody role="rowgroup">
        {table.getRowModel().rows.map((row) => (
          <tr role="row" key={row.id}>
            {row.getAllCells().map((cell) => {
              const { header } = cell.column.columnDef;
              const isHeader = cell.column.id === rowHeader;
              const Cell = isHeader ? 'th' : 'td';
              return (
                <Cell
                  key={cell.id}
                  role={isHeader ? 'rowheader' : 'cell'}
                  scope={isHeader ? 'row' : undefined}
                  data-column={cell.column.id}
                  data-label={typeof header === 'string' ? header : undefined}
                >
                  <table.FlexRender cell={cell} />
                </Cell>
              );
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

// A list in all its states: being read, failed, empty (with the next step), filtered to nothing,
// shown, and with more to load. The line with the count is a live region: it tells the effect of a
// filter or of "load more".

import type { ReactNode } from 'react';
import type { List } from '../api.ts';
import { countText } from '../format.ts';
import { type Column, DataTable } from './data-table.tsx';
import { ProblemBox } from './problem-box.tsx';

export function ListView<Item extends { readonly id: string }>({
  list,
  columns,
  rowHeader,
  noun,
  isFiltered,
  clearHref,
  elsewhere = null,
  empty,
}: {
  readonly list: List<Item>;
  readonly columns: readonly Column<Item>[];
  readonly rowHeader: string;
  /** Singular: "finding". */
  readonly noun: string;
  readonly isFiltered: boolean;
  /** The same list without filters. */
  readonly clearHref: string;
  /** Where else to look when nothing matches. */
  readonly elsewhere?: ReactNode;
  /** For a list that has nothing yet: what it is for and the next step. */
  readonly empty: ReactNode;
}) {
  const { items, error } = list;
  const isEmpty = items?.length === 0;
  return (
    <section aria-label={`List of ${noun}s`}>
      {error === null ? null : (
        <ProblemBox
          error={error}
          doing={items === undefined ? `The ${noun}s could not be read` : 'This list is not fresh'}
          onRetry={list.retry}
        />
      )}
      <p role="status" className="count">
        {countLine(list, noun, isFiltered)}
      </p>
      {items === undefined || isEmpty ? null : (
        <DataTable
          caption={`${noun}s`}
          columns={columns}
          rows={items}
          rowHeader={rowHeader}
          isStale={list.isStale}
        />
      )}
      {isEmpty && isFiltered ? (
        <div className="empty">
          <p>Nothing matches these filters.</p>
          <div className="buttons">
            <a className="button" href={clearHref}>
              Clear the filters
            </a>
            {elsewhere}
          </div>
        </div>
      ) : null}
      {isEmpty && !isFiltered ? <div className="empty">{empty}</div> : null}
      {list.hasMore ? (
        <div className="more">
          <button type="button" onClick={list.loadMore} aria-disabled={list.isLoadingMore}>
            {list.isLoadingMore ? 'Loading…' : `Load more ${noun}s`}
          </button>
        </div>
      ) : null}
    </section>
  );
}

function countLine<Item>(list: List<Item>, noun: string, isFiltered: boolean): string {
  const { items, hasMore, error } = list;
  if (items === undefined) return error === null ? `Reading the ${noun}s…` : '';
  if (items.length === 0) return isFiltered ? `No ${noun} found` : '';
  return hasMore
    ? `${countText(items.length, noun)} loaded, there are more`
    : countText(items.length, noun);
}

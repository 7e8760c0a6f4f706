// One thing in all its states: being read, failed, shown. The pages hand in the query and the view
// of the thing.

import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Heading } from './heading.tsx';
import { ProblemBox } from './problem-box.tsx';

export function OneView<Item>({
  query,
  noun,
  back,
  children,
}: {
  readonly query: UseQueryResult<Item>;
  readonly noun: string;
  readonly back: { readonly href: string; readonly label: string };
  readonly children: (item: Item) => ReactNode;
}) {
  const { data, error } = query;
  const isFresh = error === null;
  return (
    <>
      {data === undefined ? (
        <Heading title={isFresh ? `Reading the ${noun}…` : `No ${noun} to show`} back={back} />
      ) : null}
      {isFresh ? null : (
        <ProblemBox
          error={error}
          doing={data === undefined ? `The ${noun} could not be read` : 'This page is not fresh'}
          onRetry={() => void query.refetch()}
        />
      )}
      {data === undefined ? null : children(data)}
    </>
  );
}

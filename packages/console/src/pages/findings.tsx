// Findings, worst first: filtered by status, severity, tool, rule, path and asset. Their status can
// be set from here.

import { endpoints, FINDING_STATUSES, type Finding, SEVERITIES } from '@muster/contract';
import { request, useList, useMayChange } from '../api.ts';
import type { Column } from '../components/data-table.tsx';
import { ChoiceFilter, FilterBar, PinnedFilter, TextFilter } from '../components/filters.tsx';
import { Foreign } from '../components/foreign.tsx';
import { Heading } from '../components/heading.tsx';
import { ListView } from '../components/list-view.tsx';
import { StatusButton } from '../components/findings/status-form.tsx';
import { SeverityTag, StateTag } from '../components/findings/tags.tsx';
import { Time } from '../components/time.tsx';
import { placeText, shortId } from '../format.ts';
import { hrefTo, wordOf } from '../route.ts';
import { NoUpload } from './uploads.tsx';

const readColumns: readonly Column<Finding>[] = [
  {
    id: 'severity',
    header: 'Severity',
    cell: ({ row }) => <SeverityTag severity={row.original.severity} />,
  },
  {
    id: 'title',
    header: 'Finding',
    cell: ({ row: { original: finding } }) => (
      <>
        <a href={hrefTo('findings', finding.id)}>
          <Foreign text={finding.title} />
        </a>
        <span className="under">
          <Foreign text={[finding.tool, finding.rule_id].filter(Boolean).join(' · ')} />
        </span>
      </>
    ),
  },
  {
    id: 'place',
    header: 'Where',
    cell: ({ row: { original: finding } }) => <Where finding={finding} />,
  },
  {
    id: 'status',
    header: 'Status',
    cell: ({ row: { original: finding } }) => (
      <>
        <StateTag state={finding.status} />
        {finding.unfinished ? <span className="under">upload in work</span> : null}
      </>
    ),
  },
  {
    id: 'last-seen',
    header: 'Last seen',
    cell: ({ row }) => <Time iso={row.original.last_seen_at} />,
  },
];

const changeColumns: readonly Column<Finding>[] = [
  ...readColumns,
  {
    id: 'actions',
    header: 'Decide',
    cell: ({ row }) => <StatusButton finding={row.original} />,
  },
];

function Where({ finding }: { readonly finding: Finding }) {
  const place = placeText(finding.path, finding.start_line);
  return (
    <>
      {place === null ? null : (
        <code>
          <Foreign text={place} />
        </code>
      )}
      <span className="under">
        <Foreign text={finding.asset} />
      </span>
    </>
  );
}

const TEXTS = ['asset_id', 'tool', 'rule_id', 'path'] as const;

/**
 * The part of the address that the API takes, with the words checked: somebody may have typed them.
 */
function queryOf(filters: URLSearchParams) {
  const status = wordOf(FINDING_STATUSES, filters.get('status'));
  const severity = wordOf(SEVERITIES, filters.get('severity'));
  const texts: Partial<Record<(typeof TEXTS)[number], string>> = {};
  for (const name of TEXTS) {
    const value = filters.get(name);
    if (value !== null) texts[name] = value;
  }
  return {
    ...(status === undefined ? {} : { status }),
    ...(severity === undefined ? {} : { severity }),
    ...texts,
  };
}

export function FindingsPage({ filters }: { readonly filters: URLSearchParams }) {
  const mayChange = useMayChange();
  const query = queryOf(filters);
  const list = useList(['findings', query], (page, signal) =>
    request(endpoints.listFindings, { query: { ...query, ...page }, signal }),
  );
  const filter = { page: 'findings', filters } as const;
  return (
    <>
      <Heading title="Findings" lead="Worst first, then newest." />
      <FilterBar>
        <ChoiceFilter {...filter} name="status" label="Status" options={FINDING_STATUSES} />
        <ChoiceFilter {...filter} name="severity" label="Severity" options={SEVERITIES} />
        <TextFilter {...filter} name="tool" label="Tool" />
        <TextFilter {...filter} name="rule_id" label="Rule" />
        <TextFilter {...filter} name="path" label="Path begins with" />
        <PinnedFilter {...filter} name="asset_id" label="Asset">
          <Foreign text={list.items?.[0]?.asset ?? shortId(filters.get('asset_id') ?? '')} />
        </PinnedFilter>
      </FilterBar>
      <ListView
        list={list}
        columns={mayChange ? changeColumns : readColumns}
        rowHeader="title"
        noun="finding"
        isFiltered={Object.keys(query).length > 0}
        clearHref={hrefTo('findings')}
        empty={<NoUpload />}
      />
    </>
  );
}

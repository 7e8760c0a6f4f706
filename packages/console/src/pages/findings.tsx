// Findings, worst first: what is active on default branches, or filtered by status, branch,
// severity, tool, rule, path and asset; decided on from here.

import { endpoints, FINDING_STATUSES, type Finding, SEVERITIES } from '@muster/contract';
import { request, useList, useMayChange, useOne } from '../api.ts';
import type { Column } from '../components/data-table.tsx';
import { ChoiceFilter, FilterBar, PinnedFilter, TextFilter } from '../components/filters.tsx';
import { Foreign } from '../components/foreign.tsx';
import { Heading } from '../components/heading.tsx';
import { ListView } from '../components/list-view.tsx';
import { BranchFilter, branchChoice } from '../components/findings/branch-filter.tsx';
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

const TEXTS = ['asset_id', 'branch', 'tool', 'rule_id', 'path'] as const;

/** Beside what is active, which is where the list begins. */
const STATUSES = [...FINDING_STATUSES, 'all'] as const;

const EVERYTHING = { status: 'all', on: 'all' } as const;

/**
 * The query that the address makes of the API, with the words checked: somebody may have typed
 * them.
 */
function queryOf(filters: URLSearchParams) {
  const status = wordOf(STATUSES, filters.get('status')) ?? ('active' as const);
  const severity = wordOf(SEVERITIES, filters.get('severity'));
  const texts: Partial<Record<(typeof TEXTS)[number], string>> = {};
  for (const name of TEXTS) {
    const value = filters.get(name);
    if (value !== null) texts[name] = value;
  }
  const isDefault = texts.branch === undefined && branchChoice(filters) !== 'all';
  return {
    ...(status === 'all' ? {} : { status }),
    ...(isDefault ? { default_branch: 'true' as const } : {}),
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
      <Heading title="Findings" lead={leadOf(query)} />
      <FilterBar>
        <ChoiceFilter {...filter} name="status" label="Status" first="Active" options={STATUSES} />
        <BranchFilter {...filter} />
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
        isFiltered={filters.size > 0}
        clearHref={hrefTo('findings')}
        elsewhere={<Elsewhere filters={filters} />}
        empty={<NothingOpen />}
      />
    </>
  );
}

function leadOf({ status, branch }: ReturnType<typeof queryOf>): string {
  const order = 'Worst first, then newest.';
  if (branch !== undefined) {
    const where = 'The status is that of the default branch';
    return `${order} ${where}: what is fixed there may still be on this one.`;
  }
  return status === 'active' ? `${order} Active: open, confirmed or in progress.` : order;
}

/** The same filters over all statuses and branches. */
function Elsewhere({ filters }: { readonly filters: URLSearchParams }) {
  const { branch: _name, ...others } = Object.fromEntries(filters);
  const href = hrefTo('findings', null, { ...others, ...EVERYTHING });
  if (href === hrefTo('findings', null, Object.fromEntries(filters))) return null;
  return (
    <a className="button" href={href}>
      Look in all statuses and branches
    </a>
  );
}

/** Nothing is active on a default branch: is there anything at all? */
function NothingOpen() {
  const { data, isPending } = useOne(['findings', 'any'], (signal) =>
    request(endpoints.listFindings, { query: { limit: '1' }, signal }),
  );
  if (isPending) return null;
  if (data?.items.length === 0) return <NoUpload />;
  return (
    <>
      <h2>Nothing is open on the default branches</h2>
      <p>What is decided, resolved or only on other branches is in the list of all findings.</p>
      <a className="button" href={hrefTo('findings', null, EVERYTHING)}>
        Show all findings
      </a>
    </>
  );
}

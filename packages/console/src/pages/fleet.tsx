// The fleet: every runner, whether it reports in, and what it reports of itself. The page is read
// again every few seconds.

import { endpoints, PRESENCES, RUNNER_ADMIN_STATES, type Runner } from '@muster/contract';
import { REFRESH_MS, request, useList } from '../api.ts';
import { CopyBlock } from '../components/copy-block.tsx';
import type { Column } from '../components/data-table.tsx';
import { ChoiceFilter, FilterBar, TextFilter } from '../components/filters.tsx';
import { Foreign } from '../components/foreign.tsx';
import { Heading } from '../components/heading.tsx';
import { ListView } from '../components/list-view.tsx';
import { RunnerState, RunnerTrouble } from '../components/runners/runner-state.tsx';
import { StateTag } from '../components/findings/tags.tsx';
import { Ago } from '../components/time.tsx';
import { hrefTo, wordOf } from '../route.ts';

const columns: readonly Column<Runner>[] = [
  {
    id: 'name',
    header: 'Runner',
    cell: ({ row: { original: runner } }) => (
      <>
        <a href={hrefTo('fleet', runner.id)}>
          <Foreign text={runner.name} />
        </a>
        {runner.hostname === null || runner.hostname === runner.name ? null : (
          <span className="under">
            <Foreign text={runner.hostname} />
          </span>
        )}
      </>
    ),
  },
  {
    id: 'presence',
    header: 'Presence',
    cell: ({ row: { original: runner } }) => (
      <>
        <span className="tags">
          <RunnerState runner={runner} />
          {runner.admin === 'active' ? null : <StateTag state={runner.admin} />}
        </span>
        <RunnerTrouble runner={runner} />
      </>
    ),
  },
  {
    id: 'last-seen',
    header: 'Last seen',
    cell: ({ row: { original: runner } }) =>
      runner.last_seen_at === null ? (
        <span className="quiet">never</span>
      ) : (
        <Ago iso={runner.last_seen_at} />
      ),
  },
  {
    id: 'version',
    header: 'Version',
    cell: ({ row }) => <Told text={row.original.version} />,
  },
  {
    id: 'region',
    header: 'Region',
    cell: ({ row }) => <Told text={row.original.region} />,
  },
];

function Told({ text }: { readonly text: string | null }) {
  return text === null ? <span className="quiet">not said</span> : <Foreign text={text} />;
}

export function FleetPage({ filters }: { readonly filters: URLSearchParams }) {
  const presence = wordOf(PRESENCES, filters.get('presence'));
  const admin = wordOf(RUNNER_ADMIN_STATES, filters.get('admin'));
  const name = filters.get('name');
  const query = {
    ...(presence === undefined ? {} : { presence }),
    ...(admin === undefined ? {} : { admin }),
    ...(name === null ? {} : { name }),
  };
  const list = useList(
    ['runners', query],
    (page, signal) => request(endpoints.listRunners, { query: { ...query, ...page }, signal }),
    REFRESH_MS,
  );
  const filter = { page: 'fleet', filters } as const;
  return (
    <>
      <Heading title="Fleet" lead="Runners and whether they report in." />
      <FilterBar>
        <ChoiceFilter {...filter} name="presence" label="Presence" options={PRESENCES} />
        <ChoiceFilter {...filter} name="admin" label="Admission" options={RUNNER_ADMIN_STATES} />
        <TextFilter {...filter} name="name" label="Name contains" />
      </FilterBar>
      <ListView
        list={list}
        columns={columns}
        rowHeader="name"
        noun="runner"
        isFiltered={Object.keys(query).length > 0}
        clearHref={hrefTo('fleet')}
        empty={<NoRunner />}
      />
    </>
  );
}

function NoRunner() {
  const server = new URL('.', location.href).href.replace(/\/$/, '');
  return (
    <>
      <h2>No runner yet</h2>
      <p>Create one. Its key is printed once; give it to the machine that scans.</p>
      <CopyBlock
        label="Create a runner, with your operator token"
        text={`MUSTER_URL=${server} MUSTER_TOKEN=mst_op_… npx muster runners create scanner-1`}
      />
    </>
  );
}

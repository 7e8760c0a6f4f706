// Assets: what reports are about, each with a link to its open findings. Filtered by the address,
// as every list is.

import { ASSET_KINDS, type Asset, endpoints } from '@muster/contract';
import { request, useList } from '../api.ts';
import type { Column } from '../components/data-table.tsx';
import { ChoiceFilter, FilterBar, TextFilter } from '../components/filters.tsx';
import { Foreign, ForeignLink } from '../components/foreign.tsx';
import { Heading } from '../components/heading.tsx';
import { ListView } from '../components/list-view.tsx';
import { Time } from '../components/time.tsx';
import { countText, words } from '../format.ts';
import { hrefTo, wordOf } from '../route.ts';
import { NoUpload } from './uploads.tsx';

const columns: readonly Column<Asset>[] = [
  {
    id: 'name',
    header: 'Asset',
    cell: ({ row: { original: asset } }) => (
      <>
        <strong>
          <Foreign text={asset.name} />
        </strong>
        {asset.value === asset.name ? null : (
          <span className="under">
            <ForeignLink address={asset.value} />
          </span>
        )}
      </>
    ),
  },
  {
    id: 'kind',
    header: 'Kind',
    cell: ({ row: { original: asset } }) => (
      <>
        {words(asset.kind)}
        {asset.is_fallback ? <span className="under">for reports that name no asset</span> : null}
      </>
    ),
  },
  {
    id: 'findings',
    header: 'Open findings',
    cell: ({ row: { original: asset } }) => (
      <a
        href={hrefTo('findings', null, { asset_id: asset.id, on: 'all' })}
        aria-label={`${countText(asset.open_findings, 'open finding')} of ${asset.name}`}
      >
        {countText(asset.open_findings, 'finding')}
      </a>
    ),
  },
  {
    id: 'ref',
    header: 'Default ref',
    cell: ({ row: { original: asset } }) =>
      asset.default_ref === null ? (
        <span className="quiet">none</span>
      ) : (
        <Foreign text={asset.default_ref} />
      ),
  },
  {
    id: 'last-seen',
    header: 'Last seen',
    cell: ({ row }) => <Time iso={row.original.last_seen_at} />,
  },
];

export function AssetsPage({ filters }: { readonly filters: URLSearchParams }) {
  const kind = wordOf(ASSET_KINDS, filters.get('kind'));
  const value = filters.get('value');
  const query = {
    ...(kind === undefined ? {} : { kind }),
    ...(value === null ? {} : { value }),
  };
  const list = useList(['assets', query], (page, signal) =>
    request(endpoints.listAssets, { query: { ...query, ...page }, signal }),
  );
  const filter = { page: 'assets', filters } as const;
  return (
    <>
      <Heading title="Assets" lead="What the reports are about." />
      <FilterBar>
        <ChoiceFilter {...filter} name="kind" label="Kind" options={ASSET_KINDS} />
        <TextFilter {...filter} name="value" label="Name contains" />
      </FilterBar>
      <ListView
        list={list}
        columns={columns}
        rowHeader="name"
        noun="asset"
        isFiltered={Object.keys(query).length > 0}
        clearHref={hrefTo('assets')}
        empty={<NoUpload />}
      />
    </>
  );
}

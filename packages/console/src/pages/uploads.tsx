// Uploads: what runners handed in, its state, and its outcome. The page is read again every few
// seconds.

import { endpoints, type Receipt, type Upload, UPLOAD_STATES } from '@muster/contract';
import { REFRESH_MS, request, useList } from '../api.ts';
import { CopyBlock } from '../components/copy-block.tsx';
import type { Column } from '../components/data-table.tsx';
import { ChoiceFilter, FilterBar, PinnedFilter } from '../components/filters.tsx';
import { Foreign } from '../components/foreign.tsx';
import { Heading } from '../components/heading.tsx';
import { ListView } from '../components/list-view.tsx';
import { RunnerLink } from '../components/runners/runner-link.tsx';
import { StateTag } from '../components/findings/tags.tsx';
import { Time } from '../components/time.tsx';
import { bytesText, countText, numberText, words } from '../format.ts';
import { hrefTo, wordOf } from '../route.ts';

const columns: readonly Column<Upload>[] = [
  {
    id: 'received',
    header: 'Received',
    cell: ({ row: { original: upload } }) => (
      <>
        <a href={hrefTo('uploads', upload.id)}>
          <Time iso={upload.received_at} />
        </a>
        <span className="under">{bytesText(upload.wire_bytes)}</span>
      </>
    ),
  },
  {
    id: 'tool',
    header: 'Tool',
    cell: ({ row: { original: upload } }) => (
      <>
        {upload.tool === null ? (
          <span className="quiet">not known</span>
        ) : (
          <Foreign text={upload.tool} />
        )}
        <span className="under">{upload.receipt?.format.toUpperCase() ?? upload.format}</span>
      </>
    ),
  },
  {
    id: 'runner',
    header: 'Runner',
    cell: ({ row }) => <RunnerLink id={row.original.runner_id} />,
  },
  {
    id: 'state',
    header: 'State',
    cell: ({ row: { original: upload } }) => (
      <>
        <StateTag state={upload.state} />
        <Progress upload={upload} />
      </>
    ),
  },
  {
    id: 'outcome',
    header: 'Findings',
    cell: ({ row: { original: upload } }) => <Outcome upload={upload} />,
  },
];

function Progress({
  upload: { state, items_done: done, items_total: total },
}: {
  readonly upload: Upload;
}) {
  if (state !== 'processing' || done === null || total === null) return null;
  return (
    <span className="under">
      <progress value={done} max={total} aria-label="Processed" /> {numberText(done)} of{' '}
      {numberText(total)}
    </span>
  );
}

function Outcome({ upload }: { readonly upload: Upload }) {
  if (upload.receipt !== null) {
    return (
      <>
        {countText(upload.receipt.findings.received, 'finding')}
        <span className="under">{outcomeText(upload.receipt)}</span>
      </>
    );
  }
  return upload.problem === null ? (
    <span className="quiet">not yet known</span>
  ) : (
    <Foreign text={upload.problem.title} />
  );
}

/** The outcomes that are worth a line in a list: those that occurred. */
function outcomeText({ findings, resolved }: Receipt): string {
  const { received: _sum, ...outcomes } = findings;
  const parts = Object.entries({ ...outcomes, resolved }).filter(([, count]) => count > 0);
  return parts.map(([name, count]) => `${numberText(count)} ${words(name)}`).join(' · ');
}

export function UploadsPage({ filters }: { readonly filters: URLSearchParams }) {
  const state = wordOf(UPLOAD_STATES, filters.get('state'));
  const runnerId = filters.get('runner_id');
  const query = {
    ...(state === undefined ? {} : { state }),
    ...(runnerId === null ? {} : { runner_id: runnerId }),
  };
  const list = useList(
    ['uploads', query],
    (page, signal) => request(endpoints.listUploads, { query: { ...query, ...page }, signal }),
    REFRESH_MS,
  );
  const filter = { page: 'uploads', filters } as const;
  return (
    <>
      <Heading title="Uploads" lead="Reports as they came in, each with its receipt." />
      <FilterBar>
        <ChoiceFilter {...filter} name="state" label="State" options={UPLOAD_STATES} />
        <PinnedFilter {...filter} name="runner_id" label="Runner">
          {runnerId === null ? null : <RunnerLink id={runnerId} />}
        </PinnedFilter>
      </FilterBar>
      <ListView
        list={list}
        columns={columns}
        rowHeader="received"
        noun="upload"
        isFiltered={Object.keys(query).length > 0}
        clearHref={hrefTo('uploads')}
        empty={<NoUpload />}
      />
    </>
  );
}

/**
 * Ready to paste except for the key: the key is shown once, at the first start, and the console
 * never sees it.
 */
export function NoUpload() {
  const server = new URL('.', location.href).href.replace(/\/$/, '');
  return (
    <>
      <h2>No report yet</h2>
      <p>
        Hand in a SARIF 2.1.0 or CTIS report with a runner key (<code>mst_rnr_…</code>, printed at
        the server’s first start).
      </p>
      <CopyBlock label="With curl" text={withCurl(server)} />
      <CopyBlock label="With Muster’s command line" text={withMuster(server)} />
    </>
  );
}

const REPOSITORY = 'https://github.com/example/shop';

const withCurl = (server: string): string =>
  [
    'export MUSTER_KEY=mst_rnr_…',
    'curl -sS -H "Authorization: Bearer $MUSTER_KEY" --data-binary @report.sarif \\',
    `  '${server}/api/v1/agent/ingest/sarif?repository_url=${REPOSITORY}&branch=main'`,
  ].join('\n');

const withMuster = (server: string): string =>
  [
    `export MUSTER_URL=${server} MUSTER_KEY=mst_rnr_…`,
    `npx muster upload --repository ${REPOSITORY} --branch main report.sarif`,
  ].join('\n');

// One upload: its state, its receipt or its problem, and the facts that help to find it again. The
// page follows the processing.

import { endpoints, type Upload } from '@muster/contract';
import { request, useOne } from '../api.ts';
import { type Fact, Facts, Section } from '../components/facts.tsx';
import { Foreign, ForeignBlock } from '../components/foreign.tsx';
import { Heading } from '../components/heading.tsx';
import { OneView } from '../components/one-view.tsx';
import { ReceiptView } from '../components/uploads/receipt-view.tsx';
import { ReportRuns } from '../components/uploads/report-runs.tsx';
import { RunnerLink } from '../components/runners/runner-link.tsx';
import { StateTag } from '../components/findings/tags.tsx';
import { Time } from '../components/time.tsx';
import { bytesText, jsonText, numberText, timeText } from '../format.ts';
import { hrefTo } from '../route.ts';

const BACK = { href: hrefTo('uploads'), label: 'Uploads' };

/** During the processing, someone may be waiting for the end. */
const FOLLOW_MS = 2_000;

const isUnfinished = ({ state }: Upload): boolean =>
  state === 'receiving' || state === 'received' || state === 'processing';

export function UploadPage({ id }: { readonly id: string }) {
  const query = useOne(
    ['upload', id],
    (signal) => request(endpoints.showUpload, { params: { id }, signal }),
    (upload) => (upload !== undefined && isUnfinished(upload) ? FOLLOW_MS : false),
  );
  return (
    <OneView query={query} noun="upload" back={BACK}>
      {(upload) => <UploadView upload={upload} />}
    </OneView>
  );
}

function UploadView({ upload }: { readonly upload: Upload }) {
  const { receipt, problem } = upload;
  return (
    <>
      <Heading
        title={`Upload of ${timeText(upload.received_at)}`}
        back={BACK}
        lead={
          <span className="tags" role="status">
            <StateTag state={upload.state} />
            {receipt === null ? null : <StateTag state={receipt.outcome} />}
          </span>
        }
      />
      {isUnfinished(upload) ? (
        <p className="card">
          It is stored safely and {upload.state === 'processing' ? 'being processed' : 'waiting'}.
          This page follows it.
        </p>
      ) : null}
      {problem === null ? null : (
        <Section title={problem.title}>
          <p>
            <Foreign text={problem.detail} />
          </p>
          <p className="quiet">
            Code <code>{problem.code}</code>, request <code>{problem.request_id}</code>
          </p>
        </Section>
      )}
      {receipt === null ? null : <ReceiptView receipt={receipt} />}
      {isUnfinished(upload) && upload.runs === null ? null : (
        <ReportRuns runs={upload.runs} total={upload.runs_total} />
      )}
      <Section title="About it">
        <Facts facts={factsOf(upload)} />
      </Section>
      <Section title="What was said with it">
        <ForeignBlock text={jsonText(upload.context)} />
      </Section>
    </>
  );
}

function factsOf(upload: Upload): Fact[] {
  const { items_done: done, items_total: total } = upload;
  return [
    ['Runner', <RunnerLink key="runner" id={upload.runner_id} />],
    ['Tool', upload.tool === null ? null : <Foreign text={upload.tool} />],
    ['Format', upload.receipt?.format.toUpperCase() ?? upload.format],
    ['Scan', upload.receipt === null ? null : <Foreign text={upload.receipt.scan_id} />],
    [
      'Command',
      upload.command_id === null ? null : (
        <a href={hrefTo('commands', upload.command_id)}>{upload.command_id}</a>
      ),
    ],
    ['Received', <Time key="received" iso={upload.received_at} />],
    ['Started', upload.started_at === null ? null : <Time iso={upload.started_at} />],
    ['Finished', upload.finished_at === null ? null : <Time iso={upload.finished_at} />],
    [
      'Items',
      done === null || total === null ? null : `${numberText(done)} of ${numberText(total)}`,
    ],
    ['On the wire', bytesText(upload.wire_bytes)],
    ['Decoded', upload.decoded_bytes === null ? null : bytesText(upload.decoded_bytes)],
    ['Attempts', numberText(upload.attempts)],
    ['SHA-256', upload.sha256 === null ? null : <code>{upload.sha256}</code>],
    ['Id', <code key="id">{upload.id}</code>],
  ];
}

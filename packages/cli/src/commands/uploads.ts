// muster uploads …: what runners handed in, and what became of it. `muster upload` (upload.ts)
// hands reports in.

import {
  endpoints,
  type Receipt,
  type RejectedItem,
  type Upload,
  UPLOAD_STATES,
} from '@muster/contract';
import { command } from '../command.ts';
import { explainProblem } from '../errors.ts';
import { LIST, printList } from '../list.ts';
import { given, text, word } from '../options.ts';
import type { Field, Printer } from '../print/printer.ts';
import type { Column } from '../print/table.ts';
import { bytes, counted } from '../print/text.ts';
import { minuteOf, momentOf } from '../print/time.ts';
import { uploadStyle } from '../print/words.ts';
import { receiptText } from '../upload/receipt.ts';

const layout = (print: Printer): Column<Upload>[] => [
  { title: 'ID', cell: (row) => row.id },
  {
    title: 'STATE',
    cell: (row) => row.state,
    paint: (cell, row) => print.style(uploadStyle(row.state), cell),
  },
  { title: 'TOOL', cell: (row) => row.tool ?? '-', shrink: 'end' },
  { title: 'RECEIVED', cell: (row) => minuteOf(row.received_at) },
  { title: 'FINDINGS', cell: (row) => summary(row.receipt), shrink: 'end' },
];

/** `12: 3 created, 1 rejected`: the counts that are worth a look. */
function summary(receipt: Receipt | null): string {
  if (receipt === null) return '-';
  const { findings, resolved } = receipt;
  const parts = (['created', 'changed', 'reopened', 'rejected'] as const).flatMap((outcome) =>
    findings[outcome] > 0 ? [`${findings[outcome]} ${outcome}`] : [],
  );
  if (resolved > 0) parts.push(`${resolved} resolved`);
  return parts.length === 0
    ? String(findings.received)
    : `${findings.received}: ${parts.join(', ')}`;
}

/** A line for each run that the server shows, and the number of further runs. */
function runsText({ runs, runs_total: total }: Upload): string | null {
  if (runs === null) return null;
  const shown = runs.map((run) => {
    const { includes = 0, excludes = 0 } = run.scope ?? {};
    const parts = [
      run.tool_version === null ? run.tool : `${run.tool} ${run.tool_version}`,
      run.automation_id,
      run.source_type,
      run.coverage === null ? null : `coverage ${run.coverage}`,
      run.scope === null ? null : [run.scope.type, run.scope.name].filter(Boolean).join(' '),
      includes === 0 ? null : `${includes} included`,
      excludes === 0 ? null : `${excludes} excluded`,
      run.started_at === null ? null : `started ${minuteOf(run.started_at)}`,
      run.duration_ms === null ? null : `took ${run.duration_ms / 1000} s`,
      run.exit_code === null ? null : `exit code ${run.exit_code}`,
      run.exit_signal,
      run.succeeded === null ? null : run.succeeded ? 'did well' : 'failed',
    ];
    return parts.filter((part) => part !== null && part !== '').join(', ');
  });
  const more = (total ?? runs.length) - runs.length;
  if (more > 0) shown.push(`and ${more.toLocaleString('en')} more`);
  return shown.length === 0 ? 'none' : shown.join('\n');
}

function fields(upload: Upload, nowMs: number): Field[] {
  const context = Object.entries((upload.context ?? {}) as Record<string, unknown>);
  const decoded = upload.decoded_bytes === null ? '' : `, ${bytes(upload.decoded_bytes)} decoded`;
  const done = upload.items_done ?? 0;
  const time = (name: string, at: string | null): Field => [
    name,
    at === null ? null : momentOf(at, nowMs),
  ];
  return [
    ['ID', upload.id],
    ['State', upload.state],
    ['Format', upload.format],
    ['Tool', upload.tool],
    ['Runner', upload.runner_id],
    ['Command', upload.command_id],
    time('Received', upload.received_at),
    time('Started', upload.started_at),
    time('Finished', upload.finished_at),
    ['Size', `${bytes(upload.wire_bytes)} sent${decoded}`],
    ['SHA-256', upload.sha256],
    time('Raw bytes deleted', upload.raw_deleted_at),
    ['Said with it', context.map(([key, value]) => `${key}=${String(value)}`).join(', ') || null],
    [
      'Items',
      upload.items_total === null ? null : `${done} of ${counted(upload.items_total, 'item')}`,
    ],
    ['Runs', runsText(upload)],
    ['Attempts', String(upload.attempts)],
    ['Last fault', upload.fault],
    ['Problem', upload.problem === null ? null : explainProblem(upload.problem)],
  ];
}

const list = command({
  name: 'uploads list',
  summary: 'List the uploads, newest first',
  operands: [],
  options: {
    ...LIST,
    state: word(UPLOAD_STATES, 'only those in this state'),
    runner: text('ID', 'only those of this runner'),
  },
  examples: ['muster uploads list', 'muster uploads list --state refused --json'],
  run: (context, _operands, { state, runner, ...paging }) => {
    const filters = given({ state, runner_id: runner });
    return printList(
      context,
      paging,
      (page) => context.operator(endpoints.listUploads, { query: { ...page, ...filters } }),
      {
        layout: layout(context.print),
        empty: 'No uploads yet. Hand in a report: muster upload report.sarif',
        filters,
      },
    );
  },
});

const show = command({
  name: 'uploads show',
  summary: 'Show one upload with its receipt',
  operands: ['ID'],
  options: {},
  examples: ['muster uploads show 0199c3f2-6b1e-7c5a-9d7e-3f1b2a4c5d6e'],
  run: async (context, [id]) => {
    const upload = await context.operator(endpoints.showUpload, { params: { id } });
    const { print, io } = context;
    print.result(upload, () => {
      const head = print.fields(fields(upload, io.nowMs()));
      return upload.receipt === null ? head : `${head}\n${receiptText(print, upload.receipt, 100)}`;
    });
  },
});

const rejectionLayout = (): Column<RejectedItem>[] => [
  { title: 'WHERE', cell: (row) => row.pointer || '/' },
  { title: 'CODE', cell: (row) => row.code },
  { title: 'WHY', cell: (row) => row.detail, shrink: 'end' },
  { title: 'ITEM', cell: (row) => row.item ?? '-', shrink: 'end' },
];

const rejections = command({
  name: 'uploads rejections',
  summary: 'List the items of an upload that could not be used',
  operands: ['ID'],
  options: LIST,
  examples: [
    'muster uploads rejections 0199c3f2-6b1e-7c5a-9d7e-3f1b2a4c5d6e',
    'muster uploads rejections 0199c3f2-6b1e-7c5a-9d7e-3f1b2a4c5d6e --all --json',
  ],
  run: (context, [id], paging) =>
    printList(
      context,
      paging,
      (query) => context.operator(endpoints.listUploadRejections, { params: { id }, query }),
      { layout: rejectionLayout(), empty: 'Every item of this upload could be used.', filters: {} },
    ),
});

export const uploadsCommands = [list, show, rejections];

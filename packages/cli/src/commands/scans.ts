// muster scans …: sessions in which runners say that they scan. The findings of a scan are in its
// uploads.

import { endpoints, SCAN_SESSION_STATUSES, type ScanSession } from '@muster/contract';
import { command } from '../command.ts';
import { LIST, printList } from '../list.ts';
import { given, text, word } from '../options.ts';
import type { Column } from '../print/table.ts';
import { minuteOf, momentOf } from '../print/time.ts';

const layout: Column<ScanSession>[] = [
  { title: 'ID', cell: (row) => row.id },
  { title: 'STATUS', cell: (row) => row.status },
  { title: 'SCANNER', cell: (row) => row.scanner_name, shrink: 'end' },
  { title: 'ASSET', cell: (row) => row.asset_value, shrink: 'front' },
  { title: 'STARTED', cell: (row) => minuteOf(row.started_at) },
];

const list = command({
  name: 'scans list',
  summary: 'List the scan sessions that runners opened, newest first',
  operands: [],
  options: {
    ...LIST,
    status: word(SCAN_SESSION_STATUSES, 'only those in this state'),
    runner: text('ID', 'only those of this runner'),
  },
  examples: ['muster scans list --status running'],
  run: (context, _operands, { status, runner, ...paging }) => {
    const filters = given({ status, runner_id: runner });
    return printList(
      context,
      paging,
      (page) => context.operator(endpoints.listScans, { query: { ...page, ...filters } }),
      { layout, empty: 'No scan sessions: most runners open none. See muster uploads.', filters },
    );
  },
});

const show = command({
  name: 'scans show',
  summary: 'Show one scan session',
  operands: ['ID'],
  options: {},
  examples: ['muster scans show 0199c3f2-6b1e-7c5a-9d7e-3f1b2a4c5d6e'],
  run: async (context, [id]) => {
    const session = await context.operator(endpoints.showScan, { params: { id } });
    const { print, io } = context;
    const { completed_at: ended } = session;
    print.result(session, () =>
      print.fields([
        ['ID', session.id],
        ['Status', session.status],
        ['Runner', session.agent_id],
        ['Scanner', `${session.scanner_name} ${session.scanner_version ?? ''}`.trim()],
        ['Asset', `${session.asset_value} (${session.asset_type})`],
        ['Branch', session.branch ?? null],
        ['Commit', session.commit_sha ?? null],
        ['Commit before', session.base_commit_sha ?? null],
        ['Started', momentOf(session.started_at, io.nowMs())],
        ['Ended', ended === undefined ? null : momentOf(ended, io.nowMs())],
        ['Findings, by its count', session.findings_total.toLocaleString('en')],
        ['Error', session.error_message ?? null],
      ]),
    );
  },
});

export const scanCommands = [list, show];

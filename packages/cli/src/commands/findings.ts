// muster findings …: what was found, and what an operator decides about it. Lists and shows
// findings, and sets their status.

import { endpoints, type Finding, FINDING_STATUSES, SEVERITIES } from '@muster/contract';
import { command } from '../command.ts';
import { UsageError } from '../errors.ts';
import { LIST, printList } from '../list.ts';
import type { Context } from '../context.ts';
import { flag, given, isoOf, moment, oneOf, text, word } from '../options.ts';
import { findingFields } from '../print/finding.ts';
import type { Printer } from '../print/printer.ts';
import type { Column } from '../print/table.ts';
import { minuteOf } from '../print/time.ts';
import { findingStyle, severityStyle } from '../print/words.ts';

const place = (row: Finding): string =>
  row.path === null ? '-' : row.path + (row.start_line === null ? '' : `:${row.start_line}`);

const layout = (print: Printer): Column<Finding>[] => [
  { title: 'ID', cell: (row) => row.id },
  {
    title: 'SEVERITY',
    cell: (row) => row.severity,
    paint: (cell, row) => print.style(severityStyle(row.severity), cell),
  },
  {
    title: 'STATUS',
    cell: (row) => row.status,
    isOptional: true,
    paint: (cell, row) => print.style(findingStyle(row.status), cell),
  },
  { title: 'RULE', cell: (row) => row.rule_id, shrink: 'end', isOptional: true },
  { title: 'WHERE', cell: place, shrink: 'front' },
  { title: 'TITLE', cell: (row) => row.title, shrink: 'end' },
];

/** The options that take the beginning of a list away. */
const EVERYWHERE = '--status any --any-branch';

const list = command({
  name: 'findings list',
  summary: 'List the findings, worst first, then newest',
  details: [
    'Without --status and a branch: what is active (open, confirmed or in progress) on the default branch of its asset. The ' +
      'status is that of the default branch; on another one, `active` also has what is fixed there but still on it.',
    `Everything there is: ${EVERYWHERE} --all`,
  ],
  operands: [],
  options: {
    ...LIST,
    status: word(
      [...FINDING_STATUSES, 'active', 'any'],
      'only those with this status; default active',
    ),
    branch: text('NAME', 'only those on this branch; default the default branch of each asset'),
    'any-branch': flag('wherever they are'),
    severity: word(SEVERITIES, 'only those of this severity'),
    asset: text('ID', 'only those on this asset'),
    tool: text('NAME', 'only those of this tool'),
    rule: text('ID', 'only those of this rule'),
    path: text('START', 'only those whose path begins so'),
  },
  examples: [
    'muster findings list --severity critical',
    'muster findings list --branch feature/login',
    'muster findings list --status false_positive --any-branch',
    'muster findings list --path src/payment/ --all',
    'muster findings list --json --limit 1000 | jq length',
  ],
  run: (context, _operands, options) => {
    const { status, branch, 'any-branch': anyBranch, severity, asset, tool, rule, path } = options;
    if (branch !== undefined && anyBranch) {
      throw new UsageError('--branch and --any-branch exclude each other.', 'findings list');
    }
    const filters = given({ severity, asset_id: asset, tool, rule_id: rule, path });
    const query = {
      ...(status === 'any' ? {} : { status: status ?? 'active' }),
      ...given({ branch }),
      ...(branch === undefined && !anyBranch ? { default_branch: 'true' as const } : {}),
      ...filters,
    };
    const isEverywhere = status === 'any' && anyBranch;
    return printList(
      context,
      options,
      (page) => context.operator(endpoints.listFindings, { query: { ...page, ...query } }),
      {
        layout: layout(context.print),
        empty: () => emptyText(context),
        unmatched: `Nothing matches these filters.${isEverywhere ? '' : ` Look everywhere: ${EVERYWHERE}`}`,
        filters: isEverywhere
          ? filters
          : { ...filters, ...given({ status, branch }), ...(anyBranch ? { anyBranch } : {}) },
      },
    );
  },
});

/** Nothing is active on default branches: is there anything at all? */
async function emptyText(context: Context): Promise<string> {
  const { items } = await context.operator(endpoints.listFindings, { query: { limit: '1' } });
  return items.length === 0
    ? 'No findings yet. Upload a report: muster upload report.sarif'
    : `Nothing is open on the default branches. Everything there is: muster findings list ${EVERYWHERE}`;
}

const show = command({
  name: 'findings show',
  summary: 'Show one finding with all that is known of it',
  operands: ['ID'],
  options: {},
  examples: ['muster findings show 0199c3f2-6b1e-7c5a-9d7e-3f1b2a4c5d6e'],
  run: async (context, [id]) => {
    const finding = await context.operator(endpoints.showFinding, { params: { id } });
    const { print, io } = context;
    print.result(finding, () => print.fields(findingFields(finding, io.nowMs())));
  },
});

const setStatus = command({
  name: 'findings set-status',
  summary: 'Decide what a finding is',
  details: [
    `STATUS is one of ${FINDING_STATUSES.join(', ')}.`,
    'The decision survives re-scans, tool upgrades and renames. `resolved` means resolved by you; --until goes with ' +
      '`accepted`: after that the finding is open again.',
  ],
  operands: ['ID', 'STATUS'],
  options: {
    comment: text('TEXT', 'why; kept in the history of the finding'),
    until: moment('when the acceptance ends: 2027-01-31, or from now (90d)'),
  },
  examples: [
    'muster findings set-status 0199c3f2-6b1e-7c5a-9d7e-3f1b2a4c5d6e confirmed',
    'muster findings set-status 0199c3f2-6b1e-7c5a-9d7e-3f1b2a4c5d6e accepted --until 90d --comment "behind the VPN"',
  ],
  run: async (context, [id, wanted], { comment, until }) => {
    const { io, print } = context;
    const status = oneOf(FINDING_STATUSES, wanted, 'STATUS');
    if (until !== undefined && status !== 'accepted') {
      throw new UsageError('--until goes with the status accepted only.', 'findings set-status');
    }
    const acceptedUntil = until === undefined ? undefined : isoOf(until, io.nowMs());
    const finding = await context.operator(endpoints.changeFinding, {
      params: { id },
      body: { status, ...given({ comment, accepted_until: acceptedUntil }) },
    });
    const end = finding.accepted_until === null ? '' : ` until ${minuteOf(finding.accepted_until)}`;
    print.result(finding, () => print.line(`"${finding.title}" is ${finding.status}${end}.`));
  },
});

export const findingCommands = [list, show, setStatus];

// muster runners …: the fleet. Lists, shows and creates runners, changes their admin state, and
// prints their metrics.

import {
  endpoints,
  PRESENCES,
  type Runner,
  RUNNER_ADMIN_STATES,
  type RunnerMetric,
  type RunnerMetrics,
} from '@muster/contract';
import { command } from '../command.ts';
import { LIST, printList } from '../list.ts';
import { duration, given, isoOf, labels, text, word } from '../options.ts';
import type { Field, Printer } from '../print/printer.ts';
import type { Column } from '../print/table.ts';
import { momentOf, minuteOf } from '../print/time.ts';
import { jsonText } from '../print/text.ts';
import { secret } from '../print/secret.ts';
import { healthStyle, presenceStyle } from '../print/words.ts';

const layout = (print: Printer): Column<Runner>[] => [
  { title: 'ID', cell: (row) => row.id },
  { title: 'NAME', cell: (row) => row.name, shrink: 'end' },
  {
    title: 'PRESENCE',
    cell: (row) => row.presence,
    paint: (cell, row) => print.style(presenceStyle(row), cell),
  },
  {
    title: 'HEALTH',
    cell: (row) => (isUnwell(row) ? healthText(row) : row.health) ?? '-',
    shrink: 'end',
    paint: (cell, row) => (isUnwell(row) ? print.style(healthStyle(row.health), cell) : cell),
  },
  { title: 'STATE', cell: (row) => row.admin },
  {
    title: 'WARNING',
    cell: (row) => row.warnings.map(({ code }) => code).join(', ') || '-',
    isOptional: true,
  },
  { title: 'LAST SEEN', cell: (row) => minuteOf(row.last_seen_at) },
  { title: 'VERSION', cell: (row) => row.version ?? '-', shrink: 'end', isOptional: true },
];

const isUnwell = ({ health }: Runner): boolean => health === 'degraded' || health === 'error';

/** `error: disk is full`; null: it never said how it is. */
const healthText = ({ health, health_message: message }: Runner): string | null =>
  health === null || message === null ? health : `${health}: ${message}`;

function fields(runner: Runner, nowMs: number): Field[] {
  const labelled = Object.entries(runner.labels).map(([key, value]) => `${key}=${value}`);
  return [
    ['ID', runner.id],
    ['Name', runner.name],
    ['State', runner.admin],
    ['Presence', `${runner.presence}, since ${momentOf(runner.presence_since, nowMs)}`],
    ['Health', healthText(runner)],
    ...runner.warnings.map(({ code, detail }): Field => ['Warning', `${code}: ${detail}`]),
    ['Last seen', momentOf(runner.last_seen_at, nowMs)],
    ['Heartbeat', `every ${runner.interval_seconds} s expected`],
    ['Labels', labelled.length === 0 ? null : labelled.join(', ')],
    ['Version', runner.version],
    ['Host', runner.hostname],
    ['Region', runner.region],
    ['Clock', skewText(runner.clock_skew_ms)],
    ['Created', `${momentOf(runner.created_at, nowMs)} by ${runner.created_by}`],
    ['Last report', runner.reported_at === null ? null : jsonText(runner.reported)],
  ];
}

const skewText = (ms: number | null): string | null =>
  ms === null ? null : `${(Math.abs(ms) / 1000).toFixed(1)} s ${ms < 0 ? 'behind' : 'ahead'}`;

const list = command({
  name: 'runners list',
  summary: 'List the runners, newest first',
  operands: [],
  options: {
    ...LIST,
    admin: word(RUNNER_ADMIN_STATES, 'only those in this state'),
    presence: word(PRESENCES, 'only those with this presence'),
    name: text('TEXT', 'only those with this in their name'),
  },
  examples: ['muster runners list', 'muster runners list --presence offline --json'],
  run: (context, _operands, { admin, presence, name, ...paging }) => {
    const filters = given({ admin, presence, name });
    return printList(
      context,
      paging,
      (page) => context.operator(endpoints.listRunners, { query: { ...page, ...filters } }),
      {
        layout: layout(context.print),
        empty: 'No runners yet. Create one: muster runners create build-1',
        filters,
      },
    );
  },
});

const show = command({
  name: 'runners show',
  summary: 'Show one runner',
  operands: ['ID'],
  options: {},
  examples: ['muster runners show 0199c3f2-6b1e-7c5a-9d7e-3f1b2a4c5d6e'],
  run: async (context, [id]) => {
    const runner = await context.operator(endpoints.showRunner, { params: { id } });
    const { print, io } = context;
    print.result(runner, () => print.fields(fields(runner, io.nowMs())));
  },
});

interface Measure {
  readonly metric: RunnerMetric;
  readonly last: number;
  readonly mean: number;
  readonly highest: number;
}

const rounded = (value: number): string => String(Math.round(100 * value) / 100);

const measures: Column<Measure>[] = [
  { title: 'METRIC', cell: (row) => row.metric },
  { title: 'LAST', cell: (row) => rounded(row.last) },
  { title: 'MEAN', cell: (row) => rounded(row.mean) },
  { title: 'HIGHEST', cell: (row) => rounded(row.highest) },
];

/** Every step counts the same in the mean; steps without a value don't count. */
const summaries = ({ series }: RunnerMetrics): Measure[] =>
  series.flatMap(({ metric, average, max }) => {
    const means = average.filter((value) => value !== null);
    const last = means.at(-1);
    if (last === undefined) return [];
    const mean = means.reduce((sum, value) => sum + value, 0) / means.length;
    const highest = Math.max(...max.filter((value) => value !== null));
    return [{ metric, last, mean, highest }];
  });

const metrics = command({
  name: 'runners metrics',
  summary: 'Show what a runner measured: last, mean and highest',
  details: ['With --json the whole series, step by step.'],
  operands: ['ID'],
  options: {
    since: duration('how far back: 90m, 24h, 30d; default 24h'),
    step: duration('how long each step is; default what gives a few hundred of them'),
  },
  examples: [
    'muster runners metrics 0199c3f2-6b1e-7c5a-9d7e-3f1b2a4c5d6e --since 7d',
    'muster runners metrics 0199c3f2-6b1e-7c5a-9d7e-3f1b2a4c5d6e --step 1h --json',
  ],
  run: async (context, [id], { since, step }) => {
    const { print, io } = context;
    const query = given({
      from: since === undefined ? undefined : isoOf({ inSeconds: -since }, io.nowMs()),
      step: step === undefined ? undefined : String(step),
    });
    const found = await context.operator(endpoints.runnerMetrics, { params: { id }, query });
    const rows = summaries(found);
    if (rows.length > 0 || print.isJson) print.result(found, () => print.table(measures, rows));
    if (rows.length === 0) print.note('It has sent no measurements in this time.');
  },
});

const create = command({
  name: 'runners create',
  summary: 'Create a runner and its first key',
  details: ['The key is printed once, on stdout; the server keeps only its hash.'],
  operands: ['NAME'],
  options: { label: labels('a label, as name=value; may be given several times') },
  examples: [
    'muster runners create build-1',
    'muster runners create build-1 --label team=web --label zone=eu',
    'MUSTER_KEY=$(muster runners create ci --json | jq -r .api_key)',
  ],
  run: async (context, [name], { label }) => {
    const body = { name, ...given({ labels: label }) };
    const made = await context.operator(endpoints.createRunner, { body });
    secret(context.print, made, made.api_key, [
      `Runner ${made.runner.name} is created (${made.runner.id}). Its key:`,
      'Give it to the runner, or use it here: MUSTER_KEY=… muster upload report.sarif',
    ]);
  },
});

const actions = [
  ['pause', endpoints.pauseRunner, 'Let a runner claim nothing more', 'is paused'],
  [
    'drain',
    endpoints.drainRunner,
    'Let a runner finish what it holds, to be stopped',
    'is draining',
  ],
  ['resume', endpoints.resumeRunner, 'Let a runner claim commands again', 'claims commands again'],
  ['revoke', endpoints.revokeRunner, 'Shut a runner out for good: all its keys die', 'is shut out'],
] as const;

const changes = actions.map(([verb, endpoint, summary, done]) =>
  command({
    name: `runners ${verb}`,
    summary,
    operands: ['ID'],
    options: {},
    examples: [`muster runners ${verb} 0199c3f2-6b1e-7c5a-9d7e-3f1b2a4c5d6e`],
    run: async (context, [id]) => {
      const runner = await context.operator(endpoint, { params: { id } });
      context.print.result(runner, () => context.print.line(`${runner.name} ${done}.`));
    },
  }),
);

export const runnerCommands = [list, show, metrics, create, ...changes];

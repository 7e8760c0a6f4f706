// muster commands …: work for runners. Lists, shows, creates and cancels commands;
// command-follow.ts has the rest.

import { readFile } from 'node:fs/promises';
import { text as textOf } from 'node:stream/consumers';
import {
  type Command,
  COMMAND_STATUSES,
  type CommandUpload,
  endpoints,
  FINDING_OUTCOMES,
  limits,
  PRIORITIES,
} from '@muster/contract';
import { command } from '../command.ts';
import { UsageError } from '../errors.ts';
import type { Io } from '../lib/io.ts';
import { LIST, printList } from '../list.ts';
import {
  duration,
  flag,
  given,
  integer,
  isoOf,
  labels,
  moment,
  text,
  texts,
  word,
} from '../options.ts';
import type { Field, Printer } from '../print/printer.ts';
import type { Column } from '../print/table.ts';
import { counted, jsonText } from '../print/text.ts';
import { durationText, minuteOf, momentOf } from '../print/time.ts';
import { commandStyle } from '../print/words.ts';
import { logs, why } from './command-follow.ts';

const layout = (print: Printer): Column<Command>[] => [
  { title: 'ID', cell: (row) => row.id },
  { title: 'TYPE', cell: (row) => row.type, shrink: 'end' },
  {
    title: 'STATUS',
    cell: (row) => row.status,
    paint: (cell, row) => print.style(commandStyle(row.status), cell),
  },
  { title: 'PRIORITY', cell: (row) => row.priority },
  { title: 'ATTEMPT', cell: (row) => `${row.attempt}/${row.max_attempts}` },
  { title: 'CREATED', cell: (row) => minuteOf(row.created_at) },
];

function fields(row: Command, nowMs: number): Field[] {
  const time = (name: string, at: string | null): Field => [
    name,
    at === null ? null : momentOf(at, nowMs),
  ];
  return [
    ['ID', row.id],
    ['Type', row.type],
    ['Status', row.reason === null ? row.status : `${row.status} (${row.reason})`],
    ['Priority', row.priority],
    ['For runner', row.runner_id ?? 'whichever claims it first'],
    ['Asks for', targetText(row.target)],
    ['Held by', row.holder_id],
    ['Attempt', `${row.attempt} of ${row.max_attempts}`],
    ['Timeout', durationText(row.timeout_seconds)],
    ['After failure', row.retry_on_fail ? 'is offered again while attempts are left' : null],
    ['Created', `${momentOf(row.created_at, nowMs)} by ${row.created_by}`],
    time('Not before', row.scheduled_at),
    time('Expires', row.expires_at),
    time('Claimed', row.acknowledged_at),
    time('Started', row.started_at),
    time('Lease until', row.lease_expires_at),
    time('Cancel asked', row.cancel_requested_at),
    time('Ended', row.completed_at),
    [
      'Progress',
      row.progress === null
        ? null
        : [
            row.progress.percent === undefined ? '' : `${row.progress.percent} %`,
            row.progress.message ?? '',
          ]
            .filter((part) => part !== '')
            .join(': '),
    ],
    ['Log', row.log.lines === 0 ? null : `${counted(row.log.lines, 'line')}: muster commands logs`],
    ['Error', row.error_message],
    ['Payload', documentText(row.payload)],
    ['Result', documentText(row.result)],
  ];
}

function targetText(target: Command['target']): string | null {
  if (target === null) return null;
  const labels = Object.entries(target.labels).map(([key, value]) => `label ${key}=${value}`);
  const tools = target.tools.map((tool) => `tool ${tool}`);
  const able = target.capabilities.map((capability) => `capability ${capability}`);
  return [...labels, ...tools, ...able].join(', ');
}

const documentText = (value: unknown): string | null =>
  value === null || value === undefined ? null : jsonText(value);

const list = command({
  name: 'commands list',
  summary: 'List the commands, newest first',
  operands: [],
  options: {
    ...LIST,
    status: word(COMMAND_STATUSES, 'only those in this state'),
    type: text('TYPE', 'only those of this type'),
    runner: text('ID', 'only those of this runner'),
  },
  examples: ['muster commands list --status pending', 'muster commands list --type scan --json'],
  run: (context, _operands, { status, type, runner, ...paging }) => {
    const filters = given({ status, type, runner_id: runner });
    return printList(
      context,
      paging,
      (page) => context.operator(endpoints.listCommands, { query: { ...page, ...filters } }),
      {
        layout: layout(context.print),
        empty: 'No commands yet. Create one: muster commands create health_check',
        filters,
      },
    );
  },
});

const show = command({
  name: 'commands show',
  summary: 'Show one command with its attempts and uploads',
  operands: ['ID'],
  options: {},
  examples: ['muster commands show 0199c3f2-6b1e-7c5a-9d7e-3f1b2a4c5d6e'],
  run: async (context, [id]) => {
    const found = await context.operator(endpoints.showCommand, { params: { id } });
    const { print, io } = context;
    print.result(found, () => {
      const nowMs = io.nowMs();
      const attempts = found.attempts.map((each): Field => {
        const end = each.ended_at === null ? 'not ended' : momentOf(each.ended_at, nowMs);
        const from = momentOf(each.acknowledged_at, nowMs);
        return [
          `Attempt ${each.attempt}`,
          `${each.outcome ?? 'under way'}: runner ${each.runner_id}, ${from} to ${end}`,
        ];
      });
      const uploads = found.uploads.map(
        ({ id: upload, state, receipt }): Field => [
          'Upload',
          `${upload} ${receipt?.outcome ?? state}${receipt === null ? '' : `: ${receiptText(receipt)}`}`,
        ],
      );
      return print.fields([...fields(found, nowMs), ...attempts, ...uploads]);
    });
  },
});

/** `12 findings: 3 created, 9 unchanged; 2 resolved`. */
function receiptText({ findings, resolved }: NonNullable<CommandUpload['receipt']>): string {
  const outcomes = FINDING_OUTCOMES.filter((outcome) => findings[outcome] > 0).map(
    (outcome) => `${findings[outcome]} ${outcome}`,
  );
  const received = counted(findings.received, 'finding');
  const told = outcomes.length === 0 ? received : `${received}: ${outcomes.join(', ')}`;
  return resolved === 0 ? told : `${told}; ${resolved} resolved`;
}

const create = command({
  name: 'commands create',
  summary: 'Create a command for one runner, or for whichever claims it first',
  details: [
    'Known types are scan, collect, health_check, validate, config_update and cancel; other types pass as they are. The payload is JSON, ' +
      'or @FILE to read it from a file, or @- to read it from stdin.',
  ],
  operands: ['TYPE'],
  options: {
    payload: text('JSON|@FILE', 'what the runner is told'),
    runner: text('ID', 'the only runner that may claim it'),
    label: labels('only runners with this label may claim it'),
    tool: texts('NAME', 'only runners that report this tool'),
    capability: texts('NAME', 'only runners that report this capability'),
    priority: word(PRIORITIES, 'default normal'),
    'expires-in': duration('unclaimed so long, it expires: 90s, 15m, 2h, 7d'),
    'not-before': moment('when it may be claimed: a time, or from now (15m)'),
    timeout: duration('how long it may run; default 1h'),
    'max-attempts': integer('N', 1, limits.commandAttemptsMax, 'claims at most; default 3'),
    'retry-on-fail': flag('offer it again when a runner reports failure'),
  },
  examples: [
    'muster commands create health_check --runner 0199c3f2-6b1e-7c5a-9d7e-3f1b2a4c5d6e',
    'muster commands create scan --payload \'{"scanner":"semgrep","target":"."}\' --timeout 30m',
    'muster commands create scan --payload @scan.json --priority high --expires-in 2h',
    'muster commands create collect --payload \'{"collector":"github"}\' --label zone=dmz',
  ],
  run: async (context, [type], options) => {
    const { io, print } = context;
    const { runner, priority, timeout, label, tool, capability } = options;
    const target = given({ labels: label, tools: tool, capabilities: capability });
    const notBefore = options['not-before'];
    const body = {
      type,
      ...given({
        payload: options.payload === undefined ? undefined : await payloadOf(options.payload, io),
        runner_id: runner,
        target: Object.keys(target).length === 0 ? undefined : target,
        priority,
        expires_in: options['expires-in'],
        scheduled_at: notBefore === undefined ? undefined : isoOf(notBefore, io.nowMs()),
        timeout,
        max_attempts: options['max-attempts'],
        // False is the server's own default; an absent flag sends nothing.
        retry_on_fail: options['retry-on-fail'] ? true : undefined,
      }),
    };
    const made = await context.operator(endpoints.createCommand, { body });
    print.result(made, () =>
      print.line(
        `Command ${made.id} is ${made.status}. Follow it: muster commands show ${made.id}`,
      ),
    );
  },
});

/** The JSON of `--payload`, from the command line, a file or stdin. */
async function payloadOf(given: string, io: Io): Promise<unknown> {
  const file = given.startsWith('@') ? given.slice(1) : null;
  try {
    const json =
      file === null ? given : file === '-' ? await textOf(io.input) : await readFile(file, 'utf8');
    return JSON.parse(json) as unknown;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`--payload: ${reason}.`, 'commands create');
  }
}

const cancel = command({
  name: 'commands cancel',
  summary: 'Cancel a command',
  details: [
    'A pending command ends at once. A runner that holds it is asked to stop with its next heartbeat.',
  ],
  operands: ['ID'],
  options: {},
  examples: ['muster commands cancel 0199c3f2-6b1e-7c5a-9d7e-3f1b2a4c5d6e'],
  run: async (context, [id]) => {
    const row = await context.operator(endpoints.cancelCommand, { params: { id } });
    const { print } = context;
    const text =
      row.status === 'canceled'
        ? `Command ${row.id} is canceled.`
        : `Command ${row.id} is ${row.status}; its runner is asked to stop.`;
    print.result(row, () => print.line(text));
  },
});

export const commandCommands = [list, create, show, why, logs, cancel];

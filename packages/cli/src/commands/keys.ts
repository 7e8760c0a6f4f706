// muster keys … and muster enrolment-tokens …: what runners and operators prove themselves with.

import { type ApiKey, endpoints, KEY_SCOPES } from '@muster/contract';
import { command } from '../command.ts';
import type { Context } from '../context.ts';
import { UsageError } from '../errors.ts';
import { LIST, printList } from '../list.ts';
import { duration, given, integer, labels, text, words } from '../options.ts';
import { secret } from '../print/secret.ts';
import type { Column } from '../print/table.ts';
import { durationText, minuteOf } from '../print/time.ts';

const expiry = (key: ApiKey): string =>
  key.expires_at === null ? 'never' : minuteOf(key.expires_at);

const keyLayout: Column<ApiKey>[] = [
  { title: 'KEY ID', cell: (row) => row.key_id },
  { title: 'KIND', cell: (row) => row.kind },
  { title: 'NAME', cell: (row) => row.name, shrink: 'end' },
  { title: 'STATE', cell: (row) => row.state },
  {
    title: 'MAY',
    cell: (row) => row.role ?? row.scopes?.join(',') ?? 'all',
    shrink: 'end',
    isOptional: true,
  },
  { title: 'LAST USED', cell: (row) => minuteOf(row.last_used_at) },
  { title: 'EXPIRES', cell: expiry },
];

const tokenLayout: Column<ApiKey>[] = [
  { title: 'KEY ID', cell: (row) => row.key_id },
  { title: 'NAME', cell: (row) => row.name, shrink: 'end' },
  { title: 'STATE', cell: (row) => row.state },
  { title: 'USES LEFT', cell: (row) => String(row.uses_left ?? '-') },
  { title: 'LAST USED', cell: (row) => minuteOf(row.last_used_at) },
  { title: 'EXPIRES', cell: expiry },
];

const listKeys = command({
  name: 'keys list',
  summary: 'List runner keys and operator tokens, newest first',
  operands: [],
  options: { ...LIST, runner: text('ID', 'only the keys of this runner') },
  examples: [
    'muster keys list',
    'muster keys list --runner 0199c3f2-6b1e-7c5a-9d7e-3f1b2a4c5d6e --all',
  ],
  run: (context, _operands, { runner, ...paging }) => {
    const filters = given({ runner_id: runner });
    return printList(
      context,
      paging,
      (page) => context.operator(endpoints.listKeys, { query: { ...page, ...filters } }),
      {
        layout: keyLayout,
        empty: 'No keys yet. Create a runner and its key: muster runners create build-1',
        filters,
      },
    );
  },
});

const createKey = command({
  name: 'keys create',
  summary: 'Add a key to a runner',
  details: [
    'The key is printed once, on stdout. Without --expires-in it does not expire; every key may send heartbeats.',
  ],
  operands: [],
  options: {
    runner: text('ID', 'the runner; required'),
    name: text('TEXT', 'what the key is called'),
    scope: words(KEY_SCOPES, 'what the key may do; default everything'),
    'expires-in': duration('when it ends, from now: 90s, 15m, 2h, 7d'),
  },
  examples: [
    'muster keys create --runner 0199c3f2-6b1e-7c5a-9d7e-3f1b2a4c5d6e',
    'muster keys create --runner 0199c3f2-6b1e-7c5a-9d7e-3f1b2a4c5d6e --scope ingest --expires-in 90d',
  ],
  run: async (context, _operands, options) => {
    if (options.runner === undefined) {
      throw new UsageError('muster keys create needs --runner ID.', 'keys create');
    }
    const { name, scope: scopes } = options;
    const body = {
      runner_id: options.runner,
      ...given({ name, scopes, expires_in: options['expires-in'] }),
    };
    const made = await context.operator(endpoints.createKey, { body });
    secret(context.print, made, made.api_key, [
      `Key ${made.key.key_id} is created; it expires: ${expiry(made.key)}.`,
      'Use it as MUSTER_KEY.',
    ]);
  },
});

const listTokens = command({
  name: 'enrolment-tokens list',
  summary: 'List enrolment tokens, newest first',
  operands: [],
  options: LIST,
  examples: ['muster enrolment-tokens list'],
  run: (context, _operands, paging) =>
    printList(
      context,
      paging,
      (page) => context.operator(endpoints.listEnrolmentTokens, { query: page }),
      {
        layout: tokenLayout,
        empty: 'No enrolment tokens yet. Create one: muster enrolment-tokens create --uses 10',
        filters: {},
      },
    ),
});

const createToken = command({
  name: 'enrolment-tokens create',
  summary: 'Create a token with which runners enrol themselves',
  details: [
    'The token is printed once, on stdout. Each runner that enrols uses it up once and gets the labels.',
  ],
  operands: [],
  options: {
    name: text('TEXT', 'what the token is called'),
    uses: integer('N', 1, 100_000, 'how many runners may enrol; default 1'),
    'expires-in': duration('when it ends, from now: 90s, 15m, 2h; default 7d'),
    label: labels('a label for each runner that enrols'),
  },
  examples: [
    'muster enrolment-tokens create --uses 20 --expires-in 2d --label team=web',
    'muster enrolment-tokens create --json',
  ],
  run: async (context, _operands, { name, uses, label, ...options }) => {
    const body = given({ name, uses, labels: label, expires_in: options['expires-in'] });
    const made = await context.operator(endpoints.createEnrolmentToken, { body });
    secret(context.print, made, made.api_key, [
      `Enrolment token ${made.key.key_id} is created: ${made.key.uses_left ?? 1} uses, ${lifeOf(context, made.key)}.`,
      'Runners enrol with it.',
    ]);
  },
});

function lifeOf(context: Context, key: ApiKey): string {
  if (key.expires_at === null) return 'for ever';
  const seconds = Math.round((Date.parse(key.expires_at) - context.io.nowMs()) / 60_000) * 60;
  return `good for ${durationText(seconds)}, until ${minuteOf(key.expires_at)}`;
}

const revoke = (noun: string, summary: string) =>
  command({
    name: `${noun} revoke`,
    summary,
    operands: ['KEY_ID'],
    options: {},
    examples: [`muster ${noun} revoke 4fT9aQm2XcLb`],
    run: async (context, [id]) => {
      const key = await context.operator(endpoints.revokeKey, { params: { id } });
      context.print.result(key, () => context.print.line(`${key.prefix}… is revoked.`));
    },
  });

export const keyCommands = [
  listTokens,
  createToken,
  revoke('enrolment-tokens', 'Revoke an enrolment token; runners that enrolled with it stay'),
  listKeys,
  createKey,
  revoke('keys', 'Revoke a runner key or an operator token at once'),
];

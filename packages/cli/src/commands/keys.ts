// muster keys … and muster enrolment-tokens …: the secrets of runners and operators. A new secret
// is printed once.

import { type ApiKey, endpoints, KEY_SCOPES } from '@muster/contract';
import { command } from '../command.ts';
import type { Context } from '../context.ts';
import { UsageError } from '../errors.ts';
import { LIST, printList } from '../list.ts';
import { duration, flag, given, integer, labels, text, texts, words } from '../options.ts';
import { secret } from '../print/secret.ts';
import type { Column } from '../print/table.ts';
import { durationText, minuteOf } from '../print/time.ts';

const expiry = (key: ApiKey): string =>
  key.expires_at === null ? 'never' : minuteOf(key.expires_at);

const allowedFrom = (key: ApiKey): string => key.allow_from?.join(',') ?? 'anywhere';

/** The labels that an enrolment token gives, as `team=web,zone=eu`. */
const givenLabels = ({ labels: named }: ApiKey): string =>
  Object.entries(named ?? {})
    .map((label) => label.join('='))
    .join(',') || '-';

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
  { title: 'CREATED', cell: (row) => minuteOf(row.created_at), isOptional: true },
  { title: 'LAST USED', cell: (row) => minuteOf(row.last_used_at) },
  { title: 'FROM', cell: (row) => row.last_used_from ?? '-', shrink: 'end', isOptional: true },
  { title: 'ALLOWED FROM', cell: allowedFrom, shrink: 'end', isOptional: true },
  { title: 'EXPIRES', cell: expiry },
];

const tokenLayout: Column<ApiKey>[] = [
  { title: 'KEY ID', cell: (row) => row.key_id },
  { title: 'NAME', cell: (row) => row.name, shrink: 'end' },
  { title: 'STATE', cell: (row) => row.state },
  { title: 'USES LEFT', cell: (row) => String(row.uses_left ?? '-') },
  { title: 'GIVES', cell: givenLabels, shrink: 'end', isOptional: true },
  {
    title: 'MAY ASK FOR',
    cell: (row) => row.allowed_labels?.join(',') ?? 'any',
    shrink: 'end',
    isOptional: true,
  },
  { title: 'CREATED', cell: (row) => minuteOf(row.created_at), isOptional: true },
  { title: 'LAST USED', cell: (row) => minuteOf(row.last_used_at) },
  { title: 'FROM', cell: (row) => row.last_used_from ?? '-', shrink: 'end', isOptional: true },
  { title: 'ALLOWED FROM', cell: allowedFrom, shrink: 'end', isOptional: true },
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
    from: texts('CIDR', 'an address or block it is accepted from; default anywhere'),
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
      ...given({ name, scopes, expires_in: options['expires-in'], allow_from: options.from }),
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
    'allow-label': texts('NAME[=VALUE]', 'a label that a runner may ask for; default any'),
    scope: words(KEY_SCOPES, 'what the keys made with it may do; default everything'),
    from: texts('CIDR', 'where the token and the keys made with it are accepted from'),
  },
  examples: [
    'muster enrolment-tokens create --uses 20 --expires-in 2d --label team=web',
    'muster enrolment-tokens create --json',
  ],
  run: async (context, _operands, { name, uses, label, ...options }) => {
    const body = given({
      name,
      uses,
      labels: label,
      expires_in: options['expires-in'],
      allowed_labels: options['allow-label'],
      scopes: options.scope,
      allow_from: options.from,
    });
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

const rollKey = command({
  name: 'keys roll',
  summary: 'Make the successor of a runner key',
  details: [
    'The new key is printed once, on stdout. The old one stays good until 15 minutes after the first use of the new one.',
  ],
  operands: ['KEY_ID'],
  options: { 'expires-in': duration('how long the new key lives; default as long as the old one') },
  examples: ['muster keys roll 4fT9aQm2XcLb', 'muster keys roll 4fT9aQm2XcLb --expires-in 90d'],
  run: async (context, [id], options) => {
    const body = given({ expires_in: options['expires-in'] });
    const made = await context.operator(endpoints.rollKey, { params: { id }, body });
    secret(context.print, made, made.api_key, [
      `Key ${made.key.key_id} will succeed ${id} with its first use; it expires: ${expiry(made.key)}.`,
      'Use it as MUSTER_KEY.',
    ]);
  },
});

const expireKey = command({
  name: 'keys expire',
  summary: 'Set when a key or token expires',
  operands: ['KEY_ID'],
  options: {
    in: duration('how long it is still good: 90s, 15m, 2h, 7d'),
    now: flag('it is good no more'),
    never: flag('it does not expire'),
  },
  examples: ['muster keys expire 4fT9aQm2XcLb --in 7d', 'muster keys expire 4fT9aQm2XcLb --never'],
  run: async (context, [id], { in: seconds, now, never }) => {
    if ([seconds !== undefined, now, never].filter(Boolean).length !== 1) {
      throw new UsageError('muster keys expire needs one of --in, --now, --never.', 'keys expire');
    }
    const body = { expires_in: never ? null : (seconds ?? 0) };
    const key = await context.operator(endpoints.changeKey, { params: { id }, body });
    context.print.result(key, () => context.print.line(`${key.prefix}… expires: ${expiry(key)}.`));
  },
});

const allowKey = command({
  name: 'keys allow',
  summary: 'Set from where a key or token is accepted',
  details: ['Replaces what was allowed before. Holds on every node within a second.'],
  operands: ['KEY_ID'],
  options: {
    from: texts('CIDR', 'an address or block, IPv4 or IPv6'),
    anywhere: flag('from any address'),
  },
  examples: [
    'muster keys allow 4fT9aQm2XcLb --from 192.0.2.0/24 --from 2001:db8::/32',
    'muster keys allow 4fT9aQm2XcLb --anywhere',
  ],
  run: async (context, [id], { from, anywhere }) => {
    if ((from === undefined) !== anywhere) {
      throw new UsageError('muster keys allow needs either --from or --anywhere.', 'keys allow');
    }
    const body = { allow_from: from ?? null };
    const key = await context.operator(endpoints.changeKey, { params: { id }, body });
    context.print.result(key, () =>
      context.print.line(`${key.prefix}… is accepted from: ${allowedFrom(key)}.`),
    );
  },
});

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
  rollKey,
  expireKey,
  allowKey,
  revoke('keys', 'Revoke a runner key or an operator token at once'),
];

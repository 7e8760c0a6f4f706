// muster serve and muster admin …: the commands that work on the server's machine, through the
// server package.

import { ROLES } from '@muster/contract';
import { command } from '../command.ts';
import type { Context } from '../context.ts';
import type { ExitCode } from '../exit-codes.ts';
import { given, integer, text, word } from '../options.ts';
import { type AdminRequest, loadServer } from '../server.ts';

const serve = command({
  name: 'serve',
  summary: 'Run the server',
  details: [
    'It is configured by the environment. The first start makes a database and prints an operator token, an enrolment ' +
      'token and the key of a first runner. SIGTERM and Ctrl-C stop it in order.',
  ],
  operands: [],
  options: {},
  examples: ['muster serve', 'MUSTER_PORT=8080 MUSTER_DATA=/var/lib/muster muster serve'],
  help: async () => `Configuration\n${(await loadServer()).configReference().trimEnd()}\n`,
  run: async () => (await (await loadServer()).serve({ help: false })) as ExitCode,
});

const tenant = text('NAME', 'the tenant; default "default"');

const operatorToken = command({
  name: 'admin operator-token',
  summary: "Make an operator token, on the server's machine",
  details: [
    'Works on the database itself, with the configuration of `muster serve`, and needs no token: it is how the first ' +
      'one, or a lost one, is made.',
  ],
  operands: [],
  options: {
    tenant,
    name: text('TEXT', 'what the token is called'),
    role: word(ROLES, 'what it may do; default admin'),
  },
  examples: ['muster admin operator-token --name alice --role analyst'],
  run: (context, _operands, { tenant: of, name, role }) =>
    make(context, { what: 'operator-token', tenant: of ?? 'default', ...given({ name, role }) }),
});

const enrolmentToken = command({
  name: 'admin enrolment-token',
  summary: "Make an enrolment token, on the server's machine",
  operands: [],
  options: {
    tenant,
    name: text('TEXT', 'what the token is called'),
    uses: integer('N', 1, 100_000, 'how many runners may enrol; default 1'),
  },
  examples: ['muster admin enrolment-token --uses 10'],
  run: (context, _operands, { tenant: of, name, uses }) =>
    make(context, { what: 'enrolment-token', tenant: of ?? 'default', ...given({ name, uses }) }),
});

const runnerKey = command({
  name: 'admin runner-key',
  summary: "Make a runner and its key, on the server's machine",
  operands: [],
  options: { tenant, name: text('TEXT', 'what the runner is called') },
  examples: ['muster admin runner-key --name build-1'],
  run: (context, _operands, { tenant: of, name }) =>
    make(context, { what: 'runner-key', tenant: of ?? 'default', ...given({ name }) }),
});

async function make({ print }: Context, request: AdminRequest): Promise<void> {
  const made = await (await loadServer()).admin(request);
  print.note(`Made: ${made.text}.`);
  print.result({ secret: made.secret }, () => `${made.secret}\n`);
  print.note('It is not shown again.');
}

export const serverCommands = [serve, operatorToken, enrolmentToken, runnerKey];

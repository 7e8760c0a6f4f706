// Help on every level: all commands, the commands of a noun, one command, exit codes. Made from the
// definitions that are parsed, so that the two can't differ. Pure.

import { verbsOf } from './arguments.ts';
import { type Command, GLOBAL } from './command.ts';
import { EXIT, EXIT_MEANING } from './exit-codes.ts';
import type { Options } from './options.ts';
import { wrap } from './print/text.ts';

/** Lines longer than this are hard to read, however wide the terminal is. */
const HELP_COLUMNS_MAX = 100;

export function helpAll(commands: readonly Command[], columns: number | null): string {
  return [
    'muster: runners report in, findings come together.\n',
    'Usage: muster COMMAND [OPTION…]\n',
    section(
      'Commands',
      commands.map((each) => [usage(each), each.summary]),
      columns,
    ),
    section('Options of every command', optionRows(GLOBAL), columns),
    section(
      'More',
      [
        ['muster help COMMAND', 'explain a command, with examples'],
        ['muster help exit-codes', 'what the exit code says'],
      ],
      columns,
    ),
  ].join('\n');
}

export function helpNoun(
  noun: string,
  commands: readonly Command[],
  columns: number | null,
): string {
  const own = commands.filter(({ name }) => name.startsWith(`${noun} `));
  const examples = own.flatMap((each) => each.examples.slice(0, 1));
  return [
    `Usage: muster ${noun} ${verbsOf(noun, commands).join('|')} [OPTION…]\n`,
    section(
      'Commands',
      own.map((each) => [usage(each), each.summary]),
      columns,
    ),
    `Examples\n${examples.map((each) => `  ${each}\n`).join('')}`,
    `See: muster help ${own[0]?.name ?? noun}\n`,
  ].join('\n');
}

export function helpCommand(command: Command, columns: number | null): string {
  const room = Math.min(columns ?? HELP_COLUMNS_MAX, HELP_COLUMNS_MAX);
  const parts = [
    `${wrap(`${command.summary}.`, room)}\n`,
    `Usage: muster ${usage(command)} [OPTION…]\n`,
    ...(command.details ?? []).map((paragraph) => `${wrap(paragraph, room)}\n`),
  ];
  const own = optionRows(command.options);
  if (own.length > 0) parts.push(section('Options', own, columns));
  parts.push(section('Options of every command', optionRows(GLOBAL), columns));
  parts.push(`Examples\n${command.examples.map((each) => `  ${each}\n`).join('')}`);
  return parts.join('\n');
}

export function helpExitCodes(columns: number | null): string {
  const names = Object.keys(EXIT) as (keyof typeof EXIT)[];
  const rows = names.map((name) => [String(EXIT[name]), EXIT_MEANING[name]] as const);
  const note =
    'Of several files in one upload, the gravest counts: 1 before 4 before 0; the first 3 or 5 ends the command.';
  return `${section('Exit codes', rows, columns)}\n${wrap(note, columns ?? HELP_COLUMNS_MAX)}\n`;
}

const usage = (command: Command): string => [command.name, ...command.operands].join(' ');

const optionRows = (options: Options): [string, string][] =>
  Object.entries(options).map(([name, option]) => {
    const short = name === 'help' ? '-h, ' : '';
    const value = option.value === null ? '' : ` ${option.value}`;
    const env = option.env === undefined ? '' : ` (or ${option.env})`;
    const often = option.isRepeatable ? '; may be repeated' : '';
    return [`${short}--${name}${value}`, `${option.meaning}${env}${often}`];
  });

/** A left column wider than this puts its explanation on the next line. */
const LEFT_MAX = 34;

function section(
  title: string,
  rows: readonly (readonly [string, string])[],
  columns: number | null,
): string {
  const left = Math.min(LEFT_MAX, Math.max(...rows.map(([name]) => name.length)));
  const indent = ' '.repeat(left + 4);
  const room = Math.min(columns ?? HELP_COLUMNS_MAX, HELP_COLUMNS_MAX);
  const text = rows.map(([name, meaning]) => {
    const head = name.length > left ? `  ${name}\n${indent}` : `  ${name.padEnd(left)}  `;
    const body = wrap(meaning, Math.max(20, room - indent.length)).replaceAll('\n', `\n${indent}`);
    return `${head}${body}\n`;
  });
  return `${title}\n${text.join('')}`;
}

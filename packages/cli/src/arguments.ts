// Turns argv into a command, its operands and its options, or into a UsageError that names the
// nearest existing thing. Options may stand anywhere, also before the command. Pure, except for the
// environment, which is handed in.

import { parseArgs } from 'node:util';
import { type Command, GLOBAL, type GlobalValues } from './command.ts';
import { UsageError } from './errors.ts';
import { nearest } from './nearest.ts';
import type { Options, Values } from './options.ts';

interface Parsed {
  /** Words and operands as given. */
  readonly positionals: readonly string[];
  /** Values by option name, in the order given; a flag counts as one empty value. */
  readonly given: ReadonlyMap<string, readonly string[]>;
}

/**
 * Reads argv by the options of all commands at once: the end of a value and the beginning of the
 * command must not depend on the command. So an option takes a value in every command or in none; a
 * test holds the commands to it.
 */
export function parseArgv(argv: readonly string[], commands: readonly Command[]): Parsed {
  const known: Options = Object.assign({}, GLOBAL, ...commands.map(({ options }) => options));
  const { tokens } = parseArgs({
    args: [...argv],
    options: Object.fromEntries(
      Object.entries(known).map(([name, option]) => [
        name,
        {
          type: option.value === null ? 'boolean' : 'string',
          ...(name === 'help' ? { short: 'h' } : {}),
        },
      ]),
    ),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const positionals: string[] = [];
  const given = new Map<string, string[]>();
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value);
    if (token.kind !== 'option') continue;
    const { name, rawName, value } = token;
    const option = Object.hasOwn(known, name) ? known[name] : undefined;
    // Which command lacks the option is known later: the message can then name what that command
    // has instead.
    if (option === undefined) {
      given.set(name, []);
      continue;
    }
    if (option.value === null && value !== undefined) {
      throw new UsageError(`${rawName} takes no value.`);
    }
    const swallowed = token.inlineValue === false && value !== undefined && /^-./.test(value);
    if (option.value !== null && (value === undefined || swallowed)) {
      throw new UsageError(`${rawName} needs a value: ${rawName} ${option.value}.`);
    }
    given.set(name, [...(given.get(name) ?? []), value ?? '']);
  }
  return { positionals, given };
}

interface Found {
  readonly command: Command;
  readonly operands: readonly string[];
}

/**
 * The command that the first words name. Null: they name a group (`muster findings`), or there are
 * no words.
 */
export function findCommand(
  positionals: readonly string[],
  commands: readonly Command[],
): Found | null {
  const [first, second] = positionals;
  if (first === undefined) return null;
  for (const length of [2, 1]) {
    const name = positionals.slice(0, length).join(' ');
    const command = commands.find((candidate) => candidate.name === name);
    if (command !== undefined) return { command, operands: positionals.slice(length) };
  }
  const verbs = verbsOf(first, commands);
  if (verbs.length === 0) {
    const nouns = [...new Set(commands.map(({ name }) => name.split(' ', 1)[0] as string)), 'help'];
    throw new UsageError(`There is no command "${first}".${suggestion(first, nouns, '')}`);
  }
  if (second === undefined) return null;
  throw new UsageError(
    `There is no command "${first} ${second}".${suggestion(second, verbs, `${first} `)}`,
    first,
  );
}

/** The second words of the commands whose first word this is. */
export const verbsOf = (noun: string, commands: readonly Command[]): string[] =>
  commands.flatMap(({ name }) =>
    name.startsWith(`${noun} `) ? [name.slice(noun.length + 1)] : [],
  );

function suggestion(given: string, known: readonly string[], prefix = '--'): string {
  const close = nearest(given, known);
  return close === null ? '' : ` Did you mean ${prefix}${close}?`;
}

/** The values of the options that every command takes. */
export const readGlobals = (
  parsed: Parsed,
  env: Readonly<Record<string, string | undefined>>,
): GlobalValues => readOptions(GLOBAL, parsed, env);

/** The options of one command; an option that the command doesn't have is refused. */
export function readCommandOptions(
  command: Command,
  parsed: Parsed,
  env: Readonly<Record<string, string | undefined>>,
): Values<Options> {
  refuseOthers(parsed, { ...GLOBAL, ...command.options }, command.name);
  return readOptions(command.options, parsed, env);
}

/**
 * UsageError for an option that isn't among these. `name`: the command, null where there is none.
 */
export function refuseOthers(parsed: Parsed, options: Options, name: string | null): void {
  const own = Object.keys(options);
  for (const other of parsed.given.keys()) {
    if (own.includes(other)) continue;
    const dashes = other.length === 1 ? '-' : '--';
    throw new UsageError(
      `${name === null ? 'muster' : `muster ${name}`} has no option ${dashes}${other}.${suggestion(other, own)}`,
      name,
    );
  }
}

function readOptions<O extends Options>(
  options: O,
  parsed: Parsed,
  env: Readonly<Record<string, string | undefined>>,
): Values<O> {
  const values = Object.entries(options).map(([name, option]) => {
    const given = parsed.given.get(name) ?? [];
    if (given.length > 1 && option.value !== null && !option.isRepeatable) {
      throw new UsageError(`--${name} is given twice.`);
    }
    const fromEnv = option.env === undefined ? '' : (env[option.env]?.trim() ?? '');
    return [name, option.read(given.length === 0 && fromEnv !== '' ? [fromEnv] : given, name)];
  });
  return Object.fromEntries(values) as Values<O>;
}

/** Refuses too few and too many operands. */
export function checkOperands(command: Command, operands: readonly string[]): void {
  const { operands: names, name } = command;
  const missing = names.slice(operands.length).map((each) => each.replace('…', ''));
  if (missing.length > 0) {
    throw new UsageError(`muster ${name} needs ${missing.join(' and ')}.`, name);
  }
  const isOpen = names.at(-1)?.endsWith('…') === true;
  const extra = operands[names.length];
  if (extra !== undefined && !isOpen) {
    throw new UsageError(`muster ${name} does not take "${extra}".`, name);
  }
  if (operands.includes('')) throw new UsageError(`An operand of muster ${name} is empty.`, name);
}

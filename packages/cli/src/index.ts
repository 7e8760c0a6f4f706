// The muster command from argv to exit code: parses, finds the command, prints help or runs the
// command, explains errors. Besides the tests only bin/muster.mjs loads this file.

import { createRequire } from 'node:module';
import {
  checkOperands,
  findCommand,
  parseArgv,
  readCommandOptions,
  readGlobals,
  refuseOthers,
} from './arguments.ts';
import { type Command, GLOBAL } from './command.ts';
import { commands } from './commands/all.ts';
import { makeContext } from './context.ts';
import { explain } from './errors.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { helpAll, helpCommand, helpExitCodes, helpNoun } from './help.ts';
import type { Io } from './lib/io.ts';
import { Printer } from './print/printer.ts';

export { type Io, processIo, type Sink } from './lib/io.ts';

/** Runs one command line. Never rejects: every error is told on stderr and gives an exit code. */
export async function main(argv: readonly string[], io: Io): Promise<ExitCode> {
  try {
    return await dispatch(argv, io);
  } catch (error) {
    const { exit, text } = explain(error);
    // The options may be the fault: only those that can't fail are read.
    const options = { json: false, 'no-color': argv.includes('--no-color') };
    new Printer(io, options).error(text);
    return exit;
  }
}

async function dispatch(argv: readonly string[], io: Io): Promise<ExitCode> {
  const parsed = parseArgv(argv, commands);
  const globals = readGlobals(parsed, io.env);
  if (globals.version) return say(io, `${version()}\n`);
  const [first, ...others] = parsed.positionals;
  if (first === 'help') return help(others, io, argv);
  if (globals.help) return help(parsed.positionals, io, argv);
  const found = findCommand(parsed.positionals, commands);
  if (found === null) {
    refuseOthers(parsed, GLOBAL, null);
    // Nothing was done: a script that lost its words in an unset variable must notice.
    const { columns } = io.err;
    io.err.write(
      first === undefined ? helpAll(commands, columns) : helpNoun(first, commands, columns),
    );
    return EXIT.usage;
  }
  const { command, operands } = found;
  const options = readCommandOptions(command, parsed, io.env);
  checkOperands(command, operands);
  const exit = await command.run(makeContext(io, globals), operands, options);
  return exit ?? EXIT.ok;
}

/** `muster help …` and `muster … --help`; operands after the command's own words don't matter. */
async function help(words: readonly string[], io: Io, argv: readonly string[]): Promise<ExitCode> {
  const { columns } = io.out;
  const [first] = words;
  if (first === undefined || first === 'help') return say(io, helpAll(commands, columns));
  if (first === 'exit-codes') return say(io, helpExitCodes(columns));
  const found = findCommand(words, commands);
  if (found === null) return say(io, helpNoun(first, commands, columns));
  return say(io, helpCommand(found.command, columns) + (await addition(found.command, io, argv)));
}

async function addition(command: Command, io: Io, argv: readonly string[]): Promise<string> {
  if (command.help === undefined) return '';
  const globals = readGlobals(parseArgv(argv, commands), io.env);
  return `\n${await command.help(makeContext(io, globals))}`;
}

function say(io: Io, text: string): ExitCode {
  io.out.write(text);
  return EXIT.ok;
}

function version(): string {
  const found: unknown = createRequire(import.meta.url)('../package.json');
  return (found as { readonly version: string }).version;
}

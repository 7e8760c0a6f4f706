// The definition of a command: one value from which parsing, help and dispatch follow. Each file in
// commands/ defines the commands of one noun; commands/all.ts lists them.

import type { Context } from './context.ts';
import type { ExitCode } from './exit-codes.ts';
import { flag, type Options, textOrEnv, type Values } from './options.ts';

/** Operands by position; a name that ends in `…` may be repeated. */
type Operands<Names extends readonly string[]> = readonly [
  ...{ readonly [At in keyof Names]: string },
  ...string[],
];

export interface Command<
  O extends Options = Options,
  Names extends readonly string[] = readonly string[],
> {
  /** The words that call the command: `serve`, `findings list`. */
  readonly name: string;
  readonly summary: string;
  /** More than the summary says: paragraphs, each on one line. */
  readonly details?: readonly string[];
  /** The names of the operands, all of them required. */
  readonly operands: Names;
  readonly options: O;
  readonly examples: readonly string[];
  /** Prints text that is known only at run time; for `serve`. */
  help?(context: Context): Promise<string>;
  /** Resolves with the exit code; nothing stands for 0. Throws what errors.ts can explain. */
  run(context: Context, operands: Operands<Names>, options: Values<O>): Promise<ExitCode | void>;
}

/** Declares a command, keeping the types of its options and operands for `run`. */
export const command = <const O extends Options, const Names extends readonly string[]>(
  definition: Command<O, Names>,
): Command<O, Names> => definition;

/** Options that every command takes. */
export const GLOBAL = {
  url: textOrEnv('URL', 'MUSTER_URL', 'where the server is; default http://127.0.0.1:7878'),
  token: textOrEnv('TOKEN', 'MUSTER_TOKEN', 'operator token, for everything but upload'),
  key: textOrEnv('KEY', 'MUSTER_KEY', 'runner key, for upload'),
  json: flag('print one JSON document instead of text'),
  'no-color': flag('no colours; so does NO_COLOR'),
  help: flag('explain the command'),
  version: flag('print the version'),
} satisfies Options;
export type GlobalValues = Values<typeof GLOBAL>;

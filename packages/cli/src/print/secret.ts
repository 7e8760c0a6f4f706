// Prints a new key or token: once, plainly, on stdout. The words around it go to stderr, so that
// `$(…)` gets the secret alone.

import type { Printer } from './printer.ts';

/** `words`: what the secret is, then what to do with it. */
export function secret(
  print: Printer,
  document: unknown,
  text: string,
  words: readonly [before: string, after: string],
): void {
  print.note(words[0]);
  print.result(document, () => `${text}\n`);
  print.note(`It is not shown again. ${words[1]}`);
}

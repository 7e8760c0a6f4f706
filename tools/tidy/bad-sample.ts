// For the tests of the rules: turns a sample into the lines, or the messages, with which a rule
// refuses it.

import type { FileRule } from './source.ts';

/** The lines on which `rule` complains about `text` at `path`. */
export function refusedLines(rule: FileRule, path: string, text: string): number[] {
  return rule({ path, text }).map(({ line }) => line);
}

/** The complaints themselves. */
export function complaints(rule: FileRule, path: string, text: string): string[] {
  return rule({ path, text }).map(({ message }) => message);
}

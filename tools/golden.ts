// Golden files: a text that a test computes (SQL, a schema, a printed document) is compared with
// the file that is checked in, so that every change of the text is seen in review. `npm run golden`
// writes the files instead. The files live in test/golden/ of the package, and the formatter leaves
// them alone.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** `write` makes `golden` write instead of compare; set by `npm run golden`. */
const MODE_VARIABLE = 'MUSTER_GOLDEN';

/** Enough lines to see what changed; `git diff` after an update shows the rest. */
const DIFF_LINES_MAX = 20;

/** Unchanged lines before and after the changed ones. */
const CONTEXT_LINES = 2;

/**
 * Asserts that the file holds exactly `actual`; with MUSTER_GOLDEN=write, writes it and passes.
 * Line ends are compared as they are; a missing file fails like a different one.
 */
export function golden(file: string | URL, actual: string): void {
  const place = file instanceof URL ? file.pathname : file;
  const expected = readIfThere(file);
  if (expected === actual) return;
  if (process.env[MODE_VARIABLE] === 'write') {
    mkdirSync(path.dirname(place), { recursive: true });
    writeFileSync(file, actual);
    return;
  }
  const name = path.relative(process.cwd(), place);
  const report = expected === undefined ? 'the file is missing' : shortDiff(expected, actual);
  assert.fail(
    `${name} is not what was computed:\n${report}\nIf the change is meant: npm run golden`,
  );
}

function readIfThere(file: string | URL): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * The difference between two texts, as `-` expected and `+` actual lines around the first
 * difference: the common beginning and end are left out, and nothing is aligned in between.
 */
export function shortDiff(expected: string, actual: string): string {
  const before = expected.split('\n');
  const after = actual.split('\n');
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < shorter - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;

  const context = before
    .slice(Math.max(0, start - CONTEXT_LINES), start)
    .map((line) => `  ${line}`);
  const removed = before.slice(start, before.length - end).map((line) => `- ${line}`);
  const added = after.slice(start, after.length - end).map((line) => `+ ${line}`);
  const following = before.slice(before.length - end).slice(0, CONTEXT_LINES);
  return [
    `  line ${start + 1}:`,
    ...context,
    ...shortened(removed),
    ...shortened(added),
    ...following.map((line) => `  ${line}`),
  ].join('\n');
}

function shortened(lines: string[]): string[] {
  const hidden = lines.length - DIFF_LINES_MAX;
  return hidden > 0 ? [...lines.slice(0, DIFF_LINES_MAX), `  … ${hidden} more lines`] : lines;
}

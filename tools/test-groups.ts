// Which test files share a process, and the file that such a process begins with. To load the
// server takes a process most of a second, which a test of a few rules does not; and what one file
// has made V8 compile runs fast for the next. Each file is a suite of its own, one after the other:
// what it starts before its tests is stopped before the next file's begin. Called by check.ts.

import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { describe } from 'node:test';
import { pathToFileURL } from 'node:url';

/**
 * The end of the name of every file that a process of several test files begins with; test-tally.ts
 * knows them by it.
 */
export const GROUP_SUFFIX = '.group.mjs';

/**
 * Files of one process at most. At half, a third more processes are begun; at double, the longest
 * group ends long after all others.
 */
const FILES_MAX = 6;

/**
 * They begin first, in this order, and alone: one that began last, or behind others, would be
 * waited for.
 */
const LONG = [
  '/sim/sim.test.ts',
  '/crash-points.test.ts',
  '/e2e/kill.test.ts',
  '/e2e/',
  '/slices.test.ts',
  '/http/poison.test.ts',
  '/http/deployed-clients.test.ts',
  '/console/console.test.ts',
];

/** Folders whose files share a server by a hook of a common module, which belongs to one file. */
const APART = ['packages/runner/test/'];

/** Test files that run one after the other in one process. */
export interface Group {
  readonly name: string;
  /** At least one. */
  readonly files: readonly string[];
}

/** The files in groups of one folder each, in the order in which the processes should begin. */
export function groupsOf(files: readonly string[]): Group[] {
  const rankOf = (file: string): number => {
    const at = LONG.findIndex((part) => file.split(path.sep).join('/').includes(part));
    return at < 0 ? LONG.length : at;
  };
  const sorted = files.toSorted().toSorted((one, other) => rankOf(one) - rankOf(other));
  const isApart = (file: string): boolean =>
    APART.some((part) => file.split(path.sep).join('/').includes(part));
  const alone = sorted.filter((file) => rankOf(file) < LONG.length || isApart(file));
  const others = sorted.filter((file) => !alone.includes(file));
  const folders = Map.groupBy(others, (file) => path.dirname(file));
  const groups: Group[] = alone.map((file) => ({ name: file, files: [file] }));
  for (const [folder, inFolder] of folders) {
    const count = Math.ceil(inFolder.length / FILES_MAX);
    for (let at = 0; at < count; at += 1) {
      const own = inFolder.filter((_, index) => index % count === at);
      groups.push({ name: `${folder.split(path.sep).join('-')}-${at + 1}`, files: own });
    }
  }
  return groups;
}

/**
 * What `node --test` is to run for a group: its only file, or one that runs them all, written to
 * `folder`.
 */
export function entryOf({ name, files }: Group, folder: string): string {
  const [only = ''] = files;
  if (files.length === 1) return only;
  const entry = path.join(folder, name + GROUP_SUFFIX);
  const text = `import { runFiles } from ${JSON.stringify(import.meta.url)};
runFiles(${JSON.stringify(files, null, 2)});\n`;
  writeFileSync(entry, text);
  return entry;
}

/**
 * Called in the process of a group. Loaded by `require`, a file's tests and hooks become those of
 * the suite around it.
 */
export function runFiles(files: readonly string[]): void {
  const require = createRequire(pathToFileURL(`${process.cwd()}/`));
  for (const file of files) {
    void describe(file, () => {
      require(path.resolve(file));
    });
  }
}

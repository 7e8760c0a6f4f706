// `npm test`: types, lint, format and tests, each in a section of its own; all of them run,
// whatever fails. Fails when one of them failed, or when fewer tests ran than the floor in
// test-floor.json: a suite that silently lost its files must not be green. The very last line
// counts passed, failed and skipped.
//
//   npm test                               everything
//   npm test -- packages/server/test/db    only the tests under these paths, no checks, no floor
//   npm test -- <path> --test-name-pattern=durable    and further options of `node --test`

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import floor from './test-floor.json' with { type: 'json' };
import { entryOf, groupsOf } from './test-groups.ts';
import { TALLY_VARIABLE } from './test-reporter.ts';

const TEST_GLOBS = ['packages/*/test/**/*.test.ts', 'tools/**/*.test.ts'];

/** Test processes at a time: they wait for databases and browsers about as much as they compute. */
const TEST_CONCURRENCY = 4;

/** A section of the static part: programs of node_modules/.bin with their arguments. */
interface Section {
  title: string;
  programs: string[][];
}

/** A single checker of tsc: each of several would compute the types of the schemas for itself. */
const TSC = ['tsc', '--noEmit', '--checkers', '1'];

const SECTIONS: Section[] = [
  { title: 'types', programs: [TSC, [...TSC, '--project', 'packages/console']] },
  { title: 'lint', programs: [['oxlint', '--type-aware', '--deny-warnings']] },
  { title: 'format (npm run format writes it)', programs: [['biome', 'format']] },
];

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

async function main(given: string[]): Promise<number> {
  const failed: string[] = [];
  const isNarrowed = given.length > 0;
  if (!isNarrowed) failed.push(...(await runSections()));
  const counts = await runTests(given);
  if (counts.failed > 0) failed.push('tests');
  const executed = counts.passed + counts.failed;
  if (!isNarrowed && executed < floor.tests) {
    failed.push(`only ${executed} tests ran, tools/test-floor.json demands ${floor.tests}`);
  }
  process.stdout.write(failed.length > 0 ? `\nFAILED: ${failed.join('; ')}\n` : '\nall well\n');
  process.stdout.write(
    `${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`,
  );
  return failed.length > 0 ? 1 : 0;
}

/**
 * Runs the programs of all sections side by side, then shows their output. Returns the titles of
 * the failed sections.
 */
async function runSections(): Promise<string[]> {
  const runs = SECTIONS.map(async ({ programs }) => await Promise.all(programs.map(runCollected)));
  const failed: string[] = [];
  for (const [at, results] of (await Promise.all(runs)).entries()) {
    const { title } = SECTIONS[at] as Section;
    heading(title);
    for (const { output } of results) process.stdout.write(output);
    if (results.some(({ code }) => code !== 0)) failed.push(title);
  }
  return failed;
}

/**
 * Runs a program of node_modules/.bin and keeps its output; the code is 1 when a signal ended it.
 */
async function runCollected([name = '', ...args]: string[]): Promise<{
  code: number;
  output: string;
}> {
  const child = spawn(path.join('node_modules', '.bin', name), args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    // As for TSC: the linter, also in Go, makes a checker for each processor that it is given.
    env: { ...process.env, GOMAXPROCS: '1' },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const [code] = await once(child, 'close');
  return { code: typeof code === 'number' ? code : 1, output };
}

/**
 * Runs the test files and returns the reporter's counts; a run that broke down counts as one more
 * failure.
 */
async function runTests(given: string[]): Promise<Counts> {
  heading('tests');
  const options = given.filter((argument) => argument.startsWith('-'));
  const files = testFiles(given.filter((argument) => !argument.startsWith('-')));
  const folder = mkdtempSync(path.join(os.tmpdir(), 'muster-check-'));
  const tallyFile = path.join(folder, 'tally.json');
  try {
    const code = await run(
      process.execPath,
      [
        '--test',
        '--import=./tools/test-hooks.ts',
        '--test-global-setup=tools/global-setup.ts',
        '--test-reporter=./tools/test-reporter.ts',
        '--test-reporter-destination=stdout',
        `--test-concurrency=${TEST_CONCURRENCY}`,
        ...options,
        ...groupsOf(files).map((group) => entryOf(group, folder)),
      ],
      // Many processes read the same sources: the first compiles them, the others take the code
      // from here.
      { [TALLY_VARIABLE]: tallyFile, NODE_COMPILE_CACHE: path.join(folder, 'compiled') },
    );
    const counts = existsSync(tallyFile)
      ? (JSON.parse(readFileSync(tallyFile, 'utf8')) as Counts)
      : { passed: 0, failed: 0, skipped: 0 };
    if (code === 0 || counts.failed > 0) return counts;
    process.stdout.write(`\nthe test runner ended with ${code} without a failed test\n`);
    return { ...counts, failed: 1 };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The test files under the given files and folders, or all of them. */
function testFiles(given: string[]): string[] {
  const globs = given.map((place) => {
    if (!existsSync(place)) throw new Error(`no such file or folder: ${place}`);
    return statSync(place).isDirectory() ? path.join(place, '**/*.test.ts') : place;
  });
  const files = globSync(globs.length > 0 ? globs : TEST_GLOBS, {
    exclude: ['**/node_modules/**'],
  });
  if (files.length === 0) throw new Error('no test files there');
  return files;
}

/** Runs a program with our own output and input; its exit code, or 1 when a signal ended it. */
async function run(program: string, args: string[], env: NodeJS.ProcessEnv = {}): Promise<number> {
  const child = spawn(program, args, { stdio: 'inherit', env: { ...process.env, ...env } });
  const [code] = await once(child, 'exit');
  return typeof code === 'number' ? code : 1;
}

function heading(title: string): void {
  process.stdout.write(`\n── ${title} ${'─'.repeat(Math.max(0, 76 - title.length))}\n`);
}

process.exitCode = await main(process.argv.slice(2));

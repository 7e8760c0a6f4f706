// The reporter of `npm test`: one line per test file, and at the end every failure in full with the
// output of its file, and every skipped test with its reason. Leaves the tally as JSON for
// check.ts, which knows the floor. This is also the one guard against a run that hangs: it names
// the files that never ended. Runs in the test runner's process; check.ts names it with
// --test-reporter.

import { writeFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { type FileTally, TallyKeeper, type TestEvent } from './test-tally.ts';

/** The variable that names the file for the tally. */
export const TALLY_VARIABLE = 'MUSTER_TEST_TALLY';

/**
 * The silence of the whole run after which the run is ended. This is no verdict on a slow test: the
 * slowest here takes under a minute on a loaded machine, and nobody should wait longer for a hang
 * that will not end.
 */
const SILENCE_MAX_MS = 5 * 60_000;

/**
 * Consumes the events of a run and yields the text to print, in the shape that `--test-reporter`
 * asks for.
 */
export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const isNarrowed = process.execArgv.some((argument) =>
    argument.startsWith('--test-name-pattern'),
  );
  const keeper = new TallyKeeper(process.cwd(), isNarrowed);
  const guard = setTimeout(() => endHangingRun(keeper), SILENCE_MAX_MS);
  for await (const event of events) {
    guard.refresh();
    const ended = keeper.add(event);
    if (ended !== undefined) yield fileLine(ended);
  }
  clearTimeout(guard);
  yield* failures(keeper);
  yield* skips(keeper);
  const tallyFile = process.env[TALLY_VARIABLE];
  const { passed, failures: failed, skips: skipped } = keeper.tally;
  const counts = { passed, failed: failed.length, skipped: skipped.length };
  if (tallyFile !== undefined) writeFileSync(tallyFile, JSON.stringify(counts));
}

function fileLine({ file, passed, failed, skipped }: FileTally): string {
  const parts = [`${passed} passed`];
  if (failed > 0) parts.push(`${failed} FAILED`);
  if (skipped > 0) parts.push(`${skipped} skipped`);
  return `${failed > 0 ? '✖' : '✔'} ${file}  ${parts.join(', ')}\n`;
}

function* failures(keeper: TallyKeeper): Generator<string> {
  const files = new Set<string>();
  for (const { place, title, report: text } of keeper.tally.failures) {
    yield `\n✖ ${place}\n  ${title}\n${indented(text)}\n`;
    files.add(place.slice(0, place.lastIndexOf(':')));
  }
  for (const file of files) {
    const output = keeper.outputOf(file);
    if (output !== '') yield `\nwritten by ${file}:\n${indented(output.trimEnd())}\n`;
  }
}

function* skips(keeper: TallyKeeper): Generator<string> {
  if (keeper.tally.skips.length > 0) yield '\nskipped:\n';
  for (const { place, title, reason } of keeper.tally.skips) {
    yield `  ${place}  ${title} (${reason})\n`;
  }
}

/**
 * Sends SIGINT to this process: Node then ends the test processes, tears down and reports what it
 * has.
 */
function endHangingRun(keeper: TallyKeeper): void {
  const suspects = inspect(keeper.unfinished, { breakLength: 80 });
  process.stderr.write(`\nno test event for ${SILENCE_MAX_MS / 1000} s; not ended: ${suspects}\n`);
  process.kill(process.pid, 'SIGINT');
}

function indented(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '    ');
}

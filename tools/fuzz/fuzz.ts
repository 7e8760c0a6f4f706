// `npm run fuzz`: changed reports against the readers, for a minute or `-- --seconds N`. Every case
// follows from its seed; the first one has the seed of `--seed S`, so that `-- --seed S --seconds
// 0` plays one case again. Ends by itself, with 1 when an invariant broke or a case hangs; the
// case's bytes are then in the temporary folder. Cases run in a thread (cases.worker.ts), so that
// this thread can see one hang.

import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { caseOf } from './case.ts';
import type { Counts, Message } from './cases.worker.ts';
import { corpus } from './corpus.ts';

/** The slowest cases take a second; a case that takes this long never ends. */
const CASE_MS_MAX = 60_000;
const PROGRESS_MS = 10_000;

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
  },
});
const firstSeed = Number(options.seed);
const endsAt = performance.now() + Number(options.seconds) * 1000;

const say = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

const shown = ({ cases, documents, faults, reports, refused, findings }: Counts): string =>
  `${cases} cases: ${documents} documents, ${faults} no JSON; ` +
  `${reports} read as a report, ${refused} refused; ${findings} findings`;

function fail(seed: number, why: string): never {
  const { sample, bytes } = caseOf(seed, corpus());
  const file = join(mkdtempSync(join(tmpdir(), 'muster-fuzz-')), `${seed}.json`);
  writeFileSync(file, bytes);
  say(`\nseed ${seed} (${sample.name}): ${why}\nthe bytes: ${file}`);
  say(`again: npm run fuzz -- --seed ${seed} --seconds 0`);
  process.exit(1);
}

say(`fuzz: ${corpus().length} reports, seed ${firstSeed}, ${options.seconds} s`);
let seed = firstSeed;
let seenAt = performance.now();
let saidAt = seenAt;
const worker = new Worker(new URL('./cases.worker.ts', import.meta.url));
const watch = setInterval(() => {
  if (performance.now() - seenAt > CASE_MS_MAX) fail(seed, 'the case hangs');
}, 1000);

worker.on('error', (error) =>
  fail(seed, error instanceof Error ? String(error.stack) : String(error)),
);
worker.on('message', ({ counts, failure }: Message) => {
  if (failure !== null) fail(seed, failure);
  const nowMs = performance.now();
  if (nowMs < endsAt) {
    if (nowMs - saidAt > PROGRESS_MS) {
      say(shown(counts));
      saidAt = nowMs;
    }
    seenAt = nowMs;
    seed += 1;
    worker.postMessage(seed);
    return;
  }
  clearInterval(watch);
  say(`fuzz: ${shown(counts)}; all well (seeds ${firstSeed} to ${seed})`);
  void worker.terminate();
});
worker.postMessage(seed);

// `npm run sim -- --seeds 10000 [--backend sqlite|postgres] [--from 1]` plays many seeds and says
// what broke; `npm run sim -- --seed 7 --trace` plays one again and prints every event. The exit
// code says whether all was well.

import { parseArgs } from 'node:util';
import { ADMIN_URL_VARIABLE, startPostgres } from '../../../../tools/postgres.ts';
import { openPlace, type Result, simulate } from './simulate.ts';

/** The end of a history tells why it broke. */
const LAST_LINES = 40;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '100' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    backend: { type: 'string', default: 'sqlite' },
    trace: { type: 'boolean', default: false },
  },
});

const backend = values.backend === 'postgres' ? 'postgres' : 'sqlite';
const first = Number(values.seed ?? values.from);
const count = values.seed === undefined ? Number(values.seeds) : 1;

function report({ seed, steps, broken, trace, digest }: Result): void {
  const lines = values.trace ? trace : broken === null ? [] : trace.slice(-LAST_LINES);
  for (const line of lines) process.stdout.write(`${line}\n`);
  if (values.trace) process.stdout.write(`digest ${digest}\n`);
  if (broken === null) return;
  process.stdout.write(`\nseed ${seed}, step ${steps}: ${broken}\n`);
  process.stdout.write(`again: npm run sim -- --backend ${backend} --seed ${seed} --trace\n`);
}

async function main(): Promise<number> {
  const needsOwn = backend === 'postgres' && process.env[ADMIN_URL_VARIABLE] === undefined;
  const postgres = needsOwn ? await startPostgres({ durable: false }) : null;
  if (postgres !== null) process.env[ADMIN_URL_VARIABLE] = postgres.adminUrl;
  const place = await openPlace(backend);
  let played = 0;
  let failed = 0;
  let steps = 0;
  // A long run that is broken off still says how far it came.
  let isEnough = false;
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => (isEnough = true));
  const begun = performance.now();
  try {
    for (let seed = first; seed < first + count && !isEnough; seed += 1) {
      const result = await simulate(place.database, seed);
      played += 1;
      steps += result.steps;
      if (result.broken !== null) failed += 1;
      report(result);
      if (process.stderr.isTTY) process.stderr.write(`\r${played}/${count} seeds`);
    }
  } finally {
    await place.close();
    await postgres?.stop();
  }
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  process.stdout.write(
    `${played} seeds on ${backend}, ${steps} steps, ${failed} failed, ${seconds} s\n`,
  );
  return failed === 0 ? 0 : 1;
}

process.exitCode = await main();

// Row 4: the time from the start of the process to the line that says where it listens, on a folder
// that was used before and on an empty one; against the bare echo's own start, which is Node and
// Fastify and nothing else.

import { startChild } from './child.ts';
import type { EchoOrder } from './echo.process.ts';
import { median, type Row, type Series } from './figures.ts';
import { emptyPlace, type Place } from '../../packages/server/test/harness.ts';
import { startMuster } from './muster.ts';

const REPETITIONS = 7;
const AIM_MS = 1_000;

/** See the head of this file. */
export async function startRow(): Promise<Row> {
  const existing: number[] = [];
  const empty: number[] = [];
  const bare: number[] = [];
  const used = await emptyPlace('sqlite');
  try {
    await startTime(used);
    for (let i = 0; i < REPETITIONS; i += 1) {
      existing.push(await startTime(used));
      const fresh = await emptyPlace('sqlite');
      empty.push(await startTime(fresh));
      await fresh.remove();
      bare.push(await echoStartTime());
    }
  } finally {
    await used.remove();
  }
  const series = (name: string, values: number[]): Series => ({ name, unit: 'ms', values });
  const judged = series('on an existing folder', existing);
  const slowest = Math.max(median(existing), median(empty));
  return {
    id: '4',
    what: 'from process start to listening (SQLite)',
    series: [series('bare echo', bare), series('on an empty folder', empty)],
    judged,
    rule: `aim < ${AIM_MS} ms, both`,
    verdict: slowest < AIM_MS ? 'aim met' : 'MISSED',
    notes: [`${(median(existing) / median(bare)).toFixed(1)} × the bare echo's start`],
  };
}

async function startTime(place: Place): Promise<number> {
  const startedAt = performance.now();
  const server = await startMuster(place);
  const ms = performance.now() - startedAt;
  await server.stop('SIGTERM');
  return ms;
}

async function echoStartTime(): Promise<number> {
  const startedAt = performance.now();
  const echo = startChild<EchoOrder, string>('./echo.process.ts');
  echo.send({ path: '/', reply: {} });
  await echo.answer();
  const ms = performance.now() - startedAt;
  await echo.stop();
  return ms;
}

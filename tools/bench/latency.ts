// Row 3: how long heartbeats take while a large upload is processed. They are sent at fixed
// instants whatever the answers do, and count from the time at which they were due. The bare echo
// gets the same rate twice: alone, and beside the same upload, where it shares the processor but
// has none of Muster's own waits.

import { startEcho, heartbeatRequests, RUNNERS } from './heartbeats.ts';
import { median, percentile, type Row, type Series, type Verdict } from './figures.ts';
import type { Report } from './ingest.ts';
import { type LoadReport, startLoadGenerator } from './load.ts';
import { createRunners, type Muster, upload, withMuster } from './muster.ts';

const REPETITIONS = 2;
const PER_SECOND = 200;
const CONNECTIONS = 32;
const QUIET_MS = 3_000;
/** A load ends with the upload; this bounds the load if the upload hangs. */
const LOAD_MS_MAX = 120_000;

interface Turn {
  readonly muster: LoadReport;
  readonly echoQuiet: LoadReport;
  readonly echoBeside: LoadReport;
}

/** See the head of this file. */
export async function latencyRow(report: Report): Promise<Row> {
  const turns: Turn[] = [];
  for (let i = 0; i < REPETITIONS; i += 1) {
    turns.push(await withMuster('sqlite', (server) => oneTurn(server, report)));
  }
  const p99 = (name: string, reportOf: (turn: Turn) => LoadReport): Series => ({
    name,
    unit: 'ms',
    values: turns.map((turn) => percentile(reportOf(turn).latenciesMs, 0.99)),
  });
  const judged = p99('Muster, beside the upload', ({ muster }) => muster);
  const quiet = p99('bare echo, alone', ({ echoQuiet }) => echoQuiet);
  const beside = p99('bare echo, beside the upload', ({ echoBeside }) => echoBeside);
  const all = turns.flatMap(({ muster }) => [...muster.latenciesMs]);
  const [ours, bound] = [median(judged.values), Math.max(25, 5 * median(quiet.values))];
  const verdict: Verdict = ours <= bound ? 'aim met' : 'MISSED';
  return {
    id: '3',
    what: `p99 of heartbeats at ${PER_SECOND}/s while the upload is processed (SQLite)`,
    series: [quiet, beside],
    judged,
    rule: 'aim ≤ 25 ms or ≤ 5 × the echo alone',
    verdict,
    notes: [
      `${all.length} heartbeats in all: p50 ${percentile(all, 0.5).toFixed(1)} ms, p95 ${percentile(all, 0.95).toFixed(1)} ms, longest ${percentile(all, 1).toFixed(0)} ms`,
      `${(ours / median(quiet.values)).toFixed(1)} × the echo alone, ${(ours / median(beside.values)).toFixed(1)} × the echo beside the upload`,
    ],
  };
}

async function oneTurn(server: Muster, report: Report): Promise<Turn> {
  const keys = await createRunners(server, RUNNERS);
  const requests = heartbeatRequests(keys);
  const echo = await startEcho(server, keys[0] as string);
  const [forMuster, forEcho] = [startLoadGenerator(), startLoadGenerator()];
  const order = (port: number, ms: number) => ({
    port,
    requests,
    connections: CONNECTIONS,
    perSecond: PER_SECOND,
    ms,
  });
  try {
    // Both servers run all the code that they will run: nothing is compiled for the first time
    // during the measurement.
    forMuster.send(order(server.port, QUIET_MS / 2));
    await forMuster.answer();
    forEcho.send(order(echo.port, QUIET_MS / 2));
    await forEcho.answer();
    forEcho.send(order(echo.port, QUIET_MS));
    const echoQuiet = await forEcho.answer();
    forMuster.send(order(server.port, LOAD_MS_MAX));
    forEcho.send(order(echo.port, LOAD_MS_MAX));
    await upload(server, report.path);
    forMuster.send('stop');
    forEcho.send('stop');
    const turn = {
      muster: await forMuster.answer(),
      echoQuiet,
      echoBeside: await forEcho.answer(),
    };
    if (turn.muster.refused > 0) throw new Error(`${turn.muster.refused} heartbeats were refused`);
    return turn;
  } finally {
    await forMuster.stop();
    await forEcho.stop();
    await echo.stop();
  }
}

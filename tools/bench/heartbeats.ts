// Row 1: heartbeats per second that are authenticated and stored, against the bare echo. Server,
// echo and load generator are three processes; the two servers take turns, and each turn is longer
// than a flush of presence.

import { startChild } from './child.ts';
import type { EchoOrder } from './echo.process.ts';
import { atLeast, median, percentile, ratios, type Row, type Series } from './figures.ts';
import { type LoadGenerator, type LoadReport, postRequest, startLoadGenerator } from './load.ts';
import { countStored, createRunners, type Muster, withMuster } from './muster.ts';

export const RUNNERS = 200;
const CONNECTIONS = 48;
const REPETITIONS = 3;
/** Longer than limits.presenceFlushMs: every turn pays for at least one flush of all runners. */
const TURN_MS = 5_500;
const WARM_UP_MS = 2_000;

export const HEARTBEAT_PATH = '/api/v1/agent/heartbeat';

/** A heartbeat as deployed agents send it: about 400 bytes. */
function heartbeatBody(at: number): object {
  return {
    name: `bench-${at}`,
    status: 'running',
    version: '1.14.2',
    hostname: `ip-10-20-${at % 16}-${at}.eu-central-1.compute.internal`,
    region: 'eu-central-1',
    scanners: ['semgrep', 'trivy', 'gitleaks'],
    collectors: ['github'],
    capabilities: ['sast', 'sca', 'secrets'],
    uptime_seconds: 86_400 + at,
    total_scans: 1200 + at,
    errors: 3,
    cpu_percent: 12.5,
    memory_percent: 43.75,
    active_jobs: 1,
    max_concurrent_jobs: 4,
  };
}

export const heartbeatRequests = (keys: readonly string[]): string[] =>
  keys.map((key, at) => postRequest(HEARTBEAT_PATH, key, heartbeatBody(at)));

/** Starts the echo, which answers with Muster's answer; returns it and its port. */
export async function startEcho(server: Muster, key: string) {
  const answer = await fetch(`${server.url}${HEARTBEAT_PATH}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify(heartbeatBody(0)),
  });
  const echo = startChild<EchoOrder, string>('./echo.process.ts');
  echo.send({ path: HEARTBEAT_PATH, reply: (await answer.json()) as object });
  return { port: Number(new URL(await echo.answer()).port), stop: () => echo.stop() };
}

async function turn(
  generator: LoadGenerator,
  port: number,
  requests: string[],
  ms: number,
): Promise<LoadReport> {
  generator.send({ port, requests, connections: CONNECTIONS, perSecond: null, ms });
  const report = await generator.answer();
  if (report.refused > 0) throw new Error(`${report.refused} heartbeats were refused`);
  return report;
}

/** See the head of this file. */
export async function heartbeatRow(): Promise<Row> {
  return await withMuster('sqlite', async (server) => {
    const keys = await createRunners(server, RUNNERS);
    const requests = heartbeatRequests(keys);
    const echo = await startEcho(server, keys[0] as string);
    const generator = startLoadGenerator();
    const ours: LoadReport[] = [];
    const theirs: LoadReport[] = [];
    try {
      await turn(generator, echo.port, requests, WARM_UP_MS);
      await turn(generator, server.port, requests, WARM_UP_MS);
      for (let i = 0; i < REPETITIONS; i += 1) {
        ours.push(await turn(generator, server.port, requests, TURN_MS));
        theirs.push(await turn(generator, echo.port, requests, TURN_MS / 2));
      }
    } finally {
      await generator.stop();
      await echo.stop();
    }
    const stored = await countStored(server);
    if (stored !== RUNNERS) throw new Error(`${stored} of ${RUNNERS} runners are online`);
    return rowOf(ours, theirs, requests[0]?.length ?? 0);
  });
}

function rowOf(ours: LoadReport[], theirs: LoadReport[], requestBytes: number): Row {
  const rate = (name: string, reports: LoadReport[]): Series => ({
    name,
    unit: '/s',
    values: reports.map(({ perSecond }) => perSecond),
  });
  const muster = rate('Muster, SQLite', ours);
  const echo = rate('bare Fastify echo', theirs);
  const judged = ratios('Muster : echo', muster, echo);
  const share = (reports: LoadReport[]): string =>
    `${Math.round(100 * Math.max(...reports.map(({ cpuShare }) => cpuShare)))} %`;
  const p99 = median(ours.map(({ latenciesMs }) => percentile(latenciesMs, 0.99)));
  return {
    id: '1',
    what: `heartbeats, authenticated and stored: ${RUNNERS} runners on ${CONNECTIONS} connections, ${requestBytes} bytes a request`,
    series: [muster, echo],
    judged,
    rule: 'aim ≥ 0.4, floor ≥ 0.3',
    verdict: atLeast(median(judged.values), 0.4, 0.3),
    notes: [
      `p99 ${p99.toFixed(1)} ms at that load; all ${RUNNERS} runners stored as online afterwards`,
      `the generator used at most ${share(ours)} of a core against Muster, ${share(theirs)} against the echo`,
    ],
  };
}

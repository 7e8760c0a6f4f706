// Row 5: the time from just before a command's creation is asked for to its arrival at a runner
// that waits in a long poll, with thousands waiting: on SQLite in one process, and on PostgreSQL
// with three server processes.

import { type Backend, emptyPlace } from '../../packages/server/test/harness.ts';
import { ADMIN_URL_VARIABLE, startPostgres } from '../postgres.ts';
import { median, percentile, type Row, type Series } from './figures.ts';
import { createRunnersAtOnce, type Muster, startMuster, withMuster } from './muster.ts';
import { epochMs, startWaitingRunners, type WaitingRunners } from './polls.ts';

const REPETITIONS = 3;
/**
 * Commands in one turn, at fixed instants; half of them for one runner, half for whichever takes
 * them first.
 */
const COMMANDS = 200;
const PER_SECOND = 25;
/**
 * The wait after the last connection: every poll has looked once by then, and the first looks of
 * the node have passed.
 */
const SETTLE_MS = 5_000;
const AIM_MS = 150;
/** Seconds until a command that has not arrived is given up. */
const LOOKS_MAX = 30;

interface Turn {
  readonly latenciesMs: number[];
  readonly cpuShare: number;
}

/** `runners`: the number of waiting runners. */
export async function deliveryRow(backend: Backend, runners: number): Promise<Row> {
  const onOne = (): Promise<Turn[]> =>
    withMuster('sqlite', async (server) => turns([server], runners));
  const onThree = (): Promise<Turn[]> => onPostgres((servers) => turns(servers, runners));
  const { id, what, measure } = {
    sqlite: { id: '5a', what: 'SQLite, one process', measure: onOne },
    postgres: { id: '5b', what: 'PostgreSQL, three server processes', measure: onThree },
  }[backend];
  return rowOf(id, `${runners} runners wait; ${what}`, await measure());
}

async function onPostgres(body: (servers: Muster[]) => Promise<Turn[]>): Promise<Turn[]> {
  const postgres = await startPostgres({ durable: true });
  process.env[ADMIN_URL_VARIABLE] = postgres.adminUrl;
  const place = await emptyPlace('postgres');
  const servers: Muster[] = [];
  try {
    for (let node = 0; node < 3; node += 1) servers.push(await startMuster(place));
    return await body(servers);
  } finally {
    await Promise.all(servers.map((server) => server.stop('SIGTERM')));
    await place.remove();
    await postgres.stop();
  }
}

async function turns(servers: readonly Muster[], count: number): Promise<Turn[]> {
  const [first] = servers;
  if (first === undefined) throw new Error('no server');
  const made = await createRunnersAtOnce(first, count);
  const waiting = startWaitingRunners();
  const portOf = (at: number): number => (servers[at % servers.length] as Muster).port;
  try {
    waiting.send({ runners: made.map(({ key }, at) => ({ port: portOf(at), key })) });
    await waiting.answer();
    await sleep(SETTLE_MS);
    const done: Turn[] = [];
    for (let turn = 0; turn < REPETITIONS; turn += 1) {
      waiting.send('report');
      await waiting.answer();
      const sent = await sendCommands(servers, first.operatorToken, made, turn);
      const { arrived, cpuShare } = await arrivalsOf(waiting, sent);
      const latenciesMs = [...sent].map(([id, atMs]) => (arrived.get(id) ?? Number.NaN) - atMs);
      done.push({ latenciesMs, cpuShare });
    }
    return done;
  } finally {
    await waiting.stop();
  }
}

/** Waits until every command has arrived somewhere; its first arrival counts. */
async function arrivalsOf(
  waiting: WaitingRunners,
  sent: ReadonlyMap<string, number>,
): Promise<{ arrived: Map<string, number>; cpuShare: number }> {
  const arrived = new Map<string, number>();
  const shares: number[] = [];
  for (let look = 0; look < LOOKS_MAX; look += 1) {
    waiting.send('report');
    const { arrivals, refused, cpuShare } = await waiting.answer();
    if (refused > 0) throw new Error(`${refused} polls were refused`);
    shares.push(cpuShare);
    for (const { commandId, atMs } of arrivals)
      if (!arrived.has(commandId)) arrived.set(commandId, atMs);
    const missing = [...sent.keys()].filter((id) => !arrived.has(id));
    if (missing.length === 0) return { arrived, cpuShare: Math.max(...shares) };
    await sleep(1_000);
  }
  throw new Error('a command reached nobody for half a minute');
}

/** For each command, the time just before its creation was asked for. */
async function sendCommands(
  servers: readonly Muster[],
  token: string,
  runners: readonly { readonly id: string }[],
  turn: number,
): Promise<Map<string, number>> {
  const sent = new Map<string, number>();
  const under: Promise<void>[] = [];
  const startedAt = performance.now();
  for (let at = 0; at < COMMANDS; at += 1) {
    await sleep(startedAt + (at * 1000) / PER_SECOND - performance.now());
    // A node other than the one at which the runner waits, where there are several.
    const runner = (turn * COMMANDS + at) % runners.length;
    const pin = at % 2 === 0 ? { runner_id: runners[runner]?.id } : {};
    const { url } = servers[(runner + 1) % servers.length] as Muster;
    const sentAt = epochMs();
    under.push(
      fetch(`${url}/api/v1/commands`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
        body: JSON.stringify({ type: 'bench', ...pin }),
      }).then(async (answer) => {
        if (answer.status !== 201) throw new Error(`${answer.status} ${await answer.text()}`);
        sent.set(((await answer.json()) as { id: string }).id, sentAt);
      }),
    );
  }
  await Promise.all(under);
  return sent;
}

function rowOf(id: string, what: string, all: readonly Turn[]): Row {
  const series = (name: string, fraction: number): Series => ({
    name,
    unit: 'ms',
    values: all.map(({ latenciesMs }) => percentile(latenciesMs, fraction)),
  });
  const judged = series('p99', 0.99);
  const share = Math.max(...all.map(({ cpuShare }) => cpuShare));
  const longest = Math.max(...all.flatMap(({ latenciesMs }) => latenciesMs));
  return {
    id,
    what: `a command reaches a waiting runner: ${what}`,
    series: [series('p50', 0.5)],
    judged,
    rule: `aim ≤ ${AIM_MS} ms`,
    verdict: median(judged.values) <= AIM_MS ? 'aim met' : 'MISSED',
    notes: [
      `${COMMANDS} commands a turn at ${PER_SECOND}/s, half for one runner, half for any; longest ${longest.toFixed(0)} ms; ` +
        `the runners' process used ${Math.round(share * 100)} % of a core`,
    ],
  };
}

const sleep = async (ms: number): Promise<void> => {
  if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
};

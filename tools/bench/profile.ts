// Shows where the time goes: runs one workload of the benchmarks on a server under V8's sampling
// profiler and prints, for each of its threads, the functions with the most time of their own. The
// profiles stay for Chrome's DevTools.
//   node tools/bench/profile.ts heartbeats | ingest | ingest-again | ingest-postgres | start

import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { emptyPlace } from '../../packages/server/test/harness.ts';
import { ADMIN_URL_VARIABLE, startPostgres } from '../postgres.ts';
import { heartbeatRequests, RUNNERS } from './heartbeats.ts';
import { startLoadGenerator } from './load.ts';
import { createRunners, type Muster, startMuster, upload } from './muster.ts';
import { writeSarif } from './sarif.ts';

const TOP = 20;
const HEARTBEATS_MS = 15_000;
const RESULTS = 50_000;

/** A .cpuprofile as V8 writes it: the call tree, and the node of each sample. */
interface Profile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: {
      readonly functionName: string;
      readonly url: string;
      readonly lineNumber: number;
    };
    readonly children?: readonly number[];
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

type Work = (server: Muster, sarif: string) => Promise<void>;

const WORK: Readonly<Record<string, Work>> = {
  heartbeats: async (server) => {
    const requests = heartbeatRequests(await createRunners(server, RUNNERS));
    const generator = startLoadGenerator();
    const { port } = server;
    generator.send({ port, requests, connections: 48, perSecond: null, ms: HEARTBEATS_MS });
    console.log(`${Math.round((await generator.answer()).perSecond)} heartbeats/s, profiled`);
    await generator.stop();
  },
  ingest: async (server, sarif) => report(await upload(server, sarif)),
  'ingest-postgres': async (server, sarif) => report(await upload(server, sarif)),
  'ingest-again': async (server, sarif) => {
    report(await upload(server, sarif));
    report(await upload(server, sarif));
  },
  start: async () => {},
};

const report = ({ seconds, created }: { seconds: number; created: number }): void =>
  console.log(`${seconds.toFixed(1)} s, ${created} created, profiled`);

async function profiled(name: string, work: Work, folder: string): Promise<void> {
  const sarif = join(folder, 'report.sarif');
  if (name.startsWith('ingest')) await writeSarif(sarif, RESULTS);
  const onPostgres = name.endsWith('postgres');
  const postgres = onPostgres ? await startPostgres({ durable: true }) : null;
  if (postgres !== null) process.env[ADMIN_URL_VARIABLE] = postgres.adminUrl;
  const place = await emptyPlace(onPostgres ? 'postgres' : 'sqlite');
  try {
    const server = await startMuster(place, `--cpu-prof --cpu-prof-dir=${folder}`);
    await work(server, sarif);
    await server.stop('SIGTERM');
  } finally {
    await place.remove();
    await postgres?.stop();
    await rm(sarif, { force: true });
  }
}

interface Times {
  readonly total: number;
  /** Own time by function, most first. */
  readonly self: [string, number][];
  /** Time of our own functions with everything that they called; awaited time counts for nobody. */
  readonly inclusive: [string, number][];
}

/** The times without idle time. */
function timesOf({ nodes, samples, timeDeltas }: Profile): Times {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const selfOfNode = new Map<number, number>();
  samples.forEach((id, at) => {
    selfOfNode.set(id, (selfOfNode.get(id) ?? 0) + (timeDeltas[at] ?? 0));
  });
  const self = new Map<string, number>();
  const inclusive = new Map<string, number>();
  const add = (map: Map<string, number>, name: string, us: number): void => {
    map.set(name, (map.get(name) ?? 0) + us);
  };
  /** `above`: the functions that wait for this one; a recursive one counts once. */
  const visit = (id: number, above: ReadonlySet<string>): number => {
    const node = byId.get(id);
    if (node === undefined || node.callFrame.functionName === '(idle)') return 0;
    const name = nameOf(node.callFrame);
    let us = selfOfNode.get(id) ?? 0;
    add(self, name, us);
    const within = new Set(above).add(name);
    for (const child of node.children ?? []) us += visit(child, within);
    if (node.callFrame.url.includes('/packages/') && !above.has(name)) add(inclusive, name, us);
    return us;
  };
  const total = visit(nodes[0]?.id ?? 0, new Set());
  const top = (map: Map<string, number>) => [...map].sort(([, a], [, b]) => b - a).slice(0, TOP);
  return { total, self: top(self), inclusive: top(inclusive) };
}

function nameOf(frame: Profile['nodes'][number]['callFrame']): string {
  const where = frame.url === '' ? '' : `  ${place(frame.url)}:${frame.lineNumber + 1}`;
  return `${frame.functionName || '(anonymous)'}${where}`;
}

const place = (url: string): string => url.replace(/^.*\/(packages|node_modules)\//, '');

/** The name of a profile's thread, after which its files are named. */
function threadOf(profile: Profile): string {
  const urls = profile.nodes.map(({ callFrame }) => callFrame.url);
  const worker = urls.find((url) => url.endsWith('.worker.ts'));
  return urls.some((url) => url.endsWith('/app.ts')) ? 'main' : place(worker ?? 'unknown');
}

async function print(folder: string): Promise<void> {
  for (const name of (await readdir(folder)).sort()) {
    if (!name.endsWith('.cpuprofile')) continue;
    const profile = JSON.parse(await readFile(join(folder, name), 'utf8')) as Profile;
    const { total, self, inclusive } = timesOf(profile);
    console.log(`\n${threadOf(profile)}: ${(total / 1e6).toFixed(2)} s busy   (${name})`);
    console.log('  own time:');
    printShares(self, total);
    console.log('  with all that they call:');
    printShares(inclusive, total);
  }
}

function printShares(times: readonly [string, number][], total: number): void {
  for (const [what, us] of times) {
    console.log(`  ${((100 * us) / total).toFixed(1).padStart(5)} %  ${what}`);
  }
}

const name = process.argv[2] ?? 'heartbeats';
const work = WORK[name];
if (work === undefined) throw new Error(`one of: ${Object.keys(WORK).join(', ')}`);
const folder = await mkdtemp(join(tmpdir(), 'muster-profile-'));
await profiled(name, work, folder);
await print(folder);
console.log(`\nprofiles: ${folder}`);

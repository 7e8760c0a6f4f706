// `npm run bench`: the figures that Muster is held to, as ratios within one run, printed as a table
// or with --json. `-- --only=1,2,3,4,5,6,7` runs some of the rows. It listens on loopback only,
// keeps nothing, ends by itself, and ends nothing but what it started. What each row means stands
// in docs/performance.md.

import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, cpus, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ADMIN_URL_VARIABLE, startPostgres } from '../postgres.ts';
import { deliveryRow } from './delivery.ts';
import { printTable, type Row } from './figures.ts';
import { heartbeatRow } from './heartbeats.ts';
import { ingestRows, type Report } from './ingest.ts';
import { latencyRow } from './latency.ts';
import { listRow } from './lists.ts';
import { revocationRow } from './revocation.ts';
import { writeSarif } from './sarif.ts';
import { startRow } from './start.ts';

const RESULTS = 100_000;

/** Something hangs: a whole run takes about five minutes on two quiet cores. */
const RUN_MS_MAX = 900_000;

const { values: options } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    only: { type: 'string', default: '1,2,3,4,5,6,7' },
    runners: { type: 'string', default: '2000' },
    results: { type: 'string', default: String(RESULTS) },
  },
});

const wanted = new Set(options.only.split(','));
const say = (text: string): void => {
  process.stderr.write(`${text}\n`);
};

async function withReport<T>(body: (report: Report) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-bench-'));
  try {
    const path = join(folder, 'report.sarif');
    const results = Number(options.results);
    return await body({ path, results, bytes: await writeSarif(path, results) });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Runs one part. When it fails the others still count: its error is told, and the exit code is 1. */
async function part(rows: Row[], title: string, measure: () => Promise<Row[]>): Promise<void> {
  say(`${title} …`);
  try {
    rows.push(...(await measure()));
  } catch (error) {
    process.exitCode = 1;
    say(`${title}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  }
}

async function ingestIntoPostgres(report: Report): Promise<Row[]> {
  const postgres = await startPostgres({ durable: true });
  try {
    process.env[ADMIN_URL_VARIABLE] = postgres.adminUrl;
    return await ingestRows('postgres', report, postgres.adminUrl);
  } finally {
    await postgres.stop();
  }
}

async function run(): Promise<Row[]> {
  const rows: Row[] = [];
  if (wanted.has('1')) await part(rows, '1 heartbeats', async () => [await heartbeatRow()]);
  if (wanted.has('2') || wanted.has('3')) {
    await withReport(async (report) => {
      if (wanted.has('2')) {
        await part(rows, '2 ingest, SQLite', () => ingestRows('sqlite', report, ''));
        await part(rows, '2 ingest, PostgreSQL', () => ingestIntoPostgres(report));
      }
      if (wanted.has('3')) {
        await part(rows, '3 heartbeats beside an upload', async () => [await latencyRow(report)]);
      }
    });
  }
  if (wanted.has('4')) await part(rows, '4 start', async () => [await startRow()]);
  if (wanted.has('5')) {
    const waiting = Number(options.runners);
    for (const backend of ['sqlite', 'postgres'] as const)
      await part(rows, `5 delivery, ${backend}`, async () => [await deliveryRow(backend, waiting)]);
  }
  if (wanted.has('6')) await part(rows, '6 revocation', async () => [await revocationRow()]);
  if (wanted.has('7')) {
    for (const backend of ['sqlite', 'postgres'] as const)
      await part(rows, `7 lists, ${backend}`, async () => [await listRow(backend)]);
  }
  return rows;
}

const machine = {
  cores: availableParallelism(),
  processor: cpus()[0]?.model.trim() ?? 'unknown',
  memoryGb: Math.round(totalmem() / 2 ** 30),
  node: process.version,
  platform: `${process.platform} ${process.arch}`,
};

setTimeout(() => {
  throw new Error('the benchmark hangs');
}, RUN_MS_MAX).unref();

const startedAt = performance.now();
const rows = await run();
const seconds = Math.round((performance.now() - startedAt) / 1000);
if (options.json) {
  process.stdout.write(`${JSON.stringify({ machine, seconds, rows }, null, 2)}\n`);
} else {
  process.stdout.write(
    `${machine.cores} cores (${machine.processor}), ${machine.memoryGb} GiB, ${machine.platform}, Node ${machine.node}\n` +
      `median (least–most) of the repetitions${printTable(rows)}\n\n${seconds} s\n`,
  );
}

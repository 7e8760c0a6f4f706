// Row 2: findings per second of one large SARIF upload, from the file to the receipt, against the
// bare loop that parses the same file and writes the same rows; then the same file again, which
// changes nothing. Fresh databases every time, Muster and the bare loop in turns, each in a process
// that has just started.

import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createDatabase } from '../postgres.ts';
import { type Backend, emptyPlace, type Place } from '../../packages/server/test/harness.ts';
import type { BareOrder, BareReport } from './bare.ts';
import { startChild } from './child.ts';
import { atLeast, median, ratios, type Row, type Series } from './figures.ts';
import { type Muster, startMuster, upload, type UploadResult } from './muster.ts';

export interface Report {
  readonly path: string;
  readonly results: number;
  readonly bytes: number;
}

/** Turns on PostgreSQL take longest and scatter least. */
const REPETITIONS: Readonly<Record<Backend, number>> = { sqlite: 3, postgres: 2 };

interface Turn {
  readonly first: UploadResult;
  readonly again: UploadResult;
  readonly bare: BareReport;
}

/** Two rows: the first upload against the bare loop, and the second upload against the first. */
export async function ingestRows(
  backend: Backend,
  report: Report,
  adminUrl: string,
): Promise<Row[]> {
  const turns: Turn[] = [];
  for (let i = 0; i < REPETITIONS[backend]; i += 1)
    turns.push(await oneTurn(backend, report, adminUrl));
  return rowsOf(backend, report, turns);
}

/**
 * The file into a fresh place; the bare loop with the rows that are there now; the file into the
 * same place again.
 */
async function oneTurn(backend: Backend, report: Report, adminUrl: string): Promise<Turn> {
  const place = await emptyPlace(backend);
  try {
    const server = await startMuster(place);
    const first = await uploadAndStop(server, report.path);
    if (first.created !== report.results) throw new Error(`created ${first.created} findings`);
    const bare = await bareLoop(backend, place, report, adminUrl);
    const restarted = { ...(await startMuster(place)), runnerKey: server.runnerKey };
    const again = await uploadAndStop(restarted, report.path);
    if (again.unchanged !== report.results) throw new Error(`unchanged: ${again.unchanged}`);
    return { first, again, bare };
  } finally {
    await place.remove();
  }
}

async function uploadAndStop(server: Muster, path: string): Promise<UploadResult> {
  try {
    return await upload(server, path);
  } finally {
    await server.stop('SIGTERM');
  }
}

async function bareLoop(
  backend: Backend,
  filled: Place,
  report: Report,
  adminUrl: string,
): Promise<BareReport> {
  const folder = filled.env['MUSTER_DATA'] ?? '';
  const target = join(folder, 'bare');
  const order: BareOrder =
    backend === 'sqlite'
      ? { backend, filled: join(folder, 'muster.db'), target, sarif: report.path }
      : {
          backend,
          filled: filled.env['MUSTER_DATABASE_URL'] ?? '',
          target: await createDatabase(adminUrl),
          sarif: report.path,
        };
  const child = startChild<BareOrder, BareReport>('./bare.process.ts');
  try {
    child.send(order);
    return await child.answer();
  } finally {
    await child.stop();
    await rm(target, { recursive: true, force: true });
  }
}

function rowsOf(backend: Backend, report: Report, turns: readonly Turn[]): Row[] {
  const name = backend === 'sqlite' ? 'SQLite' : 'PostgreSQL';
  const rate = (what: string, secondsOf: (turn: Turn) => number): Series => ({
    name: what,
    unit: 'findings/s',
    values: turns.map((turn) => report.results / secondsOf(turn)),
  });
  const first = rate(`Muster, ${name}`, (turn) => turn.first.seconds);
  const again = rate('the same file again', (turn) => turn.again.seconds);
  const bare = rate('bare loop', (turn) => turn.bare.seconds);
  const ratio = ratios('Muster : bare loop', first, bare);
  const faster = ratios('again : first', again, first);
  const parse = median(turns.map((turn) => turn.bare.parseSeconds));
  const megabytes = (report.bytes / 1e6).toFixed(0);
  return [
    {
      id: backend === 'sqlite' ? '2a' : '2c',
      what: `SARIF of ${report.results} results (${megabytes} MB) over HTTP into ${name}, to the receipt`,
      series: [first, bare],
      judged: ratio,
      rule: 'aim ≥ 0.6, floor ≥ 0.4',
      verdict: atLeast(median(ratio.values), 0.6, 0.4),
      notes: [
        `the bare loop writes ${turns[0]?.bare.rows} rows; ${parse.toFixed(2)} s of it are reading and JSON.parse`,
      ],
    },
    {
      id: backend === 'sqlite' ? '2b' : '2d',
      what: `the same file again into ${name}: everything unchanged`,
      series: [again],
      judged: faster,
      rule: 'aim ≥ 1.5',
      verdict: atLeast(median(faster.values), 1.5, 1.5),
      notes: [],
    },
  ];
}

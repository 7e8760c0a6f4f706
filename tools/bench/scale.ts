// `npm run bench:scale`: the cost of size. The figures that `npm run bench` can't afford, as ratios
// within one run:
//   S1  a report into a table of 5 000 000 findings against the same report into an empty one
//   S2  a report of 1 000 000 results (1.2 GB), twice: the memory that it adds to the server, and
//       its speed against a small one
// `-- --only=S1` runs one of them, `-- --findings=N --results=N` smaller ones. Takes about ten
// minutes and 12 GB of disk in the temporary folder; listens on loopback only, keeps nothing, ends
// by itself.

import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { parseArgs } from 'node:util';
import { emptyPlace, type Place } from '../../packages/server/test/harness.ts';
import { atLeast, median, printTable, ratios, type Row, type Series } from './figures.ts';
import { type Muster, startMuster, upload } from './muster.ts';
import { writeSarif } from './sarif.ts';

const { values: options } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    only: { type: 'string', default: 'S1,S2' },
    findings: { type: 'string', default: '5000000' },
    results: { type: 'string', default: '1000000' },
  },
});

/** Results of the report of S1, and of the small one of S2. */
const SMALL = 20_000;
const REPETITIONS = 3;
const SETTLE_MS = 3000;
/** The interval of samples of memory while a report is processed. */
const LOOK_MS = 200;

const say = (text: string): void => {
  process.stderr.write(`${text}\n`);
};

const folder = await mkdtemp(join(tmpdir(), 'muster-scale-'));

async function reportOf(results: number): Promise<string> {
  const path = join(folder, `${results}.sarif`);
  await writeSarif(path, results);
  return path;
}

/**
 * Inserts findings of a thousand other assets, with their sightings, as the tables hold them;
 * details are short.
 */
function seed(file: string, findings: number): void {
  const db = new DatabaseSync(file, { enableForeignKeyConstraints: false });
  db.exec('pragma synchronous = off; pragma cache_size = -262144');
  const numbers = `with recursive n (i) as (select 1 union all select i + 1 from n where i < ${findings})`;
  const tenant = '(select id from tenant limit 1)';
  // UUIDv7: 48 bits of time, then chance; ids of one asset lie apart, as those of many uploads do.
  const id = `unhex(printf('%012x7000%016x', 1700000000000 + i, i * 2654435761))`;
  const asset = `unhex(printf('%032x', 1 + i % 1000))`;
  const nobody = `unhex('00000000000070008000000000000000')`;
  db.exec(`begin;
    ${numbers} insert into finding (tenant_id, id, asset_id, tool, category, type, rule_id, title, severity, status,
      status_by, status_at, path, start_line, evidence, matched_by, first_seen_at,
      created_upload_id)
    select ${tenant}, ${id}, ${asset}, 'seeded', '', 'vulnerability', 'rule-' || (i % 300), 'Seeded finding ' || i, i % 5,
      'open', 'report', 1700000000000, 'src/file-' || (i % 2500) || '.ts', 1 + i % 900,
      unhex('01' || hex(randomblob(51))), 'new', 1700000000000, ${nobody} from n;
    ${numbers} insert into finding_detail (tenant_id, finding_id, document)
    select ${tenant}, ${id}, '{"message":"seeded ' || i || '"}' from n;
    ${numbers} insert into finding_ref (tenant_id, ref_id, finding_id, present, first_seen_at, last_seen_at, last_upload_id)
    select ${tenant}, ${asset}, ${id}, 1, 1700000000000, 1700000000000, ${nobody} from n;
    commit; pragma wal_checkpoint(truncate)`);
  db.close();
}

/** The place of a server that ran once on an empty folder, so that its tenant is there. */
async function preparedPlace(): Promise<{ place: Place; runnerKey: string }> {
  const place = await emptyPlace('sqlite');
  const server = await startMuster(place);
  await server.stop('SIGTERM');
  return { place, runnerKey: server.runnerKey };
}

/** `turn` gives every upload an asset of its own, so that all its results are new. */
async function secondsOf(
  place: Place,
  runnerKey: string,
  path: string,
  turn: number,
): Promise<number> {
  const server: Muster = { ...(await startMuster(place)), runnerKey };
  try {
    const query = `?repository_url=https://git.example/scale/turn-${turn}`;
    const { seconds, created } = await upload(server, path, query);
    if (created !== SMALL) throw new Error(`created ${created} findings`);
    return seconds;
  } finally {
    await server.stop('SIGTERM');
  }
}

async function crowdedRow(): Promise<Row> {
  const findings = Number(options.findings);
  const path = await reportOf(SMALL);
  const full = await preparedPlace();
  const rate: { empty: number[]; full: number[] } = { empty: [], full: [] };
  try {
    say(`S1 seeding ${findings} findings …`);
    seed(join(full.place.env['MUSTER_DATA'] ?? '', 'muster.db'), findings);
    for (let turn = 0; turn < REPETITIONS; turn += 1) {
      const empty = await preparedPlace();
      rate.empty.push((await secondsOf(empty.place, empty.runnerKey, path, turn)) / SMALL);
      await empty.place.remove();
      rate.full.push((await secondsOf(full.place, full.runnerKey, path, turn)) / SMALL);
    }
  } finally {
    await full.place.remove();
  }
  const series = (name: string, values: readonly number[]): Series => ({
    name,
    unit: 'µs a finding',
    values: values.map((seconds) => seconds * 1e6),
  });
  const [into, bare] = [
    series('into the full table', rate.full),
    series('into an empty one', rate.empty),
  ];
  const ratio = ratios('full : empty', into, bare);
  return {
    id: 'S1',
    what: `SARIF of ${SMALL} results into a table of ${findings} findings, SQLite`,
    series: [into, bare],
    judged: ratio,
    rule: 'aim ≤ 1.5',
    verdict: median(ratio.values) <= 1.5 ? 'aim met' : 'MISSED',
    notes: ['the findings in the table belong to 1 000 other assets'],
  };
}

/** Resident memory of a process in MiB, as Linux tells it. */
function residentMiB(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1024;
}

async function largeRows(): Promise<Row[]> {
  const results = Number(options.results);
  const small = await reportOf(SMALL);
  const large = await reportOf(results);
  const { place, runnerKey } = await preparedPlace();
  const server: Muster = { ...(await startMuster(place)), runnerKey };
  try {
    // An idle server is one whose threads have loaded their code.
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    const base = residentMiB(server.pid);
    let peak = base;
    const watch = setInterval(() => {
      peak = Math.max(peak, residentMiB(server.pid));
    }, LOOK_MS);
    const first = await upload(server, small);
    const afterSmall = peak;
    say(`S2 uploading ${results} results …`);
    const second = await upload(server, large);
    const added = peak - base;
    say('S2 uploading the same again …');
    const third = await upload(server, large);
    clearInterval(watch);
    const addedAgain = peak - base;
    const speed = results / second.seconds / (SMALL / first.seconds);
    const one = (name: string, unit: string, value: number): Series => ({
      name,
      unit,
      values: [value],
    });
    return [
      {
        id: 'S2a',
        what: `memory that a SARIF of ${results} results adds to an idle server, SQLite`,
        series: [one('idle', 'MiB', base), one(`after ${SMALL} results`, 'MiB', afterSmall)],
        judged: one('added at most', 'MiB', added),
        rule: 'aim < 256',
        verdict: added < 256 ? 'aim met' : 'MISSED',
        notes: [],
      },
      {
        id: 'S2b',
        what: `findings a second of ${results} results against ${SMALL}`,
        series: [
          one('large', 'findings/s', results / second.seconds),
          one('small', 'findings/s', SMALL / first.seconds),
        ],
        judged: one('large : small', '×', speed),
        rule: 'aim ≥ 0.9: throughput does not fall with size',
        verdict: atLeast(speed, 0.9, 0.9),
        notes: [],
      },
      {
        id: 'S2c',
        what: 'the same report once more: everything unchanged',
        series: [one('again', 'findings/s', results / third.seconds)],
        judged: one('added at most', 'MiB', addedAgain),
        rule: 'aim < 256',
        verdict: addedAgain < 256 ? 'aim met' : 'MISSED',
        notes: ['what is stored is read beside what is sent'],
      },
    ];
  } finally {
    await server.stop('SIGTERM');
    await place.remove();
  }
}

try {
  const wanted = new Set(options.only.split(','));
  const rows: Row[] = [];
  if (wanted.has('S1')) rows.push(await crowdedRow());
  if (wanted.has('S2')) rows.push(...(await largeRows()));
  process.stdout.write(
    options.json ? `${JSON.stringify(rows, null, 2)}\n` : `${printTable(rows)}\n`,
  );
} finally {
  await rm(folder, { recursive: true, force: true });
}

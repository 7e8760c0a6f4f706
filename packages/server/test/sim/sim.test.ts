// The simulator in `npm test`: 200 seeds on SQLite, 20 on PostgreSQL, the same history for the same
// seed. Longer runs: `npm run sim -- --seeds 10000` (docs/simulator.md).

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { BACKENDS, type Backend } from '../harness.ts';
import { openDatabase } from '../../src/db/db.ts';
import { migrate } from '../../src/db/migrate.ts';
import { temporaryDirectory } from '../db/fixture.ts';
import { openPlace, type Place, simulate } from './simulate.ts';
import { START_MS } from './world.ts';

/** As many seeds as five minutes on two cores have room for; `npm run sim` plays thousands. */
const SEEDS: Readonly<Record<Backend, number>> = { sqlite: 200, postgres: 20 };

/** Played on a database file, too; the last one is a fierce world. */
const FILE_SEEDS = [1, 2, 7];

const SIMULATOR = fileURLToPath(new URL('./main.ts', import.meta.url));

let places: Readonly<Record<Backend, Place>>;
before(async () => {
  places = { sqlite: await openPlace('sqlite'), postgres: await openPlace('postgres') };
});
after(async () => {
  for (const place of Object.values(places)) await place.close();
});

async function ended(child: ChildProcess): Promise<{ code: number | null; told: string }> {
  let told = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => (told += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, told };
}

for (const backend of BACKENDS) {
  // In a process of its own: the hooks that a test runner puts into every promise would cost as
  // much as the seeds.
  test(`no seed breaks the contract's rules of commands, keys and presence on ${backend}`, async () => {
    const seeds = SEEDS[backend];
    const args = [SIMULATOR, '--backend', backend, '--seeds', String(seeds)];
    const { code, told } = await ended(spawn(process.execPath, args));
    assert.equal(code, 0, told);
    assert.match(told, new RegExp(`^${seeds} seeds on ${backend}, [0-9]+ steps, 0 failed`, 'm'));
  });

  test(`the same seed gives the same history on ${backend}`, async () => {
    const first = await simulate(places[backend].database, 1);
    const again = await simulate(places[backend].database, 1);
    assert.equal(again.digest, first.digest);
    const other = await simulate(places[backend].database, 2);
    assert.notEqual(other.digest, first.digest);
  });
}

test('the same seed gives the same history on a file with threads as in the memory of one', async () => {
  const { path: directory, remove } = await temporaryDirectory();
  const database = await openDatabase({ url: null, directory });
  try {
    await migrate(database, START_MS);
    for (const seed of FILE_SEEDS) {
      const inMemory = await simulate(places.sqlite.database, seed);
      assert.equal((await simulate(database, seed)).digest, inMemory.digest);
    }
  } finally {
    await database.close();
    await remove();
  }
});

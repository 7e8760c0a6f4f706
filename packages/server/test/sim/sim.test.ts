// The simulator in `npm test`: 200 seeds on SQLite, 20 on PostgreSQL, the same history for the same seed. Longer runs:
// `npm run sim -- --seeds 10000` (docs/simulator.md).

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { BACKENDS, type Backend } from '../harness.ts';
import { openDatabase } from '../../src/db/db.ts';
import { migrate } from '../../src/db/migrate.ts';
import { temporaryDirectory } from '../db/fixture.ts';
import { openPlace, type Place, type Result, simulate } from './simulate.ts';
import { START_MS } from './world.ts';

/** As many as five minutes on two cores have room for; thousands are `npm run sim`'s. */
const SEEDS: Readonly<Record<Backend, number>> = { sqlite: 200, postgres: 20 };

/** Played on a database file, too; the last one is a fierce world. */
const FILE_SEEDS = [1, 2, 7];

/** The end of a history is what tells why. */
const LAST_LINES = 30;

let places: Readonly<Record<Backend, Place>>;
before(async () => {
  places = { sqlite: await openPlace('sqlite'), postgres: await openPlace('postgres') };
});
after(async () => {
  for (const place of Object.values(places)) await place.close();
});

const story = (backend: Backend, { seed, steps, broken, trace }: Result): string =>
  `seed ${seed}, step ${steps}: ${broken}\n${trace.slice(-LAST_LINES).join('\n')}\n` +
  `again: npm run sim -- --backend ${backend} --seed ${seed} --trace`;

for (const backend of BACKENDS) {
  test(`no seed breaks the contract's rules of commands, keys and presence on ${backend}`, async () => {
    for (let seed = 1; seed <= SEEDS[backend]; seed += 1) {
      const result = await simulate(places[backend].database, seed);
      if (result.broken !== null) assert.fail(story(backend, result));
    }
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

// The simulator in `npm test`: 40 seeds on SQLite, 5 on PostgreSQL, the same history for the
// same seed. Longer runs: `npm run sim -- --seeds 10000` (docs/simulator.md).

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { BACKENDS, type Backend } from '../harness.ts';
import { openPlace, type Place, type Result, simulate } from './simulate.ts';

/** As many as five minutes on two cores have room for; thousands are `npm run sim`'s. */
const SEEDS: Readonly<Record<Backend, number>> = { sqlite: 40, postgres: 5 };

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

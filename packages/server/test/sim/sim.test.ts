// The simulator in `npm test`: 200 seeds on SQLite, 20 on PostgreSQL, the same history for the same seed, and every
// check shown to fail. Longer runs: `npm run sim -- --seeds 10000` (docs/simulator.md).

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { BACKENDS, type Backend } from '../harness.ts';
import { SABOTAGES } from './sabotage.ts';
import { openPlace, type Place, type Result, simulate } from './simulate.ts';

/** As architecture §1 has it; thousands are `npm run sim`'s. */
const SEEDS: Readonly<Record<Backend, number>> = { sqlite: 200, postgres: 20 };

/** The end of a history is what tells why. */
const LAST_LINES = 30;

/** Every sabotage is noticed far earlier; a check that needs more is a poor one. */
const SABOTAGE_SEEDS = 40;

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

for (const { title, noticedBy, backend, parts, fierce } of SABOTAGES) {
  test(`the check “${noticedBy}” notices ${title}`, async () => {
    const noticed: (string | null)[] = [];
    for (let seed = 1; seed <= SABOTAGE_SEEDS && !noticed.includes(noticedBy); seed += 1) {
      const { invariant } = await simulate(places[backend].database, seed, parts, fierce);
      noticed.push(invariant);
    }
    assert.ok(noticed.includes(noticedBy), `only ${noticed.join(', ')}`);
  });
}

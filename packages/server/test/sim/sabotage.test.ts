// The checks of the simulator can fail: servers that break one rule each on purpose, and the check
// that notices.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Backend } from '../harness.ts';
import { SABOTAGES } from './sabotage.ts';
import { openPlace, type Place, simulate } from './simulate.ts';

/** Every sabotage is noticed far earlier; a check that needs more seeds is a poor one. */
const SABOTAGE_SEEDS = 40;

let places: Readonly<Record<Backend, Place>>;
before(async () => {
  places = { sqlite: await openPlace('sqlite'), postgres: await openPlace('postgres') };
});
after(async () => {
  for (const place of Object.values(places)) await place.close();
});

for (const { title, noticedBy, backend, parts, fierce, knownSeed } of SABOTAGES) {
  test(`the check “${noticedBy}” notices ${title}`, async () => {
    const noticed: (string | null)[] = [];
    const seeds = Array.from({ length: SABOTAGE_SEEDS }, (_, index) => index + 1);
    for (const seed of new Set([knownSeed, ...seeds])) {
      if (noticed.includes(noticedBy)) break;
      const { invariant } = await simulate(places[backend].database, seed, parts, fierce);
      noticed.push(invariant);
    }
    assert.ok(noticed.includes(noticedBy), `only ${noticed.join(', ')}`);
  });
}

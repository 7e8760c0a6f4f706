// Several uploads of one analysis, handed in, processed, interrupted, resumed and failed in an
// order that a seed chooses. None loses what it has, resolves what it has or doubles anything;
// receipts count what was done; the newest upload is shown; an upload that was only interrupted
// concludes the same as without. CRASH_SEED=n plays one seed again, whatever its number. In memory,
// because threads and disks don't matter here (crash-points.test.ts has them).

import { after, before, test } from 'node:test';
import { playInterleaving } from './interleaving.ts';
import { openStageInMemory, type Stage } from './scene.ts';

/**
 * As many as five seconds have room for, chosen out of hundreds for the mistakes that they notice:
 * 3 and 45 when an older upload takes over what a newer one has written; 45 and 94 when it resolves
 * that; 7, 16, 54 and 69 when the guard judges by what the interrupted upload itself has changed; 3
 * and 33 when findings that it resolved aren't counted.
 */
const SEEDS = [3, 7, 16, 33, 45, 54, 69, 94];

const only = process.env['CRASH_SEED'];
const seeds = only === undefined ? SEEDS : [Number(only)];

let stage: Stage;
before(async () => {
  stage = await openStageInMemory();
});
after(async () => await stage.close());

test('interrupted uploads of one analysis lose, close and double nothing, whoever comes between', async () => {
  for (const seed of seeds) await playInterleaving(stage, seed);
});

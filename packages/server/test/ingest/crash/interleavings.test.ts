// Several uploads of one analysis, handed in, processed, interrupted, resumed and set aside in an order that a seed
// chooses: none loses what it has, closes what it has or doubles anything; receipts count what was done; what the newest says is
// shown; and what was only interrupted concludes what it would have concluded at once. CRASH_SEED=n plays one seed
// again, whatever its number. In memory: what is shown here is no matter of threads and disks (crash-points.test.ts).

import { after, before, test } from 'node:test';
import { playInterleaving } from './interleaving.ts';
import { openStageInMemory, type Stage } from './scene.ts';

/**
 * As many as five seconds have room for, chosen out of hundreds for what they notice: 3 and 45 when an older upload takes over
 * what a newer one has written, 45 and 94 when it closes that, 7, 16, 54 and 69 when what is held back is judged by what the
 * interrupted upload itself has changed, 3 and 33 when findings that it closed aren't counted.
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

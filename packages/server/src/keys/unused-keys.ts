// What is removed of keys, and what never is. A runner that renews and doesn't use what it gets leaves a key each time:
// those that can't be used any more go. Tokens, and keys that were used, stay: uploads, runners and commands name them.
// Called by upkeep.

import type { Database } from '../db/db.ts';
import type { Clock } from '../lib/clock.ts';
import { deleteSomeUnusedKeys } from './keys.queries.ts';

/** One step, a few milliseconds of the writer, and the steps of a round: 10 000 keys a minute. */
const KEYS_PER_STEP = 200;
const STEPS_PER_ROUND = 50;

/** Those that were made longer ago than `keepMs`, and have ended without a use. */
export async function pruneUnusedKeys(
  database: Database,
  clock: Clock,
  keepMs: number,
): Promise<void> {
  const nowMs = clock.nowMs();
  for (let step = 0; step < STEPS_PER_ROUND; step += 1) {
    const gone = await database.transaction('system', async (tx) =>
      deleteSomeUnusedKeys(tx, nowMs - keepMs, nowMs, KEYS_PER_STEP),
    );
    if (gone < KEYS_PER_STEP) return;
  }
}

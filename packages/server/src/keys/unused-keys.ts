// Removes keys that can't be used any more and never were. A runner that renews and doesn't use its
// new keys leaves one each time; those go. Tokens, and keys that were used, stay, because uploads,
// runners and commands name them. Called by prune.ts.

import type { Database } from '../db/db.ts';
import type { Clock } from '../lib/clock.ts';
import { deleteSomeUnusedKeys } from './keys.queries.ts';

/**
 * Keys that one step deletes, a few milliseconds of the writer, and the steps of a round: 10 000
 * keys a minute.
 */
const KEYS_PER_STEP = 200;
const STEPS_PER_ROUND = 50;

/** Deletes keys that were made longer ago than `keepMs` and have ended without a use. */
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

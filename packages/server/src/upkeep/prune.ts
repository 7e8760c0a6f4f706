// The one job that removes or closes what is too old, in bounded steps. Every slice knows its own
// rules; this job only calls them. Called by app.ts.

import { DAY_MS } from '@muster/contract';
import { CommandHistory } from '../commands/command-history.ts';
import type { Database } from '../db/db.ts';
import { sweepAcceptances } from '../findings/findings.ts';
import { thinMetrics } from '../heartbeat/metrics.ts';
import { pruneUploads } from '../ingest/store/retention.ts';
import { pruneUnusedKeys } from '../keys/unused-keys.ts';
import type { Clock } from '../lib/clock.ts';
import { sweepScans } from '../scans/scans.ts';
import type { Job } from './upkeep.ts';

const EVERY_MS = 60_000;

interface Keeping {
  /** Days that raw uploads are kept after their end. */
  readonly uploadKeepDays: number;
  /**
   * Days that commands and scan sessions are kept after their end, and keys that were never used.
   */
  readonly historyKeepDays: number;
}

export function pruneJob(
  database: Database,
  clock: Clock,
  { uploadKeepDays, historyKeepDays }: Keeping,
): Job {
  const history = new CommandHistory(database, clock);
  const historyKeepMs = historyKeepDays * DAY_MS;
  return {
    name: 'prune',
    everyMs: EVERY_MS,
    run: async () => {
      await pruneUploads(database, clock, uploadKeepDays * DAY_MS);
      await sweepAcceptances(database, clock);
      await sweepScans({ database, clock }, historyKeepMs);
      await history.prune(historyKeepMs);
      await pruneUnusedKeys(database, clock, historyKeepMs);
      await thinMetrics(database, clock);
    },
  };
}

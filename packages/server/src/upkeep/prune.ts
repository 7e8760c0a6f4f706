// What is removed or closed by age, each in steps with a bound: one job, made by app.ts. Every slice knows its own rules.

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

const DAY_MS = 86_400_000;

export interface Keeping {
  /** Of raw uploads, after they ended. */
  readonly uploadKeepDays: number;
  /** Of commands and scan sessions after they ended, and of keys that were never used. */
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

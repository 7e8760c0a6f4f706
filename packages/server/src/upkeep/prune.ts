// What is removed or closed by age, each in steps with a bound: one job, made by app.ts. Every slice knows its own rules.

import type { Database } from '../db/db.ts';
import { sweepAcceptances } from '../findings/findings.ts';
import { thinMetrics } from '../heartbeat/metrics.ts';
import { pruneUploads } from '../ingest/retention.ts';
import type { Clock } from '../lib/clock.ts';
import { sweepScans } from '../scans/scans.ts';
import type { Job } from './upkeep.ts';

const EVERY_MS = 60_000;

const DAY_MS = 86_400_000;

/** `uploadKeepDays`: of raw uploads, after they ended. */
export function pruneJob(
  database: Database,
  clock: Clock,
  { uploadKeepDays }: { readonly uploadKeepDays: number },
): Job {
  return {
    name: 'prune',
    everyMs: EVERY_MS,
    run: async () => {
      await pruneUploads(database, clock, uploadKeepDays * DAY_MS);
      await sweepAcceptances(database, clock);
      await sweepScans({ database, clock });
      await thinMetrics(database, clock);
    },
  };
}

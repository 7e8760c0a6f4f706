// The jobs that look now and then at what reports nothing by itself: threads that stall, a clock
// that drifts, a disk that fills. Called by app.ts.

import { WATCH_EVERY_MS } from '../ingest/queue/workers.ts';
import type { DiskWatch } from '../lib/disk-watch.ts';
import type { Job } from './upkeep.ts';

interface WatchJobsDeps {
  /** Ends ingest threads that have stalled for minutes. */
  readonly watchThreads: () => void;
  /** Makes the clock agree with the clocks of other nodes. */
  readonly alignClock: () => Promise<void>;
  readonly alignEveryMs: number;
  /** Null: the database has a disk of its own. A disk fills within minutes at the fastest. */
  readonly disk: DiskWatch | null;
  readonly onDiskLooked: (freeBytes: number, isLow: boolean) => void;
}

export function watchJobs(deps: WatchJobsDeps): Job[] {
  const { watchThreads, alignClock, alignEveryMs, disk, onDiskLooked } = deps;
  const jobs: Job[] = [
    { name: 'ingest threads', everyMs: WATCH_EVERY_MS, run: async () => watchThreads() },
    { name: 'clock', everyMs: alignEveryMs, run: alignClock },
  ];
  if (disk === null) return jobs;
  const look = async (): Promise<void> => {
    await disk.look();
    onDiskLooked(disk.freeBytes ?? 0, disk.isLow);
  };
  return [...jobs, { name: 'disk', everyMs: WATCH_EVERY_MS, run: look }];
}

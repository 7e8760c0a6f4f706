// What has to be looked at now and then, because nothing tells of it: threads that stall, a clock that drifts, a disk that
// fills. Made by app.ts.

import { WATCH_EVERY_MS } from '../ingest/queue/workers.ts';
import type { DiskWatch } from '../lib/disk-watch.ts';
import type { Job } from './upkeep.ts';

export interface WatchJobsDeps {
  /** Ends ingest threads that stall; they are given minutes. */
  readonly watchThreads: () => void;
  /** Makes the clock agree with those of other nodes. */
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

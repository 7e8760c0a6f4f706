// The thread that processes uploads: it claims one after the other and sees each to its end. The
// main thread starts it with keys and a database connection of its own, and tells it to wake or to
// stop. The thread tells the main thread what became of each upload.

import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { DatabaseClock } from '../db/database-clock.ts';
import { type Database, openInWorker } from '../db/db.ts';
import { dbFailure } from '../db/db-errors.ts';
import { present } from '../lib/assert.ts';
import { systemClock } from '../lib/clock.ts';
import { claimNext } from './queue/claim.ts';
import { Turns } from './queue/fairness.rules.ts';
import { type IngestDeps, processUpload } from './ingest.ts';
import { retryOrFail } from './finish/retry.ts';
import type { FromWorker, IngestWorkerData, Probe, ToWorker } from './queue/worker-messages.ts';
import { type UploadRow } from './store/upload.queries.ts';

/**
 * How often the queue is looked at without a wake-up: another node may have received an upload, or
 * a retry may be due.
 */
const LOOK_MS = 1000;

const port = present(parentPort, 'the parent of the ingest worker');
const data = workerData as IngestWorkerData;
let stopping = false;
let wake: AbortController = new AbortController();

port.on('message', (message: ToWorker) => {
  if (message === 'stop') stopping = true;
  wake.abort();
});

const tell = (message: FromWorker): void => port.postMessage(message);

function tellFault(uploadId: string | null, error: unknown): void {
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  tell({ kind: 'fault', uploadId, message, stack: stack ?? '' });
}

async function workUntilStopped(database: Database, probe: Probe | null): Promise<void> {
  const deps: IngestDeps = {
    database,
    clock,
    alignClock: () => clock.align(),
    sealKey: Buffer.from(data.sealKey),
    secretKey: Buffer.from(data.secretKey),
    onProgress: () => tell({ kind: 'progress' }),
    onDefect: (defect) => tell({ kind: 'defect', ...defect }),
  };
  const turns = new Turns();
  if (data.servedLast !== null) turns.served(data.servedLast);
  while (!stopping) {
    wake = new AbortController();
    const { signal } = wake;
    const upload = await claimOrPause(database, turns);
    if (upload === undefined) await clock.sleep(LOOK_MS, signal);
    else await processOne(deps, upload, probe);
  }
}

async function claimOrPause(database: Database, turns: Turns): Promise<UploadRow | undefined> {
  try {
    await clock.align();
    return await claimNext({ database, clock, holder: data.holder, turns });
  } catch (error) {
    tellFault(null, error);
    await clock.sleep(LOOK_MS);
    return undefined;
  }
}

async function processOne(deps: IngestDeps, upload: UploadRow, probe: Probe | null): Promise<void> {
  const startedMs = clock.monotonicMs();
  const ended = (outcome: string): void =>
    tell({
      kind: 'ended',
      tenantId: upload.tenant_id,
      uploadId: upload.id,
      outcome,
      attempt: upload.attempt,
      durationMs: clock.monotonicMs() - startedMs,
    });
  tell({ kind: 'claimed', from: { tenant_id: upload.tenant_id, runner_id: upload.runner_id } });
  try {
    probe?.(upload);
    ended(await processUpload(deps, upload));
  } catch (error) {
    tellFault(upload.id, error);
    ended(await giveBack(deps, upload, isDatabaseAway(error) ? 'unavailable' : 'error'));
  }
}

/**
 * Gives the upload back for a retry, as often as it takes: while the database is away nothing else
 * can be done here.
 */
async function giveBack(
  deps: IngestDeps,
  upload: UploadRow,
  why: 'unavailable' | 'error',
): Promise<string> {
  while (true) {
    try {
      return await retryOrFail(deps, upload, why);
    } catch (error) {
      tellFault(upload.id, error);
      if (stopping) return 'lost';
      await clock.sleep(LOOK_MS, wake.signal);
      tell({ kind: 'progress' });
    }
  }
}

/**
 * True when the connection is lost or the disk is full: then no upload can be processed. A slow
 * statement or a lock may be the upload's own doing.
 */
function isDatabaseAway(error: unknown): boolean {
  const kind = dbFailure(error)?.kind;
  return kind === 'connection' || kind === 'full' || kind === 'disk';
}

/** 10 of 20 levels: enough that requests and the writer go first when the processor is short. */
const NICE = 10;

// On Linux a priority belongs to the thread that sets it; elsewhere it would slow the whole
// process.
if (process.platform === 'linux') setPriority(NICE);

const database = await openInWorker(data.database);
const clock = new DatabaseClock(database, systemClock);
tell({ kind: 'ready' });
try {
  const { probe = null } =
    data.probe === null ? {} : ((await import(data.probe)) as { probe?: Probe });
  await workUntilStopped(database, probe);
} finally {
  await database.close();
  port.close();
}

// The thread that processes uploads: claims one after the other and sees each to its end. Started by workers.ts with
// keys and a database of its own; told to wake or to stop; tells what became of each upload.

import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { limits } from '@muster/contract';
import { type Database, openInWorker, type WorkerData } from '../db/db.ts';
import { present } from '../lib/assert.ts';
import { systemClock } from '../lib/clock.ts';
import { type IngestDeps, processUpload } from './ingest.ts';
import { type UploadRow } from './upload.queries.ts';
import { claimUpload, requeueUpload } from './upload-work.queries.ts';

export interface IngestWorkerData {
  readonly database: WorkerData['data'];
  readonly holder: string;
  readonly sealKey: Uint8Array;
  readonly secretKey: Uint8Array;
}

export type ToWorker = 'wake' | 'stop';

export type FromWorker =
  | { readonly kind: 'ready' }
  | {
      readonly kind: 'ended';
      readonly tenantId: string;
      readonly uploadId: string;
      readonly outcome: string;
      readonly attempt: number;
      readonly durationMs: number;
    }
  | {
      readonly kind: 'fault';
      readonly uploadId: string | null;
      readonly message: string;
      readonly stack: string;
    };

/** Without a wake-up (another node received it, or a retry is due) the queue is looked at this often. */
const LOOK_MS = 1000;

/** After a fault the upload waits: 2 s, 4 s, 8 s. */
const RETRY_BASE_MS = 1000;

const port = present(parentPort, 'the parent of the ingest worker');
const clock = systemClock;
const data = workerData as IngestWorkerData;
let stopping = false;
let wake: AbortController = new AbortController();

port.on('message', (message: ToWorker) => {
  if (message === 'stop') stopping = true;
  wake.abort();
});

const tell = (message: FromWorker): void => port.postMessage(message);

function fault(uploadId: string | null, error: unknown): void {
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  tell({ kind: 'fault', uploadId, message, stack: stack ?? '' });
}

async function work(database: Database): Promise<void> {
  const deps: IngestDeps = {
    database,
    clock,
    sealKey: Buffer.from(data.sealKey),
    secretKey: Buffer.from(data.secretKey),
  };
  while (!stopping) {
    wake = new AbortController();
    const { signal } = wake;
    const upload = await claim(database);
    if (upload === undefined) await clock.sleep(LOOK_MS, signal);
    else await one(deps, upload);
  }
}

async function claim(database: Database): Promise<UploadRow | undefined> {
  try {
    const nowMs = clock.nowMs();
    return await claimUpload(database.system(), data.holder, nowMs, nowMs + limits.uploadLeaseMs);
  } catch (error) {
    fault(null, error);
    await clock.sleep(LOOK_MS);
    return undefined;
  }
}

async function one(deps: IngestDeps, upload: UploadRow): Promise<void> {
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
  try {
    ended(await processUpload(deps, upload));
  } catch (error) {
    // A defect or an unavailable database: the attempt counts, so a poisonous upload ends as `failed`.
    fault(upload.id, error);
    const notBefore = clock.nowMs() + RETRY_BASE_MS * 2 ** upload.attempt;
    await requeueUpload(deps.database.tenant(upload.tenant_id), upload, notBefore, 0);
    ended('requeued');
  }
}

/** Of 20 levels: enough that requests and the writer go first when the processor is short. */
const NICE = 10;

// On Linux a priority belongs to the thread that sets it; elsewhere it would slow the whole process.
if (process.platform === 'linux') setPriority(NICE);

const database = await openInWorker(data.database);
tell({ kind: 'ready' });
try {
  await work(database);
} finally {
  await database.close();
  port.close();
}

// The ingest threads as the main thread sees them: started, woken, replaced when they die, stopped. Requests wait here
// for the end of their upload; a wake-up is a hint, the database is the truth.

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { limits } from '@muster/contract';
import type { Database } from '../db/db.ts';
import type { Clock } from '../lib/clock.ts';
import { newId } from '../lib/ids.ts';
import type { Logger } from '../lib/log.ts';
import type { FromWorker, IngestWorkerData, ToWorker } from './ingest.worker.ts';
import { allReceiving, deleteReceiving, findUpload, type UploadRow } from './upload.queries.ts';
import { releaseHeldBy } from './upload-work.queries.ts';

export interface WorkersDeps {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Logger;
  readonly sealKey: Buffer;
  readonly secretKey: Buffer;
  readonly count: number;
  readonly onEnded: (outcome: string, durationMs: number) => void;
}

/** Another node may process it: the row is looked at this often while somebody waits. */
const LOOK_MS = 250;

/** A thread that dies at once again must not take the processor. */
const RESTART_MS = 1000;

export class IngestWorkers {
  readonly #deps: WorkersDeps;
  readonly #workers = new Set<Worker>();
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #replacing = new Set<Promise<void>>();
  #stopping = false;

  constructor(deps: WorkersDeps) {
    this.#deps = deps;
  }

  start(): void {
    for (let i = 0; i < this.#deps.count; i += 1) this.#spawn();
  }

  /** There is an upload to process. */
  wake(): void {
    for (const worker of this.#workers) worker.postMessage('wake' satisfies ToWorker);
  }

  /** The upload when it has ended, or as it stands after `ms` milliseconds. */
  async waitFor(tenantId: string, uploadId: string, ms: number): Promise<UploadRow | undefined> {
    const { clock, database } = this.#deps;
    const until = clock.monotonicMs() + ms;
    while (true) {
      const row = await findUpload(database.tenant(tenantId), tenantId, uploadId);
      const left = until - clock.monotonicMs();
      if (row === undefined || row.finished_at !== null || left <= 0 || this.#stopping) return row;
      await this.#hint(uploadId, Math.min(left, LOOK_MS));
    }
  }

  /** Lets the uploads in work come to their end for at most `ms`, then ends the threads; leases go back. */
  async stop(ms: number): Promise<void> {
    this.#stopping = true;
    const ends = [...this.#workers].map(async (worker) => {
      const exited = once(worker, 'exit');
      worker.postMessage('stop' satisfies ToWorker);
      const late = new AbortController();
      await Promise.race([exited, this.#deps.clock.sleep(ms, late.signal)]);
      late.abort();
      await worker.terminate();
    });
    await Promise.all(ends);
    await Promise.all(this.#replacing);
  }

  async #hint(uploadId: string, ms: number): Promise<void> {
    const heard = new AbortController();
    const waiters = this.#waiting.get(uploadId) ?? new Set();
    this.#waiting.set(uploadId, waiters);
    const hear = (): void => heard.abort();
    waiters.add(hear);
    await this.#deps.clock.sleep(ms, heard.signal);
    waiters.delete(hear);
    if (waiters.size === 0) this.#waiting.delete(uploadId);
  }

  #spawn(): void {
    const { database, log, sealKey, secretKey, clock } = this.#deps;
    const holder = newId<string>(clock.nowMs());
    const link = database.workerData();
    const data: IngestWorkerData = { database: link.data, holder, sealKey, secretKey };
    const worker = new Worker(new URL('./ingest.worker.ts', import.meta.url), {
      workerData: data,
      transferList: link.transfer,
      name: 'muster-ingest',
      resourceLimits: { maxYoungGenerationSizeMb: Number(process.env['YG'] ?? 16) },
    });
    this.#workers.add(worker);
    worker.on('message', (message: FromWorker) => this.#hear(message));
    worker.on('error', (error) => log.error({ err: error, holder }, 'an ingest thread died'));
    worker.on('exit', () => {
      this.#workers.delete(worker);
      const replacing = this.#replace(holder).finally(() => this.#replacing.delete(replacing));
      this.#replacing.add(replacing);
    });
  }

  /** What a dead thread held goes back to the queue at once, and another takes its place. */
  async #replace(holder: string): Promise<void> {
    const { database, clock, log } = this.#deps;
    try {
      const released = await releaseHeldBy(database.system(), holder, clock.nowMs());
      if (released > 0) log.warn({ holder, released }, 'uploads went back to the queue');
    } catch (error) {
      // The lease ends by itself after limits.uploadLeaseMs.
      if (!this.#stopping)
        log.warn({ err: error, leaseMs: limits.uploadLeaseMs }, 'a lease could not be released');
    }
    if (this.#stopping) return;
    await clock.sleep(RESTART_MS);
    if (!this.#stopping) this.#spawn();
  }

  #hear(message: FromWorker): void {
    const { log, onEnded } = this.#deps;
    switch (message.kind) {
      case 'ready':
        log.debug('an ingest thread is ready');
        break;
      case 'fault':
        log.error(message, 'processing an upload failed');
        break;
      case 'ended': {
        const { uploadId, outcome, durationMs, attempt } = message;
        log.info(
          { upload_id: uploadId, outcome, attempt, duration_ms: Math.round(durationMs) },
          'upload',
        );
        onEnded(outcome, durationMs);
        for (const hear of this.#waiting.get(uploadId) ?? []) hear();
        break;
      }
    }
  }
}

/** At the start of the only process on this database nobody else can hold an upload: all leases are void. */
export async function releaseAll(database: Database, clock: Clock): Promise<number> {
  // Nobody can be sending to a process that has just begun.
  for (const { tenant_id: tenantId, id } of await allReceiving(database.systemLists())) {
    await database.transaction('system', async (tx) => deleteReceiving(tx, tenantId, id));
  }
  return await releaseHeldBy(database.system(), null, clock.nowMs());
}

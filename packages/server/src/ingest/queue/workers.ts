// The ingest threads as the main thread sees them: it starts, wakes and watches them, replaces
// those that die, and stops them. A document may cost a thread, because its memory is bounded and a
// stall is ended, but never the process. A wake-up is a hint; the database is the truth.

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { limits, type UploadFault } from '@muster/contract';
import type { Database } from '../../db/db.ts';
import type { Clock } from '../../lib/clock.ts';
import { growHeapsSlowly } from '../../lib/heap-growth.ts';
import { newId } from '../../lib/ids.ts';
import type { Logger } from '../../lib/log.ts';
import { AwaitedUploads } from './awaited-uploads.ts';
import type { FromWorker, IngestWorkerData, Served, ToWorker } from './worker-messages.ts';
import { giveUpArriving } from '../store/retention.ts';
import { retryOrFail } from '../finish/retry.ts';
import type { UploadRow } from '../store/upload.queries.ts';
import { heldBy, releaseAllHeld } from '../store/upload-work.queries.ts';

export interface WorkersDeps {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Logger;
  readonly sealKey: Buffer;
  readonly secretKey: Buffer;
  readonly count: number;
  /** The heap of one thread, MiB; a document that needs more ends its thread. */
  readonly heapMiBMax: number;
  /** For tests: see IngestWorkerData. */
  readonly probe: string | null;
  /** The threads start with the first upload, or after this time without one. */
  readonly startAfterMs: number;
  readonly onEnded: (outcome: string, durationMs: number) => void;
}

/**
 * The pause before a dead thread is replaced: one that dies at once must not take the processor.
 */
const RESTART_MS = 1000;

/** How often upkeep calls `watch`. */
export const WATCH_EVERY_MS = 5000;

/** The newest upload weighs a tenth: the pace follows the last few dozen. */
const PACE_WEIGHT = 0.1;

interface Thread {
  readonly worker: Worker;
  readonly holder: string;
  /** Milliseconds since its last sign of progress; null: the thread has no upload in work. */
  silentMs: number | null;
  /** The tenant and runner whose upload the thread claimed last. */
  served: Served | null;
  /** Why the thread ended, for the retry of the upload that it holds. */
  fault: UploadFault;
}

/**
 * The bound of the heap for young objects. What reading an item leaves behind dies young, and V8
 * touches all of this room before it collects any of it. This is a third of V8's own bound (96
 * MiB): it takes a third of the memory and costs more, short collections, which take no measurable
 * time.
 */
const YOUNG_MIB_MAX = 32;

export class IngestWorkers {
  readonly #deps: WorkersDeps;
  readonly #threads = new Set<Thread>();
  readonly #awaited: AwaitedUploads;
  readonly #replacing = new Set<Promise<void>>();
  #stopping = false;
  /** Set from `start` until the threads are started. */
  #starting: AbortController | null = null;
  #watchedMs: number;
  #msPerUpload = 1000;

  constructor(deps: WorkersDeps) {
    this.#deps = deps;
    this.#awaited = new AwaitedUploads(deps.database, deps.clock, deps.log);
    this.#watchedMs = deps.clock.monotonicMs();
  }

  /** Milliseconds in which these threads together have lately finished one upload. */
  get paceMs(): number {
    return this.#msPerUpload / this.#deps.count;
  }

  /**
   * Starts the threads, but not at once: a thread takes the processor for a third of a second
   * before it is of use, and the server is starting, too. The first upload starts them early. Work
   * that was left from before, or came to another node, waits for no longer than `startAfterMs`.
   */
  start(): void {
    growHeapsSlowly();
    const { clock, startAfterMs } = this.#deps;
    this.#starting = new AbortController();
    void clock.sleep(startAfterMs, this.#starting.signal).then(() => this.#startThreads());
  }

  #startThreads(): void {
    if (this.#starting === null) return;
    this.#starting.abort();
    this.#starting = null;
    for (let i = 0; i < this.#deps.count; i += 1) this.#spawn(null);
  }

  /**
   * Tells the threads that there is an upload to process, and starts them if they aren't started.
   */
  wake(): void {
    this.#startThreads();
    for (const { worker } of this.#threads) worker.postMessage('wake' satisfies ToWorker);
  }

  /**
   * Ends threads that have an upload in work and made no progress for limits.uploadStallMs. Time in
   * which this process was itself stalled or asleep counts against nobody.
   */
  watch(): void {
    const nowMs = this.#deps.clock.monotonicMs();
    const passedMs = Math.min(nowMs - this.#watchedMs, 2 * WATCH_EVERY_MS);
    this.#watchedMs = nowMs;
    for (const thread of this.#threads) {
      if (thread.silentMs === null) continue;
      thread.silentMs += passedMs;
      if (thread.silentMs < limits.uploadStallMs) continue;
      thread.fault = 'stalled';
      this.#deps.log.error({ holder: thread.holder }, 'an ingest thread stalled and is ended');
      void thread.worker.terminate();
    }
  }

  /** The upload when it has ended, or as it stands after `ms` milliseconds. */
  async waitFor(tenantId: string, uploadId: string, ms: number): Promise<UploadRow | undefined> {
    return await this.#awaited.waitFor(tenantId, uploadId, ms);
  }

  /**
   * Waits at most `ms` for the uploads in work to end, then ends the threads and gives their leases
   * back.
   */
  async stop(ms: number): Promise<void> {
    this.#stopping = true;
    this.#starting?.abort();
    this.#starting = null;
    this.#awaited.stop();
    const ends = [...this.#threads].map(async ({ worker }) => {
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

  #spawn(servedLast: Served | null): void {
    const { database, log, sealKey, secretKey, clock, heapMiBMax, probe } = this.#deps;
    const holder = newId<string>(clock.nowMs());
    const link = database.workerData();
    const data: IngestWorkerData = {
      database: link.data,
      holder,
      sealKey,
      secretKey,
      probe,
      servedLast,
    };
    const worker = new Worker(new URL('../ingest.worker.ts', import.meta.url), {
      workerData: data,
      transferList: link.transfer,
      resourceLimits: {
        maxOldGenerationSizeMb: heapMiBMax,
        maxYoungGenerationSizeMb: YOUNG_MIB_MAX,
      },
      name: 'muster-ingest',
    });
    const thread: Thread = { worker, holder, silentMs: null, served: null, fault: 'crashed' };
    this.#threads.add(thread);
    worker.on('message', (message: FromWorker) => this.#hear(thread, message));
    worker.on('error', (error) => {
      // Node's ERR_WORKER_OUT_OF_MEMORY: the heap of the thread reached its bound, and only the
      // thread ended.
      const { code } = error as { code?: unknown };
      if (code === 'ERR_WORKER_OUT_OF_MEMORY') thread.fault = 'out_of_memory';
      log.error({ err: error, holder }, 'an ingest thread died');
    });
    worker.on('exit', () => {
      this.#threads.delete(thread);
      const replacing = this.#replace(thread).finally(() => this.#replacing.delete(replacing));
      this.#replacing.add(replacing);
    });
  }

  /**
   * Requeues or fails the uploads that a dead thread held, and starts another thread in its place.
   */
  async #replace({ holder, fault, served }: Thread): Promise<void> {
    const { database, clock, log } = this.#deps;
    try {
      for (const upload of await heldBy(database.system(), holder)) {
        const why = this.#stopping ? 'process_ended' : fault;
        const outcome = await retryOrFail(this.#deps, upload, why);
        log.warn({ holder, upload_id: upload.id, why, outcome }, 'an upload lost its worker');
        this.#awaited.tell(upload.id);
      }
    } catch (error) {
      // The lease ends by itself after limits.uploadLeaseMs.
      if (!this.#stopping)
        log.warn({ err: error, leaseMs: limits.uploadLeaseMs }, 'a lease could not be released');
    }
    if (this.#stopping) return;
    await clock.sleep(RESTART_MS);
    if (!this.#stopping) this.#spawn(served);
  }

  #hear(thread: Thread, message: FromWorker): void {
    const { log, onEnded } = this.#deps;
    switch (message.kind) {
      case 'ready':
        log.debug('an ingest thread is ready');
        break;
      case 'claimed':
        thread.served = message.from;
        thread.silentMs = 0;
        break;
      case 'progress':
        thread.silentMs = 0;
        break;
      case 'defect':
        log.error(message, 'an item of an upload could not be read');
        break;
      case 'fault':
        log.error(message, 'processing an upload failed');
        break;
      case 'ended': {
        const { uploadId, outcome, durationMs, attempt } = message;
        thread.silentMs = null;
        this.#msPerUpload += PACE_WEIGHT * (durationMs - this.#msPerUpload);
        log.info(
          { upload_id: uploadId, outcome, attempt, duration_ms: Math.round(durationMs) },
          'upload',
        );
        onEnded(outcome, durationMs);
        this.#awaited.tell(uploadId);
        break;
      }
    }
  }
}

/**
 * For the start of the only process on a database: nobody else can hold an upload, so all leases
 * are void. Returns how many uploads were requeued.
 */
export async function releaseAll(database: Database, clock: Clock): Promise<number> {
  await giveUpArriving(database, clock);
  return await releaseAllHeld(database.system());
}

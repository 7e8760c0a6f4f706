// Requests that wait for the end of their upload. An upload that ends in this process is told at
// once. Another node may end an upload as well, so one statement now and then asks for all awaited
// uploads together. Both are hints: an answer is made from the row that is read when the wait is
// over. Called by workers.ts.

import type { Database } from '../../db/db.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { endedAmong, findUpload, type UploadRow } from '../store/upload.queries.ts';

/**
 * When another node ended the upload, an answer is late by half of this; each look costs one
 * statement a node.
 */
const LOOK_MS = 250;

/**
 * The pause after a look that failed. Whoever waits learns of the failure at the end of the wait.
 */
const LOOK_AGAIN_MS = 2000;

/** Uploads asked for in one statement. */
const ASK_MAX = 500;

interface Waiter {
  readonly tenantId: string;
  readonly uploadId: string;
  readonly untilMs: number;
  readonly wake: AbortController;
}

export class AwaitedUploads {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #waiters = new Map<string, Set<Waiter>>();
  readonly #end = new AbortController();
  #isLooking = false;

  constructor(database: Database, clock: Clock, log: Logger) {
    this.#database = database;
    this.#clock = clock;
    this.#log = log;
  }

  /**
   * The upload when it has ended, or as it stands after `ms` milliseconds; undefined: it was
   * removed.
   */
  async waitFor(tenantId: string, uploadId: string, ms: number): Promise<UploadRow | undefined> {
    const untilMs = this.#clock.monotonicMs() + ms;
    while (true) {
      // The waiter is added before the row is read, so that nothing told meanwhile is missed.
      const waiter = { tenantId, uploadId, untilMs, wake: new AbortController() };
      this.#add(waiter);
      try {
        const row = await findUpload(this.#database.tenant(tenantId), tenantId, uploadId);
        const left = untilMs - this.#clock.monotonicMs();
        const isOver = left <= 0 || this.#end.signal.aborted;
        if (row === undefined || row.finished_at !== null || isOver) return row;
        void this.#keepLooking();
        await this.#clock.sleep(left, waiter.wake.signal);
      } finally {
        this.#remove(waiter);
      }
    }
  }

  /**
   * Something happened to this upload in this process: whoever waits for it reads its row again.
   */
  tell(uploadId: string): void {
    for (const { wake } of this.#waiters.get(uploadId) ?? []) wake.abort();
  }

  /** Ends all waits. */
  stop(): void {
    this.#end.abort();
    for (const uploadId of this.#waiters.keys()) this.tell(uploadId);
  }

  #add(waiter: Waiter): void {
    const waiters = this.#waiters.get(waiter.uploadId) ?? new Set();
    this.#waiters.set(waiter.uploadId, waiters.add(waiter));
  }

  #remove(waiter: Waiter): void {
    const waiters = this.#waiters.get(waiter.uploadId);
    waiters?.delete(waiter);
    if (waiters?.size === 0) this.#waiters.delete(waiter.uploadId);
  }

  /** The one loop that looks while anybody waits. */
  async #keepLooking(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    let pauseMs = LOOK_MS;
    do {
      await this.#clock.sleep(pauseMs, this.#end.signal);
      try {
        await this.#look();
        pauseMs = LOOK_MS;
      } catch (error) {
        pauseMs = LOOK_AGAIN_MS;
        if (!this.#end.signal.aborted)
          this.#log.warn({ err: error }, 'awaited uploads can’t be looked at');
      }
    } while (this.#waiters.size > 0 && !this.#end.signal.aborted);
    this.#isLooking = false;
  }

  async #look(): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    const awaited: Waiter[] = [];
    for (const waiters of this.#waiters.values()) {
      const [one] = waiters;
      if (one !== undefined) awaited.push(one);
      // A timer may be late, or have slept with the machine.
      for (const { untilMs, wake } of waiters) if (untilMs <= nowMs) wake.abort();
    }
    for (let at = 0; at < awaited.length && !this.#end.signal.aborted; at += ASK_MAX) {
      const asked = awaited.slice(at, at + ASK_MAX);
      for (const id of await endedAmong(this.#database.system(), asked)) this.tell(id);
    }
  }
}

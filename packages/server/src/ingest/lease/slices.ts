// Writes that grow with the report are done in slices: each slice is a short transaction of its own
// under the lease, so that heartbeats and other uploads never wait for the whole. A crash between
// two slices costs nothing: a slice may be written again, and what it counts is stored with it.

import { limits } from '@muster/contract/plain';
import type { Db } from '../../db/db.ts';
import { holdLease, type IngestDeps } from './lease.ts';
import type { UploadRow } from '../store/upload.queries.ts';
import { batchCounts, type BatchPart, insertBatch } from '../store/upload-work.queries.ts';

/** Rows of one slice: as many as a batch of findings has, for the same reason. */
export const SLICE_ROWS = limits.ingestBatchItems;

/** Characters that fill a slice with few rows: large documents take longer to write. */
export const SLICE_CHARS_MAX = 4 * 1024 * 1024;

/** The rows in lists of at most SLICE_ROWS, in their order. */
export function sliced<T>(rows: readonly T[]): T[][] {
  const count = Math.ceil(rows.length / SLICE_ROWS);
  return Array.from({ length: count }, (_, at) =>
    rows.slice(at * SLICE_ROWS, (at + 1) * SLICE_ROWS),
  );
}

/**
 * The rows in the order of their keys: the same slices in every try, and the same order of locks in
 * every upload.
 */
export function inOrder<T>(rows: ReadonlyMap<string, T>): T[] {
  return [...rows].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, row]) => row);
}

/** Gathers rows as they come, each once, until they fill a slice. */
export class GrowingSlice<T> {
  readonly #rows = new Map<string, T>();
  #entries = 0;
  #chars = 0;

  /**
   * Sets the row of a key. A row that comes again fills the slice like a new one: it is work, too.
   */
  put(key: string, row: T, chars: number): void {
    this.#rows.set(key, row);
    this.#entries += 1;
    this.#chars += chars;
  }

  get(key: string): T | undefined {
    return this.#rows.get(key);
  }

  get isEmpty(): boolean {
    return this.#rows.size === 0;
  }

  get isFull(): boolean {
    return this.#entries >= SLICE_ROWS || this.#chars >= SLICE_CHARS_MAX;
  }

  /** The rows in the order of their keys. */
  inOrder(): T[] {
    return inOrder(this.#rows);
  }
}

/**
 * How slices are run. Bodies contain SQL and nothing else, and may run again after a lock failure.
 */
export interface Slices {
  /** For reads between slices. */
  readonly db: Db;
  /** Runs a slice that counts nothing: a try after a crash runs it again. */
  write<T>(body: (tx: Db) => Promise<T>): Promise<T>;
  /**
   * Runs a slice, and stores its result, which is JSON, with it: a try after a crash gets the
   * result instead of running the slice again. Every try asks for the same slices in the same
   * order.
   */
  once<T>(body: (tx: Db) => Promise<T>): Promise<T>;
}

/** Slices of an upload in work. */
export class LeasedSlices implements Slices {
  readonly db: Db;
  readonly #deps: IngestDeps;
  readonly #upload: UploadRow;
  readonly #part: BatchPart;
  readonly #committed: ReadonlyMap<number, string>;
  #next = 0;

  private constructor(
    deps: IngestDeps,
    upload: UploadRow,
    part: BatchPart,
    committed: ReadonlyMap<number, string>,
  ) {
    this.db = deps.database.tenant(upload.tenant_id);
    this.#deps = deps;
    this.#upload = upload;
    this.#part = part;
    this.#committed = committed;
  }

  /** Knows the slices of that part that an earlier try committed. */
  static async open(deps: IngestDeps, upload: UploadRow, part: BatchPart): Promise<LeasedSlices> {
    const db = deps.database.tenant(upload.tenant_id);
    return new LeasedSlices(deps, upload, part, await batchCounts(db, upload, part));
  }

  /** Whether an earlier try committed a slice of this part that counts. */
  get isResumed(): boolean {
    return this.#committed.size > 0;
  }

  async write<T>(body: (tx: Db) => Promise<T>): Promise<T> {
    return await this.#run(`a slice of the ${this.#part}`, {}, body);
  }

  async once<T>(body: (tx: Db) => Promise<T>): Promise<T> {
    const done = this.#committed.get(this.#next);
    if (done === undefined) return await this.append(body);
    this.#next += 1;
    return JSON.parse(done) as T;
  }

  /** What earlier tries appended: the results of the slices that `once` hasn't returned. */
  appended<T>(): T[] {
    const rest = [...this.#committed].filter(([batch]) => batch >= this.#next);
    return rest.map(([, counts]) => JSON.parse(counts) as T);
  }

  /**
   * Runs a slice that finds out by itself what is left to do; its result is stored behind the
   * committed ones.
   */
  async append<T>(body: (tx: Db) => Promise<T>): Promise<T> {
    while (this.#committed.has(this.#next)) this.#next += 1;
    const batch = this.#next;
    this.#next += 1;
    // No try does this slice again, so each is progress: even a worker that dies now and then gets
    // to the end.
    const progress = { progress_attempt: this.#upload.attempt };
    return await this.#run(`${this.#part} ${batch}`, progress, async (tx) => {
      const result = await body(tx);
      await insertBatch(tx, this.#upload, batch, JSON.stringify(result), this.#part);
      return result;
    });
  }

  async #run<T>(
    step: string,
    progress: { progress_attempt?: number },
    body: (tx: Db) => Promise<T>,
  ): Promise<T> {
    const result = await this.#deps.database.transaction(this.#upload.tenant_id, async (tx) => {
      await holdLease(this.#deps, tx, this.#upload, progress);
      return await body(tx);
    });
    this.#deps.checkpoint?.(step);
    return result;
  }
}

/** Runs all slices inside one transaction, for a dry run that rolls it back. */
export const slicesWithin = (tx: Db): Slices => ({
  db: tx,
  write: async (body) => await body(tx),
  once: async (body) => await body(tx),
});

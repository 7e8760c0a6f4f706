// Writing that grows with the report, in slices: each a short transaction of its own under the lease, so that nobody waits
// for the whole of it, heartbeats and other uploads least of all. A crash between two slices costs nothing: what they write
// may be written again, and what they count is stored with them. Used by the steps of the ingest story.

import { limits } from '@muster/contract/plain';
import type { Db } from '../../db/db.ts';
import { holdLease, type IngestDeps } from './lease.ts';
import type { UploadRow } from '../store/upload.queries.ts';
import { batchCounts, type BatchPart, insertBatch } from '../store/upload-work.queries.ts';

/** Rows of one slice: as many as a batch of findings has, for the same reason. */
export const SLICE_ROWS = limits.ingestBatchItems;

/** Characters of what a slice writes, however few its rows are: with large documents each takes longer. */
export const SLICE_CHARS_MAX = 4 * 1024 * 1024;

/** The rows in lists of at most SLICE_ROWS, in order. */
export function sliced<T>(rows: readonly T[]): T[][] {
  const count = Math.ceil(rows.length / SLICE_ROWS);
  return Array.from({ length: count }, (_, at) =>
    rows.slice(at * SLICE_ROWS, (at + 1) * SLICE_ROWS),
  );
}

/** The rows by the order of their keys: the same slices in every try, and the same order of locks in every upload. */
export function inOrder<T>(rows: ReadonlyMap<string, T>): T[] {
  return [...rows].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, row]) => row);
}

/** Rows that are gathered as they come, each once, until they fill a slice. */
export class GrowingSlice<T> {
  readonly #rows = new Map<string, T>();
  #entries = 0;
  #chars = 0;

  /** The row of this key from now on. What comes again fills the slice as others do: it is work, too. */
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

  /** The rows by the order of their keys. */
  inOrder(): T[] {
    return inOrder(this.#rows);
  }
}

/** How slices are run. Bodies contain SQL and nothing else, and may run again after a lock failure. */
export interface Slices {
  /** For what is read between slices. */
  readonly db: Db;
  /** A slice that counts nothing: a try after a crash runs it again. */
  write<T>(body: (tx: Db) => Promise<T>): Promise<T>;
  /**
   * A slice whose result, which is JSON, is stored with it: a try after a crash gets that instead of running it again.
   * Every try asks for the same slices in the same order.
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

  /** With the slices of that part that an earlier try committed. */
  static async open(deps: IngestDeps, upload: UploadRow, part: BatchPart): Promise<LeasedSlices> {
    const db = deps.database.tenant(upload.tenant_id);
    return new LeasedSlices(deps, upload, part, await batchCounts(db, upload, part));
  }

  /** Whether an earlier try committed any slice of this part that counts. */
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

  /** What earlier tries appended: the results of all their slices that `once` hasn't given out. */
  appended<T>(): T[] {
    const rest = [...this.#committed].filter(([batch]) => batch >= this.#next);
    return rest.map(([, counts]) => JSON.parse(counts) as T);
  }

  /** A slice that finds out by itself what is left to do: it is stored behind those that are committed. */
  async append<T>(body: (tx: Db) => Promise<T>): Promise<T> {
    while (this.#committed.has(this.#next)) this.#next += 1;
    const batch = this.#next;
    this.#next += 1;
    // No try does it again: a worker that dies now and then gets to the end.
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

/** All slices inside one transaction, for what a dry run undoes. */
export const slicesWithin = (tx: Db): Slices => ({
  db: tx,
  write: async (body) => await body(tx),
  once: async (body) => await body(tx),
});

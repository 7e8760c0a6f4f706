// The rights of a worker that holds the lease of an upload, and the way in which it learns that it
// has lost the lease. Every write of ingest extends the lease in its own transaction: that is the
// fence against a second worker.

import { limits } from '@muster/contract/plain';
import type { Database, Db } from '../../db/db.ts';
import type { Clock } from '../../lib/clock.ts';
import { extendScopes } from '../store/scope.queries.ts';
import type { UploadRow } from '../store/upload.queries.ts';
import { extendLease } from '../store/upload-work.queries.ts';

export interface IngestDeps {
  readonly database: Database;
  readonly clock: Clock;
  /** Keeps the clock right while an upload is in work (db/database-clock.ts). */
  readonly alignClock?: () => Promise<void>;
  readonly sealKey: Buffer;
  /** Hashes the values of secrets for their identity. */
  readonly secretKey: Buffer;
  /** For tests: called after each committed step; may throw to play a crash. */
  readonly checkpoint?: (step: string) => void;
  /**
   * A sign that the work goes on; a worker that gives none for limits.uploadStallMs is ended
   * (workers.ts).
   */
  readonly onProgress?: () => void;
  /** Is told when a reader fails on an item, which costs that item alone. */
  readonly onDefect?: (defect: ReaderDefect) => void;
}

/** This worker no longer holds the upload: it stops at once and writes nothing. */
export class LeaseLost extends Error {}

/** Another upload holds one of the scopes: this one is tried again a little later. */
export class ScopeBusy extends Error {}

/**
 * How much of a scope's lease may pass before it is extended. A report has up to as many scopes as
 * items, and to write all of them with every batch would be most of the work.
 */
const SCOPE_LEASE_SPENT_MS = limits.uploadLeaseMs / 5;

/**
 * Extends the lease of the upload and of its scopes. Throws LeaseLost when this worker no longer
 * holds the upload, and then nothing of it may be written: another worker has it, or another upload
 * pushed it aside to take one of its scopes (destinations.ts).
 */
export async function holdLease(
  deps: IngestDeps,
  db: Db,
  upload: UploadRow,
  progress: Parameters<typeof extendLease>[3],
): Promise<void> {
  deps.onProgress?.();
  const until = deps.clock.nowMs() + limits.uploadLeaseMs;
  // Also outside a transaction: the scopes of an upload that was lost are left to end by
  // themselves.
  if ((await extendLease(db, upload, until, progress)) === 0) throw new LeaseLost();
  await extendScopes(db, upload.tenant_id, upload.id, until - SCOPE_LEASE_SPENT_MS, until);
}

/**
 * Extends the same leases in one round trip, but doesn't tell whether they are still held: only for
 * a transaction that insertBatch guards.
 */
export async function extendHold(
  deps: IngestDeps,
  db: Db,
  upload: UploadRow,
  progress: Parameters<typeof extendLease>[3],
): Promise<void> {
  const until = deps.clock.nowMs() + limits.uploadLeaseMs;
  deps.onProgress?.();
  await Promise.all([
    extendLease(db, upload, until, progress),
    extendScopes(db, upload.tenant_id, upload.id, until - SCOPE_LEASE_SPENT_MS, until),
  ]);
}

/** How often the lease is extended while a document is read: far below limits.uploadLeaseMs. */
const HOLD_EVERY_MS = 30_000;

/**
 * Returns a function that is called with every piece of the document that is read, in every pass.
 * It extends the lease now and then, so that no document is too long for its lease. Throws
 * LeaseLost.
 */
export function leaseKeeper(deps: IngestDeps, upload: UploadRow): () => Promise<void> {
  const db = deps.database.tenant(upload.tenant_id);
  let heldAtMs = deps.clock.monotonicMs();
  return async () => {
    deps.onProgress?.();
    if (deps.clock.monotonicMs() - heldAtMs < HOLD_EVERY_MS) return;
    heldAtMs = deps.clock.monotonicMs();
    await deps.alignClock?.();
    await holdLease(deps, db, upload, {});
  };
}

/** A defect of a reader, without a word of the document: messages of errors may quote it. */
export interface ReaderDefect {
  readonly uploadId: string;
  /** The place of the item. */
  readonly pointer: string;
  readonly name: string;
  /** The frames of the stack alone. */
  readonly stack: string;
}

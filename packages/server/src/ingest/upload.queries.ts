// SQL of uploads as bytes and work: receiving, chunks, claims with a lease, batches, the end.

import { type Selectable, sql } from 'kysely';
import type { Db } from '../db/db.ts';
import { skipLocked } from '../db/dialect.ts';
import type { UploadTable } from '../db/tables.ts';

/** As literals, not parameters: only then the partial indexes upload_waiting and upload_receiving are used. */
const RECEIVING = sql<'receiving'>`'receiving'`;
const RECEIVED = sql<'received'>`'received'`;
const PROCESSING = sql<'processing'>`'processing'`;
const WAITING = sql<'received' | 'processing'>`('received', 'processing')`;

export type UploadRow = Selectable<UploadTable>;

export async function insertUpload(db: Db, row: UploadRow): Promise<void> {
  await db.insertInto('upload').values(row).execute();
}

export async function insertChunk(
  db: Db,
  tenantId: string,
  uploadId: string,
  seq: number,
  sealed: Uint8Array,
): Promise<void> {
  await db
    .insertInto('upload_chunk')
    .values({ tenant_id: tenantId, upload_id: uploadId, seq, sealed })
    .execute();
}

export async function readChunk(
  db: Db,
  tenantId: string,
  uploadId: string,
  seq: number,
): Promise<Uint8Array | undefined> {
  const row = await db
    .selectFrom('upload_chunk')
    .select('sealed')
    .where('tenant_id', '=', tenantId)
    .where('upload_id', '=', uploadId)
    .where('seq', '=', seq)
    .executeTakeFirst();
  return row?.sealed;
}

export async function deleteUpload(db: Db, tenantId: string, uploadId: string): Promise<void> {
  await deleteChunks(db, tenantId, uploadId);
  await db
    .deleteFrom('upload')
    .where('tenant_id', '=', tenantId)
    .where('id', '=', uploadId)
    .execute();
}

export async function findUpload(
  db: Db,
  tenantId: string,
  id: string,
): Promise<UploadRow | undefined> {
  return await db
    .selectFrom('upload')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id)
    .executeTakeFirst();
}

export interface Arrived {
  readonly tenantId: string;
  readonly uploadId: string;
  readonly sha256: Uint8Array;
  readonly encoding: string;
  readonly wireBytes: number;
  readonly storedBytes: number;
  readonly nowMs: number;
}

/** receiving → received: from this commit on nothing is lost. */
export async function markReceived(db: Db, arrived: Arrived): Promise<number> {
  const result = await db
    .updateTable('upload')
    .set({
      state: 'received',
      sha256: arrived.sha256,
      encoding: arrived.encoding,
      wire_bytes: arrived.wireBytes,
      stored_bytes: arrived.storedBytes,
      received_at: arrived.nowMs,
      not_before: arrived.nowMs,
    })
    .where('tenant_id', '=', arrived.tenantId)
    .where('id', '=', arrived.uploadId)
    .where('state', '=', 'receiving')
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}

/** The same bytes with the same context by the same runner, newest first. */
export async function sameUploads(
  db: Db,
  upload: Pick<UploadRow, 'tenant_id' | 'id' | 'runner_id' | 'context_digest'>,
  sha256: Uint8Array,
  sinceMs: number,
): Promise<UploadRow[]> {
  return await db
    .selectFrom('upload')
    .selectAll()
    .where('tenant_id', '=', upload.tenant_id)
    .where('runner_id', '=', upload.runner_id)
    .where('sha256', '=', sha256)
    .where('context_digest', '=', upload.context_digest)
    .where('id', '!=', upload.id)
    .where('state', 'in', ['received', 'processing', 'processed', 'refused'])
    .where('received_at', '>', sinceMs)
    .orderBy('id', 'desc')
    .limit(5)
    .execute();
}

/** How many analyses still have this upload as their newest: is nothing else applied to its scopes since? */
export async function countNewestAnalyses(
  db: Db,
  tenantId: string,
  uploadId: string,
): Promise<number> {
  const row = await db
    .selectFrom('analysis')
    .select(sql<number>`count(*)`.as('analyses'))
    .where('tenant_id', '=', tenantId)
    .where('last_upload_id', '=', uploadId)
    .executeTakeFirst();
  return Number(row?.analyses ?? 0);
}

export async function countWaiting(db: Db, tenantId: string): Promise<number> {
  const row = await db
    .selectFrom('upload')
    .select(sql<number>`count(*)`.as('waiting'))
    .where('tenant_id', '=', tenantId)
    .where('state', 'in', WAITING)
    .executeTakeFirst();
  return Number(row?.waiting ?? 0);
}

export async function markAnswered(
  db: Db,
  tenantId: string,
  uploadId: string,
  nowMs: number,
): Promise<void> {
  await db
    .updateTable('upload')
    .set({ answered_at: nowMs })
    .where('tenant_id', '=', tenantId)
    .where('id', '=', uploadId)
    .where('answered_at', 'is', null)
    .execute();
}

// ---------------------------------------------------------------- idempotency

export async function findIdempotency(
  db: Db,
  tenantId: string,
  runnerId: string,
  key: string,
): Promise<{ upload_id: string; sha256: Uint8Array; created_at: number } | undefined> {
  return await db
    .selectFrom('idempotency')
    .select(['upload_id', 'sha256', 'created_at'])
    .where('tenant_id', '=', tenantId)
    .where('runner_id', '=', runnerId)
    .where('idempotency_key', '=', key)
    .executeTakeFirst();
}

export async function rememberIdempotency(
  db: Db,
  row: {
    tenant_id: string;
    runner_id: string;
    idempotency_key: string;
    upload_id: string;
    sha256: Uint8Array;
    created_at: number;
  },
): Promise<number> {
  const result = await db
    .insertInto('idempotency')
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(['tenant_id', 'runner_id', 'idempotency_key']).doNothing(),
    )
    .executeTakeFirst();
  return Number(result.numInsertedOrUpdatedRows ?? 0);
}

export async function forgetIdempotency(db: Db, beforeMs: number): Promise<void> {
  await db.deleteFrom('idempotency').where('created_at', '<', beforeMs).execute();
}

// ---------------------------------------------------------------- work

/** Claims one waiting upload (system scope): the oldest due one, or one whose worker's lease has ended. */
export async function claimUpload(
  db: Db,
  holder: string,
  nowMs: number,
  leaseUntil: number,
): Promise<UploadRow | undefined> {
  return await db
    .with('next', (cte) =>
      skipLocked(
        cte
          .selectFrom('upload')
          .select(['tenant_id', 'id'])
          .where('not_before', '<=', nowMs)
          .where((eb) =>
            eb.or([
              eb('state', '=', RECEIVED),
              eb.and([eb('state', '=', PROCESSING), eb('lease_until', '<', nowMs)]),
            ]),
          )
          .where('state', 'in', WAITING)
          .orderBy('not_before')
          .limit(1),
      ),
    )
    .updateTable('upload')
    .set((eb) => ({
      state: 'processing' as const,
      attempt: eb('attempt', '+', 1),
      lease_until: leaseUntil,
      lease_holder: holder,
      started_at: nowMs,
    }))
    .where(sql<boolean>`(tenant_id, id) in (select tenant_id, id from next)`)
    .returningAll()
    .executeTakeFirst();
}

/** The guard of every write a worker makes: it still holds the upload. Zero: it lost it and must stop. */
export async function extendLease(
  db: Db,
  upload: Pick<UploadRow, 'tenant_id' | 'id' | 'lease_holder' | 'attempt'>,
  leaseUntil: number,
  progress: Partial<
    Pick<UploadRow, 'items_done' | 'items_total' | 'tool' | 'decoded_bytes' | 'analyses'>
  >,
): Promise<number> {
  const result = await db
    .updateTable('upload')
    .set({ lease_until: leaseUntil, ...progress })
    .where('tenant_id', '=', upload.tenant_id)
    .where('id', '=', upload.id)
    .where('state', '=', 'processing')
    .where('lease_holder', '=', upload.lease_holder)
    .where('attempt', '=', upload.attempt)
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}

export interface UploadEnd {
  readonly state: 'processed' | 'refused' | 'failed';
  readonly receipt: string | null;
  readonly problem: string | null;
  readonly nowMs: number;
}

/** processing → its end, guarded by the lease. */
export async function endUpload(
  db: Db,
  upload: Pick<UploadRow, 'tenant_id' | 'id' | 'lease_holder' | 'attempt'>,
  end: UploadEnd,
): Promise<number> {
  const result = await db
    .updateTable('upload')
    .set({
      state: end.state,
      receipt: end.receipt,
      problem: end.problem,
      finished_at: end.nowMs,
      lease_until: null,
      lease_holder: null,
    })
    .where('tenant_id', '=', upload.tenant_id)
    .where('id', '=', upload.id)
    .where('state', '=', 'processing')
    .where('lease_holder', '=', upload.lease_holder)
    .where('attempt', '=', upload.attempt)
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}

/** processing → received, to be claimed again not before `notBefore`. `attempts`: how many to give back. */
export async function requeueUpload(
  db: Db,
  upload: Pick<UploadRow, 'tenant_id' | 'id' | 'lease_holder' | 'attempt'>,
  notBefore: number,
  attempts: number,
): Promise<number> {
  const result = await db
    .updateTable('upload')
    .set((eb) => ({
      state: 'received' as const,
      lease_until: null,
      lease_holder: null,
      not_before: notBefore,
      attempt: eb('attempt', '-', attempts),
    }))
    .where('tenant_id', '=', upload.tenant_id)
    .where('id', '=', upload.id)
    .where('state', '=', 'processing')
    .where('lease_holder', '=', upload.lease_holder)
    .where('attempt', '=', upload.attempt)
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}

/** Everything that a dead worker held goes back at once, with the attempt counted. `holder` null: any worker's. */
export async function releaseHeldBy(db: Db, holder: string | null, nowMs: number): Promise<number> {
  let query = db
    .updateTable('upload')
    .set({ state: 'received', lease_until: null, lease_holder: null, not_before: nowMs })
    .where('state', '=', 'processing');
  if (holder !== null) query = query.where('lease_holder', '=', holder);
  const result = await query.executeTakeFirst();
  return Number(result.numUpdatedRows);
}

export async function batchCounts(
  db: Db,
  tenantId: string,
  uploadId: string,
): Promise<{ batch: number; counts: string }[]> {
  return await db
    .selectFrom('upload_batch')
    .select(['batch', 'counts'])
    .where('tenant_id', '=', tenantId)
    .where('upload_id', '=', uploadId)
    .orderBy('batch')
    .execute();
}

export async function insertBatch(
  db: Db,
  tenantId: string,
  uploadId: string,
  batch: number,
  counts: string,
): Promise<void> {
  await db
    .insertInto('upload_batch')
    .values({ tenant_id: tenantId, upload_id: uploadId, batch, counts })
    .execute();
}

export async function deleteBatches(db: Db, tenantId: string, uploadId: string): Promise<void> {
  await db
    .deleteFrom('upload_batch')
    .where('tenant_id', '=', tenantId)
    .where('upload_id', '=', uploadId)
    .execute();
}

// ---------------------------------------------------------------- upkeep

/** Bodies that stopped arriving, and raw uploads past their keeping: a few at a time. */
export async function staleReceiving(
  db: Db,
  beforeMs: number,
  limit: number,
): Promise<{ tenant_id: string; id: string }[]> {
  return await db
    .selectFrom('upload')
    .select(['tenant_id', 'id'])
    .where('state', '=', RECEIVING)
    .where('received_at', '<', beforeMs)
    .limit(limit)
    .execute();
}

/** Ended uploads past their keeping that still have their bytes. */
export async function staleRaw(
  db: Db,
  beforeMs: number,
  limit: number,
): Promise<{ tenant_id: string; id: string }[]> {
  return await db
    .selectFrom('upload')
    .innerJoin('upload_chunk', (join) =>
      join
        .onRef('upload_chunk.tenant_id', '=', 'upload.tenant_id')
        .onRef('upload_chunk.upload_id', '=', 'upload.id')
        .on('upload_chunk.seq', '=', 0),
    )
    .select(['upload.tenant_id', 'upload.id'])
    .where('upload.finished_at', '<', beforeMs)
    .limit(limit)
    .execute();
}

export async function deleteChunks(db: Db, tenantId: string, uploadId: string): Promise<void> {
  await db
    .deleteFrom('upload_chunk')
    .where('tenant_id', '=', tenantId)
    .where('upload_id', '=', uploadId)
    .execute();
}

// ---------------------------------------------------------------- lists

export interface UploadPageQuery {
  readonly state: UploadRow['state'] | null;
  readonly runnerId: string | null;
  readonly after: string | null;
  readonly limit: number;
}

/** Newest first; one more than `limit` tells that there is another page. */
export async function pageUploads(
  db: Db,
  tenantId: string,
  page: UploadPageQuery,
): Promise<UploadRow[]> {
  let query = db
    .selectFrom('upload')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .orderBy('id', 'desc')
    .limit(page.limit + 1);
  if (page.state !== null) query = query.where('state', '=', page.state);
  if (page.runnerId !== null) query = query.where('runner_id', '=', page.runnerId);
  if (page.after !== null) query = query.where('id', '<', page.after);
  return await query.execute();
}

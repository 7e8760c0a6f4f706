// SQL of uploads as work: claims with a lease, progress, the end, what committed batches counted.

import { sql } from 'kysely';
import type { Db } from '../db/db.ts';
import { skipLocked } from '../db/dialect.ts';
import { PROCESSING, RECEIVED, type UploadRow, WAITING } from './upload.queries.ts';

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
    Pick<
      UploadRow,
      'items_done' | 'items_total' | 'tool' | 'decoded_bytes' | 'analyses' | 'progress_attempt'
    >
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

/**
 * Stores what a batch counted, and is its guard: unless the upload, and at least `scopes` scopes, are held by the worker
 * that `upload` names, nobody's name can be stored with it, and the whole transaction fails.
 */
export async function insertBatch(
  db: Db,
  upload: Pick<UploadRow, 'tenant_id' | 'id' | 'lease_holder' | 'attempt'>,
  scopes: number,
  batch: number,
  counts: string,
): Promise<void> {
  await db
    .insertInto('upload_batch')
    .columns(['tenant_id', 'upload_id', 'batch', 'counts', 'lease_holder'])
    .values((eb) => ({
      tenant_id: upload.tenant_id,
      upload_id: upload.id,
      batch,
      counts,
      lease_holder: eb
        .selectFrom('upload')
        .select((held) => held.ref('upload.lease_holder').$notNull().as('lease_holder'))
        .where('upload.tenant_id', '=', upload.tenant_id)
        .where('upload.id', '=', upload.id)
        .where('upload.state', '=', 'processing')
        .where('upload.lease_holder', '=', upload.lease_holder)
        .where('upload.attempt', '=', upload.attempt)
        .where(
          eb
            .selectFrom('scope')
            .select((scope) => scope.fn.countAll<number>().as('held'))
            .where('scope.tenant_id', '=', upload.tenant_id)
            .where('scope.holder_upload_id', '=', upload.id),
          '>=',
          scopes,
        ),
    }))
    .execute();
}

export async function deleteBatches(db: Db, tenantId: string, uploadId: string): Promise<void> {
  await db
    .deleteFrom('upload_batch')
    .where('tenant_id', '=', tenantId)
    .where('upload_id', '=', uploadId)
    .execute();
}

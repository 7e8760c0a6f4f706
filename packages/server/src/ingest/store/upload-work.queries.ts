// SQL of uploads as work: claims under a lease, progress, the end, and the counts of committed
// batches. Every write of a worker is guarded by its lease.

import type { UploadFault } from '@muster/contract';
import { sql } from 'kysely';
import type { Db } from '../../db/db.ts';
import { skipLocked } from '../../db/dialect.ts';
import type { UploadBatchTable } from '../../db/tables.ts';
import { type EndedState, UPLOAD_BEGINNING, UPLOAD_MOVES } from './upload.machine.ts';
import { PROCESSING, RECEIVED, type UploadRow, WAITING } from './upload.queries.ts';

/** The uploads that one runner of one tenant has waiting and in work. */
export interface UploadFlow {
  readonly tenant_id: string;
  readonly runner_id: string;
  /** How many are in work, under a lease that runs. */
  readonly in_work: number;
  /** When the oldest upload arrived that may be claimed now; null: none may. */
  readonly due_since: number | null;
}

/**
 * True for an upload that may be claimed: it waits and is due, or the lease of its worker has
 * ended.
 */
const isDue = (nowMs: number) =>
  sql<boolean>`((state = ${RECEIVED} and not_before <= ${nowMs}) or (state = ${PROCESSING} and lease_until < ${nowMs}))`;

/**
 * The runners with uploads waiting or in work (system scope): limits.uploadsWaitingPerTenantMax
 * bounds them for each tenant.
 */
export async function uploadFlows(db: Db, nowMs: number): Promise<UploadFlow[]> {
  const held = sql`state = ${PROCESSING} and lease_until >= ${nowMs}`;
  return await db
    .selectFrom('upload')
    .select([
      'tenant_id',
      'runner_id',
      sql<number>`sum(case when ${held} then 1 else 0 end)`.as('in_work'),
      sql<number | null>`min(case when ${isDue(nowMs)} then received_at end)`.as('due_since'),
    ])
    .where('state', 'in', WAITING)
    .groupBy(['tenant_id', 'runner_id'])
    .execute();
}

/**
 * Older uploads of the same runner that wait for a busy scope: the upload of the outer query isn't
 * let past them, because it may be about the same thing. Other uploads that wait have a fault, and
 * hold nobody up. Nor does a clean scan: it waits for every earlier upload, not only for those
 * about the same thing.
 */
const parkedBefore = (db: Db, tenantId: string, runnerId: string, nowMs: number) =>
  db
    .selectFrom('upload as parked')
    .select('parked.id')
    .where('parked.tenant_id', '=', tenantId)
    .where('parked.runner_id', '=', runnerId)
    .where('parked.state', '=', RECEIVED)
    .where('parked.state', 'in', WAITING)
    .where('parked.fault', 'is', null)
    .where('parked.clean_scan', '=', 0)
    .where('parked.not_before', '>', nowMs)
    .whereRef(sql.ref('parked.id'), '<', sql.ref('upload.id'));

/**
 * Claims the oldest due upload of one runner (system scope); undefined: others took all that were
 * due.
 */
export async function claimUpload(
  db: Db,
  { tenant_id: tenantId, runner_id: runnerId }: Pick<UploadFlow, 'tenant_id' | 'runner_id'>,
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
          .where('tenant_id', '=', tenantId)
          .where('runner_id', '=', runnerId)
          .where(isDue(nowMs))
          .where('state', 'in', WAITING)
          .where((eb) => eb.not(eb.exists(parkedBefore(db, tenantId, runnerId, nowMs))))
          .orderBy('received_at')
          .orderBy('id')
          .limit(1),
      ),
    )
    .updateTable('upload')
    .set((eb) => ({
      state: UPLOAD_MOVES.claim.to,
      attempt: eb('attempt', '+', 1),
      lease_until: leaseUntil,
      lease_holder: holder,
      started_at: nowMs,
    }))
    .where(sql<boolean>`(tenant_id, id) in (select tenant_id, id from next)`)
    .returningAll()
    .executeTakeFirst();
}

/**
 * Extends the lease of an upload, and guards every write of its worker by that. Zero rows: the
 * worker lost the upload and must stop.
 */
export async function extendLease(
  db: Db,
  upload: Pick<UploadRow, 'tenant_id' | 'id' | 'lease_holder' | 'attempt'>,
  leaseUntil: number,
  progress: Partial<
    Pick<
      UploadRow,
      | 'items_done'
      | 'items_total'
      | 'tool'
      | 'decoded_bytes'
      | 'analyses'
      | 'progress_attempt'
      | 'command_id'
      | 'runs'
    >
  >,
): Promise<number> {
  const result = await db
    .updateTable('upload')
    .set({ lease_until: leaseUntil, ...progress })
    .where('tenant_id', '=', upload.tenant_id)
    .where('id', '=', upload.id)
    .where('state', '=', UPLOAD_MOVES.claim.to)
    .where('lease_holder', '=', upload.lease_holder)
    .where('attempt', '=', upload.attempt)
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}

export interface UploadEnd {
  readonly state: EndedState;
  readonly receipt: string | null;
  readonly problem: string | null;
  readonly nowMs: number;
  /** The facts of its report that aren't written yet. */
  readonly shown?: ShownOfReport;
}

/** The facts of its report that an upload shows, however it ends. */
export type ShownOfReport = Partial<
  Pick<UploadRow, 'tool' | 'decoded_bytes' | 'runs' | 'command_id'>
>;

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
      ...end.shown,
    })
    .where('tenant_id', '=', upload.tenant_id)
    .where('id', '=', upload.id)
    .where('state', '=', UPLOAD_MOVES.claim.to)
    .where('lease_holder', '=', upload.lease_holder)
    .where('attempt', '=', upload.attempt)
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}

/** How an upload goes back to the queue. */
export interface Requeue {
  /** The upload isn't claimed before this time; 0: at once, whatever the clock of any node says. */
  readonly notBefore: number;
  /** Why the newest attempt ended; null: the upload has no fault and waits for a busy scope. */
  readonly fault: UploadFault | null;
  /** Attempts that don't count. */
  readonly attempts: 0 | 1;
}

/** processing → received, guarded by the lease. */
export async function requeueUpload(
  db: Db,
  upload: Pick<UploadRow, 'tenant_id' | 'id' | 'lease_holder' | 'attempt'>,
  { notBefore, fault, attempts }: Requeue,
): Promise<number> {
  const result = await db
    .updateTable('upload')
    .set((eb) => ({
      state: UPLOAD_MOVES.requeue.to,
      lease_until: null,
      lease_holder: null,
      not_before: notBefore,
      attempt: eb('attempt', '-', attempts),
      fault,
    }))
    .where('tenant_id', '=', upload.tenant_id)
    .where('id', '=', upload.id)
    .where('state', '=', UPLOAD_MOVES.claim.to)
    .where('lease_holder', '=', upload.lease_holder)
    .where('attempt', '=', upload.attempt)
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}

/** The upload that one worker holds (system scope), or none. */
export async function heldBy(db: Db, holder: string): Promise<UploadRow[]> {
  return await db
    .selectFrom('upload')
    .selectAll()
    .where('state', 'in', WAITING)
    .where('state', '=', PROCESSING)
    .where('lease_holder', '=', holder)
    .execute();
}

/** Requeues at once all uploads that workers of an earlier process held; the attempts count. */
export async function releaseAllHeld(db: Db): Promise<number> {
  const result = await db
    .updateTable('upload')
    .set({
      state: UPLOAD_MOVES.requeue.to,
      lease_until: null,
      lease_holder: null,
      not_before: 0,
      fault: 'process_ended',
    })
    .where('state', 'in', WAITING)
    .where('state', '=', PROCESSING)
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}

/** Whether an upload of the same runner that arrived before this one isn't finished yet. */
export async function hasEarlierWaiting(
  db: Db,
  upload: Pick<UploadRow, 'tenant_id' | 'runner_id' | 'id'>,
): Promise<boolean> {
  const row = await db
    .selectFrom('upload')
    .select('id')
    .where('tenant_id', '=', upload.tenant_id)
    .where('runner_id', '=', upload.runner_id)
    .where('state', 'in', WAITING)
    .where('id', '<', upload.id)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/**
 * Whether the runner handed in another upload for the command, with items, or of which nothing was
 * applied.
 */
export async function hasReportOfCommand(
  db: Db,
  upload: Pick<UploadRow, 'tenant_id' | 'runner_id' | 'id' | 'command_id'>,
): Promise<boolean> {
  const row = await db
    .selectFrom('upload')
    .select('id')
    .where('tenant_id', '=', upload.tenant_id)
    .where('command_id', '=', upload.command_id)
    .where('runner_id', '=', upload.runner_id)
    .where('id', '!=', upload.id)
    .where('rehearsal', '=', 0)
    .where('state', '!=', UPLOAD_BEGINNING)
    .where((eb) => eb.or([eb('state', '!=', UPLOAD_MOVES.process.to), eb('items_total', '>', 0)]))
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** The part of the work that a batch belongs to. */
export type BatchPart = UploadBatchTable['part'];

/** The counts of the committed batches of a part, by the numbers of the batches. */
export async function batchCounts(
  db: Db,
  { tenant_id: tenantId, id: uploadId }: Pick<UploadRow, 'tenant_id' | 'id'>,
  part: BatchPart,
): Promise<Map<number, string>> {
  const rows = await db
    .selectFrom('upload_batch')
    .select(['batch', 'counts'])
    .where('tenant_id', '=', tenantId)
    .where('upload_id', '=', uploadId)
    .where('part', '=', part)
    .orderBy('batch')
    .execute();
  return new Map(rows.map((row) => [row.batch, row.counts]));
}

/**
 * Stores what a batch counted, and guards the batch: when the worker that `upload` names doesn't
 * hold the upload, the sub-select gives no holder, and the whole transaction fails.
 */
export async function insertBatch(
  db: Db,
  upload: Pick<UploadRow, 'tenant_id' | 'id' | 'lease_holder' | 'attempt'>,
  batch: number,
  counts: string,
  part: BatchPart = 'items',
): Promise<void> {
  await db
    .insertInto('upload_batch')
    .columns(['tenant_id', 'upload_id', 'part', 'batch', 'counts', 'lease_holder'])
    .values((eb) => ({
      tenant_id: upload.tenant_id,
      upload_id: upload.id,
      part,
      batch,
      counts,
      lease_holder: eb
        .selectFrom('upload')
        .select((held) => held.ref('upload.lease_holder').$notNull().as('lease_holder'))
        .where('upload.tenant_id', '=', upload.tenant_id)
        .where('upload.id', '=', upload.id)
        .where('upload.state', '=', UPLOAD_MOVES.claim.to)
        .where('upload.lease_holder', '=', upload.lease_holder)
        .where('upload.attempt', '=', upload.attempt),
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

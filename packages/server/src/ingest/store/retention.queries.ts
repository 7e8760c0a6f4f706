// SQL that removes uploads and parts of them: bodies that were given up, bytes and rejections that
// were kept long enough, and what dry runs leave. A row that another node is removing is passed
// over, so that nodes don't wait for each other.

import { sql, type SelectQueryBuilder } from 'kysely';
import type { Db } from '../../db/db.ts';
import { skipLocked } from '../../db/dialect.ts';
import type { Tables } from '../../db/tables.ts';
import { ENDED_STATES } from './upload.machine.ts';
import { RECEIVING, type UploadRow } from './upload.queries.ts';

/** An upload of which something is removed; locked until the transaction ends. */
export type Unwanted = Pick<UploadRow, 'tenant_id' | 'id' | 'state'>;

/** A literal, not a parameter: otherwise the partial index upload_rehearsal isn't used. */
const DRY_RUN = sql<1>`1`;

/**
 * Gives up a body: nothing can make it whole any more (`finished_at`). Zero rows: the body is
 * whole, or was given up before.
 */
export async function giveUp(
  db: Db,
  tenantId: string,
  uploadId: string,
  nowMs: number,
): Promise<number> {
  const result = await db
    .updateTable('upload')
    .set({ finished_at: nowMs })
    .where('tenant_id', '=', tenantId)
    .where('id', '=', uploadId)
    .where('state', '=', RECEIVING)
    .where('finished_at', 'is', null)
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}

/** Gives up all bodies of which nothing arrived since `beforeMs`; null: all that still arrive. */
export async function giveUpQuiet(db: Db, beforeMs: number | null, nowMs: number): Promise<void> {
  await db
    .updateTable('upload')
    .set({ finished_at: nowMs })
    .where('state', '=', RECEIVING)
    .where('finished_at', 'is', null)
    .$if(beforeMs !== null, (query) => query.where('received_at', '<', beforeMs as number))
    .execute();
}

const first = async (
  query: SelectQueryBuilder<Tables, 'upload', Record<never, never>>,
): Promise<Unwanted | undefined> =>
  await query.select(['tenant_id', 'id', 'state']).limit(1).$call(skipLocked).executeTakeFirst();

/** A body that was given up. */
export async function nextGivenUp(tx: Db): Promise<Unwanted | undefined> {
  return await first(
    tx.selectFrom('upload').where('state', '=', RECEIVING).where('finished_at', 'is not', null),
  );
}

/** A dry run that has its answer and still has its bytes. */
export async function nextEndedDryRun(tx: Db): Promise<Unwanted | undefined> {
  return await first(
    tx
      .selectFrom('upload')
      .where('rehearsal', '=', DRY_RUN)
      .where('raw_deleted_at', 'is', null)
      .where('state', 'in', ENDED_STATES),
  );
}

/** The oldest ended upload that was kept long enough and still has its bytes. */
export async function nextStale(tx: Db, beforeMs: number): Promise<Unwanted | undefined> {
  return await first(
    tx
      .selectFrom('upload')
      .where('finished_at', '<', beforeMs)
      .where('finished_at', 'is not', null)
      .where('raw_deleted_at', 'is', null)
      .where('state', 'in', ENDED_STATES)
      .orderBy('finished_at'),
  );
}

/** This upload, if it was given up, or if it is an ended dry run that still has its bytes. */
export async function unwantedNow(
  tx: Db,
  tenantId: string,
  uploadId: string,
): Promise<Unwanted | undefined> {
  return await first(
    tx
      .selectFrom('upload')
      .where('tenant_id', '=', tenantId)
      .where('id', '=', uploadId)
      .where('finished_at', 'is not', null)
      .where('raw_deleted_at', 'is', null)
      .where((eb) => eb.or([eb('state', '=', RECEIVING), eb('rehearsal', '=', DRY_RUN)])),
  );
}

/**
 * Deletes the first `limit` chunks, which are numbered without gaps; returns how many it deleted.
 * An upload without its first chunk has no bytes.
 */
export async function deleteSomeChunks(
  db: Db,
  tenantId: string,
  uploadId: string,
  limit: number,
): Promise<number> {
  const result = await db
    .deleteFrom('upload_chunk')
    .where('tenant_id', '=', tenantId)
    .where('upload_id', '=', uploadId)
    .where((eb) =>
      // A bound that is computed once: for a list of numbers PostgreSQL may run the subquery for
      // each row.
      eb(
        'seq',
        '<',
        eb
          .selectFrom('upload_chunk as first')
          .select((first) => first(first.fn.min('first.seq'), '+', limit).as('end'))
          .where('first.tenant_id', '=', tenantId)
          .where('first.upload_id', '=', uploadId),
      ),
    )
    .executeTakeFirst();
  return Number(result.numDeletedRows);
}

/** Deletes the first `limit` rejections in the same way; they are numbered without gaps, too. */
export async function deleteSomeRejections(
  db: Db,
  tenantId: string,
  uploadId: string,
  limit: number,
): Promise<number> {
  const result = await db
    .deleteFrom('upload_rejection')
    .where('tenant_id', '=', tenantId)
    .where('upload_id', '=', uploadId)
    .where((eb) =>
      eb(
        'seq',
        '<',
        eb
          .selectFrom('upload_rejection as first')
          .select((first) => first(first.fn.min('first.seq'), '+', limit).as('end'))
          .where('first.tenant_id', '=', tenantId)
          .where('first.upload_id', '=', uploadId),
      ),
    )
    .executeTakeFirst();
  return Number(result.numDeletedRows);
}

/** Deletes the row of a body that was given up, when nothing else is left of it. */
export async function deleteGivenUp(db: Db, tenantId: string, uploadId: string): Promise<void> {
  await db
    .deleteFrom('upload')
    .where('tenant_id', '=', tenantId)
    .where('id', '=', uploadId)
    .where('state', '=', RECEIVING)
    .where('finished_at', 'is not', null)
    .execute();
}

/** Marks that the bytes of an ended upload are gone; its receipt stays. */
export async function markRawDeleted(
  db: Db,
  tenantId: string,
  uploadId: string,
  nowMs: number,
): Promise<void> {
  await db
    .updateTable('upload')
    .set({ raw_deleted_at: nowMs })
    .where('tenant_id', '=', tenantId)
    .where('id', '=', uploadId)
    .where('raw_deleted_at', 'is', null)
    .where('state', 'in', ENDED_STATES)
    .execute();
}

/** Deletes some dry runs whose answer nobody may ask for any more; returns how many. */
export async function deleteSomeDryRuns(db: Db, beforeMs: number, limit: number): Promise<number> {
  const result = await db
    .with('old', (cte) =>
      skipLocked(
        cte
          .selectFrom('upload')
          .select(['tenant_id', 'id'])
          .where('rehearsal', '=', DRY_RUN)
          .where('raw_deleted_at', '<', beforeMs)
          .limit(limit),
      ),
    )
    .deleteFrom('upload')
    .where(sql<boolean>`(tenant_id, id) in (select tenant_id, id from old)`)
    .executeTakeFirst();
  return Number(result.numDeletedRows);
}

export async function forgetIdempotency(db: Db, beforeMs: number): Promise<void> {
  await db.deleteFrom('idempotency').where('created_at', '<', beforeMs).execute();
}

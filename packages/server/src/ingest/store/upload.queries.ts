// SQL of uploads as bytes: receiving, chunks, repeats, lists. Nobody finds a body that was given
// up.

import type { UploadState } from '@muster/contract/plain';
import { type Selectable, sql } from 'kysely';
import type { Db } from '../../db/db.ts';
import { forUpdate, idValue } from '../../db/dialect.ts';
import type { UploadTable } from '../../db/tables.ts';
import { UPLOAD_BEGINNING, UPLOAD_MOVES, WAITING_STATES } from './upload.machine.ts';

/**
 * Literals, not parameters: otherwise the partial indexes upload_waiting and upload_receiving
 * aren't used.
 */
const literal = <State extends UploadState>(state: State) => sql<State>`${sql.lit(state)}`;
export const RECEIVING = literal(UPLOAD_BEGINNING);
export const RECEIVED = literal(UPLOAD_MOVES.receive.to);
export const PROCESSING = literal(UPLOAD_MOVES.claim.to);
export const WAITING = sql<
  (typeof WAITING_STATES)[number]
>`(${sql.join(WAITING_STATES.map((state) => sql.lit(state)))})`;

export type UploadRow = Selectable<UploadTable>;

export async function insertUpload(db: Db, row: UploadRow): Promise<void> {
  await db.insertInto('upload').values(row).execute();
}

/** Zero rows: the body was given up, and the chunk would belong to nobody. */
export async function insertChunk(
  db: Db,
  tenantId: string,
  uploadId: string,
  seq: number,
  sealed: Uint8Array,
): Promise<number> {
  const result = await db
    .insertInto('upload_chunk')
    .columns(['tenant_id', 'upload_id', 'seq', 'sealed'])
    .expression((eb) =>
      eb
        .selectFrom('upload')
        .select((row) => ['tenant_id', 'id', row.val(seq).as('seq'), row.val(sealed).as('sealed')])
        .where('tenant_id', '=', tenantId)
        .where('id', '=', uploadId)
        .where('state', '=', RECEIVING)
        .where('finished_at', 'is', null)
        // The row is locked, so that nobody removes it between this look and the chunk.
        .$call(forUpdate),
    )
    .executeTakeFirst();
  return Number(result.numInsertedOrUpdatedRows ?? 0);
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

/** Notes how much of a body is stored, and that it still arrives; zero rows: it was given up. */
export async function noteStored(
  db: Db,
  tenantId: string,
  uploadId: string,
  storedBytes: number,
  nowMs: number,
): Promise<number> {
  const result = await db
    .updateTable('upload')
    .set({ stored_bytes: storedBytes, received_at: nowMs })
    .where('tenant_id', '=', tenantId)
    .where('id', '=', uploadId)
    .where('state', '=', UPLOAD_MOVES.receive.from[0])
    .where('finished_at', 'is', null)
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}

/** False for a body that was given up: nobody finds it. */
const isWanted = sql<boolean>`not (state = ${RECEIVING} and finished_at is not null)`;

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
    .where(isWanted)
    .executeTakeFirst();
}

/** Which of these uploads have ended (system scope). */
export async function endedAmong(
  db: Db,
  uploads: readonly { readonly tenantId: string; readonly uploadId: string }[],
): Promise<string[]> {
  const pairs = uploads.map(
    ({ tenantId, uploadId }) => sql`(${idValue(db, tenantId)}, ${idValue(db, uploadId)})`,
  );
  const rows = await db
    .selectFrom('upload')
    .select('id')
    .where(sql<boolean>`(tenant_id, id) in (values ${sql.join(pairs)})`)
    .where('finished_at', 'is not', null)
    .execute();
  return rows.map(({ id }) => id);
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
      state: UPLOAD_MOVES.receive.to,
      sha256: arrived.sha256,
      encoding: arrived.encoding,
      wire_bytes: arrived.wireBytes,
      stored_bytes: arrived.storedBytes,
      received_at: arrived.nowMs,
    })
    .where('tenant_id', '=', arrived.tenantId)
    .where('id', '=', arrived.uploadId)
    .where('state', '=', UPLOAD_MOVES.receive.from[0])
    .where('finished_at', 'is', null)
    .executeTakeFirst();
  return Number(result.numUpdatedRows);
}

/** Locks the runner: until the transaction ends, no other upload of it passes here. */
export async function holdRunner(db: Db, tenantId: string, runnerId: string): Promise<void> {
  await db
    .selectFrom('runner')
    .select('id')
    .where('tenant_id', '=', tenantId)
    .where('id', '=', runnerId)
    .$call(forUpdate)
    .execute();
}

/** Uploads of the same bytes with the same context by the same runner, newest first. */
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

/**
 * How many analyses still have this upload as their newest one, so that nothing else was applied to
 * their scopes since.
 */
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

export interface InFlight {
  readonly uploads: number;
  /** As stored: sealed and compressed. */
  readonly bytes: number;
  /** How many of the uploads each runner has; none are missing. */
  readonly byRunner: ReadonlyMap<string, number>;
}

/** The uploads of one tenant that arrive, wait or are in work. */
export async function inFlight(db: Db, tenantId: string): Promise<InFlight> {
  const part = (states: 'arriving' | 'waiting') =>
    db
      .selectFrom('upload')
      .select([
        'runner_id',
        sql<number>`count(*)`.as('uploads'),
        sql<number>`coalesce(sum(stored_bytes), 0)`.as('bytes'),
      ])
      .where('tenant_id', '=', tenantId)
      .groupBy('runner_id')
      .$call((query) =>
        states === 'arriving'
          ? query.where('state', '=', RECEIVING).where('finished_at', 'is', null)
          : query.where('state', 'in', WAITING),
      );
  // Two queries, because each has its partial index.
  const rows = await part('arriving').unionAll(part('waiting')).execute();
  const byRunner = new Map<string, number>();
  for (const { runner_id: runnerId, uploads } of rows) {
    byRunner.set(runnerId, (byRunner.get(runnerId) ?? 0) + Number(uploads));
  }
  return {
    byRunner,
    uploads: rows.reduce((sum, row) => sum + Number(row.uploads), 0),
    bytes: rows.reduce((sum, row) => sum + Number(row.bytes), 0),
  };
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

export async function forgetIdempotencyKey(
  db: Db,
  tenantId: string,
  runnerId: string,
  key: string,
): Promise<void> {
  await db
    .deleteFrom('idempotency')
    .where('tenant_id', '=', tenantId)
    .where('runner_id', '=', runnerId)
    .where('idempotency_key', '=', key)
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
    .where(isWanted)
    .orderBy('id', 'desc')
    .limit(page.limit + 1);
  if (page.state !== null) query = query.where('state', '=', page.state);
  if (page.runnerId !== null) query = query.where('runner_id', '=', page.runnerId);
  if (page.after !== null) query = query.where('id', '<', page.after);
  return await query.execute();
}

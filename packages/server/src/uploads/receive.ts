// The edge of ingest: the body of a request becomes an upload that waits for its turn. Bytes are
// made durable first and understood second. The body is bounded and digested, and written in sealed
// chunks while it arrives; a body that comes plain is compressed on the way. After the last commit
// nothing is lost, whatever crashes. A repeat joins the upload that it repeats (contract §2,
// Repeats).

import { hash } from 'node:crypto';
import type { Database } from '../db/db.ts';
import type { RunnerCaller } from '../keys/authenticate.ts';
import type { Clock } from '../lib/clock.ts';
import type { Encoding } from '../lib/decompress.ts';
import { newId, type TenantId, type UploadId } from '../lib/ids.ts';
import type { ScanContext, UploadContext } from '../ingest/report/report.rules.ts';
import { discard } from '../ingest/store/retention.ts';
import { scanContextOf } from '../ingest/formats/common/scan-context.rules.ts';
import { admit } from './admission.ts';
import { gaveUp, type StoredBody, storeBody } from './store-body.ts';
import {
  digestWithContext,
  findByKey,
  findSame,
  type Received,
  replayOf,
} from './upload-repeats.ts';
import {
  findIdempotency,
  holdRunner,
  insertUpload,
  markAnswered,
  markReceived,
  rememberIdempotency,
  type UploadRow,
} from '../ingest/store/upload.queries.ts';

export type { Received } from './upload-repeats.ts';

/** A scan as its command describes it; `payload` is what the operator wrote. */
export interface ScanUnderWay {
  readonly commandId: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

/**
 * The scans that a report may have been made for. With a command id: that command, if the runner
 * holds it or has held it. With null: the scans that the runner holds.
 */
type ScansUnderWay = (
  tenantId: TenantId,
  runnerId: string,
  commandId: string | null,
) => Promise<readonly ScanUnderWay[]>;

export interface ReceiveDeps {
  readonly database: Database;
  readonly clock: Clock;
  /** Seals chunks; derived from the master key. */
  readonly sealKey: Buffer;
  /**
   * The most stored bytes that uploads of one tenant may have while they arrive, wait or are in
   * work.
   */
  readonly waitingBytesMax: number;
  /** Milliseconds in which this server has lately finished one upload. */
  readonly paceMs: () => number;
  /** Whether the disk of the database is nearly full. */
  readonly isStorageLow: () => boolean;
  readonly scansUnderWay: ScansUnderWay;
}

export interface Incoming {
  /**
   * The body as it arrives. The HTTP edge has bounded its bytes and its rate. The memory of each
   * chunk is given back when the chunk is stored.
   */
  readonly body: AsyncIterable<Uint8Array>;
  readonly encoding: Encoding;
  readonly format: 'auto' | 'ctis' | 'sarif';
  readonly context: UploadContext;
  /** The command that the sender names. */
  readonly commandId: string | null;
  readonly idempotencyKey: string | null;
  /** Digests to verify, as sent (RFC 9530): algorithm → bytes. */
  readonly digests: ReadonlyMap<'sha-256' | 'sha-512', Buffer>;
}

/**
 * Receives one upload. Problems: rate_limited, storage_full, digest_mismatch,
 * idempotency_key_reused, and whatever the body stream throws.
 */
export async function receiveUpload(
  deps: ReceiveDeps,
  caller: RunnerCaller,
  incoming: Incoming,
): Promise<Received> {
  const { tenantId } = caller;
  const db = deps.database.tenant(tenantId);
  // The first check comes before any write, so that a flood costs reads only …
  await admit(deps, db, caller, 1);
  const scans = await scansOf(deps, caller, incoming.commandId);
  const row = newUploadRow(deps.clock, caller, incoming, scans);
  const uploadId = row.id as UploadId;
  await insertUpload(db, row);
  try {
    // … and the second one counts this upload as well: of many uploads that come at once, only
    // those stay that there is room for.
    await admit(deps, db, caller, 0);
    const arrived = await storeBody(deps, row, incoming);
    const received =
      (await findByKey(deps, row, incoming.idempotencyKey, arrived.sha256)) ??
      (await commitReceived(deps, row, incoming, arrived));
    if (received.uploadId !== uploadId)
      await discard(deps.database, deps.clock, tenantId, uploadId);
    return received;
  } catch (error) {
    // An upload that didn't arrive whole was never acknowledged, so nobody may find it later. An
    // upload whose COMMIT went through stays, even if the answer of the database was lost.
    await discard(deps.database, deps.clock, tenantId, uploadId);
    throw error;
  }
}

/** The scans are read while the report arrives: a runner completes its command right after that. */
async function scansOf(
  { scansUnderWay }: ReceiveDeps,
  { tenantId, runnerId }: RunnerCaller,
  commandId: string | null,
): Promise<ScanContext[]> {
  const scans = await scansUnderWay(tenantId, runnerId, commandId);
  return scans.map((scan) => scanContextOf(scan.commandId, scan.payload, commandId !== null));
}

/** The row of an upload of which nothing has arrived yet. */
export function newUploadRow(
  clock: Clock,
  caller: Pick<RunnerCaller, 'tenantId' | 'runnerId' | 'keyId'>,
  incoming: Pick<Incoming, 'format' | 'encoding' | 'context' | 'commandId'>,
  scans: readonly ScanContext[],
): UploadRow {
  const nowMs = clock.nowMs();
  const context = JSON.stringify(incoming.context);
  return {
    tenant_id: caller.tenantId,
    id: newId<UploadId>(nowMs),
    runner_id: caller.runnerId,
    key_id: caller.keyId,
    format: incoming.format,
    encoding: incoming.encoding,
    wire_bytes: 0,
    stored_bytes: 0,
    decoded_bytes: null,
    sha256: null,
    // The scans don't count when two uploads are compared: the second one may come after the
    // command has ended.
    context: JSON.stringify(scans.length === 0 ? incoming.context : { ...incoming.context, scans }),
    context_digest: hash('sha256', `${incoming.format} ${incoming.commandId} ${context}`, 'buffer'),
    command_id: incoming.commandId,
    state: 'receiving',
    attempt: 0,
    progress_attempt: 0,
    lease_until: null,
    lease_holder: null,
    not_before: 0,
    received_at: nowMs,
    started_at: null,
    finished_at: null,
    answered_at: null,
    tool: null,
    analyses: null,
    items_total: null,
    items_done: null,
    runs: null,
    receipt: null,
    problem: null,
    fault: null,
    raw_deleted_at: null,
    rehearsal: incoming.context.dryRun === true ? 1 : 0,
    clean_scan: incoming.context.cleanScan === true ? 1 : 0,
  };
}

/**
 * The commit from which on nothing is lost. One of several racing repeats wins, with one
 * Idempotency-Key or without any.
 */
async function commitReceived(
  deps: ReceiveDeps,
  row: UploadRow,
  incoming: Incoming,
  stored: StoredBody,
): Promise<Received> {
  const { tenant_id: tenantId, runner_id: runnerId } = row;
  const uploadId = row.id as UploadId;
  const nowMs = deps.clock.nowMs();
  const bodyDigest = digestWithContext(row, stored.sha256);
  return await deps.database.transaction(tenantId, async (tx) => {
    const key = incoming.idempotencyKey;
    if (key !== null) {
      const remembered = await rememberIdempotency(tx, {
        tenant_id: tenantId,
        runner_id: runnerId,
        idempotency_key: key,
        upload_id: uploadId,
        sha256: bodyDigest,
        created_at: nowMs,
      });
      if (remembered === 0) {
        const known = await findIdempotency(tx, tenantId, runnerId, key);
        if (known !== undefined) return replayOf(known, bodyDigest);
      }
    } else {
      // Uploads of one runner pass here one after the other: otherwise each of several that arrive
      // at once would find the others still arriving.
      await holdRunner(tx, tenantId, runnerId);
      const same = await findSame(tx, row, stored.sha256, nowMs);
      if (same !== null) return same;
    }
    if ((await markReceived(tx, { tenantId, uploadId, ...stored, nowMs })) === 0) {
      throw gaveUp();
    }
    return { uploadId, replayed: false, joined: false };
  });
}

/**
 * Notes that the answer was written out whole: from now on an identical upload is a new one, and
 * not a repeat.
 */
export async function noteAnswered(deps: ReceiveDeps, row: UploadRow): Promise<void> {
  try {
    const db = deps.database.tenant(row.tenant_id);
    await markAnswered(db, row.tenant_id, row.id, deps.clock.nowMs());
  } catch {
    // The server is stopping, or the database is away. Then an identical upload within ten minutes
    // gets the same receipt once more, which does no harm.
  }
}

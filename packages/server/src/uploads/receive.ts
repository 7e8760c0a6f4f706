// The edge of ingest: the body of a request becomes an upload that waits for its turn. Bytes are
// made durable first and understood second. The body is bounded and digested, and written in sealed
// chunks while it arrives; a body that comes plain is compressed on the way. After the last commit
// nothing is lost, whatever crashes. A repeat joins the upload that it repeats (contract §2,
// Repeats).

import { createHash, hash, type Hash } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress } from 'node:zlib';
import { limits } from '@muster/contract/plain';
import type { Database, Db } from '../db/db.ts';
import type { RunnerCaller } from '../keys/authenticate.ts';
import type { Clock } from '../lib/clock.ts';
import type { Encoding } from '../lib/decompress.ts';
import { newId, type TenantId, type UploadId } from '../lib/ids.ts';
import { Problem } from '../lib/problem.ts';
import { randomBytes } from '../lib/random.ts';
import { release } from '../lib/release.ts';
import type { ScanContext, UploadContext } from '../ingest/report/report.rules.ts';
import { discard } from '../ingest/store/retention.ts';
import { scanContextOf } from '../ingest/formats/common/scan-context.rules.ts';
import { seal } from '../ingest/store/seal.format.ts';
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
  inFlight,
  insertChunk,
  insertUpload,
  markAnswered,
  markReceived,
  noteStored,
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
export type ScansUnderWay = (
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
   * The body as it arrives. The HTTP edge has bounded its bytes and its rate. This file gives the
   * memory of its chunks away.
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

/**
 * Until then half of the uploads in flight are done. Deployed clients wait for at most 5 minutes
 * (RP §13).
 */
const retryAfterSeconds = (uploads: number, paceMs: number): number =>
  Math.min(Math.max(Math.ceil((uploads * paceMs) / 2000), 1), 300);

/**
 * Throws unless the tenant and the runner may have `more` uploads beside those in flight. Problems:
 * rate_limited, storage_full.
 */
async function admit(
  deps: ReceiveDeps,
  db: Db,
  { tenantId, runnerId }: { readonly tenantId: string; readonly runnerId: string },
  more: 0 | 1,
): Promise<void> {
  if (deps.isStorageLow()) {
    throw new Problem('storage_full', 'The disk of the server is nearly full.');
  }
  const { uploads, bytes, byRunner } = await inFlight(db, tenantId);
  const own = byRunner.get(runnerId) ?? 0;
  if (own + more > limits.uploadsWaitingPerRunnerMax) throw tooManyOf('runner', own, deps);
  const tooMany = uploads + more > limits.uploadsWaitingPerTenantMax;
  // An upload that is alone is never too large for the queue: nobody would make room for it.
  const tooMuch = bytes + more > deps.waitingBytesMax && uploads + more > 1;
  if (tooMany || tooMuch) throw tooManyOf('tenant', uploads, deps);
}

const tooManyOf = (whose: 'runner' | 'tenant', uploads: number, deps: ReceiveDeps): Problem =>
  new Problem(
    'rate_limited',
    `${uploads} uploads of this ${whose} are arriving or waiting to be processed.`,
    { retryAfterSeconds: retryAfterSeconds(uploads, deps.paceMs()) },
  );

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

/** How far a body has arrived. */
interface Arrival {
  storedBytes: number;
  /** When it was last noted in the database that the body still arrives. */
  notedMs: number;
}

interface Stored {
  readonly sha256: Buffer;
  readonly encoding: Encoding;
  readonly wireBytes: number;
  readonly storedBytes: number;
}

async function storeBody(deps: ReceiveDeps, row: UploadRow, incoming: Incoming): Promise<Stored> {
  const sha256 = createHash('sha256');
  const sha512 = incoming.digests.has('sha-512') ? createHash('sha512') : null;
  let wireBytes = 0;
  const arrival: Arrival = { storedBytes: 0, notedMs: deps.clock.monotonicMs() };
  async function* digested(): AsyncGenerator<Uint8Array> {
    for await (const chunk of incoming.body) {
      wireBytes += chunk.byteLength;
      sha256.update(chunk);
      sha512?.update(chunk);
      // The arrival is noted here and not where chunks are stored: while a slow body is compressed,
      // no chunk comes out for long.
      if (deps.clock.monotonicMs() - arrival.notedMs >= limits.uploadArrivalNoteMs) {
        await noteArrival(deps, row, arrival);
      }
      yield chunk;
    }
  }
  const store = async (source: AsyncIterable<Uint8Array>): Promise<void> =>
    await storeChunks(deps, row, source, arrival);
  if (incoming.encoding === 'identity') {
    // Level 1 packs reports about tenfold at several hundred MB/s, in the thread pool.
    const params = { [constants.ZSTD_c_compressionLevel]: 1 };
    // The compressor takes one chunk at a time: it asks for the next one when it is done with the
    // one before.
    const alone = { writableHighWaterMark: 1 };
    const compress = createZstdCompress({ params, ...alone });
    await pipeline(releasing(digested(), compress), compress, store);
  } else {
    await store(digested());
  }
  const digest = sha256.digest();
  verify(incoming, digest, sha512);
  const encoding = incoming.encoding === 'identity' ? 'zstd' : incoming.encoding;
  return { sha256: digest, encoding, wireBytes, storedBytes: arrival.storedBytes };
}

/**
 * Gives the memory of each chunk back once the stream that takes the chunks has none left to work
 * on.
 */
async function* releasing(
  chunks: AsyncIterable<Uint8Array>,
  taker: { readonly writableLength: number },
): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    yield chunk;
    if (taker.writableLength === 0) release(chunk, chunk.byteLength);
  }
}

function verify(incoming: Incoming, sha256: Buffer, sha512: Hash | null): void {
  const computed = new Map([['sha-256', sha256]]);
  if (sha512 !== null) computed.set('sha-512', sha512.digest());
  for (const [algorithm, expected] of incoming.digests) {
    if (computed.get(algorithm)?.equals(expected) !== true) {
      throw new Problem(
        'digest_mismatch',
        `The ${algorithm} of the body is not what Content-Digest says.`,
      );
    }
  }
}

/**
 * Notes how many bytes are stored, and that the body still arrives. Problem: unavailable, when the
 * body was given up meanwhile.
 */
async function noteArrival(deps: ReceiveDeps, row: UploadRow, arrival: Arrival): Promise<void> {
  const db = deps.database.tenant(row.tenant_id);
  arrival.notedMs = deps.clock.monotonicMs();
  const nowMs = deps.clock.nowMs();
  const noted = await noteStored(db, row.tenant_id, row.id, arrival.storedBytes, nowMs);
  if (noted === 0) throw gaveUp();
}

/**
 * After this many chunks (4 MiB) the room is checked again: each body that arrives at the same time
 * may exceed the bound by that much.
 */
const CHUNKS_PER_ADMISSION = 16;

/**
 * Writes the source in sealed chunks of limits.uploadChunkBytes. One chunk is made durable while
 * the next one arrives.
 */
async function storeChunks(
  deps: ReceiveDeps,
  row: UploadRow,
  source: AsyncIterable<Uint8Array>,
  arrival: Arrival,
): Promise<void> {
  const { tenant_id: tenantId, runner_id: runnerId, id: uploadId } = row;
  const db = deps.database.tenant(tenantId);
  let pending: Uint8Array[] = [];
  let pendingBytes = 0;
  let seq = 0;
  let writing: Promise<void> = Promise.resolve();
  const write = async (number: number, bytes: Buffer): Promise<void> => {
    const sealed = seal(deps.sealKey, { uploadId, seq: number }, randomBytes(12), bytes);
    const stored = bytes.length;
    release(bytes, stored);
    if ((await insertChunk(db, tenantId, uploadId, number, sealed)) === 0) throw gaveUp();
    release(sealed, sealed.length);
    arrival.storedBytes += stored;
    if ((number + 1) % CHUNKS_PER_ADMISSION !== 0) return;
    await noteArrival(deps, row, arrival);
    await admit(deps, db, { tenantId, runnerId }, 0);
  };
  const next = async (): Promise<void> => {
    await writing;
    writing = write(seq, Buffer.concat(pending));
    // The next wait throws what went wrong here.
    writing.catch(() => {});
    seq += 1;
    pending = [];
    pendingBytes = 0;
  };
  try {
    for await (const chunk of source) {
      pending.push(chunk);
      pendingBytes += chunk.byteLength;
      if (pendingBytes >= limits.uploadChunkBytes) await next();
    }
    if (pendingBytes > 0) await next();
  } finally {
    await writing;
  }
}

/**
 * The commit from which on nothing is lost. One of several racing repeats wins, with one
 * Idempotency-Key or without any.
 */
async function commitReceived(
  deps: ReceiveDeps,
  row: UploadRow,
  incoming: Incoming,
  stored: Stored,
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

const gaveUp = (): Problem =>
  new Problem('unavailable', 'The body stopped arriving for so long that it was given up.');

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

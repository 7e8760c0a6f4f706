// The body of a request becomes sealed chunks of its upload while it arrives. The digests are those
// of the bytes on the wire; a body that comes plain is compressed on the way. One chunk is made
// durable while the next one arrives, so memory stays at a few chunks.

import { createHash, type Hash } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress } from 'node:zlib';
import { limits } from '@muster/contract/plain';
import type { Encoding } from '../lib/decompress.ts';
import { Problem } from '../lib/problem.ts';
import { randomBytes } from '../lib/random.ts';
import { release } from '../lib/release.ts';
import { seal } from '../ingest/store/seal.format.ts';
import { insertChunk, noteStored, type UploadRow } from '../ingest/store/upload.queries.ts';
import { admit } from './admission.ts';
import type { Incoming, ReceiveDeps } from './receive.ts';

/** How far a body has arrived. */
interface Arrival {
  storedBytes: number;
  /** When it was last noted in the database that the body still arrives. */
  notedMs: number;
}

export interface StoredBody {
  readonly sha256: Buffer;
  readonly encoding: Encoding;
  readonly wireBytes: number;
  readonly storedBytes: number;
}

/**
 * Stores the whole body. Problems: digest_mismatch, unavailable, those of `admit`, and whatever the
 * body stream throws.
 */
export async function storeBody(
  deps: ReceiveDeps,
  row: UploadRow,
  incoming: Incoming,
): Promise<StoredBody> {
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

/** The problem of a body that was given up while it still arrived. */
export const gaveUp = (): Problem =>
  new Problem('unavailable', 'The body stopped arriving for so long that it was given up.');

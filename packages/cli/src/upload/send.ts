// Sends one report: compresses it while it is read, sends it until the server has it, then follows
// it until it is processed. Every attempt carries the same Idempotency-Key and the same bytes, so a
// lost answer costs nothing (contract §2).

import { Readable, Transform } from 'node:stream';
import { constants, createZstdCompress } from 'node:zlib';
import {
  ApiError,
  type CallReply,
  endpoints,
  limits,
  type QueryOf,
  type Receipt,
  type ReplyOf,
  type RequestBody,
} from '@muster/contract';
import type { Context } from '../context.ts';
import { UnreachableError } from '../errors.ts';
import type { Progress } from './progress.ts';
import { type Source, unreadable } from './source.ts';

export type UploadQueryValues = Partial<QueryOf<typeof endpoints.ingestSarif>>;
type Job = ReplyOf<typeof endpoints.uploadJob>;
type IngestReply = CallReply<typeof endpoints.ingestSarif>;

/** The result. A refusal that is the answer to this report (422 …) is thrown as ApiError. */
export type Sent =
  | { readonly state: 'processed'; readonly receipt: Receipt }
  | { readonly state: 'processing'; readonly uploadId: string };

/**
 * Tries of one request; with the pauses below a server may be away for about a quarter of a minute.
 */
const ATTEMPTS_MAX = 4;
const PAUSE_FIRST_MS = 1000;
const PAUSE_MAX_MS = 60_000;
/**
 * The interval at which the job is asked while somebody watches: seconds, because the server counts
 * its waits in seconds.
 */
const WATCHED_WAIT_SECONDS = 1;
const POLL_MS_MIN = 250;

/** Sends, and waits at most `waitSeconds` for the receipt. */
export async function send(
  context: Context,
  source: Source,
  query: UploadQueryValues,
  waitSeconds: number,
  progress: Progress,
): Promise<Sent> {
  const deadlineMs = context.io.nowMs() + waitSeconds * 1000;
  const wait = (): string => {
    const left = Math.max(0, Math.ceil((deadlineMs - context.io.nowMs()) / 1000));
    return String(
      Math.min(left, progress.isSeen ? WATCHED_WAIT_SECONDS : limits.jobWaitSecondsMax),
    );
  };
  const idempotencyKey = context.io.newId();
  const { status, body } = await retrying(context, progress, () =>
    sendOnce(context, source, { ...query, wait: wait() }, idempotencyKey, progress),
  );
  if (status === 201) return { state: 'processed', receipt: body as Receipt };
  const { upload_id: uploadId, job_id: id } = body as { upload_id: string; job_id: string };
  while (context.io.nowMs() < deadlineMs) {
    const askedMs = context.io.nowMs();
    const job = await retrying(context, progress, () =>
      context.runner(endpoints.uploadJob, { params: { id }, query: { wait: wait() } }),
    );
    const receipt = receiptOf(job.body);
    if (receipt !== null) return { state: 'processed', receipt };
    progress.processing(job.body.items_done, job.body.items_total);
    // The server holds the question back while nothing happens. If it doesn't, this pause keeps the
    // questions apart.
    const tooSoonMs = askedMs + POLL_MS_MIN - context.io.nowMs();
    if (tooSoonMs > 0) await context.io.pause(tooSoonMs);
  }
  return { state: 'processing', uploadId };
}

/**
 * The receipt of a finished job; null: the job is still in work. Throws the problem of a failed
 * one.
 */
function receiptOf(job: Job): Receipt | null {
  if (job.status === 'completed') return job.result as Receipt;
  if (job.status !== 'failed') return null;
  const problem = (job.error ?? {}) as Record<string, unknown>;
  throw new ApiError(Number(problem['status'] ?? 500), problem, null);
}

/** By these the server knows a format that its route leaves open. */
const MEDIA_TYPES: Readonly<Record<Source['format'], string>> = {
  sarif: 'application/sarif+json',
  ctis: 'application/json',
  gitleaks: 'application/vnd.gitleaks+json',
};

async function sendOnce(
  context: Context,
  source: Source,
  query: UploadQueryValues,
  idempotencyKey: string,
  progress: Progress,
): Promise<IngestReply> {
  const endpoint = source.format === 'sarif' ? endpoints.ingestSarif : endpoints.ingest;
  const file = source.read();
  let readFault: Error | null = null;
  file.once('error', (error) => {
    readFault = error;
  });
  const body = compressed(file, source.bytes, progress);
  try {
    return await context.runner(endpoint, {
      query,
      raw: Readable.toWeb(body) as RequestBody,
      headers: {
        'content-type': MEDIA_TYPES[source.format],
        'content-encoding': 'zstd',
        'idempotency-key': idempotencyKey,
      },
    });
  } catch (error) {
    if (readFault !== null) throw unreadable(source.name, readFault);
    if (error instanceof UnreachableError) await askWhy(context);
    throw error;
  } finally {
    file.destroy();
    body.destroy();
  }
}

/**
 * The file as zstd; the bytes read so far are shown. The default level packs reports about
 * fifteenfold.
 */
function compressed(file: Readable, total: number, progress: Progress): Readable {
  let done = 0;
  const counter = new Transform({
    transform(chunk: Uint8Array, _encoding, callback) {
      done += chunk.byteLength;
      progress.sent(done, total);
      callback(null, chunk);
    },
  });
  const zstd = createZstdCompress({
    params: {
      [constants.ZSTD_c_compressionLevel]: constants.ZSTD_CLEVEL_DEFAULT,
      [constants.ZSTD_c_checksumFlag]: 1,
    },
  });
  // A fault anywhere ends the body with an error, and so the request.
  file.once('error', (error) => zstd.destroy(error));
  counter.once('error', (error) => zstd.destroy(error));
  return file.pipe(counter).pipe(zstd);
}

/**
 * A server that refuses a body early closes the connection, and its answer can get lost under the
 * bytes still on their way. A small question with the same key finds out the reason: this function
 * throws what the server answers, if it refuses.
 */
async function askWhy(context: Context): Promise<void> {
  try {
    await context.runner(endpoints.checkFingerprints, { body: { fingerprints: [] } });
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) throw error;
  }
}

/**
 * Repeats calls that may succeed later: no answer, 429, 503. Retry-After is obeyed, up to
 * PAUSE_MAX_MS.
 */
async function retrying<T>(
  context: Context,
  progress: Progress,
  attempt: () => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      const pauseMs = pauseAfter(error, tries);
      if (pauseMs === null || tries === ATTEMPTS_MAX) throw error;
      progress.waiting(error instanceof Error ? error.message : String(error), pauseMs);
      await context.io.pause(pauseMs);
    }
  }
}

/** Milliseconds before the next try; null: the answer won't change. */
function pauseAfter(error: unknown, tries: number): number | null {
  const doubledMs = PAUSE_FIRST_MS * 2 ** (tries - 1);
  if (error instanceof UnreachableError) return doubledMs;
  if (!(error instanceof ApiError) || (error.status !== 429 && error.status !== 503)) return null;
  const askedMs = (error.retryAfterSeconds ?? 0) * 1000;
  return askedMs > PAUSE_MAX_MS ? null : Math.max(askedMs, doubledMs);
}

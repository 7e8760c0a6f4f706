// Hands in a report: compressed, with a digest and an Idempotency-Key of its own, so that a retry
// after a lost answer gets the same receipt instead of a second sighting. Used alone
// (`sendReport`), and by the outbox of a runner.

import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { zstdCompress } from 'node:zlib';
import {
  call,
  type CallInput,
  type CallReply,
  type ClientOptions,
  type Endpoint,
  endpoints,
  type QueryOf,
  type Receipt,
} from '@muster/contract';
import { newRepeatKey } from './lib/random.ts';
import { retrying, type RetryOptions } from './retry.ts';
import type { UploadEntry } from './spool.ts';

const compress = promisify(zstdCompress);

export interface ReportAbout {
  readonly format: 'sarif' | 'ctis';
  /** Repository, branch, commit …: facts that SARIF lacks. */
  readonly context?: Partial<QueryOf<typeof endpoints.ingest>>;
}

export interface ReportOptions extends ReportAbout, ClientOptions {
  /** The command that this report was made for. */
  readonly commandId?: string;
  readonly retry?: RetryOptions;
}

/**
 * Resolves with the receipt once the server has processed the report. Rejects with ApiError when
 * the report was refused.
 */
export async function sendReport(report: Uint8Array, options: ReportOptions): Promise<Receipt> {
  const { entry, body } = await uploadOf(report, options, options.commandId);
  return await handIn(entry, body, (...args) => call(...args, options), options.retry);
}

/** The upload as it is sent, and kept until it is answered. */
export async function uploadOf(
  report: Uint8Array,
  { format, context }: ReportAbout,
  commandId: string | undefined,
): Promise<{ readonly entry: UploadEntry; readonly body: Buffer<ArrayBuffer> }> {
  const body = Buffer.from(await compress(report));
  const digest = createHash('sha256').update(body).digest('base64');
  const headers = {
    'content-type': 'application/json',
    'content-encoding': 'zstd',
    'content-digest': `sha-256=:${digest}:`,
    'idempotency-key': newRepeatKey(),
    ...(commandId === undefined ? {} : { 'x-openctem-command-id': commandId }),
  };
  return { entry: { kind: 'upload', format, query: { ...context }, headers }, body };
}

type Caller = <E extends Endpoint>(endpoint: E, input: CallInput<E>) => Promise<CallReply<E>>;

/**
 * Sends the report until it is answered, and waits for the receipt if that takes longer than a
 * request may.
 */
export async function handIn(
  { format, query, headers }: UploadEntry,
  raw: Buffer<ArrayBuffer>,
  send: Caller,
  retry: RetryOptions = {},
): Promise<Receipt> {
  const endpoint = format === 'sarif' ? endpoints.ingestSarif : endpoints.ingest;
  const reply = await retrying(() => send(endpoint, { raw, headers, query }), retry);
  if ('findings' in reply.body) return reply.body;
  const input = { params: { id: reply.body.job_id }, query: { wait: '30' } };
  while (true) {
    const { body } = await retrying(() => send(endpoints.uploadJob, input), retry);
    // `result` and `error` are printed as references in OpenAPI, so their types stand here.
    if (body.status === 'completed') return body.result as Receipt;
    if (body.status === 'failed') {
      const problem = body.error as Readonly<Record<string, unknown>>;
      throw new Error(`The report was refused: ${String(problem['detail'])}`);
    }
  }
}

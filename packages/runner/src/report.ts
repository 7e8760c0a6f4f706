// Handing in a report: compressed, with a digest and an Idempotency-Key of its own, so that a retry after a lost answer
// gets the same receipt instead of a second sighting.

import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { zstdCompress } from 'node:zlib';
import { call, type ClientOptions, endpoints, type QueryOf, type Receipt } from '@muster/contract';
import { newIdempotencyKey } from './lib/random.ts';
import { retrying, type RetryOptions } from './retry.ts';

const compress = promisify(zstdCompress);

export interface ReportOptions extends ClientOptions {
  readonly format: 'sarif' | 'ctis';
  /** Repository, branch, commit …: what SARIF lacks. */
  readonly context?: Partial<QueryOf<typeof endpoints.ingest>>;
  /** The command that this report was made for. */
  readonly commandId?: string;
  readonly retry: RetryOptions;
}

/** Resolves with the receipt once the server has processed the report. Rejects with ApiError when it was refused. */
export async function sendReport(report: Uint8Array, options: ReportOptions): Promise<Receipt> {
  const raw = await compress(report);
  const digest = createHash('sha256').update(raw).digest('base64');
  const headers = {
    'content-type': 'application/json',
    'content-encoding': 'zstd',
    'content-digest': `sha-256=:${digest}:`,
    'idempotency-key': newIdempotencyKey(),
    ...(options.commandId === undefined ? {} : { 'x-openctem-command-id': options.commandId }),
  };
  const endpoint = options.format === 'sarif' ? endpoints.ingestSarif : endpoints.ingest;
  const input = { raw, headers, query: options.context ?? {} };
  const reply = await retrying(() => call(endpoint, input, options), options.retry);
  if ('findings' in reply.body) return reply.body;
  return await receiptOf(reply.body.job_id, options);
}

/** Waits for an upload that takes longer than a request may. */
async function receiptOf(jobId: string, options: ReportOptions): Promise<Receipt> {
  const input = { params: { id: jobId }, query: { wait: '30' } };
  while (true) {
    const { body } = await retrying(() => call(endpoints.uploadJob, input, options), options.retry);
    // `result` and `error` are printed as references in OpenAPI, so their types stand here.
    if (body.status === 'completed') return body.result as Receipt;
    if (body.status === 'failed') {
      const problem = body.error as Readonly<Record<string, unknown>>;
      throw new Error(`The report was refused: ${String(problem['detail'])}`);
    }
  }
}

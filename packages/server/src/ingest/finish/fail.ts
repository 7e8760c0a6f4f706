// An error that ended the processing of an upload becomes its outcome: refused, failed, or
// requeued. Each outcome is one transaction, guarded by the lease. An error that says nothing about
// the upload is thrown again. Called by ingest.ts.

import { limits } from '@muster/contract/plain';
import { Problem } from '../../lib/problem.ts';
import { TooManyItems } from '../document/scan.decode.ts';
import { DocumentRefused } from '../report/report.rules.ts';
import { end } from './end.ts';
import { freeScopes } from '../store/scope.queries.ts';
import { type IngestDeps, LeaseLost, ScopeBusy } from '../lease/lease.ts';
import { failureDetail } from './retry.rules.ts';
import type { UploadRow } from '../store/upload.queries.ts';
import { type Requeue, requeueUpload, type ShownOfReport } from '../store/upload-work.queries.ts';

/**
 * The wait for a busy scope: each try reads the document anew, and the other upload takes about as
 * long as this one would.
 */
const SCOPE_RETRY_MS = 2000;

export type Outcome = 'processed' | 'refused' | 'failed' | 'requeued' | 'lost';

/** Fails an upload that was tried too often without progress. */
export async function failExhausted(deps: IngestDeps, upload: UploadRow): Promise<Outcome> {
  const problem = { code: 'processing_failed', detail: failureDetail(upload.fault) };
  return await end(deps, upload, 'failed', null, problem);
}

/**
 * Ends or requeues the upload as the error says; `shown` is what is known of its report so far.
 * Throws defects and errors of the database again.
 */
export async function endByError(
  deps: IngestDeps,
  upload: UploadRow,
  error: unknown,
  shown: ShownOfReport,
): Promise<Outcome> {
  if (error instanceof LeaseLost) return 'lost';
  if (error instanceof ScopeBusy) {
    const notBefore = deps.clock.nowMs() + SCOPE_RETRY_MS;
    return await deps.database.transaction(upload.tenant_id, async (tx) => {
      const requeue: Requeue = { notBefore, fault: null, attempts: 1 };
      // Another worker has the upload: the scopes are that worker's now.
      if ((await requeueUpload(tx, upload, requeue)) === 0) return 'lost';
      await freeScopes(tx, upload.tenant_id, upload.id);
      return 'requeued';
    });
  }
  if (error instanceof DocumentRefused) {
    const problem = { code: error.code, detail: error.message, pointer: error.pointer };
    return await end(deps, upload, 'refused', null, problem, shown);
  }
  if (error instanceof TooManyItems) {
    const detail = `A report may have ${limits.uploadItemsMax} items; split it.`;
    const problem = { code: 'too_many_items', detail };
    return await end(deps, upload, 'refused', null, problem, shown);
  }
  if (error instanceof Problem) {
    const { pointer } = error.extras;
    const problem = {
      code: error.code,
      detail: error.message,
      ...(pointer === undefined ? {} : { pointer }),
    };
    return await end(deps, upload, 'refused', null, problem, shown);
  }
  throw error;
}

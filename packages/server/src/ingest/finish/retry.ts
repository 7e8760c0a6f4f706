// An upload whose worker didn't come back with a result is requeued for a retry, or ends as
// `failed` with the reason when it was tried often enough. The worker calls this after an error;
// the main thread calls it when the thread is gone. So a poisonous upload costs a bounded number of
// workers and never blocks the queue. Called by ingest.worker.ts and workers.ts.

import type { UploadFault } from '@muster/contract';
import type { Database } from '../../db/db.ts';
import type { Clock } from '../../lib/clock.ts';
import { end } from './end.ts';
import { isExhausted, retryAfterMs, failureDetail } from './retry.rules.ts';
import { findUpload, type UploadRow } from '../store/upload.queries.ts';
import { requeueUpload } from '../store/upload-work.queries.ts';

/**
 * `claimed`: the row as the worker got it. Returns `lost` when another worker has the upload by
 * now.
 */
export async function retryOrFail(
  deps: { readonly database: Database; readonly clock: Clock },
  claimed: UploadRow,
  fault: UploadFault,
): Promise<'requeued' | 'failed' | 'lost'> {
  const { tenant_id: tenantId, id, lease_holder: holder, attempt } = claimed;
  const db = deps.database.tenant(tenantId);
  // Batches that were committed since the claim are progress.
  const upload = await findUpload(db, tenantId, id);
  if (upload?.lease_holder !== holder || upload.attempt !== attempt) return 'lost';
  // The upload isn't to blame when the database is away or full, or the server stops: then the
  // attempt doesn't count.
  const attempts = fault === 'unavailable' || fault === 'process_ended' ? 1 : 0;
  if (attempts === 0 && isExhausted(upload)) {
    const problem = { code: 'processing_failed', detail: failureDetail(fault) };
    return await end(deps, upload, 'failed', null, problem);
  }
  // After a stop the next process may claim the upload at once.
  const notBefore = fault === 'process_ended' ? 0 : deps.clock.nowMs() + retryAfterMs(attempt);
  const requeued = await requeueUpload(db, upload, { notBefore, fault, attempts });
  return requeued === 0 ? 'lost' : 'requeued';
}

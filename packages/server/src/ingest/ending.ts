// The end of an upload of which nothing is applied: refused (the sender can act on it) or failed (we must). One
// transaction, guarded by the lease. Called by ingest.ts, and by setbacks.ts when a worker didn't come back with a result.

import type { Receipt } from '@muster/contract';
import { newId } from '../lib/ids.ts';
import { insertEvent } from './finding.queries.ts';
import { freeScopes } from './frame.queries.ts';
import type { IngestDeps } from './lease.ts';
import type { UploadRow } from './upload.queries.ts';
import { deleteBatches, endUpload } from './upload-work.queries.ts';

/** Ends the upload with what the job and later answers say; `lost`: it was another worker's already. */
export async function end<State extends 'refused' | 'failed'>(
  deps: Pick<IngestDeps, 'database' | 'clock'>,
  upload: UploadRow,
  state: State,
  receipt: Receipt | null,
  problem: { code: string; detail: string; pointer?: string },
): Promise<State | 'lost'> {
  const nowMs = deps.clock.nowMs();
  const ended = await deps.database.transaction(upload.tenant_id, async (tx) => {
    const written = await endUpload(tx, upload, {
      state,
      receipt: receipt === null ? null : JSON.stringify(receipt),
      problem: JSON.stringify(problem),
      nowMs,
    });
    // Another worker has it: its scopes and batches are that worker's now.
    if (written === 0) return 0;
    await freeScopes(tx, upload.tenant_id, upload.id);
    await deleteBatches(tx, upload.tenant_id, upload.id);
    await insertEvent(tx, {
      tenant_id: upload.tenant_id,
      id: newId(nowMs),
      at: nowMs,
      kind: `upload.${state}`,
      data: JSON.stringify({ upload_id: upload.id, code: problem.code }),
    });
    return written;
  });
  return ended === 0 ? 'lost' : state;
}

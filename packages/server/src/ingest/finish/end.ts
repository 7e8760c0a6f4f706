// The end of an upload of which nothing is applied: refused (the sender can act on it), failed (we must), or tried in a dry run. One
// transaction, guarded by the lease. A dry run (POST /ingest/validate) leaves no event, and its bytes go as soon as it
// has its answer; its row goes when that can't be asked for any more (retention.ts). Called by ingest.ts and dry-run.ts,
// and by retries.ts when a worker didn't come back with a result.

import type { Receipt } from '@muster/contract';
import { newId } from '../../lib/ids.ts';
import { insertEvent } from '../store/finding.queries.ts';
import { freeScopes } from '../store/scope.queries.ts';
import type { IngestDeps } from '../lease/lease.ts';
import { takeAwayNow } from '../store/retention.ts';
import type { EndedState } from '../store/upload.machine.ts';
import type { UploadRow } from '../store/upload.queries.ts';
import { deleteBatches, endUpload, type ShownOfReport } from '../store/upload-work.queries.ts';

/** Only to tell what would become of the report: nothing of it is applied, and nothing of it stays. */
export const isDryRun = (upload: UploadRow): boolean => upload.rehearsal === 1;

/** Ends the upload with what the job and later answers say; `lost`: it was another worker's already. */
export async function end<State extends EndedState>(
  deps: Pick<IngestDeps, 'database' | 'clock'>,
  upload: UploadRow,
  state: State,
  receipt: Receipt | null,
  problem: { code: string; detail: string; pointer?: string } | null,
  shown: ShownOfReport = {},
): Promise<State | 'lost'> {
  const { database, clock } = deps;
  const nowMs = clock.nowMs();
  const ended = await database.transaction(upload.tenant_id, async (tx) => {
    const written = await endUpload(tx, upload, {
      state,
      receipt: receipt === null ? null : JSON.stringify(receipt),
      problem: problem === null ? null : JSON.stringify(problem),
      nowMs,
      shown,
    });
    // Another worker has it: its scopes and batches are that worker's now.
    if (written === 0) return 0;
    await freeScopes(tx, upload.tenant_id, upload.id);
    await deleteBatches(tx, upload.tenant_id, upload.id);
    if (isDryRun(upload)) return written;
    await insertEvent(tx, {
      tenant_id: upload.tenant_id,
      id: newId(nowMs),
      at: nowMs,
      kind: `upload.${state}`,
      data: JSON.stringify({ upload_id: upload.id, code: problem?.code }),
    });
    return written;
  });
  if (ended === 0) return 'lost';
  if (isDryRun(upload)) await takeAwayNow(database, clock, upload.tenant_id, upload.id);
  return state;
}

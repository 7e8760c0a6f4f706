// The end of an upload of which nothing is applied: refused (the sender has to act), failed (the
// operator has to act), or the end of a dry run. The end is one transaction, guarded by the lease.
// A dry run (POST /ingest/validate) leaves no event; its bytes go as soon as it has its answer, and
// its row goes when nobody may ask for the answer any more (retention.ts).

import type { Receipt } from '@muster/contract';
import { newId } from '../../lib/ids.ts';
import { insertEvent } from '../store/finding.queries.ts';
import { freeScopes } from '../store/scope.queries.ts';
import type { IngestDeps } from '../lease/lease.ts';
import { takeAwayNow } from '../store/retention.ts';
import type { EndedState } from '../store/upload.machine.ts';
import type { UploadRow } from '../store/upload.queries.ts';
import { deleteBatches, endUpload, type ShownOfReport } from '../store/upload-work.queries.ts';

/** A dry run only makes the receipt: nothing of its report is applied, and nothing of it stays. */
export const isDryRun = (upload: UploadRow): boolean => upload.rehearsal === 1;

/** Ends the upload and stores what the job and later answers say; `lost`: another worker has it. */
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
    // Another worker has the upload: its scopes and batches are that worker's now.
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

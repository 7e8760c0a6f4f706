// Admission of uploads: whether there is room for one more. A runner and a tenant may each have a
// bounded number of uploads arriving, waiting and in work, and a tenant a bounded number of bytes.
// Reads only, so that a flood is refused cheaply.

import { limits } from '@muster/contract/plain';
import type { Db } from '../db/db.ts';
import { Problem } from '../lib/problem.ts';
import { inFlight } from '../ingest/store/upload.queries.ts';
import type { ReceiveDeps } from './receive.ts';

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
export async function admit(
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

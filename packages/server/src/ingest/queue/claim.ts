// How a worker gets its next upload. A query reads which runners have uploads waiting, and
// fairness.rules.ts puts them in order. One guarded UPDATE takes the oldest due upload of the first
// runner that still has one, so no upload is claimed twice. Called by ingest.worker.ts.

import { limits } from '@muster/contract/plain';
import type { Database } from '../../db/db.ts';
import type { Clock } from '../../lib/clock.ts';
import { inTurn, type Turns } from './fairness.rules.ts';
import type { UploadRow } from '../store/upload.queries.ts';
import { claimUpload, uploadFlows } from '../store/upload-work.queries.ts';

interface ClaimDeps {
  readonly database: Database;
  readonly clock: Clock;
  /** Names the worker; the lease is given in this name. */
  readonly holder: string;
  readonly turns: Turns;
}

/** The next upload in turn, claimed for uploadLeaseMs; undefined: nothing is due. */
export async function claimNext(deps: ClaimDeps): Promise<UploadRow | undefined> {
  const db = deps.database.system();
  const nowMs = deps.clock.nowMs();
  for (const flow of inTurn(await uploadFlows(db, nowMs), deps.turns)) {
    const leaseUntil = nowMs + limits.uploadLeaseMs;
    const upload = await claimUpload(db, flow, deps.holder, nowMs, leaseUntil);
    if (upload !== undefined) {
      deps.turns.served(flow);
      return upload;
    }
  }
  return undefined;
}

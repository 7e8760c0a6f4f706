// Which scans a report that a runner hands in may belong to: the command that it names, else the scans that it holds. Read
// while the report arrives, because a runner completes its command right after. Called by the routes of ingest.

import type { Database } from '../db/db.ts';
import type { TenantId } from '../lib/ids.ts';
import type { ScanUnderWay } from '../uploads/receive.ts';
import { findCommand, heldScans, lastAttemptOf } from './command.queries.ts';

/** More at once are told apart by nobody. */
const HELD_MAX = 20;

/** `commandId`: as the runner says, believed of commands that it has, or had, claimed. */
export async function scansUnderWay(
  database: Database,
  tenantId: TenantId,
  runnerId: string,
  commandId: string | null,
): Promise<ScanUnderWay[]> {
  const db = database.tenant(tenantId);
  if (commandId === null) {
    return (await heldScans(db, tenantId, runnerId, HELD_MAX)).map(underWay);
  }
  const row = await findCommand(db, tenantId, commandId);
  if (row === undefined || row.type !== 'scan') return [];
  const own = await lastAttemptOf(db, tenantId, commandId, runnerId);
  return own === undefined ? [] : [underWay(row)];
}

const underWay = ({ id, payload }: { id: string; payload: string | null }): ScanUnderWay => ({
  commandId: id,
  payload: JSON.parse(payload ?? '{}') as Record<string, unknown>,
});

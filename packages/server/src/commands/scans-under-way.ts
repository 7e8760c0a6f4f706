// Finds the scans to which a report that a runner hands in may belong: the command that the report
// names, otherwise the scans that the runner holds. The scans are read while the report arrives,
// because a runner completes its command right after.

import type { Database } from '../db/db.ts';
import type { TenantId } from '../lib/ids.ts';
import type { ScanUnderWay } from '../uploads/receive.ts';
import { findCommand, heldScans, lastAttemptOf } from './command.queries.ts';

/** Nobody could tell more simultaneous scans apart. */
const HELD_MAX = 20;

/**
 * `commandId`: the command that the runner names, believed only of commands that this runner has
 * claimed at some time.
 */
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

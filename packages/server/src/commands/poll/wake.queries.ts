// What may be claimed by somebody who waits, across tenants: one look a second and node, whoever waits, and the
// commands that another node's hint speaks of.

import { sql } from 'kysely';
import type { Db } from '../../db/db.ts';
import { idValue } from '../../db/dialect.ts';

/** As a literal, so that the planner sees that the partial indexes fit. */
const PENDING = sql<'pending'>`'pending'`;

export interface ReadyRow {
  readonly tenant_id: string;
  readonly id: string;
  readonly runner_id: string | null;
  readonly target: string | null;
  readonly ready_at: number;
}

/** From where a look goes on: behind this command, or with everything of that time. */
export interface ReadyPlace {
  readonly ready_at: number;
  readonly id: string | null;
}

/** What became ready in that time and still is, in that order. */
export async function readySince(
  db: Db,
  since: ReadyPlace,
  nowMs: number,
  limit: number,
): Promise<ReadyRow[]> {
  const query = db
    .selectFrom('command')
    .select(['tenant_id', 'id', 'runner_id', 'target', 'ready_at'])
    .where('status', '=', PENDING)
    .where('ready_at', '<=', nowMs)
    .orderBy('ready_at')
    .orderBy('id')
    .limit(limit);
  if (since.id === null) return await query.where('ready_at', '>=', since.ready_at).execute();
  // Many may be scheduled for one instant.
  const last = sql`(${since.ready_at}, ${idValue(db, since.id)})`;
  return await query.where(sql<boolean>`(ready_at, id) > ${last}`).execute();
}

/** Which of these may be claimed now. */
export async function readyAmong(
  db: Db,
  commands: readonly { readonly tenantId: string; readonly id: string }[],
  nowMs: number,
): Promise<ReadyRow[]> {
  const tenants = [...new Set(commands.map(({ tenantId }) => tenantId))];
  const ids = commands.map(({ id }) => id);
  return await db
    .selectFrom('command')
    .select(['tenant_id', 'id', 'runner_id', 'target', 'ready_at'])
    .where('tenant_id', 'in', tenants)
    .where('id', 'in', ids)
    .where('status', '=', PENDING)
    // Not by ready_at: the clock of the node that wrote it may be ahead of ours.
    .where((eb) => eb.or([eb('scheduled_at', 'is', null), eb('scheduled_at', '<=', nowMs)]))
    .execute();
}

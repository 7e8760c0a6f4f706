// SQL that finds the commands which somebody who waits may claim, across tenants: one look a second
// for each node, whoever waits, and one for the commands that another node's hint names.

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

/** Where a look goes on: behind this command, or, without an id, with everything of that time. */
export interface ReadyPlace {
  readonly ready_at: number;
  readonly id: string | null;
}

/** Commands that became ready in that time and still are, in the order of that time. */
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
  // Many commands may be scheduled for one instant, so the id is compared, too.
  const last = sql`(${since.ready_at}, ${idValue(db, since.id)})`;
  return await query.where(sql<boolean>`(ready_at, id) > ${last}`).execute();
}

/** Those of the commands that may be claimed now. */
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

// Extends the leases of commands by signs of life, and ends them by silence (contract §4). Upkeep
// runs this after each flush of presence, so that no lease is judged before the signs of life of
// its holder have extended it. Called by presence-job.ts.

import { findRunner } from '../keys/runners.ts';
import { decideLoss } from './command.machine.ts';
import {
  type CommandRow,
  heldLeases,
  lostCommands,
  moveCommand,
  saveLeases,
  updateAttempt,
} from './command.queries.ts';
import { announce, type CommandsDeps, stateOf } from './commands.ts';
import { leaseMs, renewedLeases, type SignOfLife } from './commands.rules.ts';
import { endPending, orphaned, outdated } from './pending.queries.ts';

/**
 * Lost leases that one round ends; the rest follow in the next round, so that a round stays short.
 */
const LOST_PER_ROUND = 200;

/** Waiting commands that one statement ends: a few milliseconds of writing. */
const ENDED_PER_WRITE = 250;

/**
 * Returns commands with a dead lease to the queue, or ends them, and expires commands that waited
 * too long. A lease that ended while this server was away or stalled gets its full length again,
 * because its holder could not be heard. `heardUntilMs`: the time up to which signs of life have
 * been taken into account; a lease that ended later is not judged yet.
 */
export async function sweepCommands(
  deps: CommandsDeps,
  listeningSinceMs: number,
  heardUntilMs: number,
): Promise<{ lost: number; expired: number }> {
  const nowMs = deps.clock.nowMs();
  const returned = await deps.database.transaction('system', async (tx) => {
    const rows = await lostCommands(tx, Math.min(nowMs, heardUntilMs), LOST_PER_ROUND);
    const ended: CommandRow[] = [];
    for (const row of rows) {
      const holder =
        row.holder_id === null ? undefined : await findRunner(tx, row.tenant_id, row.holder_id);
      if (nowMs < listeningSinceMs + leaseMs(holder?.interval_ms ?? 0)) continue;
      const { to, reason } = decideLoss(stateOf(row));
      const end: Partial<CommandRow> =
        to === 'pending'
          ? {
              holder_id: null,
              deadline_at: null,
              acknowledged_at: null,
              started_at: null,
              ready_at: nowMs,
            }
          : { completed_at: nowMs };
      const set = { status: to, reason, lease_until: null, ...end };
      await moveCommand(tx, row, set);
      const key = { tenant_id: row.tenant_id, command_id: row.id, attempt: row.attempt };
      await updateAttempt(tx, key, {
        ended_at: nowMs,
        outcome: to === 'canceled' ? 'canceled' : 'lost',
      });
      ended.push({ ...row, ...set });
    }
    return ended;
  });
  const lists = deps.database.systemLists();
  const expired = await endAll(deps, 'expired', null, () =>
    outdated(lists, nowMs, ENDED_PER_WRITE),
  );
  await endAll(deps, 'canceled', 'runner_revoked', () => orphaned(lists, ENDED_PER_WRITE));
  for (const row of returned) announce(deps, row);
  return { lost: returned.length, expired };
}

/**
 * Finds the commands on the connection for lists; the writer is asked only when there are some to
 * end. Returns the number of ended commands.
 */
async function endAll(
  { database, clock }: CommandsDeps,
  status: 'expired' | 'canceled',
  reason: string | null,
  find: () => Promise<readonly { readonly tenant_id: string; readonly id: string }[]>,
): Promise<number> {
  let ended = 0;
  while (true) {
    const found = await find();
    const set = { status, reason, completed_at: clock.nowMs() };
    let now = 0;
    for (const [tenantId, rows] of Map.groupBy(found, (row) => row.tenant_id)) {
      const ids = rows.map(({ id }) => id);
      now += await endPending(database.tenant(tenantId), tenantId, ids, set);
    }
    ended += now;
    if (found.length < ENDED_PER_WRITE || now === 0) return ended;
  }
}

/** Leases that one statement extends: about 5 ms of writing. */
const RENEWED_PER_WRITE = 500;

/**
 * Extends the leases of every runner that showed a sign of life since the last flush of presence.
 */
export async function renewLeasesOf(
  { database, clock }: Pick<CommandsDeps, 'database' | 'clock'>,
  signs: readonly SignOfLife[],
): Promise<void> {
  if (signs.length === 0) return;
  const leases = await heldLeases(database.systemLists());
  const renewed = renewedLeases(leases, signs, clock.nowMs());
  for (let at = 0; at < renewed.length; at += RENEWED_PER_WRITE) {
    const some = renewed.slice(at, at + RENEWED_PER_WRITE);
    // A transaction, because two nodes that extend the same leases may conflict; the transaction is
    // then tried again.
    await database.transaction('system', async (tx) => await saveLeases(tx, some));
  }
}

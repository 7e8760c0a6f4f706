// Answers "Why is it not picked up?" (contract §4): the reasons that lie in the command itself, and
// for each runner of the tenant the reasons that keep it from taking the command. The rules are
// those of polls and claims.

import type { CommandWaiting } from '@muster/contract';
import { runnersWithScope } from '../keys/key-scopes.ts';
import { healthOf, reportedOf } from '../keys/runner-health.rules.ts';
import { listRunners, type RunnerRow } from '../keys/runners.ts';
import { isoTime } from '../lib/iso-time.ts';
import { type CommandId, parseId, type TenantId } from '../lib/ids.ts';
import { Problem } from '../lib/problem.ts';
import { type CommandRow, findCommand } from './command.queries.ts';
import type { CommandsDeps } from './commands.ts';
import { whyNot } from './eligibility.rules.ts';
import { profilesOf } from './profiles.ts';

/**
 * One page of runners, newest first, and one runner more when there is another page. Problem:
 * not_found.
 */
export async function whyWaiting(
  deps: CommandsDeps,
  tenantId: TenantId,
  commandIdText: string,
  page: { readonly after: string | null; readonly limit: number },
): Promise<Omit<CommandWaiting, 'next'>> {
  const { database, clock, offers, wake } = deps;
  const commandId = parseId<CommandId>(commandIdText);
  const db = database.lists(tenantId);
  const command = commandId === null ? undefined : await findCommand(db, tenantId, commandId);
  if (command === undefined) throw new Problem('not_found', 'There is no such command.');
  const nowMs = clock.nowMs();
  const isWaiting = command.status === 'pending';
  const runners = isWaiting
    ? await listRunners(database, tenantId, {}, page.after, page.limit)
    : [];
  const profiles = await profilesOf(deps, db, tenantId, runners);
  const ids = runners.map(({ id }) => id);
  const inScope = await runnersWithScope(database, tenantId, ids, 'commands', nowMs);
  const reasons = ownReasons(command, nowMs);
  return {
    command_id: command.id,
    status: command.status,
    is_waiting: isWaiting,
    reasons,
    items: runners.flatMap((runner: RunnerRow) => {
      const { id: runnerId, name, admin, presence } = runner;
      const profile = profiles.get(runnerId);
      if (profile === undefined) return [];
      const counted = offers.count(runnerId, command.id);
      const hasScope = inScope.has(runnerId);
      const restMs = wake.givenBack.restMs(runnerId, command.id, clock.monotonicMs());
      const candidate = { runnerId, admin, presence, hasScope, profile, offers: counted, restMs };
      const against = whyNot(candidate, command);
      const canTake = against.length === 0 && reasons.length === 0;
      const seen = { presence, ...healthOf(reportedOf(runner)) };
      return [{ runner_id: runnerId, name, ...seen, can_take: canTake, reasons: against }];
    }),
  };
}

function ownReasons(
  { status, scheduled_at: at, expires_at: until }: CommandRow,
  nowMs: number,
): CommandWaiting['reasons'] {
  if (status !== 'pending') return [];
  const reasons: CommandWaiting['reasons'] = [];
  if (at !== null && at > nowMs)
    reasons.push({ code: 'not_before', detail: `It may not be claimed before ${isoTime(at)}.` });
  if (until !== null && until <= nowMs)
    reasons.push({ code: 'expired', detail: `It was to be claimed until ${isoTime(until)}.` });
  return reasons;
}

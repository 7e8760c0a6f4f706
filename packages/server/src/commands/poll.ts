// The poll: what a runner may claim now, most urgent first, then oldest; it reserves nothing (contract §4). It may wait:
// then it looks at the database when it comes, when wake.ts says that there is something for it, and at the end.

import { Problem } from '../lib/problem.ts';
import { claimable, type ClaimableRow, type CommandRow, pendingByIds } from './command.queries.ts';
import type { CommandsDeps, Holder } from './commands.ts';
import { isEligible, OFFERS_BEFORE_BEHIND, lacks, type Profile } from './eligibility.rules.ts';
import { runnerWithProfile } from './profiles.ts';
import type { Look, Wait } from './wake.ts';

export interface PollWish extends Wait {
  /** Commands at most. */
  readonly limit: number;
  /** Is the caller's key still good? Asked after a wait, before anything is handed out. */
  readonly isStillGood: () => Promise<boolean>;
}

/** Problem: unauthorized, when the key was revoked while it waited. */
export async function poll(
  deps: CommandsDeps,
  holder: Holder,
  wish: PollWish,
): Promise<CommandRow[]> {
  let looks = 0;
  const offers = await deps.wake.poll(holder, wish, async () => {
    looks += 1;
    return await look(deps, holder, wish.limit);
  });
  if (offers.length === 0) return [];
  if (looks > 1 && !(await wish.isStillGood())) throw new Problem('unauthorized');
  const { tenantId, runnerId } = holder;
  const nowMs = deps.clock.nowMs();
  const rows = await pendingByIds(deps.database.tenant(tenantId), tenantId, offers, nowMs);
  const byId = new Map(rows.map((row) => [row.id, row]));
  for (const row of rows) deps.offers.offered(runnerId, row.id);
  return offers.flatMap((id) => byId.get(id) ?? []);
}

/** Waiting goes on while there is nothing but what the runner keeps ignoring: a poll in a circle helps nobody. */
async function look(deps: CommandsDeps, holder: Holder, limit: number): Promise<Look<string[]>> {
  const { tenantId, runnerId } = holder;
  const db = deps.database.tenant(tenantId);
  const known = await runnerWithProfile(deps, db, tenantId, runnerId);
  if (known?.runner.admin !== 'active') return { found: [], takes: null };
  const { profile } = known;
  const free = Math.min(limit, profile.freeSlots ?? limit);
  if (free === 0) return { found: [], takes: () => false };
  const { fresh, ignored } = await scan(deps, holder, profile, free);
  const found = [...fresh, ...ignored].slice(0, free);
  if (fresh.length > 0) return { found, takes: null };
  return {
    found,
    takes: (commandId, target) =>
      lacks(profile, target).length === 0 && isFresh(deps, runnerId, commandId),
  };
}

const isFresh = (deps: CommandsDeps, runnerId: string, commandId: string): boolean =>
  deps.offers.count(runnerId, commandId) < OFFERS_BEFORE_BEHIND;

/** The first page is nearly always enough; further ones are read where lists are. */
const PAGE_ROWS = 250;
const PAGES_MAX = 100;

/** In the order of urgency: what it may take, and apart what was often offered to it and never claimed. */
async function scan(
  deps: CommandsDeps,
  { tenantId, runnerId }: Holder,
  profile: Profile,
  limit: number,
): Promise<{ fresh: string[]; ignored: string[] }> {
  const { database, clock } = deps;
  const fresh: string[] = [];
  const ignored: string[] = [];
  let after: ClaimableRow | null = null;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const db = page === 0 ? database.tenant(tenantId) : database.lists(tenantId);
    const rows = await claimable(db, tenantId, runnerId, clock.nowMs(), after, PAGE_ROWS);
    for (const row of rows) {
      if (!isEligible(runnerId, profile, row)) continue;
      (isFresh(deps, runnerId, row.id) ? fresh : ignored).push(row.id);
      if (fresh.length === limit) return { fresh, ignored };
    }
    after = rows.at(-1) ?? null;
    if (rows.length < PAGE_ROWS) break;
  }
  return { fresh, ignored };
}

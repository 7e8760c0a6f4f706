// The poll: what a runner may claim now, most urgent first, then oldest; it reserves nothing (contract §4). It may wait:
// then it looks at the database when it comes, when wake.ts says that there is something for it, and at the end.

import { Problem } from '../../lib/problem.ts';
import { jitter } from '../../lib/random.ts';
import type { CommandRow } from '../command.queries.ts';
import type { CommandsDeps, Holder } from '../commands.ts';
import { isDue } from '../commands.rules.ts';
import { isEligible, OFFERS_BEFORE_BEHIND, lacks, type Profile } from '../eligibility.rules.ts';
import { pendingByIds, pendingFor, type WaitingRow } from '../pending.queries.ts';
import { runnerWithProfile } from '../profiles.ts';
import type { Look, Wait } from './wake.ts';

export interface PollWish extends Wait {
  /** Commands at most. */
  readonly limit: number;
  /** May its key claim commands? One that may not is offered nothing, and waits as long as it asked for. */
  readonly hasScope: boolean;
  /** Is the caller's key still good? Asked after a wait, before anything is handed out. */
  readonly isStillGood: () => Promise<boolean>;
}

/** A wait of 60 s ends after 54 to 60: ten thousand runners that were started at once are spread within minutes. */
const WAIT_SPREAD = 0.05;

/** Problem: unauthorized, when the key was revoked while it waited. */
export async function poll(
  deps: CommandsDeps,
  holder: Holder,
  wish: PollWish,
): Promise<CommandRow[]> {
  let looks = 0;
  let wasActive = false;
  // A little less than was asked, each time another little: polls that began together must not all come back together.
  const wait = { ms: wish.ms * (jitter(WAIT_SPREAD) - WAIT_SPREAD), gone: wish.gone };
  const offers = await deps.wake.poll(holder, wait, async () => {
    looks += 1;
    const db = deps.database.tenant(holder.tenantId);
    const known = await runnerWithProfile(deps, db, holder.tenantId, holder.runnerId);
    if (known === undefined || known.runner.admin === 'revoked') return { found: [], takes: null };
    const isActive = known.runner.admin === 'active';
    // It was paused while it waited. Who comes paused waits, until it is resumed: [] at once would be asked for in a circle.
    if (wasActive && !isActive) return { found: [], takes: null };
    wasActive = isActive;
    if (!isActive || !wish.hasScope) return { found: [], takes: () => false };
    return await look(deps, holder, known.profile, wish.limit);
  });
  if (offers.length === 0) return [];
  if (looks > 1 && !(await wish.isStillGood())) throw new Problem('unauthorized');
  const { tenantId, runnerId } = holder;
  const nowMs = deps.clock.nowMs();
  const rows = await pendingByIds(deps.database.tenant(tenantId), tenantId, offers, nowMs);
  const byId = new Map(rows.map((row) => [row.id, row]));
  const answer = offers.flatMap((id) => byId.get(id) ?? []);
  deps.offers.offered(
    runnerId,
    answer.map(({ id, type }) => ({ id, type })),
  );
  return answer;
}

/**
 * Waiting goes on while there is nothing but what the runner keeps ignoring, or what another is about to claim: polls in
 * a circle help nobody. When that other doesn't claim it, wake.ts tells somebody else.
 */
async function look(
  deps: CommandsDeps,
  holder: Holder,
  profile: Profile,
  limit: number,
): Promise<Look<string[]>> {
  const { tenantId, runnerId } = holder;
  const free = Math.min(limit, profile.freeSlots ?? limit);
  if (free === 0) return { found: [], takes: () => false };
  const { fresh, elsewhere, ignored, againMs } = await scan(deps, holder, profile, free);
  const chosen = choose(fresh, elsewhere, ignored, free);
  const found = chosen.map(({ row }) => row.id);
  if (fresh.length > 0) {
    // At once, so that whoever looks next is shown something else.
    const nowMs = deps.clock.monotonicMs();
    for (const { row } of chosen)
      deps.wake.recent.offered(runnerId, { ...row, tenant_id: tenantId }, nowMs);
    return { found, takes: null };
  }
  const { givenBack } = deps.wake;
  return {
    found,
    againMs,
    takes: (commandId, target) =>
      lacks(profile, target).length === 0 &&
      isFresh(deps, runnerId, commandId) &&
      givenBack.restMs(runnerId, commandId, deps.clock.monotonicMs()) === 0,
  };
}

interface Offer {
  readonly row: WaitingRow;
  /** Its place in the order of urgency. */
  readonly at: number;
}

/** What nobody else is about to claim is chosen first; what is chosen comes in the order of urgency, the ignored last. */
function choose(
  fresh: readonly Offer[],
  elsewhere: readonly Offer[],
  ignored: readonly Offer[],
  limit: number,
): Offer[] {
  const chosen = [...fresh, ...elsewhere].slice(0, limit).toSorted((a, b) => a.at - b.at);
  return [...chosen, ...ignored].slice(0, limit);
}

const isFresh = (deps: CommandsDeps, runnerId: string, commandId: string): boolean =>
  deps.offers.count(runnerId, commandId) < OFFERS_BEFORE_BEHIND;

/** The first page is nearly always enough; further ones are read where lists are. */
const PAGE_ROWS = 250;
const PAGES_MAX = 100;

/**
 * In the order of urgency what it may take; apart, what was just offered to another runner, and what was often offered to
 * this one and never claimed. What it gave back rests: `againMs` says for how long, at least.
 */
async function scan(
  deps: CommandsDeps,
  { tenantId, runnerId }: Holder,
  profile: Profile,
  limit: number,
): Promise<Record<'fresh' | 'elsewhere' | 'ignored', Offer[]> & { againMs: number }> {
  const { database, clock } = deps;
  const { recent, givenBack } = deps.wake;
  const [fresh, elsewhere, ignored]: [Offer[], Offer[], Offer[]] = [[], [], []];
  const mayTake = eligibility(runnerId, profile);
  let at = 0;
  let againMs = Infinity;
  let after: WaitingRow | null = null;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const db = page === 0 ? database.tenant(tenantId) : database.lists(tenantId);
    const rows = await pendingFor(db, tenantId, runnerId, after, PAGE_ROWS);
    const nowMs = clock.monotonicMs();
    for (const row of rows) {
      if (!isDue(row, clock.nowMs()) || !mayTake(row)) continue;
      const restMs = givenBack.restMs(runnerId, row.id, nowMs);
      if (restMs > 0) {
        againMs = Math.min(againMs, restMs);
        continue;
      }
      at += 1;
      const isElsewhere = recent.isWithAnother(runnerId, row.id, nowMs);
      const kind = isElsewhere ? elsewhere : fresh;
      (isFresh(deps, runnerId, row.id) ? kind : ignored).push({ row, at });
      if (fresh.length === limit) return { fresh, elsewhere, ignored, againMs };
    }
    after = rows.at(-1) ?? null;
    if (rows.length < PAGE_ROWS) break;
  }
  return { fresh, elsewhere, ignored, againMs };
}

/** May it take this one? A backlog asks for few different things: each is judged once. */
function eligibility(runnerId: string, profile: Profile): (row: WaitingRow) => boolean {
  const judged = new Map<string | null, boolean>();
  return ({ runner_id: pin, target }) => {
    if (pin !== null) return pin === runnerId;
    const known = judged.get(target) ?? isEligible(runnerId, profile, { runner_id: null, target });
    judged.set(target, known);
    return known;
  };
}

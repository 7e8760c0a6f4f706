// The poll: the commands that a runner may claim now, most urgent first, then oldest. A poll
// reserves nothing (contract §4). A poll may wait: it then looks at the database when it arrives,
// when wake.ts says that there is something for it, and at the end.

import { Problem } from '../../lib/problem.ts';
import { jitter } from '../../lib/random.ts';
import type { CommandRow } from '../command.queries.ts';
import type { CommandsDeps, Holder } from '../commands.ts';
import { isDue } from '../commands.rules.ts';
import { isEligible, OFFERS_BEFORE_BEHIND, lacks, type Profile } from '../eligibility.rules.ts';
import { pendingByIds, pendingFor, type WaitingRow } from '../pending.queries.ts';
import { runnerWithProfile } from '../profiles.ts';
import type { Look, Wait } from './wake.ts';

interface PollWish extends Wait {
  /** Commands that the answer holds at most. */
  readonly limit: number;
  /**
   * Whether the caller's key may claim commands. A caller without that scope is offered nothing,
   * and waits the whole time.
   */
  readonly hasScope: boolean;
  /**
   * Is the caller's key still good? Asked before anything is handed out, also by who did not wait.
   */
  readonly isStillGood: () => Promise<boolean>;
}

/**
 * A wait of 60 s ends after 54 to 60 s: ten thousand runners that started at once are spread within
 * minutes.
 */
const WAIT_SPREAD = 0.05;

/** Problem: unauthorized, when the key was revoked while its poll looked or waited. */
export async function poll(
  deps: CommandsDeps,
  holder: Holder,
  wish: PollWish,
): Promise<CommandRow[]> {
  let wasActive = false;
  // A little less than was asked, each time by another amount: polls that began together must not
  // all come back together.
  const wait = { ms: wish.ms * (jitter(WAIT_SPREAD) - WAIT_SPREAD), gone: wish.gone };
  const offers = await deps.wake.poll(holder, wait, async () => {
    const db = deps.database.tenant(holder.tenantId);
    const known = await runnerWithProfile(deps, db, holder.tenantId, holder.runnerId);
    if (known === undefined || known.runner.admin === 'revoked') return { found: [], takes: null };
    const isActive = known.runner.admin === 'active';
    // The runner was paused during the wait. A runner that is paused when it arrives waits until it
    // is resumed: with [] at once it would poll in a circle.
    if (wasActive && !isActive) return { found: [], takes: null };
    wasActive = isActive;
    if (!isActive || !wish.hasScope) return { found: [], takes: () => false };
    return await look(deps, holder, known.profile, wish.limit);
  });
  if (offers.length === 0) return [];
  if (!(await wish.isStillGood())) throw new Problem('unauthorized');
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
 * The wait goes on while every command is one that the runner keeps ignoring or that another runner
 * is about to claim: polls in a circle help nobody. When the other runner doesn't claim, wake.ts
 * tells a third one.
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
    // Recorded at once, so that the next poll is offered something else.
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
  /** The offer's place in the order of urgency. */
  readonly at: number;
}

/**
 * Commands that nobody else is about to claim are chosen first. The chosen ones stand in the order
 * of urgency, the ignored ones last.
 */
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

/** The first page is nearly always enough; further pages are read on the connection for lists. */
const PAGE_ROWS = 250;
const PAGES_MAX = 100;

/**
 * The commands that the runner may take, in the order of urgency, in three lists: `fresh`;
 * `elsewhere`, just offered to another runner; `ignored`, often offered to this runner and never
 * claimed. Commands that the runner gave back rest: `againMs` is the shortest remaining rest.
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

/** Whether the runner may take a row. A backlog has few different targets: each is judged once. */
function eligibility(runnerId: string, profile: Profile): (row: WaitingRow) => boolean {
  const judged = new Map<string | null, boolean>();
  return ({ runner_id: pin, target }) => {
    if (pin !== null) return pin === runnerId;
    const known = judged.get(target) ?? isEligible(runnerId, profile, { runner_id: null, target });
    judged.set(target, known);
    return known;
  };
}

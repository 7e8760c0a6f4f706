// What heartbeats need to know of commands without asking the database each time: how many wait, for whom, and which
// held ones are to be canceled. One look per tenant and second at most, and at once after a change on this node. What the
// runner itself has is looked at only when something waits that it might take.

import type { Database, Db } from '../db/db.ts';
import type { Clock } from '../lib/clock.ts';
import { cancelRequests, dueAmong, waitingCounts } from './command.queries.ts';
import type { OfferCounts } from './commands.rules.ts';
import { type Aimed, isEligible, type Profile } from './eligibility.rules.ts';
import { runnerWithProfile, type Unwritten } from './profiles.ts';

interface Group extends Aimed {
  readonly waiting: number;
}

interface Board {
  readonly readAtMs: number;
  /** For one runner each. */
  readonly pinned: ReadonlyMap<string, Group>;
  readonly free: readonly Group[];
  readonly cancels: ReadonlyMap<string, readonly string[]>;
}

/** A change made on another node is seen after this at the latest. */
const BOARD_MS = 1000;

/** RP §4.3: `cancel_command_ids` holds at most 256. */
const CANCELS_MAX = 256;

export interface Work {
  readonly pending: number;
  /** Less what it was offered often and never claimed: what is worth hurrying for. */
  readonly wanted: number;
  readonly cancelIds: readonly string[];
}

export class WorkBoard {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #unwritten: Unwritten;
  readonly #offers: OfferCounts;
  readonly #boards = new Map<string, Board | Promise<Board>>();

  constructor(database: Database, clock: Clock, unwritten: Unwritten, offers: OfferCounts) {
    this.#database = database;
    this.#clock = clock;
    this.#unwritten = unwritten;
    this.#offers = offers;
  }

  /** Something about this tenant's commands changed on this node. */
  changed(tenantId: string): void {
    this.#boards.delete(tenantId);
  }

  /** What waits for this runner, and what it should stop. */
  async workOf(tenantId: string, runnerId: string): Promise<Work> {
    const board = await this.#board(tenantId);
    const cancelIds = board.cancels.get(runnerId) ?? [];
    const pinned = board.pinned.get(runnerId);
    const groups = pinned === undefined ? board.free : [pinned, ...board.free];
    if (groups.length === 0) return { pending: 0, wanted: 0, cancelIds };
    return { ...(await this.#waiting(tenantId, runnerId, groups)), cancelIds };
  }

  async #waiting(
    tenantId: string,
    runnerId: string,
    groups: readonly Group[],
  ): Promise<Pick<Work, 'pending' | 'wanted'>> {
    const db = this.#database.tenant(tenantId);
    const deps = { unwritten: this.#unwritten };
    const known = await runnerWithProfile(deps, db, tenantId, runnerId);
    if (known === undefined) return { pending: 0, wanted: 0 };
    const { profile } = known;
    const waiting = groups
      .filter((group) => isEligible(runnerId, profile, group))
      .reduce((sum, group) => sum + group.waiting, 0);
    const free = profile.freeSlots ?? waiting;
    const ignored = waiting === 0 ? 0 : await this.#ignored(db, tenantId, runnerId, profile);
    const wanted = Math.max(0, waiting - ignored);
    return { pending: Math.min(waiting, free), wanted: Math.min(wanted, free) };
  }

  /** How much of what waits for it the runner keeps ignoring; what doesn't wait any more is forgotten. */
  async #ignored(db: Db, tenantId: string, runnerId: string, profile: Profile): Promise<number> {
    const ids = this.#offers.ignoredBy(runnerId);
    if (ids.length === 0) return 0;
    const rows = await dueAmong(db, tenantId, ids, this.#clock.nowMs());
    const due = new Set(rows.map(({ id }) => id));
    for (const id of ids) if (!due.has(id)) this.#offers.taken(runnerId, id);
    return rows.filter((row) => isEligible(runnerId, profile, row)).length;
  }

  async #board(tenantId: string): Promise<Board> {
    const known = await this.#boards.get(tenantId);
    const nowMs = this.#clock.nowMs();
    if (known !== undefined && Math.abs(nowMs - known.readAtMs) < BOARD_MS) return known;
    // A change that arrives while we read must not be hidden by what we read: the entry is ours only if still there.
    const reading = this.#read(tenantId, nowMs);
    this.#boards.set(tenantId, reading);
    try {
      const board = await reading;
      if (this.#boards.get(tenantId) === reading) this.#boards.set(tenantId, board);
      return board;
    } catch (error) {
      this.#boards.delete(tenantId);
      throw error;
    }
  }

  async #read(tenantId: string, nowMs: number): Promise<Board> {
    const db = this.#database.tenant(tenantId);
    const counts = await waitingCounts(db, tenantId, nowMs);
    const groups = counts.map((row) => ({ ...row, waiting: Number(row.waiting) }));
    const cancels = new Map<string, string[]>();
    for (const { id, holder_id: holder } of await cancelRequests(db, tenantId)) {
      if (holder === null) continue;
      const ids = cancels.get(holder) ?? [];
      if (ids.length < CANCELS_MAX) ids.push(id);
      cancels.set(holder, ids);
    }
    return {
      readAtMs: nowMs,
      pinned: new Map(
        groups.flatMap((group) => (group.runner_id === null ? [] : [[group.runner_id, group]])),
      ),
      free: groups.filter((group) => group.runner_id === null),
      cancels,
    };
  }
}

// What heartbeats need to know of commands without asking the database each time: how many wait, for whom, and which
// held ones are to be canceled. One look per tenant and second at most, and at once after a change on this node. What the
// runner itself has is looked at only when something waits that it might take.

import type { Database } from '../db/db.ts';
import type { Clock } from '../lib/clock.ts';
import { cancelRequests, waitingCounts } from './command.queries.ts';
import { type Aimed, isEligible } from './eligibility.rules.ts';
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
  readonly cancelIds: readonly string[];
}

export class WorkBoard {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #unwritten: Unwritten;
  readonly #boards = new Map<string, Board | Promise<Board>>();

  constructor(database: Database, clock: Clock, unwritten: Unwritten) {
    this.#database = database;
    this.#clock = clock;
    this.#unwritten = unwritten;
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
    if (groups.length === 0) return { pending: 0, cancelIds };
    return { pending: await this.#pending(tenantId, runnerId, groups), cancelIds };
  }

  async #pending(tenantId: string, runnerId: string, groups: readonly Group[]): Promise<number> {
    const db = this.#database.tenant(tenantId);
    const deps = { unwritten: this.#unwritten };
    const known = await runnerWithProfile(deps, db, tenantId, runnerId);
    if (known === undefined) return 0;
    const { profile } = known;
    const waiting = groups
      .filter((group) => isEligible(runnerId, profile, group))
      .reduce((sum, group) => sum + group.waiting, 0);
    return Math.min(waiting, profile.freeSlots ?? waiting);
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

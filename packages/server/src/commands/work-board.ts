// What heartbeats need to know of commands without asking the database each time: how many wait, for whom, and which
// held ones are to be canceled. One look per tenant and second at most, and at once after a change on this node.

import type { Database } from '../db/db.ts';
import type { Clock } from '../lib/clock.ts';
import { cancelRequests, waitingCounts } from './command.queries.ts';

interface Board {
  readonly readAtMs: number;
  readonly waiting: ReadonlyMap<string | null, number>;
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
  readonly #boards = new Map<string, Board | Promise<Board>>();

  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  /** Something about this tenant's commands changed on this node. */
  changed(tenantId: string): void {
    this.#boards.delete(tenantId);
  }

  /** What waits for this runner, and what it should stop. */
  async workOf(tenantId: string, runnerId: string): Promise<Work> {
    const board = await this.#board(tenantId);
    const pending = (board.waiting.get(null) ?? 0) + (board.waiting.get(runnerId) ?? 0);
    return { pending, cancelIds: board.cancels.get(runnerId) ?? [] };
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
    const cancels = new Map<string, string[]>();
    for (const { id, holder_id: holder } of await cancelRequests(db, tenantId)) {
      if (holder === null) continue;
      const ids = cancels.get(holder) ?? [];
      if (ids.length < CANCELS_MAX) ids.push(id);
      cancels.set(holder, ids);
    }
    return {
      readAtMs: nowMs,
      waiting: new Map(counts.map((row) => [row.runner_id, Number(row.waiting)])),
      cancels,
    };
  }
}

// Bounds how many commands of a tenant may wait, so that a loop that creates them can't fill the
// table. The pending commands are counted now and then on the connection for lists; in between, the
// commands that this node creates are added. So the bound may be exceeded by what several nodes
// create between two counts. Called by pending-summary.ts.

import { limits } from '@muster/contract';
import type { Database } from '../db/db.ts';
import type { Clock } from '../lib/clock.ts';
import { Problem } from '../lib/problem.ts';
import { countPending } from './pending.queries.ts';

/** How long a count is believed. Counting a full queue takes a few milliseconds. */
const COUNTED_MS = 5000;

interface Count {
  readonly countedAtMs: number;
  pending: number;
}

export class Backlog {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #max: number;
  readonly #counts = new Map<string, Count>();

  constructor(database: Database, clock: Clock, max: number = limits.commandsPendingPerTenantMax) {
    this.#database = database;
    this.#clock = clock;
    this.#max = max;
  }

  /** Admits one more command that is about to be created. Problem: rate_limited. */
  async admit(tenantId: string): Promise<void> {
    const count = await this.#count(tenantId);
    if (count.pending >= this.#max) {
      const detail = `At most ${this.#max} commands of a tenant may wait; runners must take some, or they be canceled.`;
      throw new Problem('rate_limited', detail, { retryAfterSeconds: COUNTED_MS / 1000 });
    }
    count.pending += 1;
  }

  async #count(tenantId: string): Promise<Count> {
    const known = this.#counts.get(tenantId);
    const nowMs = this.#clock.monotonicMs();
    if (known !== undefined && nowMs - known.countedAtMs < COUNTED_MS) return known;
    const pending = await countPending(this.#database.lists(tenantId), tenantId);
    const count = { countedAtMs: nowMs, pending };
    this.#counts.set(tenantId, count);
    return count;
  }
}

// How many commands a tenant may have waiting: a loop that creates them must not fill the table. Counted where lists are,
// now and then, and in between by what is created here; so the bound is kept to about what several nodes create in that
// time. Kept by the work pendingSummary.

import { limits } from '@muster/contract';
import type { Database } from '../db/db.ts';
import type { Clock } from '../lib/clock.ts';
import { Problem } from '../lib/problem.ts';
import { countPending } from './pending.queries.ts';

/** How long a count is believed. A full queue takes a few milliseconds to count. */
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

  /** One more is about to be created. Problem: rate_limited. */
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

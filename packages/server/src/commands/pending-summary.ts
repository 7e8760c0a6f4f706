// Tells heartbeats about commands without a query for each heartbeat: how many commands wait, for
// whom, and which held commands are to be canceled. The summary of a tenant is read once a second
// at most, and at once after a change on this node while few commands wait for anybody. A large
// backlog is counted on the connection for lists, and changes to it are seen a second later.

import type { Database, Db } from '../db/db.ts';
import type { Clock } from '../lib/clock.ts';
import { Backlog } from './backlog.ts';
import { cancelRequests } from './command.queries.ts';
import type { OfferCounts } from './commands.rules.ts';
import { isEligible, type Profile } from './eligibility.rules.ts';
import { countPinned, dueAmong, pinnedRunners, waitingGroups } from './pending.queries.ts';
import { runnerWithProfile, type Unwritten } from './profiles.ts';

interface Summary {
  readonly readAtMs: number;
  /** Commands that any runner may take, grouped by what they ask of a runner. */
  readonly free: readonly { readonly target: string | null; readonly waiting: number }[];
  /**
   * The runners for which a command is pinned; null: too many commands wait to say, so each runner
   * is looked up.
   */
  readonly pinned: ReadonlySet<string> | null;
  readonly cancels: ReadonlyMap<string, readonly string[]>;
  /**
   * Whether so many commands wait for anybody that the summary isn't read again for every change.
   */
  readonly isLarge: boolean;
}

/** A change made on another node is seen after this time at the latest. */
const SUMMARY_MS = 1000;

/**
 * While a large summary is read again, heartbeats use the previous one: the reader may be busy with
 * a long list.
 */
const OUTDATED_MS = 10_000;

/**
 * Rows of each kind that are read at once, in the thread that answers heartbeats: less than a
 * millisecond.
 */
const FEW = 250;

/** RP §4.3: `cancel_command_ids` holds at most 256. */
const CANCELS_MAX = 256;

/** A heartbeat reports a hundred pending commands at most. */
const PENDING_MAX = 100;

interface Work {
  /** Commands that the runner may claim now. Pinned commands count up to a hundred. */
  readonly pending: number;
  /**
   * `pending` without the commands that the runner was often offered and never claimed: the ones
   * worth hurrying for.
   */
  readonly wanted: number;
  readonly cancelIds: readonly string[];
}

const NO_WORK = { pending: 0, wanted: 0 } as const;

interface Entry {
  pendingSummary: Summary | null;
  reading: Promise<Summary> | null;
}

export class PendingSummary {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #unwritten: Unwritten;
  readonly #offers: OfferCounts;
  readonly #entries = new Map<string, Entry>();
  readonly #backlog: Backlog;

  /** `pendingMax`: how many commands of one tenant may wait. */
  constructor(
    database: Database,
    clock: Clock,
    unwritten: Unwritten,
    offers: OfferCounts,
    pendingMax?: number,
  ) {
    this.#offers = offers;
    this.#backlog = new Backlog(database, clock, pendingMax);
    this.#database = database;
    this.#clock = clock;
    this.#unwritten = unwritten;
  }

  /** A command of this tenant changed on this node. */
  changed(tenantId: string): void {
    if (this.#entries.get(tenantId)?.pendingSummary?.isLarge !== true)
      this.#entries.delete(tenantId);
  }

  /** Admits one more command that is about to be created. Problem: rate_limited. */
  async admit(tenantId: string): Promise<void> {
    await this.#backlog.admit(tenantId);
  }

  /** The commands that wait for this runner, and those that it should stop. */
  async workOf(tenantId: string, runnerId: string): Promise<Work> {
    const pendingSummary = await this.#pendingSummary(tenantId);
    const cancelIds = pendingSummary.cancels.get(runnerId) ?? [];
    const hasOwn = pendingSummary.pinned?.has(runnerId) ?? true;
    if (!hasOwn && pendingSummary.free.length === 0) return { ...NO_WORK, cancelIds };
    return { ...(await this.#waiting(tenantId, runnerId, pendingSummary, hasOwn)), cancelIds };
  }

  async #waiting(
    tenantId: string,
    runnerId: string,
    pendingSummary: Summary,
    hasOwn: boolean,
  ): Promise<Omit<Work, 'cancelIds'>> {
    const db = this.#database.tenant(tenantId);
    const known = await runnerWithProfile({ unwritten: this.#unwritten }, db, tenantId, runnerId);
    if (known === undefined) return NO_WORK;
    const { profile } = known;
    const nowMs = this.#clock.nowMs();
    const own = hasOwn ? await countPinned(db, tenantId, runnerId, nowMs, PENDING_MAX) : 0;
    const waiting = pendingSummary.free
      .filter(({ target }) => isEligible(runnerId, profile, { runner_id: null, target }))
      .reduce((sum, group) => sum + group.waiting, own);
    const free = profile.freeSlots ?? waiting;
    const ignored = waiting === 0 ? 0 : await this.#ignored(db, tenantId, runnerId, profile);
    const wanted = Math.max(0, waiting - ignored);
    return { pending: Math.min(waiting, free), wanted: Math.min(wanted, free) };
  }

  /**
   * The number of waiting commands that the runner keeps ignoring. Commands that no longer wait are
   * forgotten.
   */
  async #ignored(db: Db, tenantId: string, runnerId: string, profile: Profile): Promise<number> {
    const ids = this.#offers.ignoredBy(runnerId);
    if (ids.length === 0) return 0;
    const rows = await dueAmong(db, tenantId, ids, this.#clock.nowMs());
    const due = new Set(rows.map(({ id }) => id));
    for (const id of ids) if (!due.has(id)) this.#offers.gone(runnerId, id);
    return rows.filter((row) => isEligible(runnerId, profile, row)).length;
  }

  async #pendingSummary(tenantId: string): Promise<Summary> {
    const entry = this.#entries.get(tenantId) ?? { pendingSummary: null, reading: null };
    this.#entries.set(tenantId, entry);
    const { pendingSummary } = entry;
    const ageMs =
      pendingSummary === null ? 0 : Math.abs(this.#clock.nowMs() - pendingSummary.readAtMs);
    if (pendingSummary !== null && ageMs < SUMMARY_MS) return pendingSummary;
    entry.reading ??= this.#readInto(tenantId, entry);
    return pendingSummary?.isLarge === true && ageMs < OUTDATED_MS
      ? pendingSummary
      : await entry.reading;
  }

  /**
   * A change that arrives during the read drops the entry, and the summary with it, unless the
   * summary is large.
   */
  #readInto(tenantId: string, entry: Entry): Promise<Summary> {
    const reading = (async () => {
      try {
        const pendingSummary = await this.#read(tenantId);
        entry.pendingSummary = pendingSummary;
        if (pendingSummary.isLarge) this.#entries.set(tenantId, entry);
        return pendingSummary;
      } finally {
        entry.reading = null;
      }
    })();
    // Callers that wait for the read see its failure; callers that use the previous summary don't.
    reading.catch(() => {});
    return reading;
  }

  async #read(tenantId: string): Promise<Summary> {
    const readAtMs = this.#clock.nowMs();
    const db = this.#database.tenant(tenantId);
    const few = await waitingGroups(db, tenantId, readAtMs, FEW);
    const isLarge = rowsOf(few) === FEW;
    const free = isLarge
      ? await waitingGroups(this.#database.lists(tenantId), tenantId, readAtMs, null)
      : few;
    const pinned = isLarge ? null : await pinnedRunners(db, tenantId, FEW);
    const cancels = new Map<string, string[]>();
    for (const { id, holder_id: holder } of await cancelRequests(db, tenantId)) {
      if (holder === null) continue;
      const ids = cancels.get(holder) ?? [];
      if (ids.length < CANCELS_MAX) ids.push(id);
      cancels.set(holder, ids);
    }
    return {
      readAtMs,
      free: free.filter(({ waiting }) => waiting > 0),
      pinned:
        pinned === null || rowsOf(pinned) === FEW
          ? null
          : new Set(pinned.map((row) => row.runner_id)),
      cancels,
      isLarge,
    };
  }
}

const rowsOf = (groups: readonly { readonly looked: number }[]): number =>
  groups.reduce((sum, { looked }) => sum + looked, 0);

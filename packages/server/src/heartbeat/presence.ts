// Who is alive. Every authenticated call is a sign of life; signs are gathered in memory and flushed in one statement
// each limits.presenceFlushMs, changes of state are written at once. A crash costs at most one flush of liveness.
// Several nodes may hear the same runner: what another stored later is never overwritten, nor judged as silence.

import { limits } from '@muster/contract';
import type { Database, Db } from '../db/db.ts';
import type { Clock } from '../lib/clock.ts';
import type { RunnerId, TenantId } from '../lib/ids.ts';
import type { HeartbeatReport } from './heartbeat.decode.ts';
import {
  beaten,
  beatRow,
  type Entry,
  entryOf,
  heardElsewhere,
  note,
  retryOrFail,
  signRow,
} from './presence-entry.rules.ts';
import {
  bringBack,
  flushKeyUse,
  flushPresence,
  type KeyUse,
  lengthenGrace,
  lockHeard,
  markSilent,
  readPresence,
  setPresence,
  watchedRunners,
} from './presence.queries.ts';
import { presenceAfter } from './presence.rules.ts';

/** Who showed a sign of life since the last flush, for their leases. */
export interface Sign {
  readonly tenantId: string;
  readonly runnerId: string;
  readonly intervalMs: number;
  readonly running: readonly string[] | null;
}

/** A pause between two rounds longer than this means that the server itself was stalled or away. */
const STALL_MS = 3 * limits.presenceFlushMs;

/** Nodes agree on the time much better: what is dated so far ahead was written before the clock was set back. */
const AHEAD_MS = 60_000;

/** Entries not seen for this long leave memory; the row keeps what was known. */
const FORGET_MS = 3_600_000;

export class PresenceBook {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #entries = new Map<RunnerId, Entry>();
  readonly #loading = new Map<RunnerId, Promise<Entry>>();
  #rowWrites = { request: 0, flush: 0 };
  /** "Last used" of keys, by key id, until it is written. */
  readonly #keyUses = new Map<string, KeyUse>();
  readonly #loadOf: (flushMs: number) => number;
  readonly #beingWritten = new Set<Entry>();
  #flushFailed = false;
  #load = 1;
  /** Since when this node has been listening without a stall: silence before that proves nothing. */
  #listeningSinceMs: number;
  #lastRoundMs: number;

  /** `loadOf`: by how much runners should slow down after a flush that took so long; asked once for each flush. */
  constructor(database: Database, clock: Clock, loadOf: (flushMs: number) => number) {
    this.#database = database;
    this.#clock = clock;
    this.#loadOf = loadOf;
    this.#listeningSinceMs = clock.nowMs();
    this.#lastRoundMs = this.#listeningSinceMs;
  }

  /** False while the last flush failed: then a heartbeat must not be answered 200 (contract §3). */
  get healthy(): boolean {
    return !this.#flushFailed;
  }

  /** Since when this node has been listening: silence before that proves nothing. */
  get listeningSinceMs(): number {
    return this.#listeningSinceMs;
  }

  /** The members of its heartbeats, when this process heard some that are not in the runner's row yet. */
  unwritten(runnerId: string): Readonly<Record<string, unknown>> | null {
    const entry = this.#entries.get(runnerId as RunnerId);
    if (entry === undefined) return null;
    // While a flush is under way its rows can't be read yet.
    return entry.beatSinceFlush || this.#beingWritten.has(entry) ? entry.reported : null;
  }

  /** By how much runners should slow down, by the last flush and this thread's event loop: 1 at ease. */
  get load(): number {
    return this.#load;
  }

  /** Rows written since the last call, by what asked for it: a call of a runner, or the flush. */
  takeRowWrites(): { readonly request: number; readonly flush: number } {
    const taken = this.#rowWrites;
    this.#rowWrites = { request: 0, flush: 0 };
    return taken;
  }

  /** A sign of life by any authenticated call. Writes at once only when the state changes. */
  async seen(tenantId: TenantId, runnerId: RunnerId, isCi: boolean): Promise<void> {
    const entry = this.#entries.get(runnerId) ?? (await this.#remember(tenantId, runnerId));
    const nowMs = this.#clock.nowMs();
    // After a silence that counts, another node may have stored that it was noticed.
    const isStale = presenceAfter(nowMs - entry.lastSeenMs, entry.intervalMs, false) !== 'online';
    entry.lastSeenMs = nowMs;
    entry.isCi = isCi;
    entry.dirty = true;
    if (entry.presence !== 'online' || isStale) await this.#become(runnerId, entry, 'online');
  }

  /** A heartbeat, after `seen`: pace, metrics, goodbye. `advisedMs`: when the next one was asked for, if it listens. */
  async beat(
    tenantId: TenantId,
    runnerId: RunnerId,
    report: HeartbeatReport,
    advisedMs: number | null,
  ): Promise<void> {
    const entry = this.#entries.get(runnerId) ?? (await this.#remember(tenantId, runnerId));
    const nowMs = this.#clock.nowMs();
    entry.dirty = true;
    // A probe repeats before each scanner (RP §4.1) and says nothing of the pace.
    if (report.isProbe) return;
    beaten(entry, nowMs, advisedMs);
    note(entry, report, nowMs);
    if (report.saysStopped) await this.#become(runnerId, entry, 'stopped');
  }

  /** Writes what was gathered. Rejects when it could not; then nothing is lost, and the next flush writes it. */
  async flush(keyUses: readonly KeyUse[]): Promise<Sign[]> {
    const startedMs = this.#clock.monotonicMs();
    const dirty = [...this.#entries].filter(([, entry]) => entry.dirty);
    for (const [, entry] of dirty) entry.dirty = false;
    const beats = dirty.filter(([, entry]) => entry.beatSinceFlush);
    for (const [, entry] of beats) {
      entry.beatSinceFlush = false;
      this.#beingWritten.add(entry);
    }
    for (const use of keyUses) this.#keyUses.set(use.key_id, use);
    try {
      const uses = [...this.#keyUses.values()];
      if (dirty.length + uses.length > 0) await this.#write(dirty, beats, uses);
      this.#flushFailed = false;
    } catch (error) {
      for (const [, entry] of dirty) entry.dirty = true;
      for (const [, entry] of beats) entry.beatSinceFlush = true;
      this.#flushFailed = true;
      throw error;
    } finally {
      for (const [, entry] of beats) this.#beingWritten.delete(entry);
      this.#load = this.#loadOf(this.#clock.monotonicMs() - startedMs);
    }
    this.#forgetIdle();
    const beating = new Set(beats.map(([runnerId]) => runnerId));
    return dirty.map(([runnerId, { tenantId, intervalMs, running }]) => ({
      tenantId,
      runnerId,
      intervalMs,
      // What it listed counts once: by another call a runner that lists says nothing of what it runs.
      running: running === null || beating.has(runnerId) ? running : [],
    }));
  }

  /** One round of the watch, after a flush: late and offline. Time in which the server was away never counts. */
  async watch(): Promise<number> {
    const nowMs = this.#clock.nowMs();
    // A clock set back also makes all differences meaningless until they are measured anew.
    const isRetried = nowMs < this.#lastRoundMs;
    if (nowMs - this.#lastRoundMs > STALL_MS || isRetried) this.#listeningSinceMs = nowMs;
    if (isRetried) for (const entry of this.#entries.values()) retryOrFail(entry, nowMs);
    const db = this.#database.system();
    const aheadMs = nowMs + AHEAD_MS;
    const watched = await watchedRunners(this.#database.systemLists(), nowMs, aheadMs);
    // Only now: while the database can't be read, no runner is let in either, and that is time away, too.
    this.#lastRoundMs = nowMs;
    let changed = 0;
    for (const runner of watched) {
      if ((runner.last_seen_at ?? 0) > aheadMs) {
        this.#rowWrites.flush += await bringBack(db, runner, nowMs);
        continue;
      }
      const entry = this.#entries.get(runner.id as RunnerId);
      // What was heard here since the flush is not in the row yet.
      const heardMs = Math.max(runner.last_seen_at ?? 0, entry?.lastSeenMs ?? 0);
      const silentMs = nowMs - Math.max(heardMs, this.#listeningSinceMs);
      const intervalMs = Math.max(runner.interval_ms, entry?.intervalMs ?? 0);
      const verdict = presenceAfter(silentMs, intervalMs, runner.is_ci === 1);
      if (verdict === 'online' || verdict === runner.presence) continue;
      const written = await markSilent(db, runner, verdict, nowMs);
      this.#rowWrites.flush += written;
      changed += written;
      if (written > 0 && entry !== undefined && !entry.dirty) entry.presence = verdict;
    }
    return changed;
  }

  async #write(
    dirty: readonly [RunnerId, Entry][],
    beats: readonly [RunnerId, Entry][],
    uses: readonly KeyUse[],
  ): Promise<void> {
    const beating = new Map(beats);
    const signs = dirty.filter(([runnerId]) => !beating.has(runnerId));
    let written: ReadonlySet<string> = new Set();
    const rows = await this.#database.transaction('system', async (tx) => {
      await this.#hearOfOthers(tx, dirty, beating);
      const found = await flushPresence(tx, beats.map(beatRow), signs.map(signRow));
      written = await flushKeyUse(tx, uses);
      return found;
    });
    for (const use of uses) {
      const isLast = this.#keyUses.get(use.key_id) === use;
      if (written.has(use.key_id) && isLast) this.#keyUses.delete(use.key_id);
    }
    this.#rowWrites.flush += rows + written.size;
  }

  /** What only another node heard: of two clones each may have its own, and a balancer sends each beat elsewhere. */
  async #hearOfOthers(
    tx: Db,
    dirty: readonly [RunnerId, Entry][],
    beating: ReadonlyMap<RunnerId, Entry>,
  ): Promise<void> {
    const byTenant = Map.groupBy(dirty, ([, entry]) => entry.tenantId);
    for (const tenantId of [...byTenant.keys()].sort()) {
      const ids = byTenant.get(tenantId)?.map(([runnerId]) => runnerId) ?? [];
      for (const row of await lockHeard(tx, tenantId, ids)) {
        const entry = beating.get(row.id as RunnerId);
        if (entry !== undefined) heardElsewhere(entry, row);
      }
      await this.#keepForClones(tx, tenantId, ids, beating);
    }
  }

  /** What a clone that is noticed within the grace of a key gives it (docs/adr/0008). */
  async #keepForClones(
    tx: Db,
    tenantId: TenantId,
    ids: readonly RunnerId[],
    beating: ReadonlyMap<RunnerId, Entry>,
  ): Promise<void> {
    const nowMs = this.#clock.nowMs();
    const cloned = ids.filter((id) => (beating.get(id)?.clonedUntilMs ?? 0) > nowMs);
    if (cloned.length > 0) await lengthenGrace(tx, tenantId, cloned, nowMs);
  }

  async #remember(tenantId: TenantId, runnerId: RunnerId): Promise<Entry> {
    const loading = this.#loading.get(runnerId) ?? this.#read(tenantId, runnerId);
    this.#loading.set(runnerId, loading);
    try {
      const entry = await loading;
      const known = this.#entries.get(runnerId);
      if (known !== undefined) return known;
      this.#entries.set(runnerId, entry);
      return entry;
    } finally {
      this.#loading.delete(runnerId);
    }
  }

  async #read(tenantId: TenantId, runnerId: RunnerId): Promise<Entry> {
    const row = await readPresence(this.#database.tenant(tenantId), tenantId, runnerId);
    return entryOf(tenantId, row, this.#clock.nowMs());
  }

  async #become(runnerId: RunnerId, entry: Entry, presence: 'online' | 'stopped'): Promise<void> {
    const before = entry.presence;
    entry.presence = presence;
    try {
      const db = this.#database.tenant(entry.tenantId);
      const { tenantId, lastSeenMs } = entry;
      this.#rowWrites.request += await setPresence(db, tenantId, runnerId, presence, lastSeenMs);
    } catch (error) {
      entry.presence = before;
      throw error;
    }
  }

  #forgetIdle(): void {
    const nowMs = this.#clock.nowMs();
    for (const [runnerId, entry] of this.#entries) {
      if (!entry.dirty && nowMs - entry.lastSeenMs > FORGET_MS) this.#entries.delete(runnerId);
    }
  }
}

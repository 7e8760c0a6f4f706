// Knows which runners are alive. Every authenticated call is a sign of life. Signs are gathered in
// memory and flushed in one statement every limits.presenceFlushMs; changes of state are written at
// once. A crash costs at most one flush of liveness. Several nodes may hear the same runner: values
// that another node stored later are never overwritten, and never judged as silence.

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
  setBack,
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

/** A runner that showed a sign of life since the last flush; its leases are extended by it. */
interface Sign {
  readonly tenantId: string;
  readonly runnerId: string;
  readonly intervalMs: number;
  readonly running: readonly string[] | null;
}

/** A pause between two rounds longer than this means that the server itself was stalled or away. */
const STALL_MS = 3 * limits.presenceFlushMs;

/**
 * Nodes agree on the time much better: a time this far ahead was written before the clock was set
 * back.
 */
const AHEAD_MS = 60_000;

/** Entries not seen for this long leave memory; the row keeps what was known. */
const FORGET_MS = 3_600_000;

export class PresenceBook {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #entries = new Map<RunnerId, Entry>();
  readonly #loading = new Map<RunnerId, Promise<Entry>>();
  #rowWrites = { request: 0, flush: 0 };
  /** For each key id, its last use, until that is written. */
  readonly #keyUses = new Map<string, KeyUse>();
  readonly #loadOf: (flushMs: number) => number;
  readonly #beingWritten = new Set<Entry>();
  #flushFailed = false;
  #load = 1;
  /**
   * The time since which this node has been listening without a stall: silence before it proves
   * nothing.
   */
  #listeningSinceMs: number;
  #lastRoundMs: number;

  /**
   * `loadOf`: the factor by which runners should slow down after a flush that took so long; asked
   * once for each flush.
   */
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

  /** The time since which this node has been listening: silence before it proves nothing. */
  get listeningSinceMs(): number {
    return this.#listeningSinceMs;
  }

  /**
   * The members of the runner's heartbeats, when this process heard some that are not in the row
   * yet; otherwise null.
   */
  unwritten(runnerId: string): Readonly<Record<string, unknown>> | null {
    const entry = this.#entries.get(runnerId as RunnerId);
    if (entry === undefined) return null;
    // While a flush is under way its rows can't be read yet.
    return entry.beatSinceFlush || this.#beingWritten.has(entry) ? entry.reported : null;
  }

  /**
   * The factor by which runners should slow down, by the last flush and this thread's event loop: 1
   * at ease.
   */
  get load(): number {
    return this.#load;
  }

  /** Rows written since the last call, by their cause: a call of a runner, or the flush. */
  takeRowWrites(): { readonly request: number; readonly flush: number } {
    const taken = this.#rowWrites;
    this.#rowWrites = { request: 0, flush: 0 };
    return taken;
  }

  /**
   * Takes in a sign of life from any authenticated call. Writes at once only when the state
   * changes.
   */
  async seen(tenantId: TenantId, runnerId: RunnerId, isCi: boolean): Promise<void> {
    const entry = this.#entries.get(runnerId) ?? (await this.#remember(tenantId, runnerId));
    const nowMs = this.#clock.nowMs();
    // After such a silence, another node may have noticed and stored the runner as late or offline.
    const isStale = presenceAfter(nowMs - entry.lastSeenMs, entry.intervalMs, false) !== 'online';
    entry.lastSeenMs = nowMs;
    entry.isCi = isCi;
    entry.dirty = true;
    if (entry.presence !== 'online' || isStale) await this.#become(runnerId, entry, 'online');
  }

  /**
   * Takes in a heartbeat, after `seen`: pace, metrics, goodbye. `advisedMs`: the advised time to
   * the next heartbeat, if the runner follows advice.
   */
  async beat(
    tenantId: TenantId,
    runnerId: RunnerId,
    report: HeartbeatReport,
    advisedMs: number | null,
  ): Promise<void> {
    const entry = this.#entries.get(runnerId) ?? (await this.#remember(tenantId, runnerId));
    const nowMs = this.#clock.nowMs();
    entry.dirty = true;
    // A probe is sent again before each scanner (RP §4.1) and says nothing of the pace.
    if (report.isProbe) return;
    beaten(entry, nowMs, advisedMs);
    note(entry, report, nowMs);
    if (report.saysStopped) await this.#become(runnerId, entry, 'stopped');
  }

  /**
   * Writes what was gathered. Rejects when the write fails; then nothing is lost, and the next
   * flush writes it.
   */
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
      // A list of running commands counts once: other calls of a runner that lists say nothing of
      // what it runs.
      running: running === null || beating.has(runnerId) ? running : [],
    }));
  }

  /**
   * One round of the watch, after a flush: finds late and offline runners. Time in which the server
   * was away never counts.
   */
  async watch(): Promise<number> {
    const nowMs = this.#clock.nowMs();
    // After the clock was set back, differences of time mean nothing until they are measured anew.
    const isClockSetBack = nowMs < this.#lastRoundMs;
    if (nowMs - this.#lastRoundMs > STALL_MS || isClockSetBack) this.#listeningSinceMs = nowMs;
    if (isClockSetBack) for (const entry of this.#entries.values()) setBack(entry, nowMs);
    const db = this.#database.system();
    const aheadMs = nowMs + AHEAD_MS;
    const watched = await watchedRunners(this.#database.systemLists(), nowMs, aheadMs);
    // Only now: while the database can't be read, no runner is let in either, so that time counts
    // as away, too.
    this.#lastRoundMs = nowMs;
    let changed = 0;
    for (const runner of watched) {
      if ((runner.last_seen_at ?? 0) > aheadMs) {
        this.#rowWrites.flush += await bringBack(db, runner, nowMs);
        continue;
      }
      const entry = this.#entries.get(runner.id as RunnerId);
      // Signs of life that were heard here since the flush are not in the row yet.
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

  /**
   * Takes in what other nodes heard: each of two clones may have its own node, and a balancer may
   * send each heartbeat to another.
   */
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

  /**
   * Lengthens the grace of a key when a clone of its runner is noticed within that grace
   * (docs/adr/0008).
   */
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

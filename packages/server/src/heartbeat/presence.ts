// Who is alive. Every authenticated call is a sign of life; signs are gathered in memory and flushed in one statement
// each limits.presenceFlushMs, changes of state are written at once. A crash costs at most one flush of liveness.

import { limits } from '@muster/contract';
import type { Database } from '../db/db.ts';
import type { Clock } from '../lib/clock.ts';
import type { RunnerId, TenantId } from '../lib/ids.ts';
import { type HeartbeatReport, mergeReported } from './heartbeat.decode.ts';
import {
  flushKeyUse,
  flushPresence,
  markSilent,
  type BeatRow,
  type SignRow,
  readPresence,
  setPresence,
  watchedRunners,
} from './presence.queries.ts';
import { expectedIntervalMs, silenceVerdict } from './presence.rules.ts';

interface Entry {
  readonly tenantId: TenantId;
  presence: 'never' | 'online' | 'late' | 'stopped' | 'offline';
  lastSeenMs: number;
  lastBeatMs: number | null;
  intervalMs: number;
  running: readonly string[] | null;
  reported: Record<string, unknown>;
  reportedAtMs: number | null;
  /** Only what this node heard itself may overwrite what is stored: another node may know newer things. */
  beatSinceFlush: boolean;
  dirty: boolean;
}

export interface KeyUse {
  tenant_id: string;
  key_id: string;
  last_used_at: number;
  last_used_from: string;
}

/** A pause between two rounds longer than this means that the server itself was stalled or away. */
const STALL_MS = 3 * limits.presenceFlushMs;

/** Entries not seen for this long leave memory; the row keeps what was known. */
const FORGET_MS = 3_600_000;

export class PresenceBook {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #entries = new Map<RunnerId, Entry>();
  readonly #loading = new Map<RunnerId, Promise<Entry>>();
  #flushFailed = false;
  /** Since when this node has been listening without a stall: silence before that proves nothing. */
  #listeningSinceMs: number;
  #lastRoundMs: number;

  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
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
    return entry?.beatSinceFlush === true ? entry.reported : null;
  }

  /** A sign of life by any authenticated call. Writes at once only when the state changes. */
  async seen(tenantId: TenantId, runnerId: RunnerId): Promise<void> {
    const entry = this.#entries.get(runnerId) ?? (await this.#load(tenantId, runnerId));
    entry.lastSeenMs = this.#clock.nowMs();
    entry.dirty = true;
    if (entry.presence !== 'online') await this.#become(runnerId, entry, 'online');
  }

  /** A heartbeat, after `seen`: pace, metrics, goodbye. */
  async beat(
    tenantId: TenantId,
    runnerId: RunnerId,
    report: HeartbeatReport,
    advisedMs: number | null,
  ): Promise<void> {
    const entry = this.#entries.get(runnerId) ?? (await this.#load(tenantId, runnerId));
    const nowMs = this.#clock.nowMs();
    entry.dirty = true;
    // A probe repeats before each scanner (RP §4.1) and says nothing of the pace.
    if (report.isProbe) return;
    const gapMs = entry.lastBeatMs === null ? null : nowMs - entry.lastBeatMs;
    entry.intervalMs = expectedIntervalMs(entry.intervalMs, gapMs, advisedMs);
    entry.lastBeatMs = nowMs;
    entry.running = report.running;
    if (Object.keys(report.members).length > 0 || report.ignored.length > 0) {
      entry.reported = mergeReported(entry.reported, report);
      entry.reportedAtMs = nowMs;
      entry.beatSinceFlush = true;
    }
    if (report.saysStopped) await this.#become(runnerId, entry, 'stopped');
  }

  /** Writes what was gathered. Returns who showed a sign of life, for their leases. Rejects when it could not write. */
  async flush(
    keyUses: readonly KeyUse[],
  ): Promise<
    { tenantId: string; runnerId: string; intervalMs: number; running: readonly string[] | null }[]
  > {
    const dirty = [...this.#entries].filter(([, entry]) => entry.dirty);
    for (const [, entry] of dirty) entry.dirty = false;
    try {
      const beats = dirty.filter(([, entry]) => entry.beatSinceFlush);
      const signs = dirty.filter(([, entry]) => !entry.beatSinceFlush);
      const uses = keyUses.toSorted((a, b) => (a.key_id < b.key_id ? -1 : 1));
      if (dirty.length + uses.length > 0) {
        await this.#database.transaction('system', async (tx) => {
          await flushPresence(tx, beats.map(beatRow), signs.map(signRow));
          await flushKeyUse(tx, uses);
        });
      }
      for (const [, entry] of beats) entry.beatSinceFlush = false;
      this.#flushFailed = false;
    } catch (error) {
      for (const [, entry] of dirty) entry.dirty = true;
      this.#flushFailed = true;
      throw error;
    }
    this.#forgetIdle();
    return dirty.map(([runnerId, entry]) => ({
      tenantId: entry.tenantId,
      runnerId,
      intervalMs: entry.intervalMs,
      running: entry.running,
    }));
  }

  /** One round of the watch, after a flush: late and offline. Time in which the server was away never counts. */
  async watch(): Promise<number> {
    const nowMs = this.#clock.nowMs();
    // A clock set back also makes all differences meaningless until they are measured anew.
    if (nowMs - this.#lastRoundMs > STALL_MS || nowMs < this.#lastRoundMs) {
      this.#listeningSinceMs = nowMs;
    }
    this.#lastRoundMs = nowMs;
    let changed = 0;
    const db = this.#database.system();
    const watched = await watchedRunners(
      this.#database.systemLists(),
      nowMs - limits.heartbeatMinMs,
    );
    for (const runner of watched) {
      const since = Math.max(runner.last_seen_at ?? 0, this.#listeningSinceMs);
      const verdict = silenceVerdict(nowMs - since, runner.interval_ms);
      if (verdict === 'online' || verdict === runner.presence) continue;
      const written = await markSilent(db, runner, verdict, nowMs);
      changed += written;
      const entry = this.#entries.get(runner.id as RunnerId);
      if (written > 0 && entry !== undefined && !entry.dirty) entry.presence = verdict;
    }
    return changed;
  }

  async #load(tenantId: TenantId, runnerId: RunnerId): Promise<Entry> {
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
    return {
      tenantId,
      presence: row?.presence ?? 'never',
      lastSeenMs: row?.last_seen_at ?? this.#clock.nowMs(),
      lastBeatMs: null,
      intervalMs: row?.interval_ms ?? limits.heartbeatDefaultMs,
      running: null,
      reported:
        row === undefined || row.reported === null
          ? {}
          : (JSON.parse(row.reported) as Record<string, unknown>),
      reportedAtMs: null,
      beatSinceFlush: false,
      dirty: false,
    };
  }

  async #become(runnerId: RunnerId, entry: Entry, presence: 'online' | 'stopped'): Promise<void> {
    const before = entry.presence;
    entry.presence = presence;
    try {
      const db = this.#database.tenant(entry.tenantId);
      await setPresence(db, entry.tenantId, runnerId, presence, entry.lastSeenMs);
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

const signRow = ([runnerId, entry]: [RunnerId, Entry]): SignRow => ({
  tenant_id: entry.tenantId,
  id: runnerId,
  presence: entry.presence,
  last_seen_at: entry.lastSeenMs,
  interval_ms: entry.intervalMs,
});

function beatRow(item: [RunnerId, Entry]): BeatRow {
  const [, entry] = item;
  const text = (name: string): string | null => {
    const value = entry.reported[name];
    return typeof value === 'string' ? value : null;
  };
  return {
    ...signRow(item),
    version: text('version'),
    hostname: text('hostname'),
    region: text('region'),
    reported: JSON.stringify(entry.reported),
    reported_at: entry.reportedAtMs ?? entry.lastSeenMs,
  };
}

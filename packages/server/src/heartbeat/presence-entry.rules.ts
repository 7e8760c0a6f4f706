// The memory of one runner that a node keeps between two flushes: heartbeats are taken in, and rows
// are printed from it. An entry is changed in place, because every call of the runner needs it.
// Called by presence.ts.

import { limits } from '@muster/contract';
import type { TenantId } from '../lib/ids.ts';
import { type HeartbeatReport, mergeReported, storedReport } from './heartbeat.decode.ts';
import {
  hear,
  type Installation,
  installationOf,
  SKEW_SAMPLES,
  skewOf,
} from './installations.rules.ts';
import type { BeatRow, HeardRow, SignRow, StoredPresence } from './presence.queries.ts';
import { expectedIntervalMs, twoBeatsMs } from './presence.rules.ts';

export interface Entry {
  readonly tenantId: TenantId;
  presence: 'never' | 'online' | 'late' | 'stopped' | 'offline';
  lastSeenMs: number;
  lastBeatMs: number | null;
  intervalMs: number;
  /** The values by which the interval is measured, as they were when the last heartbeat came. */
  measured: {
    readonly knownMs: number;
    readonly previousBeatMs: number | null;
    readonly advisedMs: number | null;
  } | null;
  isCi: boolean;
  running: readonly string[] | null;
  reported: Record<string, unknown>;
  reportedAtMs: number | null;
  /** Newest first. */
  installations: readonly Installation[];
  clonedUntilMs: number | null;
  /** The clock skew of the runner's last heartbeats: sent − arrived, milliseconds. */
  skewSamples: readonly number[];
  /**
   * Only what this node heard itself may overwrite what is stored: another node may know newer
   * things.
   */
  beatSinceFlush: boolean;
  dirty: boolean;
}

const parsed = <T>(text: string | null, otherwise: T): T =>
  text === null ? otherwise : (JSON.parse(text) as T);

/**
 * Makes the entry from the stored row. `undefined`: the runner is gone, and later writes for it
 * find no row.
 */
export function entryOf(tenantId: TenantId, row: StoredPresence | undefined, nowMs: number): Entry {
  const installation = parsed<Installation | null>(row?.installation ?? null, null);
  const reported = parsed<Record<string, unknown>>(row?.reported ?? null, {});
  const { running } = reported as { running?: readonly string[] };
  const skewMs = row?.clock_skew_ms ?? null;
  return {
    tenantId,
    presence: row?.presence ?? 'never',
    lastSeenMs: row?.last_seen_at ?? nowMs,
    lastBeatMs: null,
    intervalMs: row?.interval_ms ?? limits.heartbeatDefaultMs,
    measured: null,
    isCi: false,
    running: running ?? null,
    reported,
    reportedAtMs: null,
    installations: installation === null ? [] : [installation],
    clonedUntilMs: row?.cloned_until ?? null,
    skewSamples: skewMs === null ? [] : [skewMs],
    beatSinceFlush: false,
    dirty: false,
  };
}

/**
 * Takes in the time of a heartbeat. `advisedMs`: the advised time to the next one; null when the
 * runner doesn't follow advice.
 */
export function beaten(entry: Entry, nowMs: number, advisedMs: number | null): void {
  const { intervalMs: knownMs, lastBeatMs: previousBeatMs } = entry;
  entry.measured = { knownMs, previousBeatMs, advisedMs };
  entry.lastBeatMs = nowMs;
  measure(entry, 0);
}

/**
 * Measures the interval. `elsewhereMs`: the stored time at which any node heard the runner's newest
 * heartbeat. A balancer may send every third heartbeat here: the gap begins with the previous one,
 * wherever it arrived. A repeat changes nothing.
 */
function measure(entry: Entry, elsewhereMs: number): void {
  if (entry.measured === null || entry.lastBeatMs === null) return;
  const { knownMs, previousBeatMs, advisedMs } = entry.measured;
  const gapMs =
    previousBeatMs === null ? 0 : entry.lastBeatMs - Math.max(previousBeatMs, elsewhereMs);
  // Another node heard the runner after this heartbeat: how many came in between isn't stored.
  entry.intervalMs = expectedIntervalMs(knownMs, gapMs > 0 ? gapMs : null, advisedMs);
}

/** The clock was set back: times that it gave before mean nothing now. */
export function setBack(entry: Entry, nowMs: number): void {
  entry.lastSeenMs = Math.min(entry.lastSeenMs, nowMs);
  entry.lastBeatMs = null;
  entry.reportedAtMs = entry.reportedAtMs === null ? null : Math.min(entry.reportedAtMs, nowMs);
  entry.installations = [];
  entry.clonedUntilMs = null;
}

/** Takes in what a heartbeat says of its runner; absent members overwrite nothing. */
export function note(entry: Entry, report: HeartbeatReport, nowMs: number): void {
  if (Object.keys(report.members).length === 0 && report.ignored.length === 0) return;
  mergeReported(entry.reported, report);
  entry.running = report.running;
  // Only the last heartbeat tells whether the runner lists its running commands: after a downgrade
  // it no longer lists them.
  if (report.running === null && 'running' in entry.reported) delete entry.reported['running'];
  entry.reportedAtMs = nowMs;
  entry.beatSinceFlush = true;
  if (report.sentAtMs !== null) {
    const samples = [report.sentAtMs - nowMs, ...entry.skewSamples];
    entry.skewSamples = samples.slice(0, SKEW_SAMPLES);
  }
  // One key of a pipeline serves many jobs at once, on purpose.
  const installation = entry.isCi ? null : installationOf(report.members, nowMs);
  if (installation !== null) sighted(entry, installation);
}

function sighted(entry: Entry, installation: Installation): void {
  const windowMs = twoBeatsMs(entry.intervalMs);
  const { known, isCloned } = hear(entry.installations, installation, windowMs);
  entry.installations = known;
  if (isCloned) entry.clonedUntilMs = later(entry.clonedUntilMs, installation.heardAtMs + windowMs);
}

/**
 * Takes in what any node stored of the runner's last heartbeat, after a heartbeat that came here.
 * May be repeated.
 */
export function heardElsewhere(entry: Entry, stored: HeardRow): void {
  const installation = parsed<Installation | null>(stored.installation, null);
  if (installation !== null && entry.installations.length > 0) sighted(entry, installation);
  entry.clonedUntilMs = later(entry.clonedUntilMs, stored.cloned_until);
  measure(entry, stored.reported_at ?? 0);
}

const later = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? (a ?? b) : Math.max(a, b);

type Item = readonly [string, Entry];

export const signRow = ([runnerId, entry]: Item): SignRow => ({
  tenant_id: entry.tenantId,
  id: runnerId,
  presence: entry.presence,
  last_seen_at: entry.lastSeenMs,
  interval_ms: entry.intervalMs,
  is_ci: entry.isCi ? 1 : 0,
});

export function beatRow(item: Item): BeatRow {
  const [, entry] = item;
  const text = (name: string): string | null => {
    const value = entry.reported[name];
    return typeof value === 'string' ? value : null;
  };
  // Other nodes are told the newest installation only.
  const installation = entry.installations[0] ?? null;
  const { kept, text: reported } = storedReport(entry.reported);
  entry.reported = kept;
  return {
    ...signRow(item),
    version: text('version'),
    hostname: text('hostname'),
    region: text('region'),
    reported,
    reported_at: entry.reportedAtMs ?? entry.lastSeenMs,
    clock_skew_ms: skewOf(entry.skewSamples),
    installation: installation === null ? null : JSON.stringify(installation),
    cloned_until: entry.clonedUntilMs,
  };
}

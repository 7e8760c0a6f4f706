// Decides when a runner counts as online, late, stopped or offline, and how often it should send a
// heartbeat (contract §3).

import { limits } from '@muster/contract';

/**
 * The interval to expect: the larger of the interval that we advised (60 s when the runner doesn't
 * take advice) and the one that was observed. A gap longer than the slowest allowed pace is an
 * absence, not a pace. The interval shrinks gradually and grows at once. The advice to hurry while
 * work waits is an invitation: no runner is expected more often than at the idle pace.
 */
export function expectedIntervalMs(
  knownMs: number,
  gapMs: number | null,
  advisedMs: number | null,
): number {
  const floor =
    advisedMs === null ? limits.heartbeatDefaultMs : Math.max(advisedMs, limits.heartbeatIdleMs);
  if (gapMs === null || gapMs > limits.heartbeatMaxMs)
    return Math.max(floor, Math.min(knownMs, limits.heartbeatMaxMs));
  const smoothed = gapMs > knownMs ? gapMs : knownMs * 0.75 + gapMs * 0.25;
  return Math.round(Math.min(Math.max(floor, smoothed), limits.heartbeatMaxMs));
}

/**
 * A heartbeat is late after 1.5 intervals, and a runner is offline after 3, but never before 90 s.
 */
const LATE_INTERVALS = 1.5;
const OFFLINE_INTERVALS = 3;

/** The delay that jitter and the coalescing of presence may add before anything is concluded. */
const presenceSlackMs = (intervalMs: number): number =>
  Math.round(intervalMs * limits.heartbeatJitter) + 2 * limits.presenceFlushMs;

export function silenceVerdict(
  silentMs: number,
  intervalMs: number,
): 'online' | 'late' | 'offline' {
  const slack = presenceSlackMs(intervalMs);
  if (silentMs > Math.max(OFFLINE_INTERVALS * intervalMs, limits.offlineAfterMsMin) + slack) {
    return 'offline';
  }
  return silentMs > LATE_INTERVALS * intervalMs + slack ? 'late' : 'online';
}

/**
 * The presence of a runner after a silence. A runner that last called with a CI key isn't missing:
 * its job is done.
 */
export function presenceAfter(
  silentMs: number,
  intervalMs: number,
  isCi: boolean,
): 'online' | 'late' | 'offline' | 'stopped' {
  const verdict = silenceVerdict(silentMs, intervalMs);
  return isCi && verdict !== 'online' ? 'stopped' : verdict;
}

/**
 * Two heartbeats: an installation heard longer ago is history, not another installation at work.
 */
export const twoBeatsMs = (intervalMs: number): number =>
  2 * intervalMs + presenceSlackMs(intervalMs);

/**
 * A flush of presence that takes longer, or an event loop that lags by more, means that the server
 * is under load.
 */
const EASY_FLUSH_MS = 1000;
const EASY_LAG_MS = 100;
/**
 * Two minutes between heartbeats at most: with a longer pace, a dead runner would be noticed too
 * late.
 */
const LOAD_MAX = 4;

/**
 * The factor by which all paces slow down: 1 at ease, and in proportion to what takes too long, up
 * to 4.
 */
export function loadFactor(flushMs: number, lagMs: number): number {
  return Math.min(Math.max(flushMs / EASY_FLUSH_MS, lagMs / EASY_LAG_MS, 1), LOAD_MAX);
}

interface Window {
  readonly fromSeconds: number;
  readonly toSeconds: number;
}

/**
 * The seconds from now between which the next heartbeat may be asked for: idle 30, work waiting 5,
 * longer under load, each ±10 %. For a runner that this node doesn't know yet the window begins at
 * half of that: this spreads a whole fleet that reconnects at once.
 */
export function paceWindow(workWaiting: boolean, isKnown: boolean, load: number): Window {
  const base = (workWaiting ? limits.heartbeatBusyMs : limits.heartbeatIdleMs) * load;
  const seconds = (ms: number): number =>
    Math.round(Math.min(Math.max(ms, limits.heartbeatMinMs), limits.heartbeatMaxMs) / 1000);
  return {
    fromSeconds: seconds(base * (isKnown ? 1 - limits.heartbeatJitter : 0.5)),
    toSeconds: seconds(base * (1 + limits.heartbeatJitter)),
  };
}

/**
 * The second of the window at which the fewest heartbeats are expected; of several such seconds,
 * one by chance in [0, 1).
 */
export function quietestSecond(
  { fromSeconds, toSeconds }: Window,
  expected: (second: number) => number,
  chance: number,
): number {
  const seconds = Array.from({ length: toSeconds - fromSeconds + 1 }, (_, at) => fromSeconds + at);
  const least = Math.min(...seconds.map(expected));
  const quiet = seconds.filter((second) => expected(second) === least);
  return quiet[Math.floor(chance * quiet.length)] ?? fromSeconds;
}

// When a runner counts as online, late or offline, and how often it should beat (contract §3).

import { limits } from '@muster/contract';

/**
 * The interval to expect: the larger of what we advised (60 s when the runner doesn't take advice) and what was
 * observed. Gaps longer than the slowest allowed pace are absences, not a pace; shrinking is gradual, growth at once.
 */
export function expectedIntervalMs(
  knownMs: number,
  gapMs: number | null,
  advisedMs: number | null,
): number {
  const floor = advisedMs ?? limits.heartbeatDefaultMs;
  if (gapMs === null || gapMs > limits.heartbeatMaxMs)
    return Math.max(floor, Math.min(knownMs, limits.heartbeatMaxMs));
  const smoothed = gapMs > knownMs ? gapMs : knownMs * 0.75 + gapMs * 0.25;
  return Math.round(Math.min(Math.max(floor, smoothed), limits.heartbeatMaxMs));
}

/** A heartbeat is late after 1.5 intervals, and a runner offline after 3, but never before 90 s. */
export const LATE_INTERVALS = 1.5;
export const OFFLINE_INTERVALS = 3;

/** What jitter and the coalescing of presence may add before anything is concluded. */
export const presenceSlackMs = (intervalMs: number): number =>
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

/** Seconds until the next heartbeat: idle 30, work waiting 5, spread by ±10 % so that a fleet doesn't march in step. */
export function advisedSeconds(workWaiting: boolean, jitterFactor: number): number {
  const baseMs = workWaiting ? limits.heartbeatBusyMs : limits.heartbeatIdleMs;
  const ms = Math.min(
    Math.max(baseMs * jitterFactor, limits.heartbeatMinMs),
    limits.heartbeatMaxMs,
  );
  return Math.round(ms / 1000);
}

// From what heartbeats say of the installation they come from (`instance_id`, `hostname`, and the boot that
// `uptime_seconds` tells) to whether one identity is used by two at once (contract §3). Each is known by the span from its
// first sighting to its last, so it doesn't matter in which order nodes learn of sightings. Of two whose spans overlap,
// none took the place of the other: nothing that was replaced comes back.

export interface Installation {
  readonly instanceId: string | null;
  readonly hostname: string | null;
  /** When its process began, by our clock. */
  readonly bootMs: number | null;
  /** Its sightings, none of them later than two heartbeats after the one before. */
  readonly firstHeardAtMs: number;
  readonly heardAtMs: number;
}

/** Boots that differ by less are the same: heartbeats can be on their way for as long as clients wait (RP §2.7: 30 s). */
const BOOT_TOLERANCE_MS = 60_000;

/** More than a few clones tell nothing more. */
const INSTALLATIONS_MAX = 8;

/** Null: the heartbeat names none of its marks. */
export function installationOf(
  members: Readonly<Record<string, unknown>>,
  nowMs: number,
): Installation | null {
  const { instance_id: instanceId, hostname, uptime_seconds: uptime } = members;
  const text = (value: unknown): string | null =>
    typeof value === 'string' && value !== '' ? value : null;
  const bootMs = typeof uptime === 'number' && uptime >= 0 ? nowMs - uptime * 1000 : null;
  const marks = { instanceId: text(instanceId), hostname: text(hostname), bootMs };
  if (marks.instanceId === null && marks.hostname === null && bootMs === null) return null;
  return { ...marks, firstHeardAtMs: nowMs, heardAtMs: nowMs };
}

/** Nothing that both name tells them apart. */
function areOne(a: Installation, b: Installation): boolean {
  const differ = (x: string | null, y: string | null): boolean =>
    x !== null && y !== null && x !== y;
  if (differ(a.instanceId, b.instanceId) || differ(a.hostname, b.hostname)) return false;
  return (
    a.bootMs === null || b.bootMs === null || Math.abs(a.bootMs - b.bootMs) < BOOT_TOLERANCE_MS
  );
}

const newestFirst = (a: Installation, b: Installation): number => b.heardAtMs - a.heardAtMs;

const wereAtOnce = (a: Installation, b: Installation): boolean =>
  a.heardAtMs > b.firstHeardAtMs && b.heardAtMs > a.firstHeardAtMs;

/**
 * Takes in one sighting, or the span of them that another node knows; a repeat changes nothing. `known` is the newest
 * first. `isCloned`: by what was added, two were at work within `windowMs`.
 */
export function hear(
  known: readonly Installation[],
  one: Installation,
  windowMs: number,
): { readonly known: readonly Installation[]; readonly isCloned: boolean } {
  const newestMs = Math.max(...[...known, one].map(({ heardAtMs }) => heardAtMs));
  const isRecent = ({ heardAtMs }: Installation): boolean => newestMs - heardAtMs <= windowMs;
  const recent = known.filter(isRecent);
  if (!isRecent(one)) return { known: recent, isCloned: false };
  const before = recent.find((other) => areOne(other, one));
  const merged: Installation = {
    instanceId: one.instanceId ?? before?.instanceId ?? null,
    hostname: one.hostname ?? before?.hostname ?? null,
    bootMs: one.bootMs ?? before?.bootMs ?? null,
    firstHeardAtMs: Math.min(one.firstHeardAtMs, before?.firstHeardAtMs ?? Infinity),
    heardAtMs: Math.max(one.heardAtMs, before?.heardAtMs ?? -Infinity),
  };
  const isRepeat =
    before?.heardAtMs === merged.heardAtMs && before.firstHeardAtMs === merged.firstHeardAtMs;
  if (isRepeat) return { known: recent, isCloned: false };
  const others = recent.filter((other) => other !== before);
  const isCloned = others.some((other) => wereAtOnce(merged, other));
  return { known: [merged, ...others].toSorted(newestFirst).slice(0, INSTALLATIONS_MAX), isCloned };
}

/**
 * Clock skew, by the times that heartbeats were sent at: positive when the runner's clock is ahead. A delay on the way
 * makes a sample smaller, never larger, so the largest of the last few is the truest.
 */
export const SKEW_SAMPLES = 5;

export function skewOf(samples: readonly number[]): number | null {
  return samples.length === 0 ? null : Math.max(...samples);
}

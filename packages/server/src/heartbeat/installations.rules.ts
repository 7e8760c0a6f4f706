// Decides whether two installations use one identity at once (contract §3), from what heartbeats
// say of the installation they come from: `instance_id`, `hostname`, and the boot time that
// `uptime_seconds` gives. Each installation is known by the span from its first sighting to its
// last, so the order in which nodes learn of sightings doesn't matter. When two spans overlap,
// neither installation replaced the other: a replaced installation doesn't come back.

export interface Installation {
  readonly instanceId: string | null;
  readonly hostname: string | null;
  /** The time at which the installation's process began, by our clock. */
  readonly bootMs: number | null;
  /** The span of its sightings. Each came at most two heartbeats after the one before. */
  readonly firstHeardAtMs: number;
  readonly heardAtMs: number;
}

/**
 * Boot times that differ by less are the same: heartbeats can be on their way for as long as
 * clients wait (RP §2.7: 30 s).
 */
const BOOT_TOLERANCE_MS = 60_000;

/** More than a few clones tell nothing more. */
const INSTALLATIONS_MAX = 8;

/** Null: the heartbeat names none of the three marks. */
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

/** Whether the two are one installation: no mark that both name differs. */
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
 * Takes in one sighting, or a span of sightings that another node knows; a repeat changes nothing.
 * `known` stands newest first. `isCloned`: the addition shows that two installations were at work
 * within `windowMs`.
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
 * Clock skew, from the times at which heartbeats were sent; positive when the runner's clock is
 * ahead. A delay on the way makes a sample smaller, never larger, so the largest of the last few
 * samples is the truest.
 */
export const SKEW_SAMPLES = 5;

export function skewOf(samples: readonly number[]): number | null {
  return samples.length === 0 ? null : Math.max(...samples);
}

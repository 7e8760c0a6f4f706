// From what heartbeats say of the installation they come from (`instance_id`, `hostname`, and the boot that
// `uptime_seconds` tells) to whether one identity is used by two at once (contract §3). An installation that is heard
// again after another one was, both within two heartbeats, is no restart: nothing that was replaced comes back.

export interface Installation {
  readonly instanceId: string | null;
  readonly hostname: string | null;
  /** When its process began, by our clock. */
  readonly bootMs: number | null;
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
  const one = { instanceId: text(instanceId), hostname: text(hostname), bootMs, heardAtMs: nowMs };
  return one.instanceId === null && one.hostname === null && bootMs === null ? null : one;
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

/** Takes one sighting in, also one that another node heard. `isCloned`: two were at work within `windowMs`. */
export function hear(
  known: readonly Installation[],
  one: Installation,
  windowMs: number,
): { readonly known: readonly Installation[]; readonly isCloned: boolean } {
  const recent = known.filter(({ heardAtMs }) => one.heardAtMs - heardAtMs <= windowMs);
  const before = recent.find((other) => areOne(other, one));
  if (before !== undefined && before.heardAtMs >= one.heardAtMs) {
    return { known: recent, isCloned: false };
  }
  const others = recent.filter((other) => other !== before);
  const isCloned =
    before !== undefined && others.some(({ heardAtMs }) => heardAtMs > before.heardAtMs);
  const merged: Installation = {
    instanceId: one.instanceId ?? before?.instanceId ?? null,
    hostname: one.hostname ?? before?.hostname ?? null,
    bootMs: one.bootMs ?? before?.bootMs ?? null,
    heardAtMs: one.heardAtMs,
  };
  return { known: [merged, ...others].slice(0, INSTALLATIONS_MAX), isCloned };
}

/** Of several sightings, the newest: what is stored, for the other nodes. */
export const latest = (known: readonly Installation[]): Installation | null =>
  known.toSorted((a, b) => b.heardAtMs - a.heardAtMs)[0] ?? null;

/**
 * Clock skew, by the times that heartbeats were sent at: positive when the runner's clock is ahead. A delay on the way
 * makes a sample smaller, never larger, so the largest of the last few is the truest.
 */
export const SKEW_SAMPLES = 5;

export function skewOf(samples: readonly number[]): number | null {
  return samples.length === 0 ? null : Math.max(...samples);
}

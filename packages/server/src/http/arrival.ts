// Bodies that are on their way. One sweep judges the rate of all of them, and a complaint of the
// parser about a connection reaches the body that is being read from it. A body fails with a
// Problem and keeps its connection, so that the caller hears the reason (408, 400); only the answer
// closes the connection. Called by body.ts and client-errors.ts.

import type { Readable } from 'node:stream';
import { limits } from '@muster/contract';
import { Problem } from '../lib/problem.ts';

interface Arrival {
  /** Bytes that came in the present window; the reader adds to them. */
  bytes: number;
  /** Whether the reader of this body holds a piece: then the sender is not the slow one. */
  held: boolean;
}

interface Watched extends Arrival {
  ticks: number;
  readonly fail: (problem: Problem) => void;
}

/** A window is judged in so many ticks: a body is cut off at most a sixth of a window too late. */
const TICKS = 6;
const TICK_MS = limits.bodyRateWindowMs / TICKS;
const BYTES_MIN = (limits.bodyRateBytesPerSecondMin * limits.bodyRateWindowMs) / 1000;

const watched = new Map<Readable, Watched>();
/** Bodies that broke before anybody read them: authentication takes a moment. */
const broken = new WeakMap<Readable, Problem>();
let sweep: NodeJS.Timeout | null = null;

/**
 * Watches a body until `endArrival`. `fail` is called when the body is too slow or broken: later,
 * or never.
 */
export function startArrival(source: Readable, fail: (problem: Problem) => void): Arrival {
  // The first tick may come at any time, so a window begins with the second tick.
  const arrival: Watched = { bytes: 0, held: false, ticks: -1, fail };
  watched.set(source, arrival);
  sweep ??= setInterval(judge, TICK_MS).unref();
  return arrival;
}

export function endArrival(source: Readable): void {
  watched.delete(source);
}

/**
 * The reason why this body can't be complete any more, as far as it is known before the body is
 * read.
 */
export function earlyFault(source: Readable): Problem | null {
  const known = broken.get(source);
  if (known !== undefined) return known;
  return source.destroyed && !source.readableEnded ? connectionEnded() : null;
}

/**
 * The parser can't understand the rest of the body: its reader, now or later, gets this problem.
 */
export function breakBody(source: Readable, problem: Problem): void {
  broken.set(source, problem);
  watched.get(source)?.fail(problem);
}

export const connectionEnded = (): Problem =>
  new Problem('incomplete_body', 'The connection ended before the body did.');

function judge(): void {
  if (watched.size === 0 && sweep !== null) {
    clearInterval(sweep);
    sweep = null;
  }
  for (const arrival of watched.values()) {
    arrival.ticks += 1;
    if (arrival.ticks < TICKS) continue;
    const slow = !arrival.held && arrival.bytes < BYTES_MIN;
    arrival.ticks = 0;
    arrival.bytes = 0;
    if (slow) arrival.fail(new Problem('slow_body'));
  }
}

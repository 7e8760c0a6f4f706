// The server's pace (contract §3): 30 s idle, 5 s with work waiting, longer under load, and spread.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '@muster/contract';
import fc from 'fast-check';
import { Pace } from '../../src/heartbeat/pace.ts';
import {
  expectedIntervalMs,
  loadFactor,
  paceWindow,
  silenceVerdict,
} from '../../src/heartbeat/presence.rules.ts';
import type { RunnerId } from '../../src/lib/ids.ts';
import { SimulatedClock } from '../stories.ts';

/**
 * `count` runners that all come in one second and then do as they are told. Returns the arrivals by
 * second from then on.
 */
function fleet(count: number, seconds: number, load = 1): number[] {
  const clock = new SimulatedClock();
  const pace = new Pace(clock, () => load);
  let due = new Map<number, RunnerId[]>();
  const all = Array.from({ length: count }, (_, n) => `runner-${n}` as RunnerId);
  due.set(0, all);
  const arrivals: number[] = [];
  for (let second = 0; second < seconds; second += 1) {
    const now = due.get(second) ?? [];
    arrivals.push(now.length);
    for (const runner of now) {
      const next = second + pace.next(runner, false);
      due.set(next, [...(due.get(next) ?? []), runner]);
    }
    due.delete(second);
    clock.advance(1000);
  }
  due = new Map();
  return arrivals;
}

test('1 000 runners that come in the same second are spread at once, and evenly after three minutes', () => {
  const arrivals = fleet(1000, 600);
  assert.equal(arrivals[0], 1000);
  const early = arrivals.slice(1, 34);
  assert.ok(Math.max(...early) <= 60, `the first return: ${Math.max(...early)} in one second`);
  const settled = arrivals.slice(180);
  const mean = settled.reduce((sum, n) => sum + n, 0) / settled.length;
  assert.ok(mean > 30 && mean < 40, `about a beat in 30 s each, not ${mean} a second`);
  assert.ok(Math.max(...settled) <= 2 * mean, `${Math.max(...settled)} of ${mean} a second`);
  assert.ok(Math.min(...settled) >= mean / 3, `${Math.min(...settled)} of ${mean} a second`);
});

test('a runner alone still does not beat in step: its pace varies around 30 s', () => {
  const times = fleet(1, 3000).flatMap((n, second) => (n > 0 ? [second] : []));
  const gaps = times.slice(1).map((time, at) => time - (times[at] ?? 0));
  for (const gap of gaps.slice(1)) assert.ok(gap >= 27 && gap <= 33, String(gap));
  assert.ok(new Set(gaps.slice(1)).size > 1);
});

test('work waiting asks back within 5 to 6 s, load stretches every pace up to four times', () => {
  assert.deepEqual(paceWindow(true, true, 1), { fromSeconds: 5, toSeconds: 6 });
  assert.deepEqual(paceWindow(false, true, 1), { fromSeconds: 27, toSeconds: 33 });
  assert.deepEqual(paceWindow(false, true, 4), { fromSeconds: 108, toSeconds: 132 });
  assert.deepEqual(paceWindow(true, true, 4), { fromSeconds: 18, toSeconds: 22 });
  assert.equal(loadFactor(0, 0), 1);
  assert.equal(loadFactor(2000, 0), 2);
  assert.equal(loadFactor(0, 300), 3);
  assert.equal(loadFactor(60_000, 5000), 4, 'bounded');
});

test('no advice leaves the bounds that clients clamp to (RP §4.3: 5 s to 5 min)', () => {
  fc.assert(
    fc.property(
      fc.boolean(),
      fc.boolean(),
      fc.double({ min: 1, max: 4, noNaN: true }),
      (...given) => {
        const { fromSeconds, toSeconds } = paceWindow(...given);
        assert.ok(fromSeconds >= 5 && fromSeconds <= toSeconds && toSeconds <= 300);
      },
    ),
  );
});

test('a runner that does as it is told is never late, however the advice jumps', () => {
  const advice = fc.integer({ min: limits.heartbeatMinMs, max: 132_000 });
  fc.assert(
    fc.property(fc.array(advice, { minLength: 1, maxLength: 40 }), (advices) => {
      let known: number = limits.heartbeatDefaultMs;
      let gap: number | null = null;
      for (const advised of advices) {
        known = expectedIntervalMs(known, gap, advised);
        // A heartbeat may be late by its own jitter and one flush.
        const silentMs = advised * 1.1 + limits.presenceFlushMs;
        assert.equal(silenceVerdict(silentMs, known), 'online', `${advised} of ${known}`);
        gap = advised;
      }
    }),
  );
});

test('offline is never before 90 s and never before three expected intervals', () => {
  const interval = fc.integer({ min: limits.heartbeatIdleMs, max: limits.heartbeatMaxMs });
  fc.assert(
    fc.property(interval, fc.nat(2_000_000), (intervalMs, silentMs) => {
      const verdict = silenceVerdict(silentMs, intervalMs);
      if (verdict === 'offline') assert.ok(silentMs > Math.max(90_000, 3 * intervalMs));
      if (verdict !== 'online') assert.ok(silentMs > 1.5 * intervalMs);
    }),
  );
});

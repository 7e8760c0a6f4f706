// A rate limit in memory: which calls pass, and how long the others have to wait.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TokenBuckets } from '../../src/lib/token-bucket.ts';

const NOW_MS = 1_790_000_000_000;
const EVERY_MS = 120_000;

/** How long each of `count` calls at `nowMs` has to wait. */
const taken = (buckets: TokenBuckets, nowMs: number, count: number): number[] =>
  Array.from({ length: count }, () => buckets.take('runner', nowMs));

test('a bucket gives its burst at once, then one for each interval', () => {
  const buckets = new TokenBuckets(5, EVERY_MS);
  assert.deepEqual(taken(buckets, NOW_MS, 6), [0, 0, 0, 0, 0, EVERY_MS]);
  assert.deepEqual(taken(buckets, NOW_MS + EVERY_MS, 2), [0, EVERY_MS]);
});

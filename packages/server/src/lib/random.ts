// The only source of chance: key material, ids and nonces come from the CSPRNG, jitter from an
// ordinary source.

import { randomFillSync, randomInt } from 'node:crypto';

/**
 * One call of the CSPRNG gives about a thousand ids. Half of it doubles the calls; double gains
 * nothing.
 */
const POOL_BYTES = 8 * 1024;
/**
 * Ids and nonces come from the pool. Longer draws may be key material, which only its owner may
 * hold.
 */
const POOLED_BYTES_MAX = 16;

const pool = Buffer.alloc(POOL_BYTES);
let used = POOL_BYTES;

/**
 * `length` bytes from the CSPRNG. Small amounts are drawn from a pool, in which no byte stays that
 * was given out.
 */
export function randomBytes(length: number): Buffer {
  if (length > POOLED_BYTES_MAX) return randomFillSync(Buffer.allocUnsafe(length));
  if (used + length > POOL_BYTES) {
    randomFillSync(pool);
    used = 0;
  }
  const drawn = Buffer.from(pool.subarray(used, used + length));
  pool.fill(0, used, used + length);
  used += length;
  return drawn;
}

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** `length` base62 characters, uniformly drawn from the CSPRNG (5.95 bits each). */
export function randomBase62(length: number): string {
  let text = '';
  for (let i = 0; i < length; i += 1) text += BASE62[randomInt(62)];
  return text;
}

/** A factor in [1 - spread, 1 + spread], for jitter; not for secrets. */
export const jitter = (spread: number): number => 1 + (Math.random() * 2 - 1) * spread;

/** A number in [0, 1), for choices that don't matter; not for secrets. */
export const chance = (): number => Math.random();

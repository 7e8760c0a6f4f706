// Chance, in one place: key material comes from the CSPRNG, jitter from an ordinary source.

import { randomFillSync, randomInt } from 'node:crypto';

export const randomBytes = (length: number): Buffer => randomFillSync(Buffer.allocUnsafe(length));

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** `length` base62 characters, uniformly drawn from the CSPRNG (5.95 bits each). */
export function randomBase62(length: number): string {
  let text = '';
  for (let i = 0; i < length; i += 1) text += BASE62[randomInt(62)];
  return text;
}

/** A factor in [1 - spread, 1 + spread], for jitter; not for secrets. */
export const jitter = (spread: number): number => 1 + (Math.random() * 2 - 1) * spread;

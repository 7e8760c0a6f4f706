// UUIDv7 ids: time-ordered, so that new rows land at the end of their index and ids sort by
// creation.

import { randomBytes } from './random.ts';

declare const brand: unique symbol;
type Branded<Name> = string & { readonly [brand]: Name };

export type TenantId = Branded<'tenant'>;
export type RunnerId = Branded<'runner'>;
export type CommandId = Branded<'command'>;
export type UploadId = Branded<'upload'>;
export type AssetId = Branded<'asset'>;
export type RefId = Branded<'ref'>;
export type FindingId = Branded<'finding'>;

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

let lastMs = 0;
let counter = 0;

/**
 * A new UUIDv7 (RFC 9562 §5.7) with a 12-bit counter in rand_a (§6.2, method 1): ids made by one
 * process in the same millisecond still sort in the order they were made.
 */
export function newId<Id extends string>(nowMs: number): Id {
  if (nowMs > lastMs) {
    lastMs = nowMs;
    counter = 0;
  } else {
    counter += 1;
    // More than 4096 ids in a millisecond: take from the next millisecond.
    if (counter > 0xfff) {
      lastMs += 1;
      counter = 0;
    }
  }
  const random = randomBytes(8);
  const high = Math.floor(lastMs / 0x1_0000);
  const low = lastMs % 0x1_0000;
  const byte = (value: number): string => HEX[value & 0xff] as string;
  const at = (index: number): number => random[index] as number;
  return `${byte(high >>> 24)}${byte(high >>> 16)}${byte(high >>> 8)}${byte(high)}-${byte(low >>> 8)}${byte(low)}-${byte(
    0x70 | (counter >>> 8),
  )}${byte(counter)}-${byte((at(0) & 0x3f) | 0x80)}${byte(at(1))}-${byte(at(2))}${byte(at(3))}${byte(
    at(4),
  )}${byte(at(5))}${byte(at(6))}${byte(at(7))}` as Id;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * The id in a text from outside, or null when the text can't be one. Upper case is accepted and
 * lowered.
 */
export function parseId<Id extends string>(text: string): Id | null {
  const lower = text.toLowerCase();
  return UUID.test(lower) ? (lower as Id) : null;
}

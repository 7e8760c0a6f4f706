// When a key is good, and what becomes of the others when one is proven (contract §7):
// candidate → proven → retired. A runner that keeps its last good key is never locked out, because no key retires
// before its successor has been used.

import { limits } from '@muster/contract';

export interface KeyFacts {
  readonly state: 'candidate' | 'superseded' | 'proven' | 'retired' | 'revoked';
  readonly expiresAt: number | null;
  readonly retiresAt: number | null;
}

/** Why a key is refused; for the operator's log only. Null: it is good. */
export function refusal(key: KeyFacts, nowMs: number): 'retired' | 'revoked' | 'expired' | null {
  if (key.state === 'retired' || key.state === 'revoked') return key.state;
  if (key.expiresAt !== null && nowMs >= key.expiresAt) return 'expired';
  if (key.retiresAt !== null && nowMs >= key.retiresAt) return 'retired';
  return null;
}

/** When the key that a renewal was asked with retires, once the new key has been used. */
export function retirementOfParent(
  parent: { expiresAt: number | null; retiresAt: number | null },
  provenAtMs: number,
): number {
  return Math.min(
    provenAtMs + limits.keyGraceMs,
    parent.expiresAt ?? Number.MAX_SAFE_INTEGER,
    parent.retiresAt ?? Number.MAX_SAFE_INTEGER,
  );
}

/** Heartbeats advise `rotate_key` from half of the key's life; keys that don't expire never need it. */
export function needsRotation(
  key: { createdAt: number; expiresAt: number | null },
  nowMs: number,
): boolean {
  return key.expiresAt !== null && nowMs >= (key.createdAt + key.expiresAt) / 2;
}

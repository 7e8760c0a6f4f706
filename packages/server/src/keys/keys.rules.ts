// Decides when a key is good, and what becomes of the others when one is proven (contract §7):
// candidate → proven → retired. A runner that keeps its last good key is never locked out, because
// no key retires before its successor has been used.

import { type KeyState, limits } from '@muster/contract';

export interface KeyFacts {
  readonly state: KeyState;
  readonly expiresAt: number | null;
  readonly retiresAt: number | null;
}

/** The columns of a key's row that say when the key ends. */
interface KeyEnds {
  readonly state: KeyFacts['state'];
  readonly expires_at: number | null;
  readonly retires_at: number | null;
}

/** The facts by which a stored key is judged. */
export const factsOf = (key: KeyEnds): KeyFacts => ({
  state: key.state,
  expiresAt: key.expires_at,
  retiresAt: key.retires_at,
});

/** Why a key is refused, for the operator's log only. Null: the key is good. */
export function refusal(key: KeyFacts, nowMs: number): 'retired' | 'revoked' | 'expired' | null {
  if (key.state === 'retired' || key.state === 'revoked') return key.state;
  if (key.expiresAt !== null && nowMs >= key.expiresAt) return 'expired';
  if (key.retiresAt !== null && nowMs >= key.retiresAt) return 'retired';
  return null;
}

/**
 * When the key that was presented for a renewal retires, once the new key has been used: after a
 * grace; or, while two installations share the key, at the end of the overlap, because the other
 * installation knows nothing of the new key.
 */
export function retirementOfParent(
  parent: { expiresAt: number | null; retiresAt: number | null },
  next: { createdAt: number; provenAt: number },
  isCloned: boolean,
): number {
  const overlapEndMs = isCloned ? next.createdAt + limits.keyOverlapMs : 0;
  return Math.min(
    Math.max(next.provenAt + limits.keyGraceMs, overlapEndMs),
    parent.expiresAt ?? Number.MAX_SAFE_INTEGER,
    parent.retiresAt ?? Number.MAX_SAFE_INTEGER,
  );
}

/**
 * Heartbeats advise `rotate_key` from half of the key's life; keys that don't expire never need it.
 */
export function needsRotation(
  key: { createdAt: number; expiresAt: number | null },
  nowMs: number,
): boolean {
  return key.expiresAt !== null && nowMs >= (key.createdAt + key.expiresAt) / 2;
}

interface Descent {
  readonly key_id: string;
  readonly parent_key_id: string | null;
  readonly created_by: string;
}

/**
 * For each key, the key with which its chain of renewals began. Each link is walked once, however
 * long the chains are.
 */
function rootsOf<K extends Descent>(keys: readonly K[]): Map<string, K> {
  const byId = new Map(keys.map((key) => [key.key_id, key]));
  const roots = new Map<string, K>();
  for (const key of keys) {
    const chain: K[] = [];
    let at: K | undefined = key;
    let root = key;
    while (at !== undefined) {
      const known = roots.get(at.key_id);
      root = known ?? at;
      if (known !== undefined) break;
      chain.push(at);
      at = at.parent_key_id === null ? undefined : byId.get(at.parent_key_id);
    }
    for (const link of chain) roots.set(link.key_id, root);
  }
  return roots;
}

const isEnrolled = (key: Descent): boolean => key.created_by.startsWith('enrolment:');

/**
 * The keys of a runner to which one promise applies, "after a proof at most two live": `keyId` and
 * all keys that come from the same first key. A key that an operator added begins a line of its
 * own, so that renewing one leaves the others alone. All enrolled keys are one line, because
 * repeats of one enrolment make several.
 */
export function lineOf<K extends Descent>(keys: readonly K[], keyId: string): K[] {
  const roots = rootsOf(keys);
  const root = roots.get(keyId);
  if (root === undefined) return [];
  return keys.filter((other) => {
    const first = roots.get(other.key_id);
    return first === root || (first !== undefined && isEnrolled(first) && isEnrolled(root));
  });
}

/** The line that a runner's enrolments began, with all keys that were renewed from it. */
export function enrolledLine<K extends Descent>(keys: readonly K[]): K[] {
  const first = keys.find(isEnrolled);
  return first === undefined ? [] : lineOf(keys, first.key_id);
}

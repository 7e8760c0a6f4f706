// Foreign JSON (property bags, detail objects) → copies that are safe to store and show: bounded in
// size, depth and text length, cleaned, credentials masked. A part that doesn't fit is left out
// visibly (`…`). `__proto__` is data: objects are built from entries, never by assignment.

import { limits } from '@muster/contract/plain';
import { holdsCredential, isCredentialName, MASK } from '../../redact/masking.rules.ts';
import type { Warnings } from '../../json/warnings.decode.ts';
import { withoutCredentials } from './web.rules.ts';

/** Bags that nest deeper hold machine state, which no page shows. */
const DEPTH_MAX = 12;

/** A text that only says whether there is a secret is not a secret. */
const YES_OR_NO = /^(?:true|false|yes|no|none|null)?$/i;
const NAME_CHARS_MAX = 128;
const TEXT_CHARS_MAX = limits.snippetCharsMax;

/** The space that the copies of one finding may take. */
export interface Budget {
  /** The JSON characters (about bytes) that are left. */
  left: number;
}

/** A fresh budget; all copies of one finding share it. */
export function newBudget(): Budget {
  return { left: limits.propertiesBytesMax };
}

/** A bounded, masked copy; `undefined` for null, and for lists and objects without content. */
export function boundedCopy(
  value: unknown,
  warnings: Warnings,
  budget: Budget,
  depth = 0,
): unknown {
  switch (typeof value) {
    case 'string': {
      const open = withoutCredentials(value);
      const text = warnings.text(open, Math.max(2, Math.min(TEXT_CHARS_MAX, budget.left)));
      budget.left -= text.length + 2;
      return text;
    }
    case 'number':
    case 'boolean':
      budget.left -= 8;
      return value;
    case 'object':
      if (value === null) return undefined;
      if (depth < DEPTH_MAX) break;
      warnings.countCut();
      return '…';
    default:
      return undefined;
  }
  return Array.isArray(value)
    ? boundedList(value, warnings, budget, depth)
    : boundedObject(value as Record<string, unknown>, warnings, budget, depth);
}

function boundedList(
  list: readonly unknown[],
  warnings: Warnings,
  budget: Budget,
  depth: number,
): unknown[] | undefined {
  const copies: unknown[] = [];
  for (const entry of list) {
    if (budget.left <= 0) {
      warnings.countCut();
      copies.push('…');
      break;
    }
    const copy = boundedCopy(entry, warnings, budget, depth + 1);
    if (copy !== undefined) copies.push(copy);
  }
  return copies.length === 0 ? undefined : copies;
}

function boundedObject(
  object: Readonly<Record<string, unknown>>,
  warnings: Warnings,
  budget: Budget,
  depth: number,
): Record<string, unknown> | undefined {
  const entries: [string, unknown][] = [];
  const isHidden = hidesItsValue(object);
  for (const [name, value] of Object.entries(object)) {
    if (value === '') continue;
    if (budget.left <= 0) {
      warnings.countCut();
      entries.push(['…', true]);
      break;
    }
    const hide =
      isHidden && name.toLowerCase() === 'value'
        ? isSaid(value)
        : isHiddenMember(name, value, object);
    const copy = hide ? MASK : boundedCopy(value, warnings, budget, depth + 1);
    if (copy === undefined) continue;
    budget.left -= name.length + 4;
    entries.push([warnings.text(name, NAME_CHARS_MAX), copy]);
  }
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

/** Lower-case names of members that say what kind of value the member `value` beside them holds. */
const NAMING: ReadonlySet<string> = new Set(['header', 'key', 'name']);

/**
 * True for a header or a variable with a credential's name: `{"name": "Cookie", "value": …}`,
 * `{"Key": "DB_PASSWORD", "Value": …}`.
 */
function hidesItsValue(object: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(object).some(
    ([name, said]) =>
      typeof said === 'string' && NAMING.has(name.toLowerCase()) && isCredentialName(said.trim()),
  );
}

/** False for null, true and false: a yes or no is no credential. */
const isSaid = (value: unknown): boolean => value !== null && typeof value !== 'boolean';

function isHiddenMember(
  name: string,
  value: unknown,
  object: Readonly<Record<string, unknown>>,
): boolean {
  if (typeof value === 'string') return isCredentialName(name) && !YES_OR_NO.test(value);
  if (!isSaid(value) || !holdsCredential(name)) return false;
  // CTIS §3.2, web3: a `token` beside its chain is a coin, not a credential.
  return name !== 'token' || !(Object.hasOwn(object, 'chain') || Object.hasOwn(object, 'chain_id'));
}

/** Like `boundedCopy`, for members that must be an object; `undefined` for all other values. */
export function boundedBag(
  value: unknown,
  warnings: Warnings,
  budget: Budget,
): Readonly<Record<string, unknown>> | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return boundedCopy(value, warnings, budget) as Record<string, unknown> | undefined;
}

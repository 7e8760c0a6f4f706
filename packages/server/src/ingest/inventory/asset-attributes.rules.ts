// The words of several reports, or several entries of one, become one set of attributes of an
// asset: the newest value of a member wins, a member that is not mentioned stays, and lists are
// united (CTIS §7.3). Merging the same attributes twice changes nothing. Pure.

import { limits } from '@muster/contract/plain';

type Attributes = Readonly<Record<string, unknown>>;

/** CTIS §4.5: the bound of arrays that grow by merging. The oldest entries go. */
const LIST_MAX = 500;

/**
 * Two entries of a list that agree in these members are about the same port, record, product or
 * contract.
 */
const NAMES = ['port', 'protocol', 'type', 'name', 'value', 'address'] as const;

/** Both together; only the newer ones when both would be too much to store. */
export function mergedAttributes(stored: Attributes, said: Attributes): Attributes {
  const merged = mergedObject(stored, said);
  return JSON.stringify(merged).length > limits.propertiesBytesMax ? said : merged;
}

function mergedObject(stored: Attributes, said: Attributes): Attributes {
  const members = new Map(Object.entries(stored));
  for (const [name, value] of Object.entries(said)) {
    members.set(name, mergedValue(members.get(name), value));
  }
  return Object.fromEntries(members);
}

function mergedValue(stored: unknown, said: unknown): unknown {
  if (Array.isArray(stored) && Array.isArray(said)) return unitedList(stored, said);
  return isObject(stored) && isObject(said) ? mergedObject(stored, said) : said;
}

function unitedList(stored: readonly unknown[], said: readonly unknown[]): unknown[] {
  const entries = new Map(stored.map((entry) => [keyOf(entry), entry]));
  for (const entry of said) {
    const key = keyOf(entry);
    entries.set(key, mergedValue(entries.get(key), entry));
  }
  return [...entries.values()].slice(-LIST_MAX);
}

function keyOf(entry: unknown): string {
  const names = isObject(entry) ? NAMES.map((name) => entry[name] ?? null) : [];
  return JSON.stringify(names.some((name) => name !== null) ? names : entry);
}

function isObject(value: unknown): value is Attributes {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

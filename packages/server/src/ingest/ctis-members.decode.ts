// Members of CTIS objects, tolerantly: known wrong names are read as what they mean, unknown ones
// are warned about and stay data, texts that are empty count as absent (Go producers write zero
// values for "not said", CTIS §1.3). Called by the CTIS readers.

import { CTIS_ALIASES, CTIS_MEMBERS, type CtisObject } from '@muster/contract';
import { type JsonObject, type Notes, objectOf, pointerToken } from './report-notes.decode.ts';

/** An object of the report under its right names; null when it isn't one. */
export function readObject(
  kind: CtisObject,
  value: unknown,
  pointer: string,
  notes: Notes,
): JsonObject | null {
  const object = objectOf(value);
  if (object === null) {
    const isSaid = value !== undefined && value !== null && value !== '';
    if (isSaid) notes.warn(pointer, 'wrong_type', 'An object is expected here; it is left out.');
    return null;
  }
  const known = CTIS_MEMBERS[kind];
  const aliases = CTIS_ALIASES[kind];
  let renamed: [string, unknown][] | null = null;
  for (const name of Object.keys(object)) {
    if (known.has(name)) continue;
    const right = aliases?.get(name);
    const at = `${pointer}/${pointerToken(name)}`;
    if (right === undefined) {
      const said = `CTIS has no member "${name.slice(0, 64)}" here; it is kept as data.`;
      notes.warn(at, 'unknown_member', said);
    } else {
      notes.warn(at, 'renamed_member', `"${name}" is not a CTIS name; it is read as "${right}".`);
      if (!Object.hasOwn(object, right)) (renamed ??= []).push([right, object[name]]);
    }
  }
  if (renamed === null) return object;
  const right = Object.entries(object).filter(([name]) => aliases?.has(name) !== true);
  return Object.fromEntries([...right, ...renamed]);
}

/**
 * The members of an object that its kind doesn't know, misplaced ones aside; null when there are
 * none.
 */
export function unknownMembers(kind: CtisObject, object: JsonObject): JsonObject | null {
  const known = CTIS_MEMBERS[kind];
  const names = Object.keys(object).filter((name) => !known.has(name) && name !== 'recommendation');
  return names.length === 0 ? null : Object.fromEntries(names.map((name) => [name, object[name]]));
}

/**
 * True for what Go writes when nothing was set: zero values all the way down (CTIS §8, item 28).
 */
export function isBlank(value: unknown, depth = 0): boolean {
  if (value === null || value === undefined || value === 0 || value === false) return true;
  if (typeof value === 'string') return value.trim() === '';
  if (typeof value !== 'object' || depth > 8) return false;
  return Object.values(value).every((member) => isBlank(member, depth + 1));
}

// Members of CTIS objects, tolerantly, down to the leaves: wrong names are read as what they mean, unknown ones are
// warned about and stay data, words get their one spelling, what is beyond its bounds is cut visibly. A word or number
// that CTIS doesn't have is taken out of its member and kept under `properties` (CTIS §8, lenient profile). Texts that
// are empty count as absent (Go producers write zero values for "not said", CTIS §1.3). Called by the CTIS readers.

import {
  ANY_TEXT,
  ANYTHING,
  CTIS_ALIASES,
  type CtisObject,
  type CtisRule,
  ctisShape,
  wordKey,
} from '@muster/contract/plain';
import { maskAssignments } from '../../redact/masking.rules.ts';
import type { Warnings } from '../../json/warnings.decode.ts';
import { type JsonObject, objectOf, pointerToken, soleObjectOf } from '../../json/json.decode.ts';

/** What one reading shares: the warnings, and what was taken out of its member, by its place below the object. */
interface Reading {
  readonly warnings: Warnings;
  readonly base: string;
  /** False where nobody looks at the properties of the object: what would stand there is left out. */
  readonly keeps: boolean;
  readonly aside: [place: string, value: unknown][];
}

/** What is read of these is all that is kept of them. */
const UNKEPT: ReadonlySet<CtisObject> = new Set([
  'report',
  'metadata',
  'scope',
  'branch',
  'tool',
  'relationship',
]);

/** Parts of a finding that are shown member by member; what else they hold is moved to its properties. */
const SHOWN_BY_MEMBER: ReadonlySet<CtisObject> = new Set([
  'location',
  'logical_location',
  'stack',
  'frame',
  'flow_step',
  'suppression',
]);

/** An object of the report under its right names, all the way down; null when it isn't one. */
export function readObject(
  kind: CtisObject,
  value: unknown,
  pointer: string,
  warnings: Warnings,
): JsonObject | null {
  const object = objectOf(value);
  if (object === null) {
    if (isSaid(value)) {
      warnings.warn(pointer, 'wrong_type', 'An object is expected here; it is left out.');
    }
    return null;
  }
  const reading: Reading = { warnings, base: pointer, keeps: !UNKEPT.has(kind), aside: [] };
  const read = readShape(kind, object, pointer, reading);
  if (reading.aside.length === 0) return read;
  const properties = { ...Object.fromEntries(reading.aside), ...objectOf(read.properties) };
  return { ...read, properties };
}

const isSaid = (value: unknown): boolean => value !== undefined && value !== null && value !== '';

/** The object itself where there is nothing to change: most are as they ought to be. */
function readShape(
  kind: CtisObject,
  object: JsonObject,
  pointer: string,
  reading: Reading,
): JsonObject {
  const shape = ctisShape(kind);
  const aliases = CTIS_ALIASES[kind];
  let changed: Map<string, unknown> | null = null;
  for (const name of Object.keys(object)) {
    const rule = shape.get(name);
    if (rule === ANYTHING) continue;
    const value = object[name];
    // Most members are texts, and most are.
    if (value === null || (rule === ANY_TEXT && typeof value === 'string')) continue;
    if (rule !== undefined) {
      const read = readMember(rule, value, `${pointer}/${name}`, reading);
      if (read !== value) (changed ??= new Map(Object.entries(object))).set(name, read);
      continue;
    }
    const right = aliases?.get(name);
    const at = `${pointer}/${pointerToken(name)}`;
    if (right === undefined) {
      const isMoved = SHOWN_BY_MEMBER.has(kind);
      if (isMoved) (changed ??= new Map(Object.entries(object))).delete(name);
      unknown(name, value, at, isMoved, reading);
      continue;
    }
    const said = `"${name}" is not a CTIS name; it is read as "${right}".`;
    reading.warnings.warn(at, 'renamed_member', said);
    changed ??= new Map(Object.entries(object));
    changed.delete(name);
    if (Object.hasOwn(object, right)) continue;
    changed.set(right, readMember(shape.get(right) ?? ANYTHING, value, at, reading));
  }
  if (changed === null) return object;
  return Object.fromEntries([...changed].filter(([, value]) => value !== undefined));
}

/** `undefined` takes the member out. */
function readMember(rule: CtisRule, value: unknown, pointer: string, reading: Reading): unknown {
  if (value === '') return value;
  if (rule.shape !== null) return readNested(rule, rule.shape, value, pointer, reading);
  if (rule.words !== null) return readWords(rule.words, value, pointer, reading);
  if (rule.min !== null) return readNumber(rule, rule.min, value, pointer, reading);
  if (!rule.isList) return readPlain(rule, value, pointer, reading);
  if (Array.isArray(value)) return bounded(rule, texts(value, pointer, reading), reading.warnings);
  if (typeof value !== 'string') {
    if (isBlank(value)) return undefined;
    const detail = 'A list is expected here';
    return setAside(value, pointer, { code: 'wrong_type', detail }, reading);
  }
  reading.warnings.warn(pointer, 'wrong_type', ONE_ENTRY);
  return bounded(rule, [value], reading.warnings);
}

const EXPECTED = { text: 'A text', id: 'A text', boolean: 'True or false', object: 'An object' };

const HELD = { text: 'string', id: 'string', boolean: 'boolean' } as const;

/** A text, a yes or no, an object of any members. */
function readPlain(rule: CtisRule, value: unknown, pointer: string, reading: Reading): unknown {
  const { type } = rule;
  if (type === 'anything') return bounded(rule, value, reading.warnings);
  const isRight = type === 'object' ? objectOf(value) !== null : typeof value === HELD[type];
  if (isRight) return bounded(rule, value, reading.warnings);
  if (isBlank(value)) return undefined;
  // Plugins of Nessus and Qualys have numbers; without its rule a finding is hardly known again.
  if (type === 'id' && Number.isSafeInteger(value)) {
    const detail = 'A text is expected here; the number is read as its digits.';
    reading.warnings.warn(pointer, 'wrong_type', detail);
    return String(value);
  }
  const detail = `${EXPECTED[type]} is expected here`;
  return setAside(value, pointer, { code: 'wrong_type', detail }, reading);
}

/** A list of texts without what is none. */
function texts(list: readonly unknown[], pointer: string, reading: Reading): readonly unknown[] {
  if (list.every((entry) => typeof entry === 'string')) return list;
  return list.filter((entry, index) => {
    if (typeof entry === 'string') return true;
    const why = { code: 'wrong_type', detail: 'A text is expected here' };
    if (!isBlank(entry)) setAside(entry, `${pointer}/${index}`, why, reading);
    return false;
  });
}

const ONE_ENTRY = 'A list is expected here; this is taken as its only entry.';

function readNested(
  rule: CtisRule,
  kind: CtisObject,
  value: unknown,
  pointer: string,
  reading: Reading,
): unknown {
  // What says nothing isn't worth a warning: PHP writes `[]` for an object without members.
  if (rule.isList !== Array.isArray(value) && isBlank(value)) return undefined;
  if (!rule.isList) {
    const object = soleObjectOf(value);
    if (object === null) {
      const detail = 'An object is expected here';
      return setAside(value, pointer, { code: 'wrong_type', detail }, reading);
    }
    if (object === value) return readShape(kind, object, pointer, reading);
    const detail = 'An object is expected here; the only one of the list is taken.';
    reading.warnings.warn(pointer, 'wrong_type', detail);
    return readShape(kind, object, `${pointer}/0`, reading);
  }
  if (!Array.isArray(value)) {
    const object = objectOf(value);
    if (object === null) {
      const detail = 'A list is expected here';
      return setAside(value, pointer, { code: 'wrong_type', detail }, reading);
    }
    reading.warnings.warn(pointer, 'wrong_type', ONE_ENTRY);
    return [readShape(kind, object, pointer, reading)];
  }
  const kept = rule.itemsMax === null ? value : reading.warnings.first(value, rule.itemsMax);
  let changed: unknown[] | null = kept === value ? null : [...kept];
  for (const [index, entry] of kept.entries()) {
    const item = objectOf(entry);
    if (item === null) {
      if (isBlank(entry)) continue;
      const why = { code: 'wrong_type', detail: 'An object is expected here' };
      setAside(entry, `${pointer}/${index}`, why, reading);
      (changed ??= [...kept])[index] = null;
      continue;
    }
    const read = readShape(kind, item, `${pointer}/${index}`, reading);
    if (read !== item) (changed ??= [...kept])[index] = read;
  }
  return changed ?? value;
}

function readWords(
  words: ReadonlyMap<string, string>,
  value: unknown,
  pointer: string,
  reading: Reading,
): unknown {
  if (typeof value !== 'string') {
    return setAside(
      value,
      pointer,
      { code: 'wrong_type', detail: 'A word is expected here' },
      reading,
    );
  }
  if (value.trim() === '') return value;
  // Nearly all are spelled as they ought to be.
  if (words.get(value) === value) return value;
  const word = value.length > 64 ? undefined : words.get(wordKey(value));
  if (word !== undefined) return word;
  return setAside(
    value,
    pointer,
    { code: 'unknown_word', detail: 'CTIS has no such word here' },
    reading,
  );
}

/** Members that name a line or a column, which are whole numbers. */
const POSITION = /(?:line|column)$/;

function readNumber(
  rule: CtisRule,
  min: number,
  value: unknown,
  pointer: string,
  reading: Reading,
): unknown {
  if (typeof value !== 'number') {
    return setAside(
      value,
      pointer,
      { code: 'wrong_type', detail: 'A number is expected here' },
      reading,
    );
  }
  const isWhole = Number.isInteger(value) || !POSITION.test(pointer);
  if (isWhole && value >= min && (rule.max === null || value <= rule.max)) return value;
  // Go writes zero for what wasn't set.
  if (value === 0) return undefined;
  return setAside(
    value,
    pointer,
    { code: 'out_of_range', detail: 'The number is out of its range' },
    reading,
  );
}

/** Warnings a member that CTIS doesn't have, and keeps it if nothing else does. */
function unknown(
  name: string,
  value: unknown,
  pointer: string,
  isMoved: boolean,
  reading: Reading,
): void {
  const why = {
    code: 'unknown_member',
    detail: `CTIS has no member "${name.slice(0, 64)}" here`,
  };
  if (isMoved || !reading.keeps) setAside(value, pointer, why, reading);
  else reading.warnings.warn(pointer, why.code, `${why.detail}; it is kept as data.`);
}

function setAside(
  value: unknown,
  pointer: string,
  why: { readonly code: string; readonly detail: string },
  { warnings, base, keeps, aside }: Reading,
): undefined {
  const kept = keeps ? 'it is kept under properties' : 'it is left out';
  warnings.warn(pointer, why.code, `${why.detail}; ${kept}.`);
  if (!keeps) return undefined;
  // What isn't where it belongs isn't masked by what it is.
  const shown = typeof value === 'string' ? maskAssignments(value) : value;
  aside.push([pointer.slice(base.length + 1), shown]);
  return undefined;
}

/** Texts, lists of texts and maps to texts, within the bounds of their member. */
function bounded(rule: CtisRule, value: unknown, warnings: Warnings): unknown {
  const { itemsMax, charsMax } = rule;
  const text = (entry: unknown): unknown =>
    charsMax !== null && typeof entry === 'string' ? warnings.text(entry, charsMax) : entry;
  if (Array.isArray(value)) {
    const kept = itemsMax === null ? value : warnings.first(value, itemsMax);
    return charsMax === null ? kept : kept.map(text);
  }
  const map = objectOf(value);
  if (map === null) return text(value);
  const entries = Object.entries(map);
  if (charsMax === null && (itemsMax === null || entries.length <= itemsMax)) return value;
  const kept = itemsMax === null ? entries : warnings.first(entries, itemsMax);
  return Object.fromEntries(kept.map(([name, entry]) => [name, text(entry)]));
}

/**
 * The members of an object that its kind doesn't know, misplaced ones aside; null when there are
 * none.
 */
export function unknownMembers(kind: CtisObject, object: JsonObject): JsonObject | null {
  const known = ctisShape(kind);
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

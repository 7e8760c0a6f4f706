// Members of CTIS objects, down to the leaves → the same members under their right names. A wrong
// name is read as the right one; an unknown member gets a warning and stays data; a word gets its
// one spelling; a value beyond its bound is cut visibly. A word or number that CTIS doesn't have
// moves from its member to `properties` (CTIS §8, lenient profile). An empty text counts as absent
// (Go producers write zero values for unset members, CTIS §1.3).

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

/**
 * The state of one reading: the warnings, and the values moved out of their members, each with its
 * place below the object.
 */
interface Reading {
  readonly warnings: Warnings;
  readonly base: string;
  /** False where nobody looks at the object's properties; then a moved value is left out. */
  readonly keeps: boolean;
  readonly aside: [place: string, value: unknown][];
}

/** Objects of which only the members that CTIS has are kept. */
const UNKEPT: ReadonlySet<CtisObject> = new Set([
  'report',
  'metadata',
  'scope',
  'branch',
  'tool',
  'relationship',
]);

/**
 * Parts of a finding that are shown member by member; their other members move to the finding's
 * properties.
 */
const SHOWN_BY_MEMBER: ReadonlySet<CtisObject> = new Set([
  'location',
  'logical_location',
  'stack',
  'frame',
  'flow_step',
  'suppression',
]);

/**
 * An object of the report with its right names, at every depth; null for a value that is no object.
 */
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

/** Returns the object itself when nothing changes: most objects are as they should be. */
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
    // Most members are texts, and most of these are sent as texts.
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

/** The value as read; `undefined` removes the member. */
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

/** Reads a text, a yes or no, or an object with any members. */
function readPlain(rule: CtisRule, value: unknown, pointer: string, reading: Reading): unknown {
  const { type } = rule;
  if (type === 'anything') return bounded(rule, value, reading.warnings);
  const isRight = type === 'object' ? objectOf(value) !== null : typeof value === HELD[type];
  if (isRight) return bounded(rule, value, reading.warnings);
  if (isBlank(value)) return undefined;
  // Plugins of Nessus and Qualys have numbers. A finding without its rule is hardly known again.
  if (type === 'id' && Number.isSafeInteger(value)) {
    const detail = 'A text is expected here; the number is read as its digits.';
    reading.warnings.warn(pointer, 'wrong_type', detail);
    return String(value);
  }
  const detail = `${EXPECTED[type]} is expected here`;
  return setAside(value, pointer, { code: 'wrong_type', detail }, reading);
}

/** The texts of a list; entries of other types are taken out. */
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
  // A value that says nothing needs no warning: PHP writes `[]` for an object without members.
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
  // Nearly all words have the right spelling.
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
  // Go writes zero for an unset number.
  if (value === 0) return undefined;
  return setAside(
    value,
    pointer,
    { code: 'out_of_range', detail: 'The number is out of its range' },
    reading,
  );
}

/**
 * Warns about a member that CTIS doesn't have. The member stays where its object is kept whole;
 * otherwise it moves to the properties or is left out.
 */
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
  // A moved value escapes the masking of its member, so it is masked here.
  const shown = typeof value === 'string' ? maskAssignments(value) : value;
  aside.push([pointer.slice(base.length + 1), shown]);
  return undefined;
}

/** Texts, lists of texts and maps of texts, cut to the bounds of their member. */
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
 * The members that CTIS doesn't have in such an object, without the misplaced `recommendation`;
 * null when there are none.
 */
export function unknownMembers(kind: CtisObject, object: JsonObject): JsonObject | null {
  const known = ctisShape(kind);
  const names = Object.keys(object).filter((name) => !known.has(name) && name !== 'recommendation');
  return names.length === 0 ? null : Object.fromEntries(names.map((name) => [name, object[name]]));
}

/**
 * True for a value that Go writes when nothing was set: zero values at every depth (CTIS §8, item
 * 28).
 */
export function isBlank(value: unknown, depth = 0): boolean {
  if (value === null || value === undefined || value === 0 || value === false) return true;
  if (typeof value === 'string') return value.trim() === '';
  if (typeof value !== 'object' || depth > 8) return false;
  return Object.values(value).every((member) => isBlank(member, depth + 1));
}

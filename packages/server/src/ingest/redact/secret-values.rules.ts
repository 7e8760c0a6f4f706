// A finding of a secret → the values that it must not show, and its texts and bags without them.
// The values come from snippets, from sentences that quote one, and from members whose names say
// that they quote the scanned text; other texts that look like credentials are hidden, too. Each
// format knows only where these parts stand. Called by ctis/secrets.decode.ts,
// read/secrets.decode.ts and sarif/result.decode.ts.

import { maskForms, maskLongHex, maskRandom } from './credential-forms.rules.ts';
import {
  CREDENTIAL_WORDS,
  isCredentialName,
  isMasked,
  MASK,
  maskOccurrences,
} from './masking.rules.ts';
import { type JsonObject, listOf, objectOf, stringOf } from '../json/json.decode.ts';

/**
 * The secrets that a finding quotes, its own and others; longest first, so that a value is masked
 * before its parts.
 */
export type SecretValues = readonly string[];

/**
 * Findings hold a handful; more values would cost too much, since each is looked for in each text.
 */
const VALUES_MAX = 256;
/** Shorter values can't be told from words. */
const VALUE_CHARS_MIN = 6;
const SNIPPET_LINES_MAX = 200;

/**
 * The spellings that values may have in other texts, longest first; beyond VALUES_MAX the first
 * found count.
 */
export function withSpellings(found: ReadonlySet<string>): string[] {
  const values = new Set<string>();
  for (const value of found) {
    if (values.size >= VALUES_MAX) break;
    if (value.length < VALUE_CHARS_MIN || isMasked(value)) continue;
    values.add(value);
    values.add(encodeURIComponent(value.toWellFormed()));
    values.add(JSON.stringify(value).slice(1, -1));
  }
  return [...values].sort((a, b) => b.length - a.length);
}

/** `name = value`, `name: value`, `export NAME=value` and similar assignments. */
const ASSIGNED = /^(?:[a-z]{2,8} +){0,2}[\w.$[\]"'-]{1,80} {0,8}(?::=|=>|[=:]) {0,8}(\S.*)$/i;
const QUOTED = /(["'`])((?:(?!\1).){6,2048})\1/g;

/** Adds the snippet of a secret finding: the whole, and the parts that may be the value. */
export function addSnippet(snippet: string | null, found: Set<string>): void {
  const text = snippet?.trim() ?? '';
  if (text === '' || isMasked(text)) return;
  found.add(text);
  const lines = text.split(/\r?\n/).slice(0, SNIPPET_LINES_MAX);
  for (const line of lines) {
    const trimmed = line.trim();
    if (lines.length > 1 && trimmed.length >= 16) found.add(trimmed);
    for (const quoted of trimmed.matchAll(QUOTED)) addAssigned(quoted[2] ?? '', found);
    addAssigned(trimmed, found);
    for (const token of trimmed.split(/[\s"'`=:,;&()<>{}[\]]+/)) {
      if (token.length >= 8 && /\d/.test(token) && /[A-Za-z]/.test(token)) found.add(token);
    }
  }
}

/**
 * Adds the assigned value without quotes; if it has several words, also the last one (`Bearer …`).
 */
export function addAssigned(text: string, found: Set<string>): void {
  const value = (ASSIGNED.exec(text)?.[1] ?? text).replace(/^["'`]+|["'`;,)]+$/g, '').trim();
  found.add(value);
  const last = value.slice(value.lastIndexOf(' ') + 1);
  if (last.length >= 8) found.add(last);
}

const VALUE_WORD =
  '\\b(?:value|string|literal|password|passwd|passphrase|secret|token|key|credential)s?';

/** CodeQL: `The hard-coded value "…" is used as password.` */
const SAID_QUOTED = new RegExp(`${VALUE_WORD} (["'\`])((?:(?!\\1).){6,2048})\\1`, 'gi');

/**
 * `Found secret: …`, `password is …`: the word that follows, and whether the line ends after it.
 */
const SAID_BEHIND = new RegExp(
  `${VALUE_WORD}(?:[ \\t]*(:|=)|[ \\t]+(?:is|was))[ \\t]+(\\S{6,2048})(?=[ \\t]*(\\S|$))`,
  'gim',
);

/**
 * Adds the values that a sentence about a secret states, except those that the report shows
 * `openly` (rule, path).
 */
export function addSaid(text: string, openly: string, found: Set<string>): void {
  for (const said of text.matchAll(SAID_QUOTED)) found.add(said[2] ?? '');
  for (const [, sign, word = '', next] of text.matchAll(SAID_BEHIND)) {
    const value = word.replace(/^["'`(<]+|["'`)>.,;:!?]+$/g, '');
    // In the middle of a sentence stand words, so a value there must have letters and digits.
    const isValue = sign !== undefined && next === '' ? true : MIXED.test(value);
    if (isValue && !SAYS_LITTLE.test(value) && !openly.includes(value)) found.add(value);
  }
}

const MIXED = /^(?=.*\d)(?=.*[A-Za-z])/;

/** Adds the values of a property bag, by the names of its members. */
export function addBag(bag: JsonObject | null, found: Set<string>): void {
  for (const [name, value] of Object.entries(bag ?? {})) {
    for (const entry of [value, ...listOf(value)]) {
      if (objectOf(entry) !== null) addBag(objectOf(entry), found);
      const text = stringOf(entry)?.trim() ?? '';
      if (!holdsSecret(name) || isMasked(text) || SAYS_LITTLE.test(text)) continue;
      if (namesCredential(name)) found.add(text);
      else addQuoted(text, found);
    }
  }
}

/**
 * Adds the parts of a text that may quote a secret: assigned and quoted values, else the text
 * itself when it can't be a word of the message.
 */
function addQuoted(text: string, found: Set<string>): void {
  if (/[=:"'`]/.test(text)) addSnippet(text, found);
  else if (isNoPath(text) || /\s/.test(text)) found.add(text);
}

/**
 * A property bag as it may be shown: nothing below a credential's name, and elsewhere nothing that
 * looks like a credential.
 */
export function maskedBag(bag: JsonObject, values: SecretValues): JsonObject {
  return Object.fromEntries(
    Object.entries(bag).map(([name, value]) => [
      withoutValues(name, values, true),
      maskedProperty(value, name, values, holdsSecret(name)),
    ]),
  );
}

function maskedProperty(
  value: unknown,
  name: string,
  values: SecretValues,
  hide: boolean,
): unknown {
  if (typeof value === 'string') {
    if (hide && !SAYS_LITTLE.test(value)) return MASK;
    const text = withoutValues(value, values, true);
    return DESCRIBING.test(name) ? text : maskLongHex(text);
  }
  // A position is no secret; a PIN is one.
  if (typeof value === 'number') return hide && !QUOTING.test(name) ? MASK : value;
  if (Array.isArray(value)) return value.map((entry) => maskedProperty(entry, name, values, hide));
  const object = objectOf(value);
  if (object === null || !hide) return object === null ? value : maskedBag(object, values);
  return Object.fromEntries(
    Object.entries(object).map(([member, entry]) => [
      withoutValues(member, values, true),
      maskedProperty(entry, member, values, true),
    ]),
  );
}

/** Answers of a detector, which are no values. */
const SAYS_LITTLE = /^(?:true|false|yes|no|none|unknown|valid|invalid|active|inactive|)$/i;

/**
 * The words of credentials, for names that are reduced to lower-case letters (`db_password` and
 * `dbpassword`). In a finding of a secret a name need not be spelled out to tell one (`passw0rd`,
 * `authValue`).
 */
const CREDENTIAL = new RegExp(`${CREDENTIAL_WORDS}|passw|auth(?!or)`);

/** Endings of names whose values describe a secret or its place. */
const DESCRIBING =
  /(?:type|kind|name|id|count|length|category|class|rule|status|validity|verified|hash|sha|digest|fingerprint|entropy|file|path|provider|detector|commit|revision|date|time|ur[il])[\W\d_]*$/i;

/** Endings of names whose values quote the scanned text. */
const QUOTING =
  /(?:raw|match|matches|matched|value|snippet|line|code|content|contents|context|text|excerpt|evidence|sample|preview|finding|source|key|keys|data|dsn|connectionstring)[\W\d_]*$/i;

/** True for properties that hold, in a finding of a secret, the secret or the text around it. */
function holdsSecret(name: string): boolean {
  return namesCredential(name) || (QUOTING.test(name) && !CREDENTIAL.test(lettersOf(name)));
}

function namesCredential(name: string): boolean {
  if (isCredentialName(name)) return true;
  const letters = lettersOf(name);
  // A hash of a secret has no key, so it would confirm a guess.
  return CREDENTIAL.test(letters) && (!DESCRIBING.test(name) || letters.includes('hash'));
}

const lettersOf = (name: string): string => name.toLowerCase().replaceAll(/[^a-z]/g, '');

/**
 * The text without secrets. `strictly`: without any known value and without texts that look random;
 * otherwise only values go that can't be a part of an address by chance.
 */
export function withoutValues(text: string, values: SecretValues, strictly: boolean): string {
  const unknown = maskForms(withoutKnown(text, strictly ? values : values.filter(isNoPath)));
  return strictly ? maskRandom(unknown) : unknown;
}

/** The text with these values masked. */
export const withoutKnown = (text: string, values: SecretValues): string =>
  values.reduce((rest, value) => maskOccurrences(rest, value), text);

/**
 * True for values that can't be a part of an address by chance. Only these are masked in addresses,
 * because an address must still lead to its place.
 */
export const isNoPath = (value: string): boolean =>
  /^(?=.*\d)(?=.*[A-Za-z])\S{12,}$/.test(value) && !/\.[A-Za-z]{1,5}$/.test(value);

/** True for a text that shows one of the values. */
export function showsSecret(text: string, values: SecretValues): boolean {
  return values.some((value) => text.includes(value));
}

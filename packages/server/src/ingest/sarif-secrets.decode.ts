// The door through which the secrets of a SARIF result about a secret don't come: a copy of the result in which the
// values it quotes, and whatever else looks like a credential, can't be read. Snippets and inserted texts are left to
// those who show them, who show their name only: columns are counted in them. Members that the standard doesn't know
// keep nothing but their name. Called by sarif-result.decode.ts before anything but the identity is read.

import { SARIF_MEMBERS } from '@muster/contract/plain';
import { maskForms, maskLongHex, maskRandom } from './credential-forms.rules.ts';
import { addSnippet, withSpellings } from './ctis-secrets.decode.ts';
import { isCredentialName, isMasked, MASK, maskOccurrences } from './masking.rules.ts';
import { type JsonObject, listOf, objectOf, stringOf } from './report-notes.decode.ts';

/** What a result quotes of secrets, its own and others; longest first. */
export type SecretValues = readonly string[];

/** Values that the result shows in snippets, in texts of its fixes, in its message and under names of credentials. */
export function secretValuesOf(
  result: JsonObject,
  snippet: string | null,
  message: string,
): SecretValues {
  const found = new Set<string>();
  addSnippet(snippet, found);
  for (const said of message.matchAll(SAID_VALUE)) found.add(said[2] ?? '');
  collect(result, found);
  return withSpellings(found);
}

/** CodeQL: `The hard-coded value "…" is used as password.` */
const SAID_VALUE =
  /\b(?:value|string|literal|password|secret|token|key) (["'`])((?:(?!\1).){6,2048})\1/gi;

/** Members whose object holds a piece of what was scanned (§3.3 artifactContent). */
const CONTENTS: ReadonlySet<string> = new Set(['snippet', 'insertedContent']);

/** Depth is bounded by the parser (contract §2). */
function collect(value: unknown, found: Set<string>): void {
  if (Array.isArray(value)) for (const entry of value) collect(entry, found);
  const object = objectOf(value);
  if (object === null) return;
  for (const [name, member] of Object.entries(object)) {
    if (CONTENTS.has(name)) addSnippet(stringOf(objectOf(member)?.text), found);
    if (name === 'properties') collectProperties(objectOf(member), found);
    else collect(member, found);
  }
}

function collectProperties(bag: JsonObject | null, found: Set<string>): void {
  for (const [name, value] of Object.entries(bag ?? {})) {
    for (const entry of [value, ...listOf(value)]) {
      if (objectOf(entry) !== null) collectProperties(objectOf(entry), found);
      const text = stringOf(entry)?.trim() ?? '';
      if (!holdsSecret(name) || isMasked(text) || SAYS_LITTLE.test(text)) continue;
      if (namesCredential(name)) found.add(text);
      else addQuoted(text, found);
    }
  }
}

/** Of what merely may quote a secret: what is assigned or quoted there, or can't be a word of the message. */
function addQuoted(text: string, found: Set<string>): void {
  if (/[=:"'`]/.test(text)) addSnippet(text, found);
  else if (isNoPath(text) || /\s/.test(text)) found.add(text);
}

const KNOWN_MEMBERS: ReadonlySet<string> = new Set<string>(SARIF_MEMBERS.result);

/** Members that say which rule, which result and how bad; fingerprints are looked at by value. */
const IDENTIFIERS: ReadonlySet<string> = new Set(
  `ruleId ruleIndex rule kind level baselineState guid correlationGuid fingerprints
    partialFingerprints taxa`.split(/\s+/),
);

/** The result as it may be shown. */
export function withoutSecrets(result: JsonObject, values: SecretValues): JsonObject {
  return Object.fromEntries(
    Object.entries(result).map(([name, value]) => {
      if (!KNOWN_MEMBERS.has(name)) return [name, MASK];
      return [name, IDENTIFIERS.has(name) ? value : masked(value, name, values)];
    }),
  );
}

function masked(value: unknown, name: string, values: SecretValues): unknown {
  if (typeof value === 'string') return withoutValues(value, values, !/uris?$/i.test(name));
  if (Array.isArray(value)) return value.map((entry) => masked(entry, name, values));
  const object = objectOf(value);
  if (object === null || CONTENTS.has(name)) return value;
  if (name === 'properties') return maskedBag(object, values);
  return Object.fromEntries(
    Object.entries(object).map(([member, entry]) => [
      withoutValues(member, values, true),
      masked(entry, member, values),
    ]),
  );
}

/** Members of a detail that may stand in tables of the run, where no result's secrets are looked for. */
const FROM_TABLES: ReadonlySet<string> = new Set([
  'logical',
  'logical_others',
  'module',
  'address',
]);

/** The detail with names from the run's tables as they may be shown, wherever they stand in it. */
export function withoutSecretNames(value: unknown, values: SecretValues, isName = false): unknown {
  if (typeof value === 'string') return isName ? withoutValues(value, values, true) : value;
  if (Array.isArray(value)) return value.map((entry) => withoutSecretNames(entry, values, isName));
  const object = objectOf(value);
  if (object === null) return value;
  return Object.fromEntries(
    Object.entries(object).map(([name, entry]) => [
      name,
      withoutSecretNames(entry, values, isName || FROM_TABLES.has(name)),
    ]),
  );
}

/** A property bag: below a name of credentials nothing is shown, and elsewhere nothing that looks like one. */
function maskedBag(bag: JsonObject, values: SecretValues): JsonObject {
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
  // A position is no secret, a PIN is.
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

/** Answers of a detector, not values. */
const SAYS_LITTLE = /^(?:true|false|yes|no|none|unknown|valid|invalid|active|inactive|)$/i;

/** `rawSecret2`, `db_password`, `TokenValue`, in one spelling: letters only. */
const CREDENTIAL =
  /secret|token|passw|passphrase|pwd|credential|apikey|privatekey|accesskey|cookie|session|auth(?!or)/;

/** What a name ends in that says something of a secret, or where it is. */
const DESCRIBING =
  /(?:type|kind|name|id|count|length|category|class|rule|status|validity|verified|hash|sha|digest|fingerprint|entropy|file|path|provider|detector|commit|revision|date|time|ur[il])[\W\d_]*$/i;

/** What a name ends in that quotes what was scanned. */
const QUOTING =
  /(?:raw|match|matches|value|snippet|line|code|content|contents|context|text|excerpt|evidence|sample|key|keys|data|dsn|connectionstring)[\W\d_]*$/i;

/** True for names of properties that hold, in a finding of a secret, the secret or what stands around it. */
function holdsSecret(name: string): boolean {
  return namesCredential(name) || (QUOTING.test(name) && !CREDENTIAL.test(lettersOf(name)));
}

function namesCredential(name: string): boolean {
  if (isCredentialName(name)) return true;
  const letters = lettersOf(name);
  // Hashes of secrets have no key: a guess could be confirmed.
  return CREDENTIAL.test(letters) && (!DESCRIBING.test(name) || letters.includes('hash'));
}

const lettersOf = (name: string): string => name.toLowerCase().replaceAll(/[^a-z]/g, '');

/** The text without values: without those that are known, and `strictly` without what looks random, too. */
function withoutValues(text: string, values: SecretValues, strictly: boolean): string {
  const known = strictly ? values : values.filter(isNoPath);
  const unknown = maskForms(known.reduce((rest, value) => maskOccurrences(rest, value), text));
  return strictly ? maskRandom(unknown) : unknown;
}

/** In addresses only values that can't be a part of them by chance are masked: places have to be found again. */
const isNoPath = (value: string): boolean =>
  /^(?=.*\d)(?=.*[A-Za-z])\S{12,}$/.test(value) && !/\.[A-Za-z]{1,5}$/.test(value);

/** True for a text that shows one of the values. */
export function showsSecret(text: string, values: SecretValues): boolean {
  return values.some((value) => text.includes(value));
}

// The door through which the secrets of a SARIF result about a secret don't come: a copy of the result in which the
// values it quotes, and whatever else looks like a credential, can't be read. Snippets and inserted texts are left to
// those who show them, who show their name only: columns are counted in them. Members that the standard doesn't know
// keep nothing but their name. Called by sarif/result.decode.ts before anything but the identity is read.

import { SARIF_MEMBERS } from '@muster/contract/plain';
import { MASK } from '../../../redact/masking.rules.ts';
import { type JsonObject, objectOf, stringOf } from '../../../json/json.decode.ts';
import {
  addBag,
  addSaid,
  addSnippet,
  maskedBag,
  type SecretValues,
  withoutValues,
  withSpellings,
} from '../../../redact/secret-values.rules.ts';

/**
 * Values that the result shows in snippets, in texts of its fixes, in its message and under names of credentials. `openly`:
 * what its rule says, which is no secret.
 */
export function secretValuesOf(
  result: JsonObject,
  snippet: string | null,
  message: string,
  openly: string,
): SecretValues {
  const found = new Set<string>();
  addSnippet(snippet, found);
  addSaid(message, openly, found);
  collect(result, found);
  return withSpellings(found);
}

/** Members whose object holds a piece of what was scanned (§3.3 artifactContent). */
const CONTENTS: ReadonlySet<string> = new Set(['snippet', 'insertedContent']);

/** Depth is bounded by the parser (contract §2). */
function collect(value: unknown, found: Set<string>): void {
  if (Array.isArray(value)) for (const entry of value) collect(entry, found);
  const object = objectOf(value);
  if (object === null) return;
  for (const [name, member] of Object.entries(object)) {
    if (CONTENTS.has(name)) addSnippet(stringOf(objectOf(member)?.text), found);
    if (name === 'properties') addBag(objectOf(member), found);
    else collect(member, found);
  }
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

// A SARIF result about a secret → the values that it quotes, and a copy of the result in which
// they, and other texts that look like credentials, can't be read. Snippets and inserted texts stay
// in the copy, because columns are counted in them; the files that show them show only the name in
// them. A member that the standard doesn't have keeps only its name. Called by
// sarif/result.decode.ts.

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
 * The values that the result shows in snippets, in texts of its fixes, in its message and under
 * names of credentials. `openly`: the texts of its rule and its path, which are no secret.
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

/** Members whose object holds a piece of a scanned file (§3.3 artifactContent). */
const CONTENTS: ReadonlySet<string> = new Set(['snippet', 'insertedContent']);

/** The parser bounds the depth (contract §2). */
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

/**
 * Members that identify the rule and the result, and tell the severity. Fingerprints are judged by
 * their values elsewhere (common/fingerprints.rules.ts).
 */
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

/**
 * Members of a detail that may come from tables of the run; those aren't searched for a result's
 * secrets.
 */
const FROM_TABLES: ReadonlySet<string> = new Set([
  'logical',
  'logical_others',
  'module',
  'address',
]);

/** The detail with the names from the run's tables masked, at every depth. */
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

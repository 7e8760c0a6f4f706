// A CTIS finding → the values that it must not show, and a copy of the finding without them. This
// comes first: the rest of the reader sees, stores, warns about and rejects only the copy. A
// secret's value goes into the keyed hash of the finding's identity and nowhere else. Called by
// ctis/evidence.decode.ts and ctis/finding.decode.ts.

import { CTIS_ALIASES, type CtisObject, ctisShape, wordKey } from '@muster/contract/plain';
import { maskForms, maskRandom } from '../../redact/credential-forms.rules.ts';
import { isBlank } from './members.decode.ts';
import {
  isCredentialName,
  isMasked,
  isTelling,
  MASK,
  maskSnippet,
} from '../../redact/masking.rules.ts';
import {
  entriesIn,
  indexOf,
  type JsonObject,
  listOf,
  memberOf,
  objectOf,
  soleObjectOf,
  stringOf,
  stringsOf,
} from '../../json/json.decode.ts';
import { isSecretTag, secretRuleOf, showsForm } from '../../redact/secret-rule.rules.ts';
import {
  addAssigned,
  addBag,
  addSaid,
  addSnippet,
  isNoPath,
  maskedBag,
  type SecretValues,
  withoutKnown,
  withoutValues,
  withSpellings,
} from '../../redact/secret-values.rules.ts';
import { cwesIn, vulnerabilityIdsIn } from '../common/weakness.rules.ts';

/** The values that a finding must not show. */
export interface Hidden {
  readonly values: SecretValues;
  /**
   * Those that can't be a word or a part of a path; they are masked in members that name something,
   * too.
   */
  readonly certain: SecretValues;
  /**
   * Those that neither the rule nor the path shows anyway; they are masked in ids and fingerprints.
   */
  readonly unsaid: SecretValues;
  /**
   * Those from the finding's own place and its `secret`; recipes of fingerprints may have hashed
   * them.
   */
  readonly own: SecretValues;
  /** The text that tells this secret from another; null when the report holds no such text. */
  readonly identity: string | null;
  /** True for a finding about a secret; its snippets are masked whole. */
  readonly isSecret: boolean;
}

/** Words for the type `secret`. */
export const SECRET_TYPES: ReadonlySet<string> = new Set([
  'secret',
  'secrets',
  'credential',
  'credentials',
]);

/** The values that a finding must not show; null for most findings, which hold no secret. */
export function hiddenOf(finding: JsonObject): Hidden | null {
  const secret = soleObjectOf(finding.secret);
  const isSecret =
    SECRET_TYPES.has(stringOf(finding.type)?.trim().toLowerCase() ?? '') ||
    (secret !== null && !isBlank(secret)) ||
    isSecretByRule(finding);
  const items = entriesIn(finding.evidence_items);
  if (!isSecret && items.length === 0) return null;
  const found = new Set<string>();
  let identity: string | null = null;
  let own: SecretValues = [];
  const location = soleObjectOf(finding.location);
  const openly = [finding.rule_id, finding.rule_name, location?.path].map(stringOf).join('\n');
  if (isSecret) {
    const snippet = stringOf(location?.snippet)?.trim() ?? null;
    // The finding's own values come first, because the number of values is bounded.
    const stated = statedValues(secret);
    for (const value of stated) found.add(value);
    for (const text of [snippet, stringOf(location?.context_snippet)]) addSnippet(text, found);
    const masked = stringOf(secret?.masked_value);
    const telling = masked !== null && isTelling(masked) ? masked : null;
    if (telling !== null) addUnmasked(telling, finding, found);
    own = withSpellings(found);
    for (const text of SENTENCES) addSaid(stringOf(finding[text]) ?? '', openly, found);
    collect('finding', finding, found);
    identity = snippet !== null && !isMasked(snippet) ? snippet : (stated[0] ?? telling);
  }
  for (const item of items) addEvidence(objectOf(item), found);
  const values = withSpellings(found);
  if (values.length === 0 && !isSecret) return null;
  const certain = values.filter(isNoPath);
  const unsaid = values.filter((value) => isNoPath(value) || !openly.includes(value));
  return { values, certain, unsaid, own, identity, isSecret };
}

/** Members whose sentences may quote the secret. */
const SENTENCES = ['title', 'message', 'description'] as const;

/** Adds the values that the places and bags of a finding quote; the shapes bound the depth. */
function collect(kind: CtisObject, object: JsonObject, found: Set<string>): void {
  for (const [name, value] of Object.entries(object)) {
    const rule = ruleOf(kind, name);
    if (CODE.has(name) || name === 'evidence') addSnippet(stringOf(value), found);
    if (rule === undefined || FREE.has(name)) addBag({ [name]: value }, found);
    else if (rule.shape !== null) {
      for (const entry of entriesIn(value)) {
        const part = objectOf(entry);
        if (part !== null) collect(rule.shape, part, found);
      }
    }
  }
}

/**
 * The rule of a member under its right name or a wrong one; `undefined` for members that CTIS
 * doesn't have.
 */
function ruleOf(kind: CtisObject, name: string) {
  const shape = ctisShape(kind);
  // A `recommendation` of the finding itself is read, too (CTIS §8, item 21).
  const known = kind === 'finding' && name === 'recommendation' ? 'description' : name;
  return shape.get(known) ?? shape.get(CTIS_ALIASES[kind]?.get(name) ?? '');
}

/**
 * True where a rule about secrets found one in a file, whatever the finding's type. A finding about
 * a site or a package isn't one in a file.
 */
function isSecretByRule(finding: JsonObject): boolean {
  const names = [stringOf(finding.rule_id), stringOf(finding.rule_name), stringOf(finding.title)];
  const vulnerability = soleObjectOf(finding.vulnerability);
  const cwes = [...listOf(vulnerability?.cwe_ids), vulnerability?.cwe_id];
  const numbers = cwes.filter((cwe) => typeof cwe === 'string' && /798|259|321/.test(cwe));
  const isTagged = listOf(finding.tags).some((tag) => isSecretTag(tag));
  const byName = secretRuleOf(names, numbers.length === 0 ? [] : cwesIn(numbers as string[]));
  const rule = isTagged ? 'yes' : byName;
  if (rule === 'no') return false;
  const isElsewhere =
    finding.web !== undefined ||
    finding.network !== undefined ||
    vulnerability?.package !== undefined ||
    vulnerabilityIdsIn([
      stringOf(vulnerability?.cve_id) ?? '',
      ...stringsOf(vulnerability?.cve_ids),
    ]).length > 0;
  return !isElsewhere && (rule === 'yes' || showsForm(finding));
}

/** Values that the secret's own object states, against the rules (CTIS §2.5, secret hygiene). */
function statedValues(secret: JsonObject | null): string[] {
  return Object.entries(secret ?? {}).flatMap(([name, value]) => {
    const isValue = name === 'masked_value' || name === 'value' || isCredentialName(name);
    const text = isValue ? stringOf(value)?.trim() : undefined;
    return text === undefined || isMasked(text) ? [] : [text];
  });
}

/** The characters that a mask must leave at both ends together to tell one word from all others. */
const ENDS_CHARS_MIN = 6;

/** Adds the words of the finding that begin and end like the masked value. */
function addUnmasked(masked: string, finding: JsonObject, found: Set<string>): void {
  const ends = /^([^*•…]{2,})(?:[*•]{3,}|\.{3,}|…+)([^*•…]{2,})$/.exec(masked.trim());
  const [start = '', end = ''] = [ends?.[1], ends?.[2]];
  if (start.length + end.length < ENDS_CHARS_MIN) return;
  const texts = new Set<string>();
  addTexts(finding, texts);
  for (const text of texts) {
    for (const word of [...text.split(/[\s"'`<>]+/), ...text.split(/[\s"'`=,:;&?()<>{}[\]]+/)]) {
      const bare = word.replace(/[.,:;!?)]{1,3}$/, '');
      if (bare.startsWith(start) && bare.endsWith(end)) found.add(bare);
    }
  }
}

/** Adds the values that an evidence item marks as sensitive, and its credentials (CTIS §2.9). */
function addEvidence(item: JsonObject | null, found: Set<string>): void {
  for (const entry of listOf(item?.sensitive)) {
    const mark = objectOf(entry);
    const value = item === null ? undefined : valueAt(item, stringOf(mark?.pointer) ?? '');
    addTexts(value, found);
    const start = indexOf(mark?.start) ?? 0;
    const end = indexOf(mark?.end) ?? 0;
    // The range counts bytes (CTIS §2.9).
    if (typeof value === 'string' && end > start) {
      found.add(Buffer.from(value).subarray(start, end).toString().trim());
    }
  }
  const http = objectOf(item?.http);
  for (const message of [http?.request, http?.response]) {
    for (const entry of listOf(objectOf(message)?.headers)) {
      const header = objectOf(entry);
      if (!isCredentialName(stringOf(header?.name)?.trim() ?? '')) continue;
      for (const part of (stringOf(header?.value) ?? '').split(/[;,]/)) {
        addAssigned(part.trim(), found);
      }
    }
  }
}

function addTexts(value: unknown, found: Set<string>, depth = 0): void {
  if (typeof value === 'string') found.add(value.trim());
  else if (typeof value === 'object' && value !== null && depth < 8) {
    for (const member of Object.values(value)) addTexts(member, found, depth + 1);
  }
}

/** The value at a JSON pointer (RFC 6901); `undefined` when there is none. */
export function valueAt(value: unknown, pointer: string): unknown {
  if (!pointer.startsWith('/')) return undefined;
  let here = value;
  for (const token of pointer.split('/').slice(1)) {
    const name = token.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof here !== 'object' || here === null) return undefined;
    if (Array.isArray(here) && !/^(?:0|[1-9]\d*)$/.test(name)) return undefined;
    here = memberOf(here as JsonObject, name);
  }
  return here;
}

/** Members that name something; only a value that can't be anything else is masked in them. */
const NAMES: ReadonlySet<string> = new Set(
  `type severity kind rule_id asset_ref asset_value asset_type path uri pointer purl
    package`.split(/\s+/),
);

/** Members that identify something and may be made of a path, a rule and the value. */
const IDENTIFIERS: ReadonlySet<string> = new Set(
  'id fingerprint partial_fingerprints correlation_id'.split(' '),
);

/** Members of a secret finding that hold code or output, where the value may stand in parts. */
const CODE: ReadonlySet<string> = new Set(
  'snippet context_snippet content body text command'.split(' '),
);

/** Members of CTIS objects whose content is up to the producer. */
const FREE: ReadonlySet<string> = new Set(['properties', 'source_extra', 'data']);

/** Names of members with addresses, whose words and ids look random. */
const ADDRESS = /(?:ur[il]s?|references|commit_sha|fingerprints?)$/i;

/** The finding as it may be seen: a copy in which no hidden value can be read. */
export function withoutHidden(finding: JsonObject, hidden: Hidden): JsonObject {
  return hidden.isSecret
    ? maskedObject('finding', finding, hidden)
    : (masked(finding, 'finding', hidden) as JsonObject);
}

/** An object of a secret finding; a member that CTIS doesn't have keeps only its name. */
function maskedObject(kind: CtisObject, object: JsonObject, hidden: Hidden): JsonObject {
  return Object.fromEntries(
    Object.entries(object).map(([name, value]) => {
      const rule = ruleOf(kind, name);
      if (rule === undefined) {
        return [withoutValues(name, hidden.values, true), isBlank(value) ? value : MASK];
      }
      const { shape, words } = rule;
      if (shape !== null) return [name, maskedObjects(value, name, shape, hidden)];
      if (words === null || typeof value !== 'string') return [name, masked(value, name, hidden)];
      // A value outside of the list of words is a text like any other.
      return [name, words.has(wordKey(value)) ? value : withoutValues(value, hidden.values, true)];
    }),
  );
}

function maskedObjects(value: unknown, name: string, kind: CtisObject, hidden: Hidden): unknown {
  const object = objectOf(value);
  if (object !== null) return maskedObject(kind, object, hidden);
  if (!Array.isArray(value)) return masked(value, name, hidden);
  return value.map((entry) => maskedObjects(entry, name, kind, hidden));
}

/** Masks every text in a value; the parser bounds the depth (contract §2). */
function masked(value: unknown, name: string, hidden: Hidden): unknown {
  if (typeof value === 'string') return maskedText(value, name, hidden);
  if (Array.isArray(value)) return value.map((entry) => masked(entry, name, hidden));
  const object = objectOf(value);
  if (object === null) return value;
  const isFingerprints = name === 'partial_fingerprints';
  if (hidden.isSecret && !isFingerprints) return maskedBag(object, hidden.values);
  return Object.fromEntries(
    Object.entries(object).map(([member, entry]) => [
      hidden.isSecret ? maskForms(withoutKnown(member, hidden.unsaid)) : member,
      masked(entry, isFingerprints ? name : member, hidden),
    ]),
  );
}

function maskedText(text: string, name: string, hidden: Hidden): string {
  const { isSecret, certain, unsaid, values } = hidden;
  if (isSecret && CODE.has(name)) return maskSnippet(text);
  const isName = NAMES.has(name);
  const isId = IDENTIFIERS.has(name);
  const shown = withoutKnown(text, isName ? certain : isId ? unsaid : values);
  if (!isSecret) return shown;
  return isName || isId || ADDRESS.test(name) ? maskForms(shown) : maskRandom(maskForms(shown));
}

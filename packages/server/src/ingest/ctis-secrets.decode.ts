// The door through which a CTIS finding's secrets don't come: which values it must not show, and the finding without
// them. What the rest of the reader sees, keeps, warns about or rejects is what this file lets through; the value
// itself goes into the keyed hash of the finding's identity and nowhere else. Called by ctis-finding.decode.ts first.

import { maskForms, maskRandom } from './credential-forms.rules.ts';
import { isBlank } from './ctis-members.decode.ts';
import {
  isCredentialName,
  isMasked,
  isTelling,
  MASK,
  maskOccurrences,
  maskSnippet,
} from './masking.rules.ts';
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
} from './report-notes.decode.ts';
import { secretRuleOf, showsForm } from './secret-rule.rules.ts';
import { cwesIn, vulnerabilityIdsIn } from './weakness.rules.ts';

/** What a finding must not show. */
export interface Hidden {
  /** Longest first, so that a value is masked before its parts are. */
  readonly values: readonly string[];
  /** Those of `values` that can't be a word or a part of a path: they are masked in identifiers, too. */
  readonly certain: readonly string[];
  /** What tells this secret from another; null where the report holds nothing of it. */
  readonly identity: string | null;
  /** True for findings about a secret: their snippets are masked whole. */
  readonly isSecret: boolean;
}

/** Findings hold a handful; a document that names more is not masked by looking for each in each text. */
const VALUES_MAX = 256;
/** Shorter ones can't be told from words. */
const VALUE_CHARS_MIN = 6;
const SNIPPET_LINES_MAX = 200;

/** Words for the type `secret`. */
export const SECRET_TYPES: ReadonlySet<string> = new Set([
  'secret',
  'secrets',
  'credential',
  'credentials',
]);

/** What the finding must not show; null for most: they hold nothing secret. */
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
  if (isSecret) {
    const location = soleObjectOf(finding.location);
    const snippet = stringOf(location?.snippet)?.trim() ?? null;
    for (const text of [snippet, stringOf(location?.context_snippet)]) addSnippet(text, found);
    const stated = statedValues(secret);
    for (const value of stated) found.add(value);
    const masked = stringOf(secret?.masked_value);
    const telling = masked !== null && isTelling(masked) ? masked : null;
    if (telling !== null) addUnmasked(telling, finding, found);
    identity = snippet !== null && !isMasked(snippet) ? snippet : (stated[0] ?? telling);
  }
  for (const item of items) addEvidence(objectOf(item), found);
  const values = withSpellings(found);
  if (values.length === 0 && !isSecret) return null;
  return { values, certain: values.filter(isCertain), identity, isSecret };
}

/** True where a rule about secrets found one in a file, whatever the finding's type; sites and packages have none. */
function isSecretByRule(finding: JsonObject): boolean {
  const names = [stringOf(finding.rule_id), stringOf(finding.rule_name)];
  const vulnerability = soleObjectOf(finding.vulnerability);
  const cwes = [...listOf(vulnerability?.cwe_ids), vulnerability?.cwe_id];
  const numbers = cwes.filter((cwe) => typeof cwe === 'string' && /798|259|321/.test(cwe));
  const rule = secretRuleOf(names, numbers.length === 0 ? [] : cwesIn(numbers as string[]));
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

/** Letters and digits without blanks, and no file name. */
const isCertain = (value: string): boolean =>
  /^(?=.*\d)(?=.*[A-Za-z])\S{12,}$/.test(value) && !/\.[A-Za-z]{1,5}$/.test(value);

/** The ways in which a value may stand in other texts, longest first. */
export function withSpellings(found: ReadonlySet<string>): string[] {
  const values = new Set<string>();
  for (const value of found) {
    if (value.length < VALUE_CHARS_MIN || isMasked(value)) continue;
    values.add(value);
    values.add(encodeURIComponent(value.toWellFormed()));
    values.add(JSON.stringify(value).slice(1, -1));
  }
  return [...values].sort((a, b) => b.length - a.length).slice(0, VALUES_MAX);
}

/** Values that the secret's own object states, against the rules (CTIS §2.5, secret hygiene). */
function statedValues(secret: JsonObject | null): string[] {
  return Object.entries(secret ?? {}).flatMap(([name, value]) => {
    const isValue = name === 'masked_value' || name === 'value' || isCredentialName(name);
    const text = isValue ? stringOf(value)?.trim() : undefined;
    return text === undefined || isMasked(text) ? [] : [text];
  });
}

/** `name = value`, `name: value`, `export NAME=value` and their like. */
const ASSIGNED = /^(?:[a-z]{2,8} +){0,2}[\w.$[\]"'-]{1,80} {0,8}(?::=|=>|[=:]) {0,8}(\S.*)$/i;
const QUOTED = /(["'`])((?:(?!\1).){6,2048})\1/g;

/** The snippet of a secret finding: as a whole, and what in it can be the value. */
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

/** What is assigned, without quotes; of several words the last too (`Bearer …`). */
function addAssigned(text: string, found: Set<string>): void {
  const value = (ASSIGNED.exec(text)?.[1] ?? text).replace(/^["'`]+|["'`;,)]+$/g, '').trim();
  found.add(value);
  const last = value.slice(value.lastIndexOf(' ') + 1);
  if (last.length >= 8) found.add(last);
}

/** Characters that a mask has to leave, both ends together, to tell one word from all others. */
const ENDS_CHARS_MIN = 6;

/** Words of the finding that begin and end as the masked value does. */
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

/** What an evidence item marks as sensitive, and its credentials (CTIS §2.9). */
function addEvidence(item: JsonObject | null, found: Set<string>): void {
  for (const entry of listOf(item?.sensitive)) {
    const mark = objectOf(entry);
    const value = item === null ? undefined : valueAt(item, stringOf(mark?.pointer) ?? '');
    addTexts(value, found);
    const start = indexOf(mark?.start) ?? 0;
    const end = indexOf(mark?.end) ?? 0;
    // The range is in bytes (CTIS §2.9).
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

/** What stands at a JSON pointer (RFC 6901); `undefined` where nothing does. */
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

/** Members by which things are found again: only values that can't be anything else are masked in them. */
const IDENTIFIERS: ReadonlySet<string> = new Set(
  `id type severity kind rule_id asset_ref asset_value asset_type path uri fingerprint
    partial_fingerprints correlation_id pointer secret_type purl package`.split(/\s+/),
);

/** Members of a secret finding that are code or output, and may hold the value in parts. */
const CODE: ReadonlySet<string> = new Set(
  'snippet context_snippet content body text command'.split(' '),
);

/** Names of addresses: words and ids in them look random. */
const ADDRESS = /(?:ur[il]s?|references|commit_sha|fingerprints?)$/i;

/** The finding as it may be seen: a copy in which nothing hidden can be read. */
export function withoutHidden(finding: JsonObject, hidden: Hidden): JsonObject {
  return masked(finding, 'finding', hidden) as JsonObject;
}

/** Depth is bounded by the parser (contract §2). */
function masked(value: unknown, name: string, hidden: Hidden): unknown {
  if (typeof value === 'string') {
    if (hidden.isSecret && CODE.has(name)) return maskSnippet(value);
    const isIdentifier = IDENTIFIERS.has(name);
    const values = isIdentifier ? hidden.certain : hidden.values;
    const text = values.reduce((rest, secret) => maskOccurrences(rest, secret), value);
    if (!hidden.isSecret) return text;
    return isIdentifier || ADDRESS.test(name) ? maskForms(text) : maskRandom(maskForms(text));
  }
  if (Array.isArray(value)) return value.map((entry) => masked(entry, name, hidden));
  const object = objectOf(value);
  if (object === null) return value;
  return Object.fromEntries(
    Object.entries(object).map(([member, entry]) => {
      const isText = name === 'secret' && typeof entry === 'string';
      // A value that the secret states is masked however short it is.
      const isStated = isText && (member === 'value' || isCredentialName(member));
      if (isStated) return [member, MASK];
      const shown = hidden.isSecret ? maskForms(member) : member;
      return [shown, masked(entry, name === 'partial_fingerprints' ? name : member, hidden)];
    }),
  );
}

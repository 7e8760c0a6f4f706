// The producer recipes of CTIS fingerprints (CTIS §5.1, §5.2), to recognise those that hash a line
// number or a version: such a fingerprint changes when nothing about the defect did, so it is kept
// for /ingest/check but is no evidence for matching. Go's rules for trimming and case are spelled
// out, they differ from JavaScript's. Pure.

import { hash } from 'node:crypto';

/** What of a finding goes into the recipes; texts as sent, numbers 0 where absent. */
export interface RecipeFields {
  readonly path: string;
  readonly rule: string;
  readonly title: string;
  readonly message: string;
  readonly startLine: number;
  readonly endLine: number;
  readonly packageName: string;
  readonly packageVersion: string;
  /** Ids under which the vulnerability may have been hashed. */
  readonly vulnerabilities: readonly string[];
  /** What the report holds of a secret's value: masked or, against the rules, raw. */
  readonly secrets: readonly string[];
}

/** Go's white space: unlike JavaScript's it has U+0085 and lacks U+FEFF. */
const GO_SPACE: ReadonlySet<string> = new Set(
  '\t\n\v\f\r \u0085\u00A0\u1680\u2028\u2029\u202F\u205F\u3000' +
    '\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A',
);

function goTrim(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && GO_SPACE.has(text.charAt(start))) start += 1;
  while (end > start && GO_SPACE.has(text.charAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

/** n(s) of CTIS §5.1: trimmed, lower-cased code point by code point, `\` as `/`. */
export function normalised(text: string): string {
  const trimmed = goTrim(text);
  // For ASCII both languages agree.
  if (!/[^\p{ASCII}]/u.test(trimmed)) return trimmed.toLowerCase().replaceAll('\\', '/');
  let result = '';
  for (const point of trimmed) {
    result += point === '\\' ? '/' : point === '\u0130' ? 'i' : point.toLowerCase();
  }
  return result;
}

/** SHA-256 of the UTF-8 text, 64 lower-case hex digits. */
export function sha256Hex(text: string): string {
  return hash('sha256', text.toWellFormed(), 'hex');
}

/** Aliases beyond a few are not what a producer hashes. */
const VULNERABILITIES_MAX = 4;

/** The texts that producers hash by line or by version, each with what is wrong with it. */
export function positionalRecipes(fields: RecipeFields): [text: string, reason: string][] {
  const path = normalised(fields.path);
  const rule = normalised(fields.rule);
  const { startLine, endLine } = fields;
  const byLine = 'hashes the line number';
  const recipes: [string, string][] = [
    [`sast:${path}:${rule}:${startLine}:${endLine}`, byLine],
    [`sast:${path}:${rule}:${startLine}:0`, byLine],
    [`generic:${rule}:${path}:${startLine}:${endLine}:${normalised(fields.title)}`, byLine],
  ];
  if (fields.message !== '' && fields.message !== fields.title) {
    const text = `generic:${rule}:${path}:${startLine}:${endLine}:${normalised(fields.message)}`;
    recipes.push([text, byLine]);
  }
  // Newer producers hash the masked value; of the raw one, only what the report holds can be tried.
  for (const secret of ['', ...fields.secrets]) {
    const tail = secret === '' ? '' : sha256Hex(secret).slice(0, 16);
    recipes.push([`secret:${path}:${rule}:${startLine}:${tail}`, byLine]);
  }
  if (fields.packageName !== '') {
    const name = normalised(fields.packageName);
    const version = normalised(fields.packageVersion);
    for (const id of fields.vulnerabilities.slice(0, VULNERABILITIES_MAX)) {
      const text = `sca:${name}:${version}:${normalised(id)}`;
      recipes.push([text, 'hashes the version, not the manifest']);
    }
  }
  return recipes;
}

/** Why a fingerprint is no evidence; null when it may be. */
export function fingerprintWeakness(fingerprint: string, fields: RecipeFields): string | null {
  const text = fingerprint.trim();
  // Gitleaks: `commit:file:rule:line` or `file:rule:line` in clear text (CTIS §5.2).
  const rule = fields.rule.trim();
  if (rule !== '' && text.endsWith(`:${rule}:${fields.startLine}`))
    return 'ends in the line number';
  if (!/^[0-9a-f]{64}$/i.test(text)) return null;
  const digest = text.toLowerCase();
  for (const [recipe, reason] of positionalRecipes(fields)) {
    if (sha256Hex(recipe) === digest) return reason;
  }
  return null;
}

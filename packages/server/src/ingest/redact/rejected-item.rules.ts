// A rejected item → the text that is stored beside its rejection: the item as JSON, bounded, with
// everything masked that may be a secret. A rejected item was not understood, so nobody can tell
// whether a secret scanner sent it: texts that quote code or values are masked in every rejected
// item. Called by item-index.rules.ts and list-index.rules.ts.

import { limits } from '@muster/contract/plain';
import { maskForms, maskLongHex, maskRandom } from './credential-forms.rules.ts';
import { isCredentialName, MASK, maskAssignments } from './masking.rules.ts';

/**
 * Members whose texts, at any depth below them, quote scanned files (SARIF §3.3, §3.30.13; CTIS
 * snippets).
 */
const QUOTING: ReadonlySet<string> = new Set(
  'body code content context contextregion evidence matched matchedtext payload request response snippet value'.split(
    ' ',
  ),
);

/** The part of a text that is shown: enough for a path, a rule or a sentence. */
const TEXT_CHARS_MAX = 200;

/** Parts of an item beyond these bounds are left out. */
const DEPTH_MAX = 8;
const MEMBERS_MAX = 50;

/**
 * The item as JSON of at most limits.rejectedItemCharsMax characters; `…` stands for each part left
 * out.
 */
export function rejectedItemText(item: unknown): string {
  const text = JSON.stringify(shown(item, false, 0)) ?? 'null';
  const max = limits.rejectedItemCharsMax;
  return text.length <= max ? text : `${text.slice(0, max - 1).toWellFormed()}…`;
}

function shown(value: unknown, masked: boolean, depth: number): unknown {
  if (typeof value === 'string') return masked ? MASK : shownText(value);
  if (typeof value !== 'object' || value === null) return masked && value !== null ? MASK : value;
  if (depth >= DEPTH_MAX) return '…';
  if (Array.isArray(value)) {
    const items = value.slice(0, MEMBERS_MAX).map((item) => shown(item, masked, depth + 1));
    return value.length > MEMBERS_MAX ? [...items, '…'] : items;
  }
  const members = Object.entries(value);
  const some = members.slice(0, MEMBERS_MAX).map(([name, member]) => {
    const hides = masked || isCredentialName(name) || QUOTING.has(name.toLowerCase());
    return [shownText(name), shown(member, hides, depth + 1)] as const;
  });
  return Object.fromEntries(members.length > MEMBERS_MAX ? [...some, ['…', '…']] : some);
}

function shownText(text: string): string {
  const isLooked = text.length <= 4 * TEXT_CHARS_MAX;
  // The last word of a cut text isn't whole, so no form would match a credential in it: it is left
  // out.
  const part = isLooked ? text : text.slice(0, 4 * TEXT_CHARS_MAX).replace(/\S+$/, '');
  const masked = withoutSecrets(part).replaceAll('\u0000', '\ufffd');
  const whole = masked.length <= TEXT_CHARS_MAX && isLooked;
  return whole ? masked.toWellFormed() : `${masked.slice(0, TEXT_CHARS_MAX).toWellFormed()}…`;
}

/**
 * The text without possible secrets: those with a telling name, those with a form, those that look
 * random.
 */
const withoutSecrets = (text: string): string =>
  maskRandom(maskLongHex(maskForms(maskAssignments(text))));

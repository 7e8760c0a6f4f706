// From a draft to its evidence of identity: hashes by which the same defect is known again, strongest first. Nothing
// here uses a line number: lines move (contract §6). Recipes are versioned; fields are length-prefixed, so that
// `a:b`+`c` and `a`+`b:c` differ.

import { createHmac, hash } from 'node:crypto';
import type { FindingDraft } from './draft.rules.ts';

/** Recipe version: stored with every finding, so that a later recipe can tell its own hashes from these. */
export const RECIPE = 1;

export interface Evidence {
  /** The producer's stable fingerprints with the rule, or null when there are none. */
  readonly producer: string | null;
  /** Rule, path and content, or what identifies its kind. */
  readonly content: string;
}

/** 128 bits as hex digits: chance collisions need 10^19 findings in one scope. */
const HASH_CHARS = 32;

function digest(fields: readonly string[]): string {
  let text = '';
  for (const field of fields) text += `${field.length}:${field}`;
  return hash('sha256', text, 'hex').slice(0, HASH_CHARS);
}

/** White space says nothing about a defect: runs of it count as one blank. */
const squash = (text: string): string => text.replace(/\s+/g, ' ').trim();

/** `secretKey`: values of secrets are hashed with a key, so that nobody can confirm a guess from a stored hash. */
export function evidenceOf(draft: FindingDraft, secretKey: Buffer): Evidence {
  const names = Object.keys(draft.fingerprints).sort();
  const producer =
    names.length === 0
      ? null
      : digest([
          'producer',
          draft.ruleId,
          ...names.flatMap((name) => [name, draft.fingerprints[name] as string]),
        ]);
  const { kind, content } = draft.identity;
  const fields =
    kind === 'secret' ? content.map((value) => keyed(value, secretKey)) : content.map(squash);
  const path = kind === 'web' || kind === 'network' ? '' : (draft.path ?? '');
  return { producer, content: digest(['content', kind, draft.ruleId, path, ...fields]) };
}

const keyed = (value: string, key: Buffer): string =>
  createHmac('sha256', key).update(value).digest('base64url');

/**
 * What makes two items of one report the same item (counted as `duplicate`): the same evidence at the same place with
 * the same words. Items that differ in the line alone are two findings.
 */
export function samenessOf(draft: FindingDraft, evidence: Evidence): string {
  return digest([
    evidence.producer ?? '',
    evidence.content,
    draft.path ?? '',
    String(draft.startLine ?? ''),
    String(draft.startColumn ?? ''),
    draft.message,
  ]);
}

// A draft becomes its evidence: hashes by which the same defect is recognised in the next report,
// the strongest first. Line numbers are in the duplicate key only, because lines move (contract
// §6). Recipes are versioned. Fields are length-prefixed, so that `a:b`+`c` and `a`+`b:c` differ.

import { createHmac, hash } from 'node:crypto';
import { quickHash } from '../../lib/quick-hash.ts';
import type { FindingDraft } from '../report/report.rules.ts';

/**
 * Recipe version: stored with every finding, so that a later recipe can tell its own hashes from
 * these.
 */
export const RECIPE = 1;

/**
 * Raise this with every change to how an item is read: items that an earlier reader stored are then
 * read again, even if none of their bytes has changed.
 */
const READER = 8;

/** Bytes of a hash that count. 128 bits: chance collisions need 10^19 findings in one scope. */
export const HASH_BYTES = 16;

/** Each hash has at least HASH_BYTES bytes; the first ones count. */
export interface Evidence {
  /** The producer's stable fingerprints with the rule; null when there are none. */
  readonly producer: Buffer | null;
  /** Rule, path and content, or what identifies a finding of its kind. */
  readonly content: Buffer;
  /**
   * The duplicate key tells items with equal evidence apart: their places and their words, mixed
   * with the evidence. Two items of one report that are alike in all three hashes are the same item
   * (counted as `duplicate`); items that differ in the line alone are two findings. Only the last
   * parts move with the lines of a file. The order of the other parts is the same in the next
   * report, so that findings on one line aren't taken for each other (match.rules.ts).
   */
  readonly duplicateKey: Buffer;
}

/**
 * SHA-256, by way of a text of single bytes: for short data `hash(…, 'buffer')` takes twice as
 * long.
 */
const sha256 = (data: string | Buffer): Buffer =>
  Buffer.from(hash('sha256', data, 'binary'), 'latin1');

function digest(fields: readonly string[]): Buffer {
  let text = '';
  for (const field of fields) text += `${field.length}:${field}`;
  return sha256(text);
}

/** White space says nothing about a defect: runs of it count as one blank. */
const squash = (text: string): string => text.replace(/\s+/g, ' ').trim();

/**
 * `secretKey`: the values of secrets are hashed with a key, so that nobody can confirm a guess from
 * a stored hash.
 */
export function evidenceOf(draft: FindingDraft, secretKey: Buffer): Evidence {
  const producer = producerOf(draft);
  const { kind, content } = draft.identity;
  const fields =
    kind === 'secret' ? content.map((value) => keyed(value, secretKey)) : content.map(squash);
  const path = kind === 'web' || kind === 'network' ? '' : (draft.path ?? '');
  const said = digest(['content', kind, draft.ruleId, path, ...fields]);
  return { producer, content: said, duplicateKey: duplicateKeyOf(draft, producer, said) };
}

/**
 * Code with fewer characters than this, blanks left out, tells nothing: `except Exception:` stands
 * in many files.
 */
const TELLING_CHARS_MIN = 20;

/**
 * A hash of the defect, whatever its file is; null when its path is no part of its identity, or
 * when only the rule and the words would be left. It has the length of the hashes of Evidence.
 */
export function movedOf(draft: FindingDraft, secretKey: Buffer): Buffer | null {
  const { kind, content, isSaid } = draft.identity;
  if (draft.path === null || kind === 'web' || kind === 'network' || isSaid) return null;
  if (kind === 'secret') {
    return digest(['moved', draft.ruleId, ...content.map((value) => keyed(value, secretKey))]);
  }
  // The third field of a component is the path of its manifest.
  const fields = (kind === 'component' ? content.toSpliced(2, 1) : content).map(squash);
  const told = fields.join('').replaceAll(' ', '').length;
  return kind === 'code' && told < TELLING_CHARS_MIN
    ? null
    : digest(['moved', draft.ruleId, ...fields]);
}

/**
 * A quick hash is good enough: duplicate keys are compared only where the other hashes are equal.
 */
function duplicateKeyOf(draft: FindingDraft, producer: Buffer | null, content: Buffer): Buffer {
  const [words, more] = quickHash([draft.message, draft.path ?? '', ...(draft.also?.() ?? [])]);
  // When there is no line, an offset stands in for it, below zero.
  const line = draft.startLine ?? -2 - (draft.startOffset ?? -1);
  const place = [words, more, line, draft.startColumn ?? -1];
  const duplicateKey = Buffer.allocUnsafe(HASH_BYTES);
  place.forEach((part, word) => {
    const evidence = content.readInt32LE(word * 4) ^ (producer?.readInt32LE(word * 4) ?? 0);
    duplicateKey.writeInt32LE(part ^ evidence, word * 4);
  });
  return duplicateKey;
}

function producerOf({ fingerprints, ruleId }: FindingDraft): Buffer | null {
  const names = Object.keys(fingerprints).sort();
  if (names.length === 0) return null;
  return digest([
    'producer',
    ruleId,
    ...names.flatMap((name) => [name, fingerprints[name] as string]),
  ]);
}

const keyed = (value: string, key: Buffer): string =>
  createHmac('sha256', key).update(value).digest('base64url');

/**
 * The hash of what decides how an item is read, besides its bytes. It has a key, because items hold
 * secrets.
 */
export const contextHash = (context: string, secretKey: Buffer): Buffer =>
  createHmac('sha256', secretKey).update(`${RECIPE} ${READER} ${context}`).digest();

/**
 * The hash of an item as it was sent, with the `contextHash` of all that decides how it is read: an
 * item with an equal hash need not be read again.
 */
export function rawHash(context: Buffer, bytes: Buffer): Buffer {
  return sha256(Buffer.concat([context, bytes]));
}

// The stored form of evidence: one byte recipe version, then for each hash one byte kind and 16 bytes hash. Unknown
// kinds are skipped when reading, so a later program may add some.

import { RECIPE, type Evidence } from './evidence.rules.ts';

const KIND_PRODUCER = 1;
const KIND_CONTENT = 2;
const KIND_SAMENESS = 3;
const HASH_BYTES = 16;

export interface StoredEvidence extends Evidence {
  /** Tells equal items from merely similar ones (samenessOf). */
  readonly sameness: string;
}

export function packEvidence(evidence: StoredEvidence): Buffer {
  const hashes: [number, string][] = [
    [KIND_CONTENT, evidence.content],
    [KIND_SAMENESS, evidence.sameness],
  ];
  if (evidence.producer !== null) hashes.unshift([KIND_PRODUCER, evidence.producer]);
  const packed = Buffer.alloc(1 + hashes.length * (1 + HASH_BYTES));
  packed[0] = RECIPE;
  hashes.forEach(([kind, text], index) => {
    const at = 1 + index * (1 + HASH_BYTES);
    packed[at] = kind;
    packed.write(text, at + 1, HASH_BYTES, 'hex');
  });
  return packed;
}

export function unpackEvidence(packed: Uint8Array): StoredEvidence {
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength);
  let producer: string | null = null;
  let content = '';
  let sameness = '';
  for (let at = 1; at + HASH_BYTES < bytes.length; at += 1 + HASH_BYTES) {
    const text = bytes.toString('hex', at + 1, at + 1 + HASH_BYTES);
    if (bytes[at] === KIND_PRODUCER) producer = text;
    else if (bytes[at] === KIND_CONTENT) content = text;
    else if (bytes[at] === KIND_SAMENESS) sameness = text;
  }
  return { producer, content, sameness };
}

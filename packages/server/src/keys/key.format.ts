// The text of a key: prefix + 12 characters key id + 32 characters secret + 6 characters checksum
// (contract §2). The checksum lets a leak scanner recognise a real key without asking us, and
// refuses typing errors before any look-up.

import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';

export type KeyKind = 'runner' | 'operator' | 'enrolment';

const KEY_PREFIX: Record<KeyKind, string> = {
  runner: 'mst_rnr_',
  operator: 'mst_op_',
  enrolment: 'mst_enr_',
};

export const KEY_ID_CHARS = 12;
export const SECRET_CHARS = 32;
const CHECKSUM_CHARS = 6;
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const KEY = /^(mst_(?:rnr|op|enr)_)([0-9A-Za-z]{12})([0-9A-Za-z]{32})([0-9A-Za-z]{6})$/;

interface ParsedKey {
  readonly kind: KeyKind;
  readonly keyId: string;
  /** SHA-256 of the secret part: the only form in which the secret is kept or compared. */
  readonly secretHash: Buffer;
}

/** CRC-32 (IEEE) as six base62 digits, most significant first. */
function checksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let i = 0; i < CHECKSUM_CHARS; i += 1) {
    digits = (BASE62[rest % 62] as string) + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

export function formatKey(kind: KeyKind, keyId: string, secret: string): string {
  const text = KEY_PREFIX[kind] + keyId + secret;
  return text + checksum(text);
}

/** 190 bits of secret need no pepper and no slow hash. */
export const hashSecret = (secret: string): Buffer => hash('sha256', secret, 'buffer');

/** The parts of a key, or null when the text isn't one of our keys or was mistyped. */
export function parseKey(text: string): ParsedKey | null {
  const match = KEY.exec(text);
  if (match === null) return null;
  const [, prefix, keyId, secret, sum] = match as unknown as [
    string,
    string,
    string,
    string,
    string,
  ];
  if (checksum(prefix + keyId + secret) !== sum) return null;
  const kind = prefix === 'mst_rnr_' ? 'runner' : prefix === 'mst_op_' ? 'operator' : 'enrolment';
  return { kind, keyId, secretHash: hashSecret(secret) };
}

/**
 * The part of a key that may be shown later: enough to tell it from others, nothing of the secret.
 */
export const keyPrefix = (kind: KeyKind, keyId: string): string => KEY_PREFIX[kind] + keyId;

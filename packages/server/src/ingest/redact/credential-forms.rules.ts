// Texts → the same texts with credentials masked that are known by their form: tokens with a prefix
// of their issuer, private keys, passwords in addresses and, where a secret must be expected, long
// texts that look random. For findings of secrets and for items that couldn't be read. Ordinary
// texts go through masking.rules.ts, which goes by the name before a value. Each text is read once.

import { MASK, maskValue } from './masking.rules.ts';

/** Each form is bounded, and none begins anew within itself: a text is read once. */
const FORM = [
  '\\bA[KS]IA[0-9A-Z]{16}\\b',
  '\\b(?:gh[pousr]|npm|[sr]k_(?:live|test))_\\w{16,255}',
  '\\bgithub_pat_\\w{20,255}',
  '\\bglpat-[\\w-]{16,255}',
  '\\bxox[a-z]-[\\w-]{10,255}',
  '\\bAIza[\\w-]{30,255}',
  '\\bSG\\.[\\w-]{16,64}\\.[\\w-]{16,64}',
  '\\beyJ(?:(?!-eyJ)[\\w-]){8,8192}\\.[\\w-]{4,8192}(?:\\.[\\w-]{0,1024})?',
  '-----BEGIN [A-Z ]{0,32}PRIVATE KEY-----[^]*',
  '(?<=://[^\\s/:@]{1,64}:)[^\\s/@]{1,256}(?=@)',
].join('|');

const FORMS = new RegExp(FORM, 'g');
const ANY_FORM = new RegExp(FORM);

/** True when the text holds a credential that is known by its form. */
export const holdsForm = (text: string): boolean => ANY_FORM.test(text);

/** The text with the credentials masked that are known by their form. */
export const maskForms = (text: string): string => text.replace(FORMS, maskForm);

const maskForm = (value: string): string => (value.startsWith('-') ? MASK : maskValue(value));

/** A digest or a key in hexadecimal digits. */
const LONG_HEX = /\b(?=[0-9a-f]{0,31}\d)(?=[0-9a-f]{0,31}[a-f])[0-9a-f]{32,128}\b/gi;

/** The text with long runs of hexadecimal digits masked. */
export const maskLongHex = (text: string): string => text.replace(LONG_HEX, maskValue);

const LONG_CHARS_MIN = 20;
const LONG_TOKEN = new RegExp(`[\\w+/=-]{${LONG_CHARS_MIN},4096}`, 'g');

/** Bits per character: words and paths have fewer, random letters and digits have more. */
const RANDOM_BITS_MIN = 3.8;

/** The text with long runs of letters and digits masked that look random. */
export function maskRandom(text: string): string {
  if (text.length < LONG_CHARS_MIN) return text;
  return text.replace(LONG_TOKEN, (token) => (looksRandom(token) ? maskValue(token) : token));
}

function looksRandom(token: string): boolean {
  if (!/\d/.test(token) || !/[a-z]/.test(token) || !/[A-Z]/.test(token)) return false;
  const counts = new Map<string, number>();
  for (const char of token) counts.set(char, (counts.get(char) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) {
    bits -= (count / token.length) * Math.log2(count / token.length);
  }
  return bits >= RANDOM_BITS_MIN;
}

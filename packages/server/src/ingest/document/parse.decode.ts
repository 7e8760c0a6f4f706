// The parts of a scanned document → values: its envelope, and its items one by one. A part that
// isn't JSON throws a DocumentFault. A name that an object has twice gets a warning (contract §2:
// the last one counts). Called by document.ts, entries.ts, reading.ts, moved-findings.ts and
// write-batches.ts.

import { DocumentFault, type DocumentScanner } from './scan.decode.ts';
import type { Warnings } from '../json/warnings.decode.ts';
import { pointerToken } from '../json/json.decode.ts';

/** The envelope of a scanned document as a value, with its bytes. Throws DocumentFault. */
export function parseEnvelope(scanner: DocumentScanner): { bytes: Buffer; value: unknown } {
  const bytes = scanner.end();
  return { bytes, value: parseItem(bytes) };
}

/** The item as a value. Throws DocumentFault. */
export const parseItem = (bytes: Buffer): unknown => parse(bytes.toString('utf8'));

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // The engine's own message may quote the document, and reports hold secrets.
    throw new DocumentFault('it is not JSON');
  }
}

/** The members of all objects in a value: fewer than were written when a name came twice. */
export function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const entry of value) if (typeof entry === 'object') count += countMembers(entry);
    return count;
  }
  for (const name in value) {
    count += 1;
    const member: unknown = (value as Record<string, unknown>)[name];
    if (typeof member === 'object') count += countMembers(member);
  }
  return count;
}

/**
 * Warns about each name that an object of this JSON text has twice. `base` is the pointer of the
 * text.
 */
export function warnRepeatedMembers(text: string, base: string, warnings: Warnings): void {
  const levels: { readonly names: Set<string> | null; token: string; index: number }[] = [];
  for (let index = 0; index < text.length; index += 1) {
    const char = text[index];
    const level = levels.at(-1);
    if (char === '"') {
      const end = stringEnd(text, index);
      const string = text.slice(index, end);
      index = end - 1;
      if (level === undefined || level.names === null || !isName(text, end)) continue;
      const name = JSON.parse(string) as string;
      level.token = pointerToken(name.slice(0, 64));
      if (level.names.has(name)) {
        const at = base + levels.map(({ token }) => `/${token}`).join('');
        const detail = 'The name comes twice in one object; the last one counts.';
        warnings.warn(at, 'member_repeated', detail);
      }
      level.names.add(name);
    } else if (char === '{') levels.push({ names: new Set(), token: '', index: 0 });
    else if (char === '[') levels.push({ names: null, token: '0', index: 0 });
    else if (char === '}' || char === ']') levels.pop();
    else if (char === ',' && level?.names === null) {
      level.index += 1;
      level.token = String(level.index);
    }
  }
}

/** The index after the closing quote; the text is known to be JSON. */
function stringEnd(text: string, from: number): number {
  let at = from + 1;
  for (let code = text.charCodeAt(at); code !== 0x22; code = text.charCodeAt(at)) {
    at += code === 0x5c ? 2 : 1;
  }
  return at + 1;
}

/** True when a colon follows, with or without blanks before it. */
function isName(text: string, from: number): boolean {
  let at = from;
  while (text.charCodeAt(at) <= 0x20) at += 1;
  return text[at] === ':';
}

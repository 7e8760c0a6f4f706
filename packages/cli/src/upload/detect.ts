// Tells from the first bytes of a file which format it has. The content decides; the name
// helps only where the beginning says nothing. Pure.

import { UsageError } from '../errors.ts';

export type Format = 'sarif' | 'ctis' | 'gitleaks';

/**
 * The beginning of a file that is looked at: reports begin with version and tool, long texts come
 * later.
 */
export const SNIFF_BYTES = 64 * 1024;

/** UsageError: the file can be neither; the message says why. */
export function detect(start: Uint8Array, name: string): Format {
  const encodingFault = notUtf8(start);
  if (encodingFault !== null) throw new UsageError(`${name} ${encodingFault}`);
  // A character that the cut split becomes U+FFFD; nobody looks at it.
  const text = new TextDecoder().decode(start).trimStart();
  if (text === '') throw new UsageError(`${name} is empty.`);
  if (/^\[\s*\{/.test(text) && topMembers(text.slice(1)).has('RuleID')) return 'gitleaks';
  if (text.startsWith('[') && /gitleaks/i.test(name)) return 'gitleaks';
  if (!text.startsWith('{')) {
    throw new UsageError(
      `${name} is no report: SARIF and CTIS are JSON objects, and begin with {. If it is the list that Gitleaks writes, say ` +
        'so: --format gitleaks.',
    );
  }
  const found = byMembers(topMembers(text)) ?? byName(name);
  if (found !== null) return found;
  throw new UsageError(
    `${name} looks like neither SARIF nor CTIS (no "runs", no "findings" near its beginning). If it is one, say ` +
      'which: --format sarif or --format ctis.',
  );
}

function notUtf8(start: Uint8Array): string | null {
  const [a = 0, b = 0, c = 0, d = 0] = start;
  if (a === 0x1f && b === 0x8b)
    return 'is compressed. Give the JSON: gunzip -c FILE | muster upload -';
  if (a === 0x28 && b === 0xb5 && c === 0x2f && d === 0xfd) {
    return 'is compressed. Give the JSON: zstd -dc FILE | muster upload -';
  }
  if (a === 0x50 && b === 0x4b) return 'is a ZIP archive. Unpack it, and give the report inside.';
  // PowerShell 5 writes UTF-16 where `>` is used.
  if ((a === 0xff && b === 0xfe) || (a === 0xfe && b === 0xff) || (a !== 0 && b === 0 && c !== 0)) {
    return 'is UTF-16. Save it as UTF-8.';
  }
  return null;
}

const CTIS_MEMBERS = ['findings', 'metadata', 'assets', 'dependencies', 'report'];

function byMembers(members: ReadonlyMap<string, string | null>): Format | null {
  if (members.has('runs')) return 'sarif';
  if (/sarif/i.test(members.get('$schema') ?? '')) return 'sarif';
  if (/ctis/i.test(members.get('$schema') ?? '')) return 'ctis';
  if (CTIS_MEMBERS.some((name) => members.has(name))) return 'ctis';
  const version = members.get('version') ?? '';
  if (version.startsWith('2.')) return 'sarif';
  if (version.startsWith('1.')) return 'ctis';
  return null;
}

function byName(name: string): Format | null {
  if (/\.sarif(\.json)?$/i.test(name)) return 'sarif';
  return /\bctis\b.*\.json$/i.test(name) ? 'ctis' : null;
}

const TOKEN = /"((?:[^"\\]|\\.)*)"|[{}[\],:]/gs;

/**
 * The members of the outermost object as far as the text goes; with the value of each member that
 * is a text. Not a parser: the server refuses what is no JSON, and names the place.
 */
export function topMembers(text: string): Map<string, string | null> {
  const members = new Map<string, string | null>();
  let depth = 0;
  let name: string | null = null;
  let isNameNext = false;
  for (const [token, content] of text.matchAll(TOKEN)) {
    if (token === '{' || token === '[') {
      depth += 1;
      isNameNext = depth === 1;
    } else if (token === '}' || token === ']') {
      depth -= 1;
    } else if (depth === 1 && token === ',') {
      isNameNext = true;
    } else if (depth === 1 && content !== undefined) {
      if (isNameNext) {
        name = content;
        members.set(name, null);
        isNameNext = false;
      } else if (name !== null) {
        members.set(name, content);
      }
    }
  }
  return members;
}

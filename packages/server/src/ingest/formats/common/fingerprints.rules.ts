// A producer's fingerprints → those that are evidence. A fingerprint that identifies only a line,
// only a commit or nothing at all is left out with its reason, which the finding's page shows.
// Pure.

import { hash } from 'node:crypto';
import { limits } from '@muster/contract/plain';
import { MASK } from '../../redact/masking.rules.ts';
import { cleanText } from '../../json/json.decode.ts';

interface Fingerprints {
  readonly usable: Readonly<Record<string, string>>;
  /** Name → the reason why the fingerprint was left out; null when none was. */
  readonly ignored: Readonly<Record<string, string>> | null;
}

/** Names whose values are a column, a commit or an author (CodeQL; Gitleaks 8). */
const WEAK_NAMES: ReadonlySet<string> = new Set([
  'primaryLocationStartColumnFingerprint',
  'commitSha',
  'email',
  'author',
  'date',
  'commitMessage',
]);

/** Values that stand for "none". */
const PLACEHOLDER = /^(?:requires login|none|null|n\/a|unknown|0+)$/i;

/** Producers write a handful; a longer list is machine state. */
const FINGERPRINTS_MAX = 32;

/**
 * The usable fingerprints of several name → value lists. Where two lists have one name, the first
 * list keeps the name and the other gets the prefix `partial/`. Fingerprints are stored as they
 * are, so one that shows a secret is left out.
 */
export function usableFingerprints(
  lists: readonly (Readonly<Record<string, unknown>> | null)[],
  hasSecret: ((text: string) => boolean) | null = null,
): Fingerprints {
  const usable: [string, string][] = [];
  const ignored: [string, string][] = [];
  let more = 0;
  for (const list of lists) {
    if (list === null) continue;
    for (const name of Object.keys(list)) {
      if (usable.length + ignored.length >= FINGERPRINTS_MAX) {
        more += 1;
        continue;
      }
      const value = fingerprintText(list[name]);
      const isSecret = hasSecret?.(`${name}\n${value ?? ''}`) === true;
      const reason = isSecret ? 'shows the secret' : weakness(name, value);
      const shown = hasSecret?.(name) === true ? MASK : name;
      const key = cleanName(usable.some(([known]) => known === name) ? `partial/${shown}` : shown);
      if (reason !== null) ignored.push([key, reason]);
      else usable.push([key, bounded(value ?? '')]);
    }
  }
  if (more > 0) ignored.push(['…', `${more} beyond the first ${FINGERPRINTS_MAX}`]);
  return {
    usable: usable.length === 0 ? NO_FINGERPRINTS : Object.fromEntries(usable),
    ignored: ignored.length === 0 ? null : Object.fromEntries(ignored),
  };
}

const NO_FINGERPRINTS: Readonly<Record<string, string>> = Object.freeze({});

/**
 * The fingerprint as a text, or the `value` of the object that some exporters write in its place.
 */
function fingerprintText(value: unknown): string | null {
  const text =
    typeof value === 'object' && value !== null ? (value as { value?: unknown }).value : value;
  return typeof text === 'string' ? text.trim() : null;
}

function weakness(name: string, value: string | null): string | null {
  if (value === null) return 'not a text';
  if (value === '') return 'empty';
  if (WEAK_NAMES.has(name)) return 'says where or when, not what';
  return PLACEHOLDER.test(value) ? 'a placeholder' : null;
}

function cleanName(name: string): string {
  return cleanText(name.slice(0, limits.nameCharsMax));
}

/** Values are compared, never shown: a long value becomes its hash. */
function bounded(value: string): string {
  return comparable(value, limits.fingerprintCharsMax);
}

/**
 * A text for comparison, never for display: cleaned, and beyond `charsMax` replaced by its SHA-256.
 */
export function comparable(value: string, charsMax: number): string {
  const text = cleanText(value);
  return text.length <= charsMax ? text : `sha256:${hash('sha256', text, 'hex')}`;
}

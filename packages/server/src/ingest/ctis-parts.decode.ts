// The detail objects of a CTIS finding (CTIS §2.4, §2.5, §2.7) under their right names, read once
// per finding and handed to everything that needs them. Called by ctis-finding.decode.ts.

import { isBlank } from './ctis-members.decode.ts';
import { normalVulnerability } from './ctis-vulnerability.decode.ts';
import {
  type JsonObject,
  type Notes,
  objectOf,
  stringOf,
  stringsOf,
} from './report-notes.decode.ts';

/** The detail objects of a finding under their right names; null where absent. */
export interface FindingParts {
  readonly finding: JsonObject;
  readonly vulnerability: JsonObject | null;
  readonly secret: JsonObject | null;
  readonly misconfiguration: JsonObject | null;
  readonly compliance: JsonObject | null;
  readonly suppression: JsonObject | null;
  readonly remediation: JsonObject | null;
}

/** `frameworks` is a known wrong name, and a list (CTIS §8, item 21): the first is the framework. */
function withOneFramework(compliance: JsonObject | null): JsonObject | null {
  if (!Array.isArray(compliance?.framework)) return compliance;
  const [framework, ...others] = stringsOf(compliance.framework);
  return { ...compliance, framework, ...(others.length > 0 ? { frameworks: others } : {}) };
}

/** The parts of a finding that was read; an object that says nothing counts as absent. */
export function partsOf(finding: JsonObject, pointer: string, notes: Notes): FindingParts {
  const part = (kind: 'vulnerability' | 'secret' | 'misconfiguration' | 'compliance') => {
    const object = objectOf(finding[kind]);
    return object === null || isBlank(object) ? null : object;
  };
  const vulnerability = part('vulnerability');
  return {
    finding,
    vulnerability:
      vulnerability && normalVulnerability(vulnerability, `${pointer}/vulnerability`, notes),
    secret: part('secret'),
    misconfiguration: part('misconfiguration'),
    compliance: withOneFramework(part('compliance')),
    suppression: objectOf(finding.suppression),
    remediation: objectOf(finding.remediation),
  };
}

/** §2.7; `suppressed` is what 1.0–1.2 called it. */
const STATUSES: ReadonlySet<string> = new Set([
  'accepted',
  'suppressed',
  'under_review',
  'rejected',
]);

/** The member that says whether a suppression is in force: `status`, which was `state` in 1.0–1.2; null where neither does. */
function statusMember(suppression: JsonObject): 'status' | 'state' | null {
  return (['status', 'state'] as const).find((name) => !isBlank(suppression[name])) ?? null;
}

/**
 * §2.7: accepted, or without a status; what is there and is no word accepts nothing. The end date is the server's to judge.
 */
export function suppressionStatus(suppression: JsonObject): string {
  const name = statusMember(suppression);
  if (name === null) return 'accepted';
  const word = stringOf(suppression[name])?.trim().toLowerCase() ?? 'unreadable';
  return word === 'suppressed' ? 'accepted' : word;
}

/** Notes a status that is none. */
export function warnSuppression(
  suppression: JsonObject | null,
  pointer: string,
  notes: Notes,
): void {
  const name = suppression === null ? null : statusMember(suppression);
  if (suppression === null || name === null) return;
  const at = `${pointer}/suppression/${name}`;
  if (typeof suppression[name] !== 'string') {
    notes.warn(at, 'wrong_type', 'A text is expected here; the suppression is not in force.');
  } else if (!STATUSES.has(suppressionStatus(suppression))) {
    const detail = 'CTIS has no such status of a suppression; it is not in force.';
    notes.warn(at, 'unknown_word', detail);
  }
}

/** True when the report's own suppression is in force. */
export function isSuppressed(suppression: JsonObject | null): boolean {
  if (suppression === null || isBlank(suppression)) return false;
  return suppressionStatus(suppression) === 'accepted';
}

/** RFC 3339, or only its date: then the whole day counts. */
const TIME = /^\d{4}-\d\d-\d\d(?:[Tt ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[Zz]|[+-]\d\d:\d\d)?)?$/;
const DAY_MS = 24 * 60 * 60 * 1000;

/** The last moment of a time or day as it is written, in milliseconds; null where that can't be read. */
export function endOfTime(written: string): number | null {
  const text = written.trim();
  const isDate = text.length === 10;
  const isZoned = isDate || /(?:[Zz]|[+-]\d\d:\d\d)$/.test(text);
  const time = TIME.test(text) ? Date.parse(isZoned ? text : `${text}Z`) : Number.NaN;
  if (Number.isNaN(time)) return null;
  return isDate ? time + DAY_MS : time;
}

/** When the report's own suppression ends; nothing where it doesn't, or says so in a way that can't be read. */
export function suppressionEnd(
  suppression: JsonObject | null,
  pointer: string,
  notes: Notes,
): { suppressedUntil?: number } {
  const text = stringOf(suppression?.expires_at)?.trim() ?? '';
  // Go writes year 1 for a time that wasn't set (CTIS §8, item 28).
  if (text === '' || text.startsWith('0001-')) return {};
  const end = endOfTime(text);
  if (end !== null) return { suppressedUntil: end };
  const detail = 'The end of the suppression is no time of RFC 3339; it has no end.';
  notes.warn(`${pointer}/suppression/expires_at`, 'time_unreadable', detail);
  return {};
}

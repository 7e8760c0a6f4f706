// A CTIS finding → its detail objects (CTIS §2.4, §2.5, §2.7) under their right names, and the
// state of its suppression. The objects are read once per finding and handed to every file that
// needs them. Called by ctis/detail.decode.ts and ctis/finding.decode.ts.

import { isBlank } from './members.decode.ts';
import { normalVulnerability } from './vulnerability.decode.ts';
import type { Warnings } from '../../json/warnings.decode.ts';
import { type JsonObject, objectOf, stringOf, stringsOf } from '../../json/json.decode.ts';
import { endOfTime } from '../common/dates.rules.ts';

/** The detail objects of a finding under their right names; null for an absent one. */
export interface FindingParts {
  readonly finding: JsonObject;
  readonly vulnerability: JsonObject | null;
  readonly secret: JsonObject | null;
  readonly misconfiguration: JsonObject | null;
  readonly compliance: JsonObject | null;
  readonly suppression: JsonObject | null;
  readonly remediation: JsonObject | null;
}

/**
 * `frameworks` is a known wrong name for a list (CTIS §8, item 21); its first entry is the
 * framework.
 */
function withOneFramework(compliance: JsonObject | null): JsonObject | null {
  if (!Array.isArray(compliance?.framework)) return compliance;
  const [framework, ...others] = stringsOf(compliance.framework);
  return { ...compliance, framework, ...(others.length > 0 ? { frameworks: others } : {}) };
}

/** The parts of a finding; an object that says nothing counts as absent. */
export function partsOf(finding: JsonObject, pointer: string, warnings: Warnings): FindingParts {
  const part = (kind: 'vulnerability' | 'secret' | 'misconfiguration' | 'compliance') => {
    const object = objectOf(finding[kind]);
    return object === null || isBlank(object) ? null : object;
  };
  const vulnerability = part('vulnerability');
  return {
    finding,
    vulnerability:
      vulnerability && normalVulnerability(vulnerability, `${pointer}/vulnerability`, warnings),
    secret: part('secret'),
    misconfiguration: part('misconfiguration'),
    compliance: withOneFramework(part('compliance')),
    suppression: objectOf(finding.suppression),
    remediation: objectOf(finding.remediation),
  };
}

/** §2.7; versions 1.0–1.2 call `accepted` `suppressed`. */
const STATUSES: ReadonlySet<string> = new Set([
  'accepted',
  'suppressed',
  'under_review',
  'rejected',
]);

/**
 * The member that holds the status of a suppression: `status`, or `state` in 1.0–1.2; null when
 * both are blank.
 */
function statusMember(suppression: JsonObject): 'status' | 'state' | null {
  return (['status', 'state'] as const).find((name) => !isBlank(suppression[name])) ?? null;
}

/**
 * §2.7: a suppression without a status is accepted; a status that can't be read accepts nothing.
 * The server judges the end date.
 */
export function suppressionStatus(suppression: JsonObject): string {
  const name = statusMember(suppression);
  if (name === null) return 'accepted';
  const word = stringOf(suppression[name])?.trim().toLowerCase() ?? 'unreadable';
  return word === 'suppressed' ? 'accepted' : word;
}

/** Warns about a status that CTIS doesn't have. */
export function warnSuppression(
  suppression: JsonObject | null,
  pointer: string,
  warnings: Warnings,
): void {
  const name = suppression === null ? null : statusMember(suppression);
  if (suppression === null || name === null) return;
  const at = `${pointer}/suppression/${name}`;
  if (typeof suppression[name] !== 'string') {
    warnings.warn(at, 'wrong_type', 'A text is expected here; the suppression is not in force.');
  } else if (!STATUSES.has(suppressionStatus(suppression))) {
    const detail = 'CTIS has no such status of a suppression; it is not in force.';
    warnings.warn(at, 'unknown_word', detail);
  }
}

/** True when the report's own suppression is in force, whatever its end date. */
export function isSuppressed(suppression: JsonObject | null): boolean {
  if (suppression === null || isBlank(suppression)) return false;
  return suppressionStatus(suppression) === 'accepted';
}

/** The end of the report's own suppression; absent when there is none, or it can't be read. */
export function suppressionEnd(
  suppression: JsonObject | null,
  pointer: string,
  warnings: Warnings,
): { suppressedUntil?: number } {
  const text = stringOf(suppression?.expires_at)?.trim() ?? '';
  // Go writes year 1 for an unset time (CTIS §8, item 28).
  if (text === '' || text.startsWith('0001-')) return {};
  const end = endOfTime(text);
  if (end !== null) return { suppressedUntil: end };
  const detail = 'The end of the suppression is no time of RFC 3339; it has no end.';
  warnings.warn(`${pointer}/suppression/expires_at`, 'time_unreadable', detail);
  return {};
}

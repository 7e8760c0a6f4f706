// A CTIS finding → its severity, and the member that decided it (CTIS §4.1, §4.2): its own word,
// else the word or number of the scheme it comes from, else its CVSS score or vector, else medium.
// Called by ctis/finding.decode.ts.

import type { Severity } from '@muster/contract';
import { cvssOf } from '../common/cvss.rules.ts';
import type { FindingParts } from './parts.decode.ts';
import type { Warnings } from '../../json/warnings.decode.ts';
import { type JsonObject, listOf, numberOf, objectOf, stringOf } from '../../json/json.decode.ts';
import {
  scoreOf,
  severityOfCvss2,
  severityOfScore,
  severityOfWord,
  type SeverityVerdict,
} from '../common/severity.rules.ts';

/**
 * Numbers and words of schemes (CTIS §4.2, interop tables) that the general words lack or read
 * differently.
 */
const SCHEMES: ReadonlyMap<string, ReadonlyMap<string, Severity>> = new Map([
  [
    'nessus',
    new Map<string, Severity>([
      ['0', 'info'],
      ['1', 'low'],
      ['2', 'medium'],
      ['3', 'high'],
      ['4', 'critical'],
    ]),
  ],
  [
    'qualys',
    new Map<string, Severity>([
      ['1', 'info'],
      ['2', 'low'],
      ['3', 'medium'],
      ['4', 'high'],
      ['5', 'critical'],
      ['minimal', 'info'],
      ['serious', 'medium'],
      ['urgent', 'critical'],
    ]),
  ],
  // The level `note` is low; the word alone is info (SARIF 2.1.0 §3.27.10).
  ['sarif', new Map<string, Severity>([['note', 'low']])],
]);

/** The severity and the member that decided it. A missing or unknown word gets a warning. */
export function severityOf(
  parts: FindingParts,
  pointer: string,
  warnings: Warnings,
): SeverityVerdict {
  const severity = severityOfWord(parts.finding.severity);
  if (severity !== null) return { severity, from: 'severity' };
  const verdict = fallbackOf(parts);
  const word = stringOf(parts.finding.severity);
  const said = word === null ? 'The severity is missing' : `"${word.slice(0, 64)}" is no severity`;
  const by = verdict.from === 'default' ? '' : `, by ${verdict.from}`;
  const detail = `${said}; it is taken as ${verdict.severity}${by}.`;
  warnings.warn(`${pointer}/severity`, 'unknown_severity', detail);
  return verdict;
}

function fallbackOf(parts: FindingParts): SeverityVerdict {
  const native = objectOf(parts.finding.native);
  const word = stringOf(native?.severity)?.trim().toLowerCase() ?? '';
  const scheme = SCHEMES.get(stringOf(native?.scheme) ?? '');
  const told = scheme?.get(word) ?? severityOfWord(word);
  if (told !== null) return { severity: told, from: 'native.severity' };
  const { vulnerability } = parts;
  const own = vulnerability === null ? null : ratedBy(vulnerability);
  if (own !== null) return own;
  for (const entry of listOf(parts.finding.scores)) {
    const { system, value, version, vector } = objectOf(entry) ?? {};
    if (system !== 'cvss') continue;
    const rated = ratedBy({ cvss_score: value, cvss_version: version, cvss_vector: vector });
    if (rated !== null) return { ...rated, from: 'scores' };
  }
  return { severity: 'medium', from: 'default' };
}

/**
 * The severity of the stated score, else of the vector's base score; a vector may stand alone (CTIS
 * §2.8). Go writes zero when there is no score.
 */
function ratedBy(cvss: JsonObject): SeverityVerdict | null {
  const stated = scoreOf(cvss.cvss_score);
  if (stated !== null && stated > 0) {
    const severity = isCvss2(cvss) ? severityOfCvss2(stated) : severityOfScore(stated);
    return { severity, from: 'cvss_score' };
  }
  const vector = cvssOf(cvss.cvss_vector);
  if (vector === null || vector.score === null) return null;
  const isOld = vector.version === '2.0';
  const severity = isOld ? severityOfCvss2(vector.score) : severityOfScore(vector.score);
  return { severity, from: 'cvss_vector' };
}

/**
 * True for v2, by the stated version, else by the vector: only a v2 vector has no `CVSS:<version>/`
 * (CTIS §2.8).
 */
function isCvss2(vulnerability: JsonObject): boolean {
  const version =
    stringOf(vulnerability.cvss_version) ?? String(numberOf(vulnerability.cvss_version) ?? '');
  if (version.trim() !== '') return version.trim().startsWith('2');
  return /^\(?AV:/i.test(stringOf(vulnerability.cvss_vector)?.trim() ?? '');
}

// How bad a CTIS finding is (CTIS §4.1, §4.2): its own word, else the word or number of the scheme it comes from, else
// its CVSS score, else medium. Called by ctis-finding.decode.ts.

import type { Severity } from '@muster/contract';
import type { FindingParts } from './ctis-parts.decode.ts';
import {
  type JsonObject,
  listOf,
  type Notes,
  numberOf,
  objectOf,
  stringOf,
} from './report-notes.decode.ts';
import {
  scoreOf,
  severityOfCvss2,
  severityOfScore,
  severityOfWord,
  type SeverityVerdict,
} from './severity.rules.ts';

/** Numbers and words of the schemes (CTIS §4.2, interop tables) that the general words don't have or read otherwise. */
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
  // As a level `note` is low, though the word alone reads as info (SARIF 2.1.0 §3.27.10).
  ['sarif', new Map<string, Severity>([['note', 'low']])],
]);

/** The severity and what decided it; a missing or unknown word is warned about. */
export function severityOf(parts: FindingParts, pointer: string, notes: Notes): SeverityVerdict {
  const severity = severityOfWord(parts.finding.severity);
  if (severity !== null) return { severity, from: 'severity' };
  const verdict = fallbackOf(parts);
  const word = stringOf(parts.finding.severity);
  const said = word === null ? 'The severity is missing' : `"${word.slice(0, 64)}" is no severity`;
  const by = verdict.from === 'default' ? '' : `, by ${verdict.from}`;
  const detail = `${said}; it is taken as ${verdict.severity}${by}.`;
  notes.warn(`${pointer}/severity`, 'unknown_severity', detail);
  return verdict;
}

function fallbackOf(parts: FindingParts): SeverityVerdict {
  const native = objectOf(parts.finding.native);
  const word = stringOf(native?.severity)?.trim().toLowerCase() ?? '';
  const scheme = SCHEMES.get(stringOf(native?.scheme) ?? '');
  const told = scheme?.get(word) ?? severityOfWord(word);
  if (told !== null) return { severity: told, from: 'native.severity' };
  const score = scoreOf(parts.vulnerability?.cvss_score);
  if (parts.vulnerability !== null && score !== null && score > 0) {
    const isOld = isCvss2(parts.vulnerability);
    return {
      severity: isOld ? severityOfCvss2(score) : severityOfScore(score),
      from: 'cvss_score',
    };
  }
  for (const entry of listOf(parts.finding.scores)) {
    const rated = objectOf(entry);
    const value = scoreOf(rated?.value);
    if (rated?.system !== 'cvss' || value === null || value <= 0) continue;
    const isOld = isCvss2({ cvss_version: rated.version, cvss_vector: rated.vector });
    return { severity: isOld ? severityOfCvss2(value) : severityOfScore(value), from: 'scores' };
  }
  return { severity: 'medium', from: 'default' };
}

/** By its version, else by its vector: only v2 writes none of `CVSS:<version>/` (CTIS §2.8). */
function isCvss2(vulnerability: JsonObject): boolean {
  const version =
    stringOf(vulnerability.cvss_version) ?? String(numberOf(vulnerability.cvss_version) ?? '');
  if (version.trim() !== '') return version.trim().startsWith('2');
  return /^\(?AV:/i.test(stringOf(vulnerability.cvss_vector)?.trim() ?? '');
}

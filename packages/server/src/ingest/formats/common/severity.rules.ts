// How bad a finding is, from what producers say: CVSS scores, words, SARIF levels. Nothing is
// guessed: a word that isn't in the table answers null and the caller goes on to its next source.
// Called by the report readers.

import type { Severity } from '@muster/contract';

/** What was decided and by what, kept with the finding so that the decision can be read later. */
export interface SeverityVerdict {
  readonly severity: Severity;
  /** The source that decided: `security-severity`, `properties.severity`, `level`, … */
  readonly from: string;
}

/**
 * CVSS v3/v4 bands (FIRST CVSS v3.1 §5): ≥ 9 critical, ≥ 7 high, ≥ 4 medium, > 0 low, else info.
 */
export function severityOfScore(score: number): Severity {
  if (score >= 9) return 'critical';
  if (score >= 7) return 'high';
  if (score >= 4) return 'medium';
  return score > 0 ? 'low' : 'info';
}

/** The same for a score of CVSS v2, which has no critical (CVSS v2, NVD bands; CTIS §4.1). */
export function severityOfCvss2(score: number): Severity {
  const severity = severityOfScore(score);
  return severity === 'critical' ? 'high' : severity;
}

/**
 * A CVSS base score as a number or as a decimal text (SARIF tools write texts); null outside 0–10.
 */
export function scoreOf(value: unknown): number | null {
  if (typeof value === 'string' && (value.length > 16 || !/^\s*\d+(?:\.\d+)?\s*$/.test(value))) {
    return null;
  }
  const score = typeof value === 'string' ? Number(value) : value;
  return typeof score === 'number' && score >= 0 && score <= 10 ? score : null;
}

const WORDS: ReadonlyMap<string, Severity> = new Map([
  ['critical', 'critical'],
  ['crit', 'critical'],
  ['blocker', 'critical'],
  ['high', 'high'],
  ['error', 'high'],
  ['severe', 'high'],
  ['important', 'high'],
  ['major', 'high'],
  ['medium', 'medium'],
  ['moderate', 'medium'],
  ['warning', 'medium'],
  ['warn', 'medium'],
  ['med', 'medium'],
  ['low', 'low'],
  ['minor', 'low'],
  ['recommendation', 'low'],
  ['weak warning', 'low'],
  ['info', 'info'],
  ['informational', 'info'],
  ['information', 'info'],
  ['note', 'info'],
  ['none', 'info'],
  ['suggestion', 'info'],
  ['hint', 'info'],
]);

/**
 * A severity word in any case (CTIS §4.1, and the words of SARIF tools); null when it isn't one.
 */
export function severityOfWord(value: unknown): Severity | null {
  if (typeof value !== 'string' || value.length > 32) return null;
  return WORDS.get(value.trim().toLowerCase()) ?? null;
}

const LEVELS: ReadonlyMap<unknown, Severity> = new Map<unknown, Severity>([
  ['error', 'high'],
  ['warning', 'medium'],
  ['note', 'low'],
  ['none', 'info'],
]);

/** SARIF 2.1.0 §3.27.10: `note` is low as a level, though the word alone reads as info. */
export function severityOfLevel(level: string): Severity {
  return LEVELS.get(level) ?? 'medium';
}

/** True for the four words of SARIF 2.1.0 §3.27.10. */
export function isLevel(value: unknown): value is Level {
  return LEVELS.has(value);
}

export type Level = 'error' | 'warning' | 'note' | 'none';

/** The level that a word is in any case; null for what is none. */
export function levelWord(value: unknown): Level | null {
  if (isLevel(value)) return value;
  const word = typeof value === 'string' && value.length <= 64 ? value.trim().toLowerCase() : null;
  return isLevel(word) ? word : null;
}

const NOTICES: Readonly<Record<Severity, Level>> = {
  critical: 'error',
  high: 'error',
  medium: 'warning',
  low: 'note',
  info: 'note',
};

/** The level of a notification: as `levelWord`, else that of the severity that it names; null for what is neither. */
export function noticeLevel(value: unknown): Level | null {
  const severity = severityOfWord(value);
  return levelWord(value) ?? (severity === null ? null : NOTICES[severity]);
}

// Producers' words, CVSS scores and SARIF levels → the severity of a finding. Nothing is guessed: a
// word outside the table gives null, and the caller asks its next source.

import type { Severity } from '@muster/contract';

/**
 * A severity and the source that decided it, stored with the finding so that the decision can be
 * read later.
 */
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

/** The severity of a CVSS v2 score: v2 has no critical (CVSS v2, NVD bands; CTIS §4.1). */
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
 * The severity that a word names, in any case (CTIS §4.1, and words of SARIF tools); null for
 * others.
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

/**
 * The severity of a SARIF level (SARIF 2.1.0 §3.27.10). The level `note` is low; the word alone is
 * info.
 */
export function severityOfLevel(level: string): Severity {
  return LEVELS.get(level) ?? 'medium';
}

/** True for the four words of SARIF 2.1.0 §3.27.10. */
export function isLevel(value: unknown): value is Level {
  return LEVELS.has(value);
}

type Level = 'error' | 'warning' | 'note' | 'none';

/** The level that a word names, in any case; null for other words. */
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

/**
 * The level of a notification: the level that the word names, else the level of the severity that
 * it names, else null.
 */
export function noticeLevel(value: unknown): Level | null {
  const severity = severityOfWord(value);
  return levelWord(value) ?? (severity === null ? null : NOTICES[severity]);
}

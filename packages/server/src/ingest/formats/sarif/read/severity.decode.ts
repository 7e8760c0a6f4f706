// A SARIF result and its rule → the severity, and the source that decided it: security-severity of
// the result, then of the rule; words and scores in properties and tags; last the level (SARIF
// 2.1.0 §3.27.10). All severities that were stated are kept beside the verdict. Called by
// read/rules.decode.ts, sarif/result.decode.ts and show/detail.decode.ts.

import type { Severity } from '@muster/contract';
import { type JsonObject, numberOf, preview, stringOf } from '../../../json/json.decode.ts';
import { type Cvss, cvssIn, isVectorName } from './cvss.decode.ts';
import {
  scoreOf,
  type SeverityVerdict,
  severityOfCvss2,
  severityOfLevel,
  severityOfScore,
  severityOfWord,
} from '../../common/severity.rules.ts';

/** The severities that properties and tags of a rule or a result state. */
export interface SaidSeverity {
  /** From `security-severity`. */
  readonly score: SeverityVerdict | null;
  /** From all other properties and from tags. */
  readonly word: SeverityVerdict | null;
  readonly raw: readonly (readonly [string, string | number])[];
  readonly cvss: Cvss | null;
}

export const SILENT: SaidSeverity = { score: null, word: null, raw: [], cvss: null };

/**
 * Names of tools' own properties; names about the finding come before names about the rule. The
 * first usable value counts.
 */
const WORD_NAMES = [
  'issue_severity',
  'severity',
  'Severity',
  'securityRisk',
  'security_severity',
  'qodanaSeverity',
  'ideaSeverity',
  'DevSkimSeverity',
  'priority',
  'Priority',
  'InstanceSeverity',
  'problem.severity',
  'cvssv4_baseSeverity',
  'cvssv3_baseSeverity',
];

const SCORE_NAMES = [
  'cvssv4_baseScore',
  'cvssv3_baseScore',
  'cvssV3_baseScore',
  'cvssv2_baseScore',
  'cvssv2_score',
  'cvssScore',
  'cvss_score',
  'cvss',
];

/** A vector with all its metrics has no more characters. */
const RAW_CHARS_MAX = 255;

const TAG_WORD = /^(?:critical|high|medium|low)$/i;

/** Reads the severities in a property bag and its tags. */
export function readSaid(properties: JsonObject | null, tags: readonly string[]): SaidSeverity {
  if (properties === null && tags.length === 0) return SILENT;
  const raw: [string, string | number][] = [];
  const note = (name: string, value: unknown): void => {
    const text = stringOf(value);
    const said = text === null ? numberOf(value) : preview(text, RAW_CHARS_MAX);
    if (said !== null) raw.push([name, said]);
  };
  const bag = properties ?? {};
  note('security-severity', bag['security-severity']);
  const stated = securitySeverityOf(bag['security-severity']);
  let word: SeverityVerdict | null = null;
  for (const name of WORD_NAMES) {
    const value = bag[name];
    if (value === undefined) continue;
    note(name, value);
    const severity = severityOfWord(value);
    if (word === null && severity !== null) word = { severity, from: `properties.${name}` };
  }
  for (const name of SCORE_NAMES) {
    const value = bag[name];
    if (value === undefined) continue;
    note(name, value);
    const score = scoreOf(value);
    if (word === null && score !== null) {
      const isOld = name.startsWith('cvssv2');
      const severity = isOld ? severityOfCvss2(score) : severityOfScore(score);
      word = { severity, from: `properties.${name}` };
    }
  }
  const cvss = cvssIn(bag);
  for (const name of Object.keys(bag)) if (isVectorName(name)) note(name, bag[name]);
  if (cvss !== null) note(cvss.name, cvss.vector ?? cvss.score);
  if (word === null && cvss !== null && cvss.score !== null) {
    const isOld = cvss.version?.startsWith('2') === true;
    const severity = isOld ? severityOfCvss2(cvss.score) : severityOfScore(cvss.score);
    word = { severity, from: `properties.${cvss.name}` };
  }
  const tag = tags.find((text) => TAG_WORD.test(text.trim()));
  if (tag !== undefined) {
    note('tags', tag);
    const severity = severityOfWord(tag);
    if (word === null && severity !== null) word = { severity, from: 'tags' };
  }
  const score = stated === null ? null : { severity: stated, from: 'security-severity' };
  return raw.length === 0 ? SILENT : { score, word, raw, cvss };
}

/** `9.8`, alone or with other text around it: `9.8/10`, `9.8 (Critical)`. */
const ANNOTATED = /^\s*(\d{1,2}(?:\.\d{1,6})?)\s*(?:\/\s*10(?:\.0)?\s*)?(?:\([^()]*\)\s*)?$/;

/**
 * The severity of a score as GitHub wants it, of a score with text around it, or of a word; else
 * null.
 */
function securitySeverityOf(value: unknown): Severity | null {
  const isShort = typeof value === 'string' && value.length <= RAW_CHARS_MAX;
  const score = scoreOf(isShort ? (ANNOTATED.exec(value)?.[1] ?? value) : value);
  return score === null ? severityOfWord(value) : severityOfScore(score);
}

/** The source of a level: the result itself, the scan's configuration, or nothing but the rule. */
export type LevelFrom = 'result' | 'configuration' | 'rule';

/**
 * CodeQL's word for a rule's default level; it counts for nothing beside a level that somebody
 * chose.
 */
const DEFAULT_LEVEL = 'properties.problem.severity';

/**
 * The verdict; a source in the rule gets `rule.` in front. A level that was configured for the rule
 * comes before the rule's words, and any chosen level comes before the rule's default level.
 */
export function severityOf(
  rule: SaidSeverity,
  result: SaidSeverity,
  level: string,
  levelFrom: LevelFrom,
): SeverityVerdict {
  const fromRule = (verdict: SeverityVerdict | null): SeverityVerdict | null =>
    verdict === null ? null : { severity: verdict.severity, from: `rule.${verdict.from}` };
  const isChosen =
    levelFrom === 'configuration' || (levelFrom === 'result' && rule.word?.from === DEFAULT_LEVEL);
  const ruleWord = isChosen ? null : rule.word;
  return (
    result.score ??
    fromRule(rule.score) ??
    result.word ??
    fromRule(ruleWord) ?? { severity: severityOfLevel(level), from: 'level' }
  );
}

/**
 * All severities that were stated, by name. Where a name comes twice, the result's value counts.
 */
export function rawSeverity(
  rule: SaidSeverity,
  result: SaidSeverity,
): Record<string, string | number> | null {
  if (rule.raw.length + result.raw.length === 0) return null;
  return Object.fromEntries([
    ...rule.raw.map(([n, v]) => [`rule.${n}`, v] as const),
    ...result.raw,
  ]);
}

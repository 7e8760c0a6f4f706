// How severe a SARIF result is, and by what it was decided: security-severity of the result, then
// of the rule; words and scores that tools put into properties and tags; last the level (SARIF
// 2.1.0 §3.27.10). What was said is kept beside the verdict. Called by the rule reader (once per
// rule) and the result reader.

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

/** What properties and tags of a rule or a result say about severity. */
export interface SaidSeverity {
  /** From `security-severity`. */
  readonly score: SeverityVerdict | null;
  /** From everything else. */
  readonly word: SeverityVerdict | null;
  readonly raw: readonly (readonly [string, string | number])[];
  readonly cvss: Cvss | null;
}

export const SILENT: SaidSeverity = { score: null, word: null, raw: [], cvss: null };

/**
 * Tools' own property names, those of the finding before those of the rule's author; the first
 * usable wins.
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

/** A vector with all its metrics has no more. */
const RAW_CHARS_MAX = 255;

const TAG_WORD = /^(?:critical|high|medium|low)$/i;

/** Reads a property bag and its tags. */
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

/** `9.8`, and what is written around it: `9.8/10`, `9.8 (Critical)`. */
const ANNOTATED = /^\s*(\d{1,2}(?:\.\d{1,6})?)\s*(?:\/\s*10(?:\.0)?\s*)?(?:\([^()]*\)\s*)?$/;

/** A score as GitHub wants it, a score with words around it, or a word; null for everything else. */
function securitySeverityOf(value: unknown): Severity | null {
  const isShort = typeof value === 'string' && value.length <= RAW_CHARS_MAX;
  const score = scoreOf(isShort ? (ANNOTATED.exec(value)?.[1] ?? value) : value);
  return score === null ? severityOfWord(value) : severityOfScore(score);
}

/** Who decided the level: the result itself, what a scan was configured with, or nobody but the rule. */
export type LevelFrom = 'result' | 'configuration' | 'rule';

/** CodeQL's word for the level that a rule has by default: nothing beside a level that somebody chose. */
const DEFAULT_LEVEL = 'properties.problem.severity';

/**
 * The verdict, its source named with a `rule.` in front where the rule said it. What a rule says in words stands behind a
 * level that was configured for it, and its default level behind any that was chosen.
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

/** Everything that was said, by name; what the result says beats the rule. */
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

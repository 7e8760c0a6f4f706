// One SARIF result (SARIF 2.1.0 §3.27) → the outcome of its item: a finding, not a problem, or a
// located rejection. Only a result that is no object, or has neither message nor rule nor location,
// is rejected; every other flaw is tolerated. The outcome depends on the result and its run, never
// on other results. Called by sarif.decode.ts.

import { type DetailSuppression, limits } from '@muster/contract/plain';
import { endOfTime } from '../common/dates.rules.ts';
import type { FindingDraft, Item } from '../../report/report.rules.ts';
import { usableFingerprints } from '../common/fingerprints.rules.ts';
import { maskSaid } from '../../redact/masking.rules.ts';
import {
  indexOf,
  type JsonObject,
  listOf,
  objectOf,
  preview,
  stringOf,
} from '../../json/json.decode.ts';
import { tagsOf } from './read/bags.decode.ts';
import { detailOf } from './show/detail.decode.ts';
import { type Subject, subjectOf } from './read/identity.decode.ts';
import { type ReadLocation, readLocation } from './read/locations.decode.ts';
import { messageText, withoutLinks } from './read/message.decode.ts';
import { suppressionsOf } from './show/provenance.decode.ts';
import type { RuleFacts } from './read/rules.decode.ts';
import type { SarifRun } from './read/run.decode.ts';
import { duplicateKeyTexts } from './read/duplicate-key.decode.ts';
import { secretValuesOf, withoutSecretNames, withoutSecrets } from './read/secrets.decode.ts';
import { type LevelFrom, readSaid, severityOf } from './read/severity.decode.ts';
import { checkedResult } from './read/shape.decode.ts';
import { showsSecret } from '../../redact/secret-values.rules.ts';
import { isLevel, severityOfWord } from '../common/severity.rules.ts';

/**
 * §3.27.9: these three of the six kinds say that nothing is wrong; `open` and `review` want a
 * person.
 */
const NO_PROBLEM_KINDS: ReadonlySet<unknown> = new Set(['pass', 'notApplicable', 'informational']);

/** Decides the outcome of one result. */
export function decodeResult(value: unknown, pointer: string, run: SarifRun): Item {
  const sent = objectOf(value);
  if (sent === null) {
    const detail = 'A result must be an object.';
    return { outcome: 'rejected', rejection: { pointer, code: 'item_not_object', detail } };
  }
  const result = checkedResult(sent, pointer, run.warnings);
  if (NO_PROBLEM_KINDS.has(result.kind)) {
    return { outcome: 'not_problem', pointer, reason: `kind ${String(result.kind)}` };
  }
  if (result.baselineState === 'absent') {
    return { outcome: 'not_problem', pointer, reason: 'baselineState absent' };
  }
  const rule = run.rules.of(result);
  const location = firstLocation(result, run);
  const ownText = messageText(result.message, rule);
  const text = ownText ?? rule.title ?? stringOf(rule.detail?.description);
  if (text === null && rule.id === '' && location === null) {
    const detail = 'The result has neither message, rule nor location: nothing tells what it is.';
    return { outcome: 'rejected', rejection: { pointer, code: 'item_empty', detail } };
  }
  if (ownText === null) {
    const detail = 'A result has no message; what its rule says stands in for it.';
    run.warnings.warn(`${pointer}/message`, 'message_missing', detail);
  }
  const message = text ?? (rule.id === '' ? 'A result without a message.' : rule.id);
  const subject = subjectOf(result, run.place.tool, rule, location, message, run);
  const facts = { pointer, rule, location, message, subject, hasSecret: () => false };
  const isSecret = subject.type === 'secret';
  const draft = isSecret ? draftOfSecret(result, facts, run) : draftOf(result, facts, run);
  return { outcome: 'finding', draft };
}

/** The facts about a result from which its draft is made. */
interface ResultFacts {
  readonly pointer: string;
  readonly rule: RuleFacts;
  readonly location: ReadLocation | null;
  readonly message: string;
  readonly subject: Subject;
  /** True for a text that shows a secret of the result. */
  readonly hasSecret: (text: string) => boolean;
}

/**
 * The draft of a result about a secret. All but the identity is read anew, from a copy without the
 * secret.
 */
function draftOfSecret(result: JsonObject, facts: ResultFacts, run: SarifRun): FindingDraft {
  const { rule, location, message } = facts;
  const openly = [rule.id, rule.name, rule.title, location?.place.path].join('\n');
  const values = secretValuesOf(result, location?.snippet ?? null, message, openly);
  const shown = withoutSecrets(result, values);
  const ownText = messageText(shown.message, facts.rule);
  const shownFacts = {
    ...facts,
    location: firstLocation(shown, run),
    message: ownText ?? facts.message,
    hasSecret: (text: string) => showsSecret(text, values),
  };
  const draft = draftOf(shown, shownFacts, run);
  const detail = () => withoutSecretNames(draft.detail(), values) as JsonObject;
  return { ...draft, detail };
}

function draftOf(result: JsonObject, facts: ResultFacts, run: SarifRun): FindingDraft {
  const { warnings } = run;
  const { pointer, rule, location, subject } = facts;
  const configured = run.configured(result, rule);
  const { level, from } = levelOf(result, rule, configured?.level ?? null);
  const properties = objectOf(result.properties);
  const odd = oddLevel(result.level);
  const inBag = readSaid(properties, tagsOf(properties));
  const stated = odd === null ? inBag : { ...inBag, raw: [...inBag.raw, odd.raw] };
  const decided = severityOf(rule.said, stated, level, from);
  // A level outside of the standard counts only where the level decides.
  const isOdd = odd !== null && decided.from === 'level';
  const verdict = isOdd ? { severity: odd.severity, from: 'level' } : decided;
  const fingerprints = usableFingerprints(
    [objectOf(result.fingerprints), objectOf(result.partialFingerprints)],
    facts.hasSecret,
  );
  const suppressions = suppressionsOf(result, rule, run, subject.type === 'secret');
  const message = warnings.text(maskSaid(facts.message), limits.messageCharsMax);
  const known = {
    rule,
    subject,
    verdict,
    said: stated,
    level,
    rank: configured?.rank ?? rule.rank,
    suppressions,
    ignoredFingerprints: fingerprints.ignored,
    location,
  };
  return {
    pointer,
    analysis: run.place.analysis,
    asset: run.place.asset,
    type: subject.type,
    ruleId: rule.id,
    title: rule.title ?? firstLine(message, rule.id),
    severity: verdict.severity,
    path: subject.hasNoPath ? null : (location?.place.path ?? targetPath(result, run)),
    startLine: location?.startLine ?? null,
    startColumn: location?.startColumn ?? null,
    ...offsetOf(location),
    message,
    fingerprints: fingerprints.usable,
    baseFingerprint: null,
    identity: {
      kind: subject.kind,
      content: subject.content,
      ...(subject.isSaid ? { isSaid: true } : {}),
    },
    suppressed: suppressions.length > 0 && suppressions.every((one) => one.status === 'accepted'),
    ...endOf(suppressions),
    also: () => warnings.quietly(() => duplicateKeyTexts(result, rule, location, subject, run)),
    detail: () => detailOf(result, known, run),
  };
}

/**
 * §3.30.9, §3.30.11: without a line, the offset tells two places with one message apart; -1 means
 * absent.
 */
function offsetOf(location: ReadLocation | null): Pick<FindingDraft, 'startOffset'> {
  if (location === null || location.startLine !== null) return {};
  const region = objectOf(objectOf(location.raw.physicalLocation)?.region);
  const offset = indexOf(region?.byteOffset) ?? indexOf(region?.charOffset);
  return offset === null ? {} : { startOffset: offset };
}

/**
 * The time at which the last suppression ends; absent when one of them has no end. Snyk writes the
 * end into the property bags of suppressions.
 */
function endOf(suppressions: readonly DetailSuppression[]): { suppressedUntil?: number } {
  let last = 0;
  for (const { expires_at: written } of suppressions) {
    const end = written === undefined ? null : endOfTime(written);
    if (end === null) return {};
    last = Math.max(last, end);
  }
  return suppressions.length === 0 ? {} : { suppressedUntil: last };
}

/**
 * The first location with a path, else the first location (§3.27.12). Only locations within the
 * bound of the shown ones are looked at; the others are counted where locations are shown.
 */
function firstLocation(result: JsonObject, run: SarifRun): ReadLocation | null {
  let first: ReadLocation | null = null;
  for (const entry of listOf(result.locations).slice(0, limits.locationsMax)) {
    const read = readLocation(entry, run);
    if (read === null) continue;
    if (read.place.path !== null) return read;
    first ??= read;
  }
  return first;
}

/**
 * §3.27.13: the path of the file that the tool analysed, for a result whose locations name none.
 */
function targetPath(result: JsonObject, run: SarifRun): string | null {
  const target = objectOf(result.analysisTarget);
  return target === null ? null : run.places.of(target).path;
}

/**
 * §3.27.10: the result's own level, else the configured one, else the rule's, else `warning`. By
 * the standard a `review` or `open` result has level `none`; here it keeps its rule's level,
 * because a person has to look at it.
 */
function levelOf(
  result: JsonObject,
  rule: RuleFacts,
  configured: string | null,
): { level: string; from: LevelFrom } {
  const own = result.level;
  const isUndecided = result.kind === 'review' || result.kind === 'open';
  if (isLevel(own) && !(isUndecided && own === 'none')) return { level: own, from: 'result' };
  const lower = typeof own === 'string' ? own.trim().toLowerCase() : null;
  if (isLevel(lower) && lower !== 'none') return { level: lower, from: 'result' };
  if (configured !== null) return { level: configured, from: 'configuration' };
  return { level: rule.level ?? 'warning', from: 'rule' };
}

/**
 * The severity that a level outside of the standard names: converters write "critical" or "Medium".
 * Null when the level is a standard one, or names no severity.
 */
function oddLevel(level: unknown) {
  if (typeof level !== 'string' || isLevel(level) || isLevel(level.trim().toLowerCase()))
    return null;
  const severity = severityOfWord(level);
  return severity === null ? null : { severity, raw: ['level', preview(level, 64)] as const };
}

/** The first line of the message; links show their texts only (§3.11.6). */
function firstLine(message: string, ruleId: string): string {
  const line = withoutLinks(message.trim().split(/\r?\n/, 1)[0]?.trim() ?? '');
  if (line === '') return ruleId === '' ? 'A result without a message.' : ruleId;
  return preview(line, limits.titleCharsMax);
}

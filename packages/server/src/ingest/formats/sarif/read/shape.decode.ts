// The log, the runs and the results of a SARIF document → warnings about each member that isn't as
// the standard says: unknown names, wrong types, words outside of their lists. A warning has its
// place and is never a reason to refuse: 13 % of real reports break the official schema somewhere.
// Called by sarif.decode.ts and sarif/result.decode.ts.

import { SARIF_MEMBERS } from '@muster/contract/plain';
import type { Warnings } from '../../../json/warnings.decode.ts';
import {
  indexOf,
  type JsonObject,
  objectOf,
  pointerToken,
  stringOf,
} from '../../../json/json.decode.ts';
import { rankOf } from './rules.decode.ts';
import { checkBelow, ONE_ENTRY } from './types.decode.ts';

type Kind = 'text' | 'number' | 'object' | 'list';

const words = (text: string): string[] => text.split(/\s+/).filter((word) => word !== '');

const typed = (kinds: Readonly<Record<Kind, string>>): ReadonlyMap<string, Kind> =>
  new Map(
    Object.entries(kinds).flatMap(([kind, names]) =>
      words(names).map((name): [string, Kind] => [name, kind as Kind]),
    ),
  );

/** §3.14; `results` and `tool` have warnings of their own. */
export const RUN_TYPES: ReadonlyMap<string, Kind> = typed({
  text: 'baselineGuid language defaultEncoding defaultSourceLanguage columnKind',
  number: '',
  object: `externalPropertyFileReferences automationDetails conversion originalUriBaseIds
    specialLocations properties`,
  list: `runAggregates taxonomies translations policies invocations versionControlProvenance artifacts
    logicalLocations addresses threadFlowLocations graphs webRequests webResponses newlineSequences
    redactionTokens`,
});

/** The members of a result (§3.27). */
export const RESULT_TYPES: ReadonlyMap<string, Kind> = typed({
  text: 'ruleId kind level guid correlationGuid baselineState hostedViewerUri',
  number: 'ruleIndex occurrenceCount rank',
  object: `rule message analysisTarget partialFingerprints fingerprints provenance webRequest
    webResponse properties`,
  list: `locations stacks codeFlows graphs graphTraversals relatedLocations suppressions attachments
    workItemUris fixes taxa`,
});

const KINDS: ReadonlySet<unknown> = new Set(
  words('pass open informational notApplicable review fail'),
);
const LEVELS: ReadonlySet<unknown> = new Set(words('none note warning error'));
const COLUMN_KINDS: ReadonlySet<unknown> = new Set(words('utf16CodeUnits unicodeCodePoints'));
const BASELINES: ReadonlySet<unknown> = new Set(words('new unchanged updated absent'));

/** Checks the members of the log (§3.13). */
export function checkLog(log: JsonObject, warnings: Warnings): void {
  for (const name of Object.keys(log)) {
    if (!LOG_NAMES.has(name)) warnIgnored(name, '', warnings);
  }
  const externals = log.inlineExternalProperties;
  if (externals !== undefined && !Array.isArray(externals)) {
    warnType('inlineExternalProperties', externals, '', warnings);
  }
}

/** Checks the members of a run (§3.14), except its results; `tool` may stand beside the run. */
export function checkRun(
  run: JsonObject,
  tool: unknown,
  pointer: string,
  warnings: Warnings,
): void {
  for (const name of Object.keys(run)) {
    const kind = RUN_TYPES.get(name);
    if (kind !== undefined) {
      if (fits(run[name], kind)) continue;
      const isOne = name === 'invocations' && objectOf(run[name]) !== null;
      if (isOne) warnings.warn(`${pointer}/${name}`, 'wrong_type', ONE_ENTRY);
      else warnType(name, run[name], pointer, warnings);
    } else if (name !== 'results' && name !== 'tool') {
      warnIgnored(name, pointer, warnings);
    }
  }
  const { columnKind } = run;
  if (typeof columnKind === 'string' && !COLUMN_KINDS.has(columnKind)) {
    const detail = `"${columnKind.slice(0, 64)}" is no columnKind; columns are taken as they are.`;
    warnings.warn(`${pointer}/columnKind`, 'unknown_word', detail);
  }
  if (stringOf(objectOf(objectOf(tool)?.driver)?.name) === null) {
    const detail =
      'The run doesn’t name its tool; it is filed under "unknown", and nothing is closed by it.';
    warnings.warn(`${pointer}/tool/driver/name`, 'tool_missing', detail);
  }
}

/**
 * Checks a result (§3.27), and returns it as it is to be read: an only entry that stands in place
 * of a list becomes a list.
 */
export function checkedResult(sent: JsonObject, pointer: string, warnings: Warnings): JsonObject {
  let result = sent;
  for (const name of Object.keys(sent)) {
    const type = RESULT_TYPES.get(name);
    const value = sent[name];
    if (type === undefined) {
      const detail = `A result has no member "${name.slice(0, 64)}"; it is kept as data.`;
      warnings.warn(`${pointer}/${pointerToken(name)}`, 'unknown_member', detail);
    } else if (!fits(value, type) && !isUnderstood(name, value)) {
      if (type === 'list' && isOneEntry(name, value)) {
        warnings.warn(`${pointer}/${name}`, 'wrong_type', ONE_ENTRY);
        result = { ...result, [name]: [value] };
      } else warnType(name, value, pointer, warnings);
    }
  }
  // A paused pass records no warnings.
  if (!warnings.paused) checkBelow('result', result, pointer, warnings);
  checkWords(result, pointer, warnings);
  return result;
}

/** True for the only entry of a list. All lists of a result hold objects, except one (§3.27.28). */
function isOneEntry(name: string, value: unknown): boolean {
  if (name === 'workItemUris') return stringOf(value) !== null;
  return Object.keys(objectOf(value) ?? {}).length > 0;
}

function checkWords(result: JsonObject, pointer: string, warnings: Warnings): void {
  const { kind, level, baselineState, rank, occurrenceCount } = result;
  if (typeof rank === 'number' && rank !== -1 && rankOf(rank) === null) {
    warnRange('rank', 'from 0 to 100, or -1', pointer, warnings);
  }
  if (typeof occurrenceCount === 'number' && (indexOf(occurrenceCount) ?? 0) === 0) {
    warnRange('occurrenceCount', 'a whole number from 1 up', pointer, warnings);
  }
  if (kind !== undefined && !KINDS.has(kind)) warnWord('kind', kind, 'fail', pointer, warnings);
  if (level !== undefined && !LEVELS.has(level)) {
    const instead = 'the severity that it names, or else the rule’s level';
    warnWord('level', level, instead, pointer, warnings);
  }
  if (baselineState !== undefined && !BASELINES.has(baselineState)) {
    warnWord('baselineState', baselineState, 'not said', pointer, warnings);
  }
}

/**
 * True for two values whose type is wrong but whose meaning is clear: a message that is a bare
 * text, and null, by which Snyk says on nearly every result that nobody suppressed it.
 */
function isUnderstood(name: string, value: unknown): boolean {
  if (name === 'message') return stringOf(value) !== null;
  return name === 'suppressions' && value === null;
}

const LOG_NAMES: ReadonlySet<string> = new Set<string>(SARIF_MEMBERS.log);

function fits(value: unknown, kind: Kind): boolean {
  if (kind === 'list') return Array.isArray(value);
  if (kind === 'text') return typeof value === 'string';
  if (kind === 'number') return typeof value === 'number';
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function warnType(name: string, value: unknown, pointer: string, warnings: Warnings): void {
  const what =
    value === null ? 'null' : Array.isArray(value) ? 'a list' : `of type ${typeof value}`;
  const detail = `\`${name}\` is ${what}, which it must not be; it is left out.`;
  warnings.warn(`${pointer}/${pointerToken(name)}`, 'wrong_type', detail);
}

/** §3.27.9, §3.27.10, §3.27.24: warns about a word outside of its list. */
function warnWord(
  name: string,
  value: unknown,
  instead: string,
  pointer: string,
  warnings: Warnings,
): void {
  if (typeof value !== 'string') return;
  const detail = `"${value.slice(0, 64)}" is no ${name}; it is read as ${instead}.`;
  warnings.warn(`${pointer}/${name}`, 'unknown_word', detail);
}

/** §3.27.25, §3.27.31: warns about a number outside of its range. */
function warnRange(name: string, range: string, pointer: string, warnings: Warnings): void {
  warnings.warn(`${pointer}/${name}`, 'out_of_range', `\`${name}\` is ${range}; it is left out.`);
}

function warnIgnored(name: string, pointer: string, warnings: Warnings): void {
  const detail = `SARIF 2.1.0 has no member "${name.slice(0, 64)}" here; it is ignored.`;
  warnings.warn(`${pointer}/${pointerToken(name)}`, 'unknown_member', detail);
}

// SARIF 2.1.0 log → Report. The envelope (analyses, assets) is read at once, results when asked
// for, one by one and in as many passes as are asked for. All runs, all results; other versions are
// refused, with the way out where there is one. Nothing is fetched.

import { createHash } from 'node:crypto';
import { limits, SARIF_CONVERSION } from '@muster/contract/plain';
import { AssetNames } from '../../report/asset-names.rules.ts';
import { findingsAlone, newListIndexes } from '../../report/asset-index.rules.ts';
import {
  type AnalysisDraft,
  DocumentRefused,
  type FormatFacts,
  type ItemCounts,
  type ItemPass,
  type OpenReport,
  type UploadContext,
} from '../../report/report.rules.ts';
import { CERTAINTY, type Certainty } from '../common/certainty.rules.ts';
import { sarifRuns } from './read/run-summary.decode.ts';
import { Warnings } from '../../json/warnings.decode.ts';
import { entriesIn, type JsonObject, listOf, memberOf, objectOf } from '../../json/json.decode.ts';
import {
  type External,
  externalsByRun,
  missingMembers,
  warnOfFiles,
  withExternals,
} from './read/external.decode.ts';
import { healthOf } from './read/health.decode.ts';
import { type ListOwner, RunReaders } from './read/readers.decode.ts';
import { decodeResult } from './result.decode.ts';
import type { RunPlace } from './read/run.decode.ts';
import { analysisOf, assetOf } from './read/run-analysis.decode.ts';
import { checkLog, checkRun } from './read/shape.decode.ts';
import { checkBelow } from './read/types.decode.ts';

/**
 * Where items stand: §3.14.23 results, of runs (§3.13.4) and of inline external properties
 * (§3.13.5).
 */
export const SARIF_LISTS = ['/runs/*/results', '/inlineExternalProperties/*/results'];

/** A run is about one asset, or about one that isn't known. */
export const SARIF: FormatFacts = { name: 'sarif', coversAssets: false };

/**
 * Reads the envelope of a SARIF log; its lists of results are empty there, and `counts` has their
 * lengths. Throws only DocumentRefused, for a document that isn't SARIF 2.1.0.
 */
export function openSarif(
  document: unknown,
  counts: ItemCounts,
  context: UploadContext,
  warnings: Warnings,
): OpenReport {
  const log = logOf(document, warnings);
  checkLog(log, warnings);
  const runs = listOf(log.runs).map((run, index) => {
    if (objectOf(run) !== null) return objectOf(run);
    warnings.warn(`/runs/${index}`, 'run_not_object', 'A run must be an object; it is left out.');
    return null;
  });
  const { byRun: externals, unplaced, isWhole } = externalsByRun(log, runs, counts, warnings);
  // A part that can't be read may be about any of the runs: then none of them may close findings.
  const isAllRead = isWhole && !runs.includes(null);
  const analyses = new Merged<AnalysisDraft>(mergedAnalysis);
  const assets = new AssetNames();
  const listIndexes = newListIndexes(assets);
  const lists = new Map<string, ListOwner>();
  for (const [index, own] of runs.entries()) {
    if (own === null) continue;
    const pointer = `/runs/${index}`;
    const beside = externals.get(own) ?? [];
    const run = withExternals(own, beside);
    const parts = [{ pointer, raw: own }, ...beside];
    const health = readHealth(parts, run, warnings);
    const asset = assetOf(run, context, warnings);
    const assetIndex = asset === null ? null : assets.add(asset);
    const draft = analysisOf(run, context, assetIndex, isAllRead ? health : UNREADABLE, warnings);
    const { tool, category, branch } = draft;
    const place: RunPlace = {
      tool,
      analysis: analyses.add(JSON.stringify([tool, category, assetIndex, branch]), draft),
      asset: assetIndex,
      repository: asset?.kind === 'repository' ? asset.value : null,
    };
    const owner: ListOwner = { run, place };
    for (const part of parts) {
      if (Array.isArray(part.raw.results)) lists.set(`${part.pointer}/results`, owner);
    }
  }
  const contexts = new Map<ListOwner | undefined, string>();
  const report = {
    format: SARIF,
    version: String(log.version),
    reportId: reportIdOf(runs, warnings),
    runs: sarifRuns(runs),
    analyses: analyses.all,
    assets,
    listIndexes,
    contextOf: (list: string) => {
      const owner = lists.get(list);
      const hash = contexts.get(owner) ?? contextOf(owner);
      contexts.set(owner, hash);
      return hash;
    },
    placeOf: (list: string) => lists.get(list)?.place ?? null,
    warnings,
    pass: () => newPass(lists, unplaced, counts),
  };
  return findingsAlone([...lists.keys(), ...unplaced], report);
}

/**
 * One pass over the results. A run's reader is made when its first result comes, and depends on the
 * envelope alone.
 */
function newPass(
  lists: ReadonlyMap<string, ListOwner>,
  unplaced: ReadonlySet<string>,
  counts: ItemCounts,
): ItemPass {
  const warnings = new Warnings();
  const readers = new RunReaders(lists, counts, warnings);
  return {
    warnings,
    read(value, list, index) {
      const pointer = `${list}/${index}`;
      warnings.at = pointer;
      if (!unplaced.has(list)) return decodeResult(value, pointer, readers.of(list));
      const detail =
        'The inline results name no run of this log: nothing tells what they are about.';
      return {
        outcome: 'rejected',
        rejection: { pointer, code: 'inline_results_unplaced', detail },
      };
    },
  };
}

/**
 * Members of a run that may change with every scan. `contextOf` adds the facts from the last two
 * that results need.
 */
const PASSING = [
  'automationDetails',
  'conversion',
  'properties',
  'invocations',
  'versionControlProvenance',
];

/**
 * A hash of everything in a run that decides how its results are read; '' for a list without a run.
 */
function contextOf(owner: ListOwner | undefined): string {
  if (owner === undefined) return '';
  const { run, place } = owner;
  const lasting = Object.entries(run).filter(([name]) => !PASSING.includes(name));
  // §3.20: an invocation's configuration and directory decide; its times and arguments differ each
  // time.
  const invocations = entriesIn(run.invocations).map((entry) => {
    const invocation = objectOf(entry);
    return [invocation?.ruleConfigurationOverrides, invocation?.workingDirectory];
  });
  // §3.23: the repository's address and directory decide, not its commit.
  const mapped = listOf(run.versionControlProvenance).map((entry) => {
    const provenance = objectOf(entry);
    return [provenance?.repositoryUri, provenance?.mappedTo];
  });
  const hash = createHash('sha256');
  hash.update(JSON.stringify([place.tool, place.repository, invocations, mapped]));
  // Entry by entry, because a run may have a hundred thousand artifacts. The line feeds keep
  // entries apart: JSON.stringify writes none.
  for (const [name, value] of lasting) {
    hash.update(`\n${JSON.stringify(name)}`);
    for (const entry of Array.isArray(value) ? value : [value]) {
      hash.update(`\n ${JSON.stringify(entry)}`);
    }
  }
  return hash.digest('hex');
}

/**
 * How surely a document is SARIF, by its envelope: its version and its runs say so together, each
 * of them alone may.
 */
export function certaintyOfSarif(envelope: unknown): Certainty {
  const log = objectOf(envelope);
  if (log === null) return CERTAINTY.none;
  if (!Object.hasOwn(log, 'runs')) return saysSarif(log) ? CERTAINTY.hint : CERTAINTY.none;
  return saysSarif(log) ? CERTAINTY.sure : CERTAINTY.likely;
}

/** §3.13.2: the version decides, `$schema` doesn't; "2.1.0-rtm.5" and the errata are 2.1.0. */
function saysSarif({ version }: JsonObject): boolean {
  return typeof version === 'string' && /^2\.1\.0(?:$|[-+.])/.test(version.trim());
}

/**
 * The versions that SARIF_CONVERSION turns into 2.1.0, each tried with the SARIF Multitool 5.7.0.
 * It ends with an exception on 1.0, on later ones such as 2.2.0, and where there is none.
 */
const CONVERTIBLE: ReadonlySet<string> = new Set([
  '1.0.0',
  '2.0.0',
  '2.0.0-csd.2.beta.2018-10-10',
  '2.0.0-csd.2.beta.2018-10-10.1',
  '2.0.0-csd.2.beta.2018-10-10.2',
  '2.0.0-csd.2.beta.2019-01-09',
  '2.0.0-csd.2.beta.2019-01-24',
  '2.0.0-csd.2.beta.2019-01-24.1',
  '2.0.0-csd.2.beta.2019-02-20',
  '2.0.0-csd.2.beta.2019-04-03',
]);

function logOf(document: unknown, warnings: Warnings): JsonObject {
  const log = objectOf(document);
  if (log === null) {
    throw new DocumentRefused('not_sarif', '', 'The document is not a JSON object, so not SARIF.');
  }
  const { version } = log;
  if (saysSarif(log)) {
    if (Array.isArray(log.runs)) return log;
    if (log.runs === null) {
      const detail = '`runs` is null: the producer had no run to tell of; nothing is concluded.';
      warnings.warn('/runs', 'results_missing', detail);
      return { ...log, runs: [] };
    }
    const detail = 'A SARIF log has a list `runs`; an empty list is a log without runs.';
    throw new DocumentRefused('not_sarif', '/runs', detail);
  }
  if (!Object.hasOwn(log, 'runs')) {
    const detail = 'The document has neither `version` "2.1.0" nor `runs`: it is not SARIF.';
    throw new DocumentRefused('not_sarif', '', detail);
  }
  const said =
    typeof version === 'string' || typeof version === 'number'
      ? `SARIF ${String(version).slice(0, 64)}`
      : 'SARIF without a version';
  const isConvertible = typeof version === 'string' && CONVERTIBLE.has(version.trim());
  const way = isConvertible ? `, or convert the file: \`${SARIF_CONVERSION}\`` : '';
  const detail = `Only SARIF 2.1.0 is read, this is ${said}. Let the tool write 2.1.0${way}.`;
  throw new DocumentRefused('unsupported_sarif_version', '/version', detail);
}

/** Whether a run succeeded, and whether its list of results is the whole one. */
type RunHealth = Pick<AnalysisDraft, 'succeeded' | 'listed'>;

/** The health of every run in a log with a part that can't be read. */
const UNREADABLE: RunHealth = { succeeded: false, listed: false };

/**
 * How a run went, by all its parts: the run itself, then the external properties beside it. Warns
 * about everything that isn't as it should be.
 */
function readHealth(parts: readonly External[], run: JsonObject, warnings: Warnings): RunHealth {
  const [own, ...beside] = parts as [External, ...External[]];
  checkRun(own.raw, run.tool, own.pointer, warnings);
  const hasList = hasResults(parts, warnings);
  const missing = missingMembers(own.raw, beside);
  warnOfFiles(missing, own.pointer, warnings);
  const references = own.raw.externalPropertyFileReferences ?? {};
  let succeeded = !missing.has('invocations') && !missing.has('conversion');
  for (const part of parts) {
    checkBelow(part === own ? 'run' : 'external', part.raw, part.pointer, warnings);
    const partHealth = healthOf({ ...part.raw, tool: run.tool });
    succeeded &&= partHealth.succeeded;
    for (const trouble of partHealth.troubles) {
      warnings.warn(`${part.pointer}${trouble.pointer}`, trouble.code, trouble.detail);
    }
  }
  const isAll = !missing.has('results') && objectOf(references) !== null;
  return { succeeded, listed: hasList && isAll };
}

/**
 * True when some part has the list of results, and no part has another value in its place; else
 * warns.
 */
function hasResults(parts: readonly External[], warnings: Warnings): boolean {
  const isList = ({ raw }: External): boolean => Array.isArray(raw.results);
  const odd = parts.filter((part) => !isList(part) && (part.raw.results ?? null) !== null);
  const hasList = parts.some(isList);
  for (const { pointer, raw } of hasList || odd.length > 0 ? odd : parts.slice(0, 1)) {
    const what = raw.results === undefined ? 'absent' : 'not a list';
    const detail = `\`results\` is ${what}: nothing is concluded from what isn't there.`;
    warnings.warn(`${pointer}/results`, 'results_missing', detail);
  }
  return hasList && odd.length === 0;
}

function onlyOne(runs: readonly (JsonObject | null)[]): JsonObject | null {
  return runs.length === 1 ? (runs[0] ?? null) : null;
}

/**
 * Entries in the order in which their keys first appear; a later entry is merged into the first of
 * its key.
 */
class Merged<T> {
  readonly all: T[] = [];
  readonly #indexes = new Map<string, number>();
  readonly #merge: (known: T, more: T) => T;

  constructor(merge: (known: T, more: T) => T) {
    this.#merge = merge;
  }

  /** Adds or merges an entry, and returns its index. */
  add(key: string, entry: T): number {
    const index = this.#indexes.get(key);
    if (index === undefined) {
      this.#indexes.set(key, this.all.length);
      return this.all.push(entry) - 1;
    }
    this.all[index] = this.#merge(this.all[index] ?? entry, entry);
    return index;
  }
}

/**
 * Runs with one tool, category, asset and branch become one analysis, which is complete only if
 * each run is.
 */
function mergedAnalysis(known: AnalysisDraft, more: AnalysisDraft): AnalysisDraft {
  return {
    ...known,
    toolVersion: known.toolVersion ?? more.toolVersion,
    commitSha: known.commitSha ?? more.commitSha,
    succeeded: known.succeeded && more.succeeded,
    listed: known.listed && more.listed,
  };
}

/** The guid of the only run (§3.17.4); a log of several runs has no id of its own. */
function reportIdOf(runs: readonly (JsonObject | null)[], warnings: Warnings): string | null {
  const details = objectOf(onlyOne(runs)?.automationDetails);
  return details === null ? null : warnings.textOf(memberOf(details, 'guid'), limits.nameCharsMax);
}

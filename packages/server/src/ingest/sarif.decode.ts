// SARIF 2.1.0 log → Report. The frame (analyses, assets) is read at once, results when asked for, one by one and in as
// many passes as are asked for. All runs, all results; other versions are refused with the way out. Nothing is fetched.
// Called by the ingest worker; POST /ingest/sarif and what /ingest recognises as SARIF.

import { hash } from 'node:crypto';
import { limits, SARIF_MEMBERS } from '@muster/contract';
import {
  type AnalysisDraft,
  type AssetDraft,
  DocumentRefused,
  type FrameList,
  type ItemCounts,
  type ItemPass,
  type OpenReport,
  type UploadContext,
} from './draft.rules.ts';
import {
  type JsonObject,
  listOf,
  memberOf,
  Notes,
  objectOf,
  pointerToken,
  stringOf,
} from './report-notes.decode.ts';
import { decodeResult } from './sarif-result.decode.ts';
import { type RunPlace, SarifRun } from './sarif-run.decode.ts';
import { analysisOf, assetOf } from './sarif-frame.decode.ts';

/** The run that a list of results belongs to. */
interface ResultList {
  readonly run: JsonObject;
  readonly place: RunPlace;
}

const NONE: FrameList<never> = { usable: [], rejections: [] };

/**
 * Reads the frame of a SARIF document; its lists of results are empty there and counted in `counts`. Throws
 * DocumentRefused, and nothing else, for what isn't SARIF 2.1.0.
 */
export function openSarif(
  document: unknown,
  counts: ItemCounts,
  context: UploadContext,
  notes: Notes,
): OpenReport {
  const log = logOf(document);
  warnUnknown(log, SARIF_MEMBERS.log, '', notes);
  const runs = listOf(log.runs).map((run, index) => {
    if (objectOf(run) !== null) return objectOf(run);
    notes.warn(`/runs/${index}`, 'run_not_object', 'A run must be an object; it is left out.');
    return null;
  });
  const inline = inlineResults(log, runs, counts, notes);
  const analyses = new Merged<AnalysisDraft>(mergedAnalysis);
  const assets = new Merged<AssetDraft>((known) => known);
  const lists = new Map<string, ResultList>();
  for (const [index, run] of runs.entries()) {
    if (run === null) continue;
    const pointer = `/runs/${index}`;
    warnUnknown(run, SARIF_MEMBERS.run, pointer, notes);
    warnRun(run, pointer, notes);
    const asset = assetOf(run, context, notes);
    const assetIndex = asset === null ? null : assets.add(`${asset.kind} ${asset.value}`, asset);
    const more = inline.get(run) ?? [];
    const draft = analysisOf(run, context, assetIndex, more.length > 0, notes);
    const { tool, category, branch } = draft;
    const place: RunPlace = {
      tool,
      analysis: analyses.add(JSON.stringify([tool, category, assetIndex, branch]), draft),
      asset: assetIndex,
      repository: asset?.kind === 'repository' ? asset.value : null,
    };
    const owner: ResultList = { run, place };
    if (Array.isArray(run.results)) lists.set(`${pointer}/results`, owner);
    for (const list of more) lists.set(list, owner);
  }
  const contexts = new Map<ResultList | undefined, string>();
  const report = {
    format: 'sarif' as const,
    version: String(log.version),
    reportId: reportIdOf(runs, notes),
    analyses: analyses.all,
    assets: { usable: assets.all, rejections: [] },
    components: NONE,
    relationships: NONE,
    contextOf: (list: string) => {
      const owner = lists.get(list);
      const context = contexts.get(owner) ?? contextOf(owner);
      contexts.set(owner, context);
      return context;
    },
    notes,
    pass: () => newPass(lists),
  };
  return { lists: [...lists.keys()], look: null, report: () => report };
}

/** One pass: a reader for each run, made when its first result comes, that depends on the frame alone. */
function newPass(lists: ReadonlyMap<string, ResultList>): ItemPass {
  const notes = new Notes();
  const readers = new Map<JsonObject, SarifRun>();
  return {
    notes,
    read(value, list, index) {
      const { run, place } = lists.get(list) as ResultList;
      const reader = readers.get(run) ?? new SarifRun(run, place, notes);
      readers.set(run, reader);
      return decodeResult(value, `${list}/${index}`, reader);
    },
  };
}

/** Members of a run that change with every scan and say nothing about its results. */
const PASSING = ['automationDetails', 'versionControlProvenance', 'conversion', 'properties'];

/** §3.20: of an invocation only what it configures; its times and arguments differ each time. */
function contextOf(list: ResultList | undefined): string {
  if (list === undefined) return '';
  const { run, place } = list;
  const lasting = Object.entries(run).filter(
    ([name]) => !PASSING.includes(name) && name !== 'invocations',
  );
  const configured = listOf(run.invocations).map(
    (entry) => objectOf(entry)?.ruleConfigurationOverrides ?? null,
  );
  return hash('sha256', JSON.stringify([place.tool, place.repository, configured, lasting]));
}

/** §3.13.2: the version decides, `$schema` doesn't; "2.1.0-rtm.5" and the errata are 2.1.0. */
function logOf(document: unknown): JsonObject {
  const log = objectOf(document);
  if (log === null) {
    throw new DocumentRefused('not_sarif', '', 'The document is not a JSON object, so not SARIF.');
  }
  const { version } = log;
  const looksLikeSarif = Object.hasOwn(log, 'runs');
  if (typeof version === 'string' && /^2\.1\.0(?:$|[-+.])/.test(version.trim())) {
    if (Array.isArray(log.runs)) return log;
    const detail = 'A SARIF log has a list `runs`; an empty list is a log without runs.';
    throw new DocumentRefused('not_sarif', '/runs', detail);
  }
  if (!looksLikeSarif) {
    const detail = 'The document has neither `version` "2.1.0" nor `runs`: it is not SARIF.';
    throw new DocumentRefused('not_sarif', '', detail);
  }
  const said =
    typeof version === 'string' || typeof version === 'number'
      ? `SARIF ${String(version).slice(0, 64)}`
      : 'SARIF without a version';
  const way =
    'convert it with the SARIF Multitool: `sarif transform --sarif-output-version Current`';
  const detail = `Only SARIF 2.1.0 is read, this is ${said}; ${way}.`;
  throw new DocumentRefused('unsupported_sarif_version', '/version', detail);
}

function warnUnknown(
  object: JsonObject,
  known: readonly string[],
  pointer: string,
  notes: Notes,
): void {
  for (const name of Object.keys(object)) {
    if (known.includes(name)) continue;
    const detail = `SARIF 2.1.0 has no member "${name.slice(0, 64)}" here; it is ignored.`;
    notes.warn(`${pointer}/${pointerToken(name)}`, 'unknown_member', detail);
  }
}

function warnRun(run: JsonObject, pointer: string, notes: Notes): void {
  if (!Array.isArray(run.results)) {
    const what = run.results === undefined ? 'absent' : 'not a list';
    const detail = `\`results\` is ${what}: nothing is concluded from what isn't there.`;
    notes.warn(`${pointer}/results`, 'results_missing', detail);
  }
  if (objectOf(run.externalPropertyFileReferences) !== null) {
    const detail = 'External property files are never fetched; what they hold is not read.';
    notes.warn(`${pointer}/externalPropertyFileReferences`, 'external_file', detail);
  }
}

/**
 * §3.13.5: results that stand beside the runs. They belong to the run whose guid or external
 * reference names them, or to the only run; otherwise they can't be placed and are warned about.
 */
function inlineResults(
  log: JsonObject,
  runs: readonly (JsonObject | null)[],
  counts: ItemCounts,
  notes: Notes,
): Map<JsonObject, string[]> {
  const byRun = new Map<JsonObject, string[]>();
  const externals = listOf(log.inlineExternalProperties);
  if (externals.length === 0) return byRun;
  const { byRunGuid, byGuid } = guidsOf(runs);
  for (const [index, entry] of externals.entries()) {
    const external = objectOf(entry);
    const list = `/inlineExternalProperties/${index}/results`;
    const count = counts.get(list) ?? 0;
    if (external === null || !Array.isArray(external.results) || count === 0) continue;
    const run =
      byRunGuid.get(stringOf(external.runGuid) ?? '') ??
      byGuid.get(stringOf(external.guid) ?? '') ??
      onlyOne(runs);
    if (run === null) {
      const detail = `${count} inline results name no run of this log; they are left out.`;
      notes.warn(list, 'inline_results_unplaced', detail);
      continue;
    }
    const known = byRun.get(run) ?? [];
    known.push(list);
    byRun.set(run, known);
  }
  return byRun;
}

/**
 * Runs by their own guid (§3.17.4) and by the guids of their external results (§3.14.2, §3.15.4).
 */
function guidsOf(runs: readonly (JsonObject | null)[]) {
  const byRunGuid = new Map<string, JsonObject>();
  const byGuid = new Map<string, JsonObject>();
  for (const run of runs) {
    if (run === null) continue;
    const guid = stringOf(objectOf(run.automationDetails)?.guid);
    if (guid !== null && !byRunGuid.has(guid)) byRunGuid.set(guid, run);
    for (const entry of listOf(objectOf(run.externalPropertyFileReferences)?.results)) {
      const named = stringOf(objectOf(entry)?.guid);
      if (named !== null && !byGuid.has(named)) byGuid.set(named, run);
    }
  }
  return { byRunGuid, byGuid };
}

function onlyOne(runs: readonly (JsonObject | null)[]): JsonObject | null {
  return runs.length === 1 ? (runs[0] ?? null) : null;
}

/**
 * Entries by key, in the order of their first appearance; later ones of a key are merged into it.
 */
class Merged<T> {
  readonly all: T[] = [];
  readonly #indexes = new Map<string, number>();
  readonly #merge: (known: T, more: T) => T;

  constructor(merge: (known: T, more: T) => T) {
    this.#merge = merge;
  }

  /** The index of the entry. */
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
 * Runs of one tool, category, asset and branch are one analysis: complete only if each of them is.
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

/** The guid of the only run (§3.17.4); logs of several runs have no id of their own. */
function reportIdOf(runs: readonly (JsonObject | null)[], notes: Notes): string | null {
  const details = objectOf(onlyOne(runs)?.automationDetails);
  return details === null ? null : notes.textOf(memberOf(details, 'guid'), limits.nameCharsMax);
}

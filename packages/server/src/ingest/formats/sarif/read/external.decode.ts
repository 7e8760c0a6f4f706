// Inline external properties of a SARIF log (SARIF 2.1.0 §3.13.5, §3.15-§3.16, §4.3) → the run that
// each belongs to, and the run with them. External files are never fetched; a warning names the
// members that stay unread. Called by sarif.decode.ts.

import type { ItemCounts } from '../../../report/report.rules.ts';
import type { Warnings } from '../../../json/warnings.decode.ts';
import { type JsonObject, listOf, objectOf, stringOf } from '../../../json/json.decode.ts';

/** An `externalProperties` object and where it stands. */
export interface External {
  readonly pointer: string;
  readonly raw: JsonObject;
}

/** Members whose entries follow those of the run (§3.15.3); indexes count through both. */
const LISTS = [
  'graphs',
  'artifacts',
  'invocations',
  'logicalLocations',
  'threadFlowLocations',
  'taxonomies',
  'policies',
  'translations',
  'addresses',
  'webRequests',
  'webResponses',
] as const;

/** The external properties of a log. */
interface Externals {
  readonly byRun: ReadonlyMap<JsonObject, readonly External[]>;
  /** Lists of results that belong to no run. */
  readonly unplaced: ReadonlySet<string>;
  /**
   * False when an external property couldn't be read, or matched to a run: it may be about any run.
   */
  readonly isWhole: boolean;
}

/**
 * Matches external properties to runs: to the run whose guid or reference they name, else to the
 * only run, unless they name another one. The lists of results without a run stand in `unplaced`,
 * if `counts` has items for them; for the others a warning is enough.
 */
export function externalsByRun(
  log: JsonObject,
  runs: readonly (JsonObject | null)[],
  counts: ItemCounts,
  warnings: Warnings,
): Externals {
  const unplaced = new Set<string>();
  const byRun = new Map<JsonObject, External[]>();
  const sent = log.inlineExternalProperties;
  const externals = listOf(sent);
  // read/shape.decode.ts warns about a value that is no list.
  let isWhole = sent === undefined || sent === null || Array.isArray(sent);
  if (externals.length === 0) return { byRun, unplaced, isWhole };
  const { byRunGuid, byGuid } = guidsOf(runs);
  const only = runs.length === 1 ? (runs[0] ?? null) : null;
  for (const [index, entry] of externals.entries()) {
    if (entry === null) continue;
    const raw = objectOf(entry);
    const pointer = `/inlineExternalProperties/${index}`;
    if (raw === null) {
      isWhole = false;
      warnings.warn(pointer, 'wrong_type', 'An object is expected here; it is left out.');
      continue;
    }
    const named = guidOf(raw.runGuid);
    const mayBeOnly = named === '' || byRunGuid.size === 0;
    const run = byRunGuid.get(named) ?? byGuid.get(guidOf(raw.guid)) ?? (mayBeOnly ? only : null);
    if (run === null) {
      if ((counts.get(`${pointer}/results`) ?? 0) > 0) {
        unplaced.add(`${pointer}/results`);
        continue;
      }
      isWhole &&= saysNothingOfRuns(raw);
      const detail = 'Inline properties name no run of this log; they are left out.';
      warnings.warn(pointer, 'inline_results_unplaced', detail);
      continue;
    }
    const known = byRun.get(run) ?? [];
    known.push({ pointer, raw });
    byRun.set(run, known);
  }
  return { byRun, unplaced, isWhole };
}

/** False for external properties that tell how a run went, or what it found. */
const saysNothingOfRuns = ({ invocations, conversion, results }: JsonObject): boolean =>
  [invocations, conversion, Array.isArray(results) ? null : results].every(
    (value) => value === undefined || value === null,
  );

const guidOf = (value: unknown): string => stringOf(value)?.trim().toLowerCase() ?? '';

/** Runs by their own guid (§3.17.4) and by the guids of their external references (§3.16.4). */
function guidsOf(runs: readonly (JsonObject | null)[]) {
  const byRunGuid = new Map<string, JsonObject>();
  const byGuid = new Map<string, JsonObject>();
  for (const run of runs) {
    if (run === null) continue;
    const guid = guidOf(objectOf(run.automationDetails)?.guid);
    if (guid !== '' && !byRunGuid.has(guid)) byRunGuid.set(guid, run);
    for (const named of referencesOf(run)) {
      const reference = guidOf(named.raw.guid);
      if (reference !== '' && !byGuid.has(reference)) byGuid.set(reference, run);
    }
  }
  return { byRunGuid, byGuid };
}

/**
 * §3.15: each member is a reference or a list of references. An entry that is no object counts as a
 * reference to a file that isn't here.
 */
function referencesOf(run: JsonObject): { readonly member: string; readonly raw: JsonObject }[] {
  const references = objectOf(run.externalPropertyFileReferences);
  return Object.entries(references ?? {}).flatMap(([member, value]) => {
    if (member === 'properties') return [];
    const entries = Array.isArray(value) ? value : [value];
    return entries.flatMap((entry) =>
      entry === null ? [] : [{ member, raw: objectOf(entry) ?? {} }],
    );
  });
}

/**
 * The run with its external properties, but without their results. Lists get longer, the run's own
 * members come first, and the tool's components are joined.
 */
export function withExternals(run: JsonObject, externals: readonly External[]): JsonObject {
  if (externals.length === 0) return run;
  const merged: Record<string, unknown> = { ...run };
  for (const name of LISTS) {
    const more = externals.flatMap(({ raw }) => listOf(raw[name]));
    if (more.length > 0) merged[name] = [...listOf(run[name]), ...more];
  }
  const first = (name: string): JsonObject | null => {
    for (const { raw } of externals) {
      const found = objectOf(raw[name]);
      if (found !== null) return found;
    }
    return null;
  };
  merged.conversion = run.conversion ?? first('conversion') ?? undefined;
  merged.properties = run.properties ?? first('externalizedProperties') ?? undefined;
  const driver = first('driver');
  const extensions = externals.flatMap(({ raw }) => listOf(raw.extensions));
  if (driver !== null || extensions.length > 0) {
    const tool = objectOf(run.tool) ?? {};
    merged.tool = {
      ...tool,
      // The driver in the run has the members that weren't moved out (§3.15.3).
      driver: { ...driver, ...objectOf(tool.driver) },
      extensions: [...listOf(tool.extensions), ...extensions],
    };
  }
  for (const name of ['conversion', 'properties']) {
    if (merged[name] === undefined) delete merged[name];
  }
  return merged;
}

/** Warns about the members that the run keeps in files outside of the log. */
export function warnOfFiles(
  missing: ReadonlySet<string>,
  pointer: string,
  warnings: Warnings,
): void {
  if (missing.size === 0) return;
  const names = [...missing].slice(0, LISTS.length).join(', ').slice(0, NAMES_CHARS_MAX);
  const detail = `External property files are never fetched; what they hold is not read: ${names}.`;
  warnings.warn(`${pointer}/externalPropertyFileReferences`, 'external_file', detail);
}

/**
 * The members that the run keeps in files outside of the log. If `results` is one of them, the
 * results in the log aren't the whole list; if `invocations` is, nothing tells whether the run went
 * well.
 */
export function missingMembers(
  run: JsonObject,
  externals: readonly External[],
): ReadonlySet<string> {
  const missing = new Set<string>();
  if (run.externalPropertyFileReferences === undefined) return missing;
  const inline = new Set(externals.map(({ raw }) => guidOf(raw.guid)));
  for (const { member, raw } of referencesOf(run)) {
    const guid = guidOf(raw.guid);
    if (guid === '' || !inline.has(guid)) missing.add(member);
  }
  return missing;
}

/** Names of members may be anything, and of any length. */
const NAMES_CHARS_MAX = 200;

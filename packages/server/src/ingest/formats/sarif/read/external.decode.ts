// What stands beside the runs of a SARIF log instead of in them (SARIF 2.1.0 §3.13.5, §3.15-§3.16,
// §4.3): inline external properties, each given to the run that names it. What is in other files is
// never fetched; a warning says what was left unread. Called by sarif.decode.ts before the envelope.

import type { ItemCounts } from '../../../report/report.rules.ts';
import type { Warnings } from '../../../json/warnings.decode.ts';
import { type JsonObject, listOf, objectOf, stringOf } from '../../../json/json.decode.ts';

/** An `externalProperties` object and where it stands. */
export interface External {
  readonly pointer: string;
  readonly raw: JsonObject;
}

/** Members whose entries follow those of the run (§3.15.3): indexes lead into the whole. */
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

/** What stands beside the runs. */
export interface Externals {
  readonly byRun: ReadonlyMap<JsonObject, readonly External[]>;
  /** Lists of results that belong to no run. */
  readonly unplaced: ReadonlySet<string>;
  /** False when something that stands there could not be read, or given to a run: it may be about any of them. */
  readonly isWhole: boolean;
}

/**
 * The external properties by run: of the run whose guid or reference they name, else of the only run, unless they name
 * another one. Of those that belong to none of them `unplaced` has the lists of results, if `counts` says that there are
 * any in them; the others are warned about.
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
  // A warning tells of what isn't a list (read/shape.decode.ts).
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

/** False for what tells how some run went, or what it found. */
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

/** §3.15: each member is a reference, or a list of them. One that is no object leads to a file that isn't here. */
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
 * The run with what its externals say, results excepted: lists get longer, what the run itself says
 * goes first, and the tool's components are put together.
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
      // The driver in the run is the part that wasn't moved out (§3.15.3).
      driver: { ...driver, ...objectOf(tool.driver) },
      extensions: [...listOf(tool.extensions), ...extensions],
    };
  }
  for (const name of ['conversion', 'properties']) {
    if (merged[name] === undefined) delete merged[name];
  }
  return merged;
}

/** Names what the run keeps in files that aren't in the log. */
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
 * What the run keeps in files that aren't in the log. With `results` among it what is there isn't the whole list, whatever it
 * says; with `invocations` nothing tells whether it did well.
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

/** Names of members may be anything. */
const NAMES_CHARS_MAX = 200;

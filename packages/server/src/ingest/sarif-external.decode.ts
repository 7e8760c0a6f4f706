// What stands beside the runs of a SARIF log instead of in them (SARIF 2.1.0 §3.13.5, §3.15-§3.16,
// §4.3): inline external properties, each given to the run that names it. What is in other files is
// never fetched; a warning says what was left unread. Called by sarif.decode.ts before the frame.

import type { ItemCounts } from './draft.rules.ts';
import { type JsonObject, listOf, type Notes, objectOf, stringOf } from './report-notes.decode.ts';

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

/**
 * The external properties by run: of the run whose guid or reference they name, else of the only run, unless they name
 * another one. Of those that belong to none of them `unplaced` has the lists of results, if `counts` says that there are
 * any in them; the others are warned about.
 */
export function externalsByRun(
  log: JsonObject,
  runs: readonly (JsonObject | null)[],
  counts: ItemCounts,
  notes: Notes,
): { byRun: ReadonlyMap<JsonObject, readonly External[]>; unplaced: ReadonlySet<string> } {
  const unplaced = new Set<string>();
  const byRun = new Map<JsonObject, External[]>();
  const externals = listOf(log.inlineExternalProperties);
  if (externals.length === 0) return { byRun, unplaced };
  const { byRunGuid, byGuid } = guidsOf(runs);
  const only = runs.length === 1 ? (runs[0] ?? null) : null;
  for (const [index, entry] of externals.entries()) {
    const raw = objectOf(entry);
    if (raw === null) continue;
    const pointer = `/inlineExternalProperties/${index}`;
    const named = guidOf(raw.runGuid);
    const mayBeOnly = named === '' || byRunGuid.size === 0;
    const run = byRunGuid.get(named) ?? byGuid.get(guidOf(raw.guid)) ?? (mayBeOnly ? only : null);
    if (run === null) {
      if ((counts.get(`${pointer}/results`) ?? 0) > 0) {
        unplaced.add(`${pointer}/results`);
        continue;
      }
      const detail = 'Inline properties name no run of this log; they are left out.';
      notes.warn(pointer, 'inline_results_unplaced', detail);
      continue;
    }
    const known = byRun.get(run) ?? [];
    known.push({ pointer, raw });
    byRun.set(run, known);
  }
  return { byRun, unplaced };
}

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

/** §3.15: each member is a reference, or a list of them. */
function referencesOf(run: JsonObject): { readonly member: string; readonly raw: JsonObject }[] {
  const references = objectOf(run.externalPropertyFileReferences);
  return Object.entries(references ?? {}).flatMap(([member, value]) => {
    if (member === 'properties') return [];
    const entries = Array.isArray(value) ? value : [value];
    return entries.flatMap((entry) => {
      const raw = objectOf(entry);
      return raw === null ? [] : [{ member, raw }];
    });
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

/**
 * True when the run keeps results in a file that isn't in the log: then what is there isn't the
 * whole list, whatever it says.
 */
export function lacksResults(run: JsonObject, externals: readonly External[]): boolean {
  return missingMembers(run, externals).has('results');
}

/** Names what the run keeps in files that aren't in the log. */
export function warnOfFiles(
  run: JsonObject,
  pointer: string,
  externals: readonly External[],
  notes: Notes,
): void {
  const missing = missingMembers(run, externals);
  if (missing.size === 0) return;
  const names = [...missing].slice(0, LISTS.length).join(', ').slice(0, NAMES_CHARS_MAX);
  const detail = `External property files are never fetched; what they hold is not read: ${names}.`;
  notes.warn(`${pointer}/externalPropertyFileReferences`, 'external_file', detail);
}

function missingMembers(run: JsonObject, externals: readonly External[]): ReadonlySet<string> {
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

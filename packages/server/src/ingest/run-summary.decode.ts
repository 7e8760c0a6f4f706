// How the runs of a report went, for operators: which tool in which version, under which name, from when to when, how it
// ended. Kept with the upload, bounded; texts are masked as titles are. Nothing is decided by it: whether a run may close
// anything is sarif-health.decode.ts's to say. Called by both report readers, once per frame.

import { limits, type UploadRun } from '@muster/contract/plain';
import { maskSaid } from './masking.rules.ts';
import {
  entriesIn,
  indexOf,
  type JsonObject,
  listOf,
  objectOf,
  preview,
  stringOf,
} from './report-notes.decode.ts';

/** The first runs of a report, and how many it has. */
export interface RunSummaries {
  readonly total: number;
  readonly shown: readonly UploadRun[];
}

const NOTHING = {
  tool_version: null,
  automation_id: null,
  automation_guid: null,
  correlation_guid: null,
  invocations: 0,
  started_at: null,
  ended_at: null,
  duration_ms: null,
  exit_code: null,
  exit_signal: null,
  succeeded: null,
  coverage: null,
  source_type: null,
  scope: null,
};

/** Of a SARIF log (§3.17, §3.19, §3.20); `null`: no object, and no run. */
export function sarifRuns(runs: readonly (JsonObject | null)[]): RunSummaries {
  const usable = runs.filter((run) => run !== null);
  return { total: usable.length, shown: usable.slice(0, limits.uploadRunsShown).map(sarifRun) };
}

function sarifRun(run: JsonObject): UploadRun {
  const driver = objectOf(objectOf(run.tool)?.driver);
  const automation = objectOf(run.automationDetails);
  const entries = entriesIn(run.invocations).map(objectOf);
  const invocations = entries.filter((entry) => entry !== null);
  const times = (name: string): number[] =>
    invocations.map((one) => timeOf(one[name])).filter((time) => time !== null);
  // Of several invocations the first that went wrong tells more than the first one.
  const codes = invocations.map((one) => exitCodeOf(one.exitCode)).filter((code) => code !== null);
  const signals = invocations.map((one) => wordOf(one.exitSignalName));
  const said = invocations.map((one) => one.executionSuccessful);
  // By folding: a run may have more invocations than a call may have arguments.
  const start = times('startTimeUtc').reduce((a, b) => Math.min(a, b), Infinity);
  const end = times('endTimeUtc').reduce((a, b) => Math.max(a, b), -Infinity);
  return {
    ...NOTHING,
    tool: wordOf(driver?.name) ?? 'unknown',
    tool_version:
      wordOf(driver?.version) ??
      wordOf(driver?.semanticVersion) ??
      wordOf(driver?.dottedQuadFileVersion),
    automation_id: wordOf(automation?.id),
    automation_guid: wordOf(automation?.guid),
    correlation_guid: wordOf(automation?.correlationGuid),
    invocations: entries.length,
    started_at: isoOf(start),
    ended_at: isoOf(end),
    duration_ms: end >= start && Number.isFinite(end - start) ? end - start : null,
    exit_code: codes.find((code) => code !== 0) ?? codes[0] ?? null,
    exit_signal: signals.find((signal) => signal !== null) ?? null,
    succeeded: said.includes(false) ? false : said.includes(true) ? true : null,
  };
}

/** Of a CTIS report (§1.2), which is one run: `timestamp` is when it was produced. */
export function ctisRun(tool: JsonObject | null, metadata: JsonObject): RunSummaries {
  const end = timeOf(metadata.timestamp);
  const durationMs = indexOf(metadata.duration_ms);
  const start = end === null || durationMs === null ? null : end - durationMs;
  const run: UploadRun = {
    ...NOTHING,
    tool: wordOf(tool?.name) ?? 'unknown',
    tool_version: wordOf(tool?.version),
    automation_id: wordOf(metadata.id),
    started_at: start === null ? null : isoOf(start),
    ended_at: end === null ? null : isoOf(end),
    duration_ms: durationMs,
    coverage: wordOf(metadata.coverage_type),
    source_type: wordOf(metadata.source_type),
    scope: scopeOf(objectOf(metadata.scope)),
  };
  return { total: 1, shown: [run] };
}

/** What was looked at; null where nothing is said of it. */
function scopeOf(scope: JsonObject | null): UploadRun['scope'] {
  const [type, name] = [wordOf(scope?.type), wordOf(scope?.name)];
  const [includes, excludes] = [scope?.includes, scope?.excludes].map(
    (list) => listOf(list).length,
  );
  const isSaid = type !== null || name !== null || includes !== 0 || excludes !== 0;
  return isSaid ? { type, name, includes: includes ?? 0, excludes: excludes ?? 0 } : null;
}

function wordOf(value: unknown): string | null {
  const text = stringOf(value)?.trim();
  return text === undefined ? null : preview(maskSaid(text.slice(0, 2048)), limits.nameCharsMax);
}

const exitCodeOf = (value: unknown): number | null =>
  typeof value === 'number' && Number.isSafeInteger(value) ? value : null;

/** §3.9, RFC 3339; a time without a zone is UTC, as the names of the members say. */
export function timeOf(value: unknown): number | null {
  const text = stringOf(value)?.trim() ?? '';
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text) || text.length > 64) return null;
  const time = Date.parse(/(?:z|[+-]\d\d:?\d\d)$/i.test(text) ? text : `${text}Z`);
  return Number.isFinite(time) ? time : null;
}

/** Null outside of the years that a time of RFC 3339 has. */
const isoOf = (time: number): string | null =>
  time >= 0 && time < 253_402_300_800_000 ? new Date(time).toISOString() : null;

// The runs of a SARIF log → their summaries, for operators (SARIF 2.1.0 §3.14, §3.17, §3.20). A
// summary decides nothing: health.decode.ts decides whether a run may close findings. Pure. Called
// by sarif.decode.ts.

import { limits, type UploadRun } from '@muster/contract/plain';
import { entriesIn, type JsonObject, objectOf } from '../../../json/json.decode.ts';
import { isoOf, timeOf } from '../../common/dates.rules.ts';
import { EMPTY_SUMMARY, summaryTextOf } from '../../common/run-summary.decode.ts';
import type { RunSummaries } from '../../../report/report.rules.ts';

/** The summaries of a log's runs (§3.17, §3.19, §3.20); null stands for an entry that is no run. */
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
  // The first invocation that went wrong tells more than the first invocation.
  const codes = invocations.map((one) => exitCodeOf(one.exitCode)).filter((code) => code !== null);
  const signals = invocations.map((one) => summaryTextOf(one.exitSignalName));
  const said = invocations.map((one) => one.executionSuccessful);
  // Folded: a run may have more invocations than a call may have arguments.
  const start = times('startTimeUtc').reduce((a, b) => Math.min(a, b), Infinity);
  const end = times('endTimeUtc').reduce((a, b) => Math.max(a, b), -Infinity);
  return {
    ...EMPTY_SUMMARY,
    tool: summaryTextOf(driver?.name) ?? 'unknown',
    tool_version:
      summaryTextOf(driver?.version) ??
      summaryTextOf(driver?.semanticVersion) ??
      summaryTextOf(driver?.dottedQuadFileVersion),
    automation_id: summaryTextOf(automation?.id),
    automation_guid: summaryTextOf(automation?.guid),
    correlation_guid: summaryTextOf(automation?.correlationGuid),
    invocations: entries.length,
    started_at: isoOf(start),
    ended_at: isoOf(end),
    duration_ms: end >= start && Number.isFinite(end - start) ? end - start : null,
    exit_code: codes.find((code) => code !== 0) ?? codes[0] ?? null,
    exit_signal: signals.find((signal) => signal !== null) ?? null,
    succeeded: said.includes(false) ? false : said.includes(true) ? true : null,
  };
}

const exitCodeOf = (value: unknown): number | null =>
  typeof value === 'number' && Number.isSafeInteger(value) ? value : null;

// The tool and the metadata of a CTIS report → the summary of its one run, for operators (CTIS
// §1.2). No decision depends on the summary. Pure. Called by ctis.decode.ts.

import type { UploadRun } from '@muster/contract/plain';
import { indexOf, type JsonObject, listOf, objectOf } from '../../json/json.decode.ts';
import { isoOf, timeOf } from '../common/dates.rules.ts';
import { EMPTY_SUMMARY, summaryTextOf } from '../common/run-summary.decode.ts';
import type { RunSummaries } from '../../report/report.rules.ts';

/** The one run of a CTIS report (§1.2); `timestamp` is the time at which the report was made. */
export function ctisRun(tool: JsonObject | null, metadata: JsonObject): RunSummaries {
  const end = timeOf(metadata.timestamp);
  const durationMs = indexOf(metadata.duration_ms);
  const start = end === null || durationMs === null ? null : end - durationMs;
  const run: UploadRun = {
    ...EMPTY_SUMMARY,
    tool: summaryTextOf(tool?.name) ?? 'unknown',
    tool_version: summaryTextOf(tool?.version),
    automation_id: summaryTextOf(metadata.id),
    started_at: start === null ? null : isoOf(start),
    ended_at: end === null ? null : isoOf(end),
    duration_ms: durationMs,
    coverage: summaryTextOf(metadata.coverage_type),
    source_type: summaryTextOf(metadata.source_type),
    scope: scopeOf(objectOf(metadata.scope)),
  };
  return { total: 1, shown: [run] };
}

/** The scope that the report states; null when it states none. */
function scopeOf(scope: JsonObject | null): UploadRun['scope'] {
  const [type, name] = [summaryTextOf(scope?.type), summaryTextOf(scope?.name)];
  const [includes, excludes] = [scope?.includes, scope?.excludes].map(
    (list) => listOf(list).length,
  );
  const isSaid = type !== null || name !== null || includes !== 0 || excludes !== 0;
  return isSaid ? { type, name, includes: includes ?? 0, excludes: excludes ?? 0 } : null;
}

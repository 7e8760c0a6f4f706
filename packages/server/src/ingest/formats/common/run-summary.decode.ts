// The parts that the run summaries of all formats share: the empty summary, and texts in the form
// in which a summary holds them. A summary tells operators how a run went: tool, version, start,
// end, outcome. It is stored with the upload, bounded, and its texts are masked like titles. It
// decides nothing: read/health.decode.ts decides whether a run may close findings. Called by
// ctis/run-summary.decode.ts and read/run-summary.decode.ts.

import { limits } from '@muster/contract/plain';
import { maskSaid } from '../../redact/masking.rules.ts';
import { preview, stringOf } from '../../json/json.decode.ts';

/** A summary of a run that states nothing. */
export const EMPTY_SUMMARY = {
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

/** The value as a text of a summary: masked and cut; null when it is no text. */
export function summaryTextOf(value: unknown): string | null {
  const text = stringOf(value)?.trim();
  return text === undefined ? null : preview(maskSaid(text.slice(0, 2048)), limits.nameCharsMax);
}

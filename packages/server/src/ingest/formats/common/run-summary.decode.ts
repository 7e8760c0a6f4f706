// How the runs of a report went, for operators: which tool in which version, under which name, from when to when, how it
// ended. Kept with the upload, bounded; texts are masked as titles are. Nothing is decided by it: whether a run may close
// anything is read/health.decode.ts's to say. Called by both report readers, once per envelope.

import { limits } from '@muster/contract/plain';
import { maskSaid } from '../../redact/masking.rules.ts';
import { preview, stringOf } from '../../json/json.decode.ts';

export const NOTHING = {
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

export function wordOf(value: unknown): string | null {
  const text = stringOf(value)?.trim();
  return text === undefined ? null : preview(maskSaid(text.slice(0, 2048)), limits.nameCharsMax);
}

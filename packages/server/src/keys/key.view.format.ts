// Turns runner and key rows into what the wire shows. A key is shown by its facts only, never by
// its secret or its hash.

import { type ApiKey, type KeyScope, limits, type Runner } from '@muster/contract';
import { isoTime, isoTimeOrNull } from '../lib/iso-time.ts';
import { keyPrefix } from './key.format.ts';
import type { KeyRow } from './keys.queries.ts';
import { healthOf, reportedOf } from './runner-health.rules.ts';
import type { RunnerRow } from './runner.queries.ts';

export function apiKeyView(row: KeyRow): ApiKey {
  return {
    key_id: row.key_id,
    prefix: keyPrefix(row.kind, row.key_id),
    kind: row.kind,
    name: row.name,
    runner_id: row.runner_id,
    role: row.role,
    scopes: row.scopes === null ? null : (JSON.parse(row.scopes) as KeyScope[]),
    state: row.state,
    uses_left: row.uses_left,
    allow_from: row.allow_from === null ? null : (JSON.parse(row.allow_from) as string[]),
    labels: row.labels === null ? null : (JSON.parse(row.labels) as Record<string, string>),
    allowed_labels:
      row.allowed_labels === null ? null : (JSON.parse(row.allowed_labels) as string[]),
    created_at: isoTime(row.created_at),
    created_by: row.created_by,
    expires_at: isoTimeOrNull(row.expires_at),
    retires_at: isoTimeOrNull(row.retires_at),
    first_used_at: isoTimeOrNull(row.first_used_at),
    last_used_at: isoTimeOrNull(row.last_used_at),
    last_used_from: row.last_used_from,
  };
}

/** `nowMs`: a warning is shown only while it holds now. */
export function runnerView(row: RunnerRow, nowMs: number): Runner {
  const reported = reportedOf(row);
  return {
    id: row.id,
    name: row.name,
    admin: row.admin,
    presence: row.presence,
    presence_since: isoTime(row.presence_since),
    ...healthOf(reported),
    last_seen_at: isoTimeOrNull(row.last_seen_at),
    interval_seconds: Math.round(row.interval_ms / 1000),
    labels: JSON.parse(row.labels) as Record<string, string>,
    version: row.version,
    hostname: row.hostname,
    region: row.region,
    clock_skew_ms: row.clock_skew_ms,
    warnings: warningsOf(row, nowMs),
    reported,
    reported_at: isoTimeOrNull(row.reported_at),
    created_at: isoTime(row.created_at),
    created_by: row.created_by,
  };
}

function warningsOf(row: RunnerRow, nowMs: number): Runner['warnings'] {
  const warnings: Runner['warnings'] = [];
  if (row.cloned_until !== null && row.cloned_until > nowMs) {
    const detail =
      'Two installations use this runner at the same time. Enrol each machine by itself; nobody is cut off.';
    warnings.push({ code: 'cloned', detail });
  }
  const skewMs = row.clock_skew_ms ?? 0;
  if (Math.abs(skewMs) > limits.clockSkewWarnMs) {
    const seconds = Math.round(Math.abs(skewMs) / 1000);
    const detail = `Its clock is ${seconds} s ${skewMs > 0 ? 'ahead' : 'behind'}.`;
    warnings.push({ code: 'clock_skew', detail });
  }
  return warnings;
}

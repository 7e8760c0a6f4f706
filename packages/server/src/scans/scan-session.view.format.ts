// Turns rows of scan sessions into what the wire shows: without nulls, because old clients fail on
// unexpected times (RP §0).

import type { ScanEnd, ScanSession, ScanStarted } from '@muster/contract';
import { isoTime } from '../lib/iso-time.ts';
import type { SessionRow } from './scan-session.queries.ts';

export const startedView = (row: SessionRow): ScanStarted => ({
  scan_id: row.id,
  ...(row.base_commit_sha === null ? {} : { base_commit_sha: row.base_commit_sha }),
});

export function sessionView(row: SessionRow): ScanSession {
  const { findings_total = 0, findings_new = 0, findings_fixed = 0, ...said } = countsOf(row);
  const texts = {
    scanner_version: row.scanner_version,
    scanner_type: row.scanner_type,
    commit_sha: row.commit_sha,
    branch: row.branch,
    base_commit_sha: row.base_commit_sha,
  };
  return {
    id: row.id,
    tenant_id: row.tenant_id,
    agent_id: row.runner_id,
    scanner_name: row.scanner_name,
    asset_type: row.asset_type,
    asset_value: row.asset_value,
    ...Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== null)),
    status: row.status,
    ...(said.error_message === undefined ? {} : { error_message: said.error_message }),
    findings_total,
    findings_new,
    findings_fixed,
    ...(said.findings_by_severity === undefined
      ? {}
      : { findings_by_severity: said.findings_by_severity }),
    started_at: isoTime(row.started_at),
    ...(row.completed_at === null
      ? {}
      : {
          completed_at: isoTime(row.completed_at),
          duration_ms: row.completed_at - row.started_at,
        }),
    created_at: isoTime(row.started_at),
  };
}

const countsOf = (row: SessionRow): Partial<Omit<ScanEnd, 'status'>> =>
  row.answer === null ? {} : (JSON.parse(row.answer) as Omit<ScanEnd, 'status'>);

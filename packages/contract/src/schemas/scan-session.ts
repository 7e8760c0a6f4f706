// Scan sessions: a runner's own account of a scan that it makes (RP §9.1). They decide nothing:
// findings come by ingest.

import Type, { type Static } from 'typebox';
import { Id, Time } from './shapes.ts';

const name = (max: number) => Type.String({ minLength: 1, maxLength: max });

export const NewScanSession = Type.Object({
  scanner_name: name(255),
  scanner_version: Type.Optional(Type.String({ maxLength: 255 })),
  scanner_type: Type.Optional(Type.String({ maxLength: 255 })),
  asset_type: name(64),
  asset_value: name(2048),
  commit_sha: Type.Optional(Type.String({ maxLength: 128 })),
  branch: Type.Optional(Type.String({ maxLength: 255 })),
});
export type NewScanSession = Static<typeof NewScanSession>;

export const ScanStarted = Type.Object({
  scan_id: Id,
  base_commit_sha: Type.Optional(
    Type.String({
      description: 'of the last completed session of this asset, branch and scanner',
    }),
  ),
  scan_url: Type.Optional(Type.String()),
});
export type ScanStarted = Static<typeof ScanStarted>;

const count = Type.Integer({ minimum: 0 });
const Counts = {
  error_message: Type.Optional(Type.String()),
  findings_total: Type.Optional(count),
  findings_new: Type.Optional(count),
  findings_fixed: Type.Optional(count),
  findings_by_severity: Type.Optional(Type.Record(Type.String({ maxLength: 32 }), count)),
};

/** How a session ends, with the runner's own counts, which are not those of a receipt. */
export const ScanEnd = Type.Object({
  status: Type.Enum(['completed', 'failed', 'canceled']),
  ...Counts,
});
export type ScanEnd = Static<typeof ScanEnd>;

const SESSION_STATUSES = ['running', 'completed', 'failed', 'canceled', 'timeout'] as const;

/** A session as runners read it: absent instead of null (RP §0, times). */
export const ScanSession = Type.Object(
  {
    id: Id,
    tenant_id: Id,
    agent_id: Id,
    ...NewScanSession.properties,
    base_commit_sha: Type.Optional(Type.String()),
    status: Type.Enum(SESSION_STATUSES),
    error_message: Type.Optional(Type.String()),
    findings_total: count,
    findings_new: count,
    findings_fixed: count,
    findings_by_severity: Type.Optional(Type.Record(Type.String(), count)),
    started_at: Time,
    completed_at: Type.Optional(Time),
    duration_ms: Type.Optional(count),
    created_at: Time,
  },
  { $id: 'ScanSession' },
);
export type ScanSession = Static<typeof ScanSession>;

export const SessionStatus = Type.Enum(SESSION_STATUSES);
export const SCAN_SESSION_STATUSES = SESSION_STATUSES;

// Uploads and their receipts (contract §5). The receipt is the promise: every item received has one
// outcome.

import Type, { type Static } from 'typebox';
import { Id, Located, Nullable, Problem, Time } from './shapes.ts';
import { UploadFault, UploadState } from './vocabulary.ts';
import { REPORT_FORMATS } from './words.ts';

/** The seven outcomes of a finding; they add up to `received`. */
export const FINDING_OUTCOMES = [
  'created',
  'changed',
  'unchanged',
  'reopened',
  'duplicate',
  'not_problem',
  'rejected',
] as const;
export type FindingOutcome = (typeof FINDING_OUTCOMES)[number];

const count = Type.Integer({ minimum: 0 });

const FindingCounts = Type.Object({
  received: count,
  created: count,
  changed: count,
  unchanged: count,
  reopened: count,
  duplicate: count,
  not_problem: count,
  rejected: count,
});

/**
 * Counts for assets, dependencies, relationships and endpoints: created + updated + duplicate +
 * rejected = received.
 */
const EntryCounts = Type.Object({
  received: count,
  created: count,
  updated: count,
  duplicate: count,
  rejected: count,
});

export const Receipt = Type.Object(
  {
    upload_id: Id,
    scan_id: Type.String({ description: "the report's own id, else the upload's" }),
    outcome: Type.Enum(['complete', 'partial', 'refused']),
    format: Type.Enum(REPORT_FORMATS),
    tool: Nullable(Type.String()),
    findings: FindingCounts,
    assets: EntryCounts,
    dependencies: EntryCounts,
    relationships: EntryCounts,
    endpoints: EntryCounts,
    resolved: Type.Integer({ minimum: 0, description: 'closed because they are no longer there' }),
    suppressed: Type.Integer({ minimum: 0, description: 'of the stored ones' }),
    held: Type.Integer({ minimum: 0, description: 'absences held back by the blinding guard' }),
    rejections: Type.Array(Located, { description: 'the first 100' }),
    rejections_by_code: Type.Record(Type.String(), count),
    warnings: Type.Array(Located, { description: 'the first 100' }),
    warnings_total: count,
    // For deployed clients (RP §6.1):
    findings_created: count,
    findings_updated: count,
    findings_skipped: count,
    assets_created: count,
    assets_updated: count,
    errors: Type.Optional(Type.Array(Type.String())),
  },
  { $id: 'Receipt' },
);
export type Receipt = Static<typeof Receipt>;

/** 202: where to look for the result. Zero counters keep older clients content (RP §6.2). */
export const UploadAccepted = Type.Object(
  {
    job_id: Id,
    upload_id: Id,
    status: Type.Enum(['pending', 'processing', 'completed', 'failed']),
    report_id: Type.String(),
    duplicate: Type.Boolean(),
  },
  { $id: 'UploadAccepted' },
);

const said = Nullable(Type.String());

/** The parts of the asset that a CTIS report says were looked at. */
const RunScope = Type.Object({
  type: said,
  name: said,
  includes: Type.Integer({ minimum: 0, description: 'how many are listed' }),
  excludes: Type.Integer({ minimum: 0, description: 'how many are listed' }),
});

/** How one run of a report went, as the report says. */
export const UploadRun = Type.Object(
  {
    tool: Type.String(),
    tool_version: said,
    automation_id: Type.Union([Type.String(), Type.Null()], {
      description: 'SARIF `automationDetails.id`, the id of a CTIS report',
    }),
    automation_guid: said,
    correlation_guid: said,
    invocations: Type.Integer({ minimum: 0, description: 'of the tool (SARIF)' }),
    started_at: Nullable(Time),
    ended_at: Nullable(Time),
    duration_ms: Nullable(Type.Integer({ minimum: 0 })),
    exit_code: Nullable(Type.Integer()),
    exit_signal: said,
    succeeded: Nullable(Type.Boolean()),
    coverage: Type.Union([Type.String(), Type.Null()], { description: 'of a CTIS report' }),
    source_type: Type.Union([Type.String(), Type.Null()], { description: 'of a CTIS report' }),
    scope: Type.Union([RunScope, Type.Null()], { description: 'of a CTIS report' }),
  },
  { $id: 'UploadRun' },
);
export type UploadRun = Static<typeof UploadRun>;

const runs = Type.Union([Type.Array(UploadRun), Type.Null()], {
  description: 'the first 20; null until the report was read',
});

export const UploadJob = Type.Object(
  {
    job_id: Id,
    upload_id: Id,
    status: Type.Enum(['pending', 'processing', 'completed', 'failed']),
    report_id: Type.String(),
    attempts: Type.Integer(),
    items_done: Nullable(Type.Integer()),
    items_total: Nullable(Type.Integer()),
    runs,
    runs_total: Nullable(count),
    result: Type.Optional(Type.Ref('Receipt')),
    error: Type.Optional(Type.Ref('Problem')),
  },
  { $id: 'UploadJob' },
);

/** An upload as operators see it. */
export const Upload = Type.Object(
  {
    id: Id,
    runner_id: Id,
    state: UploadState,
    format: Type.Enum(['auto', ...REPORT_FORMATS]),
    tool: Nullable(Type.String()),
    received_at: Time,
    started_at: Nullable(Time),
    finished_at: Nullable(Time),
    wire_bytes: Type.Integer(),
    stored_bytes: Type.Integer(),
    decoded_bytes: Nullable(Type.Integer()),
    sha256: Nullable(Type.String()),
    command_id: Nullable(Id),
    attempts: Type.Integer(),
    items_done: Nullable(Type.Integer()),
    items_total: Nullable(Type.Integer()),
    context: Type.Unknown(),
    runs,
    runs_total: Nullable(count),
    receipt: Nullable(Receipt),
    problem: Nullable(Problem),
    fault: Nullable(UploadFault),
    raw_deleted_at: Nullable(Time),
  },
  { $id: 'Upload' },
);
export type Upload = Static<typeof Upload>;

/** An item of an upload that could not be used. */
export const RejectedItem = Type.Object(
  {
    pointer: Type.String({ description: 'RFC 6901 JSON pointer into the document as sent' }),
    code: Type.String(),
    detail: Type.String(),
    item: Nullable(
      Type.String({ description: 'the item as JSON, secrets masked, cut where it is long' }),
    ),
  },
  { $id: 'RejectedItem' },
);
export type RejectedItem = Static<typeof RejectedItem>;

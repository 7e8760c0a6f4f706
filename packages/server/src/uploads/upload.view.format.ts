// Rows of uploads become what the wire shows: the job of a runner, the upload of an operator, and
// an item that could not be used. Pure.

import {
  type ErrorCode,
  errors,
  type Receipt,
  type RejectedItem,
  type Upload,
} from '@muster/contract';
import type { RejectionRow } from '../ingest/store/rejection.queries.ts';
import type { RunSummaries, UploadContext } from '../ingest/report/report.rules.ts';
import type { UploadRow } from '../ingest/store/upload.queries.ts';

const iso = (ms: number): string => new Date(ms).toISOString();
const isoOrNull = (ms: number | null): string | null => (ms === null ? null : iso(ms));

type JobStatus = 'pending' | 'processing' | 'completed' | 'failed';

const JOB_STATUS: Record<UploadRow['state'], JobStatus> = {
  receiving: 'pending',
  received: 'pending',
  processing: 'processing',
  processed: 'completed',
  refused: 'failed',
  failed: 'failed',
};

/**
 * The stored problem as a problem document. Its request id is the id of the upload: the problem
 * belongs to no request.
 */
function storedProblem(row: UploadRow): Record<string, unknown> | null {
  if (row.problem === null) return null;
  const stored = JSON.parse(row.problem) as { code: ErrorCode; detail: string; pointer?: string };
  const { status, title } = errors[stored.code];
  return {
    type: `/docs#error-${stored.code}`,
    title,
    status,
    ...stored,
    instance: `/api/v1/agent/ingest/jobs/${row.id}`,
    error: stored.code,
    message: stored.detail,
    request_id: row.id,
    upload_id: row.id,
    ...(row.receipt === null ? {} : { receipt: JSON.parse(row.receipt) as unknown }),
  };
}

export function jobView(row: UploadRow) {
  const receipt = row.receipt === null ? null : (JSON.parse(row.receipt) as Receipt);
  const problem = storedProblem(row);
  return {
    job_id: row.id,
    upload_id: row.id,
    status: JOB_STATUS[row.state],
    report_id: receipt?.scan_id ?? row.id,
    attempts: row.attempt,
    items_done: row.items_done,
    items_total: row.items_total,
    ...runsOf(row),
    ...(row.state === 'processed' && receipt !== null ? { result: receipt } : {}),
    ...(problem === null ? {} : { error: problem }),
  };
}

export function uploadView(row: UploadRow): Upload {
  const receipt = row.receipt === null ? null : (JSON.parse(row.receipt) as Receipt);
  return {
    id: row.id,
    runner_id: row.runner_id,
    state: row.state,
    format: receipt?.format ?? row.format,
    tool: row.tool,
    received_at: iso(row.received_at),
    started_at: isoOrNull(row.started_at),
    finished_at: isoOrNull(row.finished_at),
    wire_bytes: row.wire_bytes,
    stored_bytes: row.stored_bytes,
    decoded_bytes: row.decoded_bytes,
    sha256: row.sha256 === null ? null : Buffer.from(row.sha256).toString('hex'),
    command_id: row.command_id,
    attempts: row.attempt,
    items_done: row.items_done,
    items_total: row.items_total,
    context: statedContext(row.context),
    ...runsOf(row),
    receipt,
    problem: storedProblem(row) as Upload['problem'],
    fault: row.fault,
    raw_deleted_at: isoOrNull(row.raw_deleted_at),
  };
}

function runsOf({ runs }: UploadRow): Pick<Upload, 'runs' | 'runs_total'> {
  if (runs === null) return { runs: null, runs_total: null };
  const { shown, total } = JSON.parse(runs) as RunSummaries;
  return { runs: [...shown], runs_total: total };
}

/**
 * The words of the sender beside the document. The scans are left out: the command of the upload
 * stands in `command_id`.
 */
function statedContext(text: string): unknown {
  const { scans: _, ...stated } = JSON.parse(text) as UploadContext;
  return stated;
}

export const rejectionView = ({ pointer, code, detail, item }: RejectionRow): RejectedItem => ({
  pointer,
  code,
  detail,
  item,
});

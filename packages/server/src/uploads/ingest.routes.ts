// The HTTP routes by which a runner hands in reports: three routes and the dry run, which share one
// path; the job resource, which tells how an upload stands; and the check of known fingerprints. A
// request becomes a stored upload first, and its answer is made from the stored row.

import { type ErrorCode, endpoints, errors, limits, type Receipt } from '@muster/contract';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Database } from '../db/db.ts';
import { boundedBody, encodingOf } from '../http/body.ts';
import { digestsOf } from '../http/digest.ts';
import { type Answer, answer, type Gate, route } from '../http/route.ts';
import type { Caller, RunnerCaller } from '../keys/authenticate.ts';
import type { Clock } from '../lib/clock.ts';
import { type UploadId, parseId } from '../lib/ids.ts';
import { Problem } from '../lib/problem.ts';
import { checkFingerprints } from './check.ts';
import { jobView } from './upload.view.format.ts';
import { noteAnswered, type ReceiveDeps, type Received, receiveUpload } from './receive.ts';
import { uploadOfRunner } from './uploads.ts';
import {
  commandOf,
  contextOf,
  idempotencyKeyOf,
  waitOf,
  type WaitWish,
} from './upload-headers.decode.ts';
import type { UploadRow } from '../ingest/store/upload.queries.ts';
import type { IngestWorkers } from '../ingest/queue/workers.ts';

export interface IngestRoutesDeps extends ReceiveDeps {
  readonly database: Database;
  readonly clock: Clock;
  readonly workers: IngestWorkers;
}

type IngestEndpoint =
  | typeof endpoints.ingest
  | typeof endpoints.ingestCtis
  | typeof endpoints.ingestSarif
  | typeof endpoints.validateReport;

/** The documents that a route takes. */
interface Intake {
  readonly format: 'auto' | 'sarif';
  readonly dryRun: boolean;
}

export function ingestRoutes(
  app: FastifyInstance,
  gate: Gate<Caller>,
  deps: IngestRoutesDeps,
): void {
  const upload = (endpoint: IngestEndpoint, intake: Intake): void => {
    route(app, gate, endpoint, async ({ caller, query, request }) =>
      takeUpload(deps, caller, query as Record<string, string>, request, intake),
    );
  };
  upload(endpoints.ingest, { format: 'auto', dryRun: false });
  upload(endpoints.ingestCtis, { format: 'auto', dryRun: false });
  upload(endpoints.ingestSarif, { format: 'sarif', dryRun: false });
  upload(endpoints.validateReport, { format: 'auto', dryRun: true });
  route(app, gate, endpoints.uploadJob, async ({ caller, params, query }) => {
    const id = parseId<UploadId>(params.id);
    const known = id === null ? null : await uploadOfRunner(deps.database, caller, id);
    if (known === null) throw new Problem('not_found', 'There is no such upload.');
    const seconds = Math.min(Number(query.wait ?? 0), limits.jobWaitSecondsMax);
    const row = await deps.workers.waitFor(caller.tenantId, known.id, seconds * 1000);
    return answer(200, jobView(row ?? known));
  });
  route(app, gate, endpoints.checkFingerprints, async ({ caller, body }) =>
    answer(200, await checkFingerprints(deps.database, caller.tenantId, body.fingerprints)),
  );
}

/**
 * Receives the upload, waits for its end (bounded), and answers: 201 with the receipt (a dry run:
 * 200), 202 with the place where the receipt will be, or the problem.
 */
async function takeUpload(
  deps: IngestRoutesDeps,
  caller: RunnerCaller,
  query: Record<string, string>,
  request: FastifyRequest,
  { format, dryRun }: Intake,
): Promise<Answer<IngestEndpoint>> {
  const { headers } = request;
  const startedMs = deps.clock.monotonicMs();
  const wish = waitOf(query, headers);
  const mediaType = format === 'auto' ? declaredType(request.sentType) : null;
  const received = await receiveUpload(deps, caller, {
    body: boundedBody(request.raw, headers, limits.uploadWireBytesMax),
    encoding: encodingOf(headers),
    format,
    context: {
      ...contextOf(query, headers),
      ...(mediaType === null ? {} : { mediaType }),
      ...(dryRun ? { dryRun: true } : {}),
    },
    commandId: commandOf(headers),
    idempotencyKey: idempotencyKeyOf(headers),
    digests: digestsOf(headers),
  });
  deps.workers.wake();
  const waitMs = allowedWaitMs(wish, deps.clock.monotonicMs() - startedMs);
  const row = await deps.workers.waitFor(caller.tenantId, received.uploadId, waitMs);
  if (row === undefined) throw new Problem('not_found', 'The upload was removed.');
  const written = (whole: boolean): void => {
    if (whole) void noteAnswered(deps, row);
  };
  // A problem is an answer, too: the same bytes get it again only if it could not be written out.
  request.written = written;
  return { ...answerOf(row, received, wish, dryRun ? 200 : 201), written };
}

/**
 * The media type, without its parameters, if it ends in `+json` and so may mean one format (RFC
 * 6838 §4.2.8); null for any other.
 */
function declaredType(sent: string): string | null {
  const type = sent.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return type.length <= limits.nameCharsMax && type.endsWith('+json') ? type : null;
}

/**
 * At most 25 s after the headers and 20 s after the last byte; the caller may shorten that
 * (contract §5).
 */
function allowedWaitMs(wish: WaitWish, spentMs: number): number {
  const left = Math.min(
    limits.uploadAnswerAfterHeadersMs - spentMs,
    limits.uploadAnswerAfterBodyMs,
  );
  const wished = wish.seconds === null ? left : wish.seconds * 1000;
  return Math.max(0, Math.min(left, wished));
}

function answerOf(
  row: UploadRow,
  received: Received,
  wish: WaitWish,
  doneStatus: 200 | 201,
): Answer<IngestEndpoint> {
  const headers: Record<string, string> = {};
  if (received.replayed) headers['idempotent-replayed'] = 'true';
  if (wish.applied !== null) headers['preference-applied'] = wish.applied;
  if (row.state === 'processed' && row.receipt !== null) {
    const body = JSON.parse(row.receipt) as Receipt;
    // The common type of the four endpoints knows only the status that all of them have, 202.
    return { status: doneStatus, headers, body } as unknown as Answer<IngestEndpoint>;
  }
  if (row.state === 'refused' || row.state === 'failed') throw problemOf(row, headers);
  headers['location'] = `/api/v1/agent/ingest/jobs/${row.id}`;
  const { job_id, upload_id, status, report_id } = jobView(row);
  const body = {
    job_id,
    upload_id,
    status,
    report_id,
    duplicate: received.joined || received.replayed,
  };
  return { status: 202, headers, body };
}

/** The stored reason of a refused or failed upload, as the caller gets it. */
function problemOf(row: UploadRow, headers: Record<string, string>): Problem {
  const stored = JSON.parse(row.problem ?? '{}') as {
    code?: string;
    detail?: string;
    pointer?: string;
  };
  const code =
    stored.code !== undefined && Object.hasOwn(errors, stored.code)
      ? (stored.code as ErrorCode)
      : 'processing_failed';
  return new Problem(code, stored.detail, {
    uploadId: row.id,
    headers,
    ...(stored.pointer === undefined ? {} : { pointer: stored.pointer }),
    ...(row.receipt === null ? {} : { receipt: JSON.parse(row.receipt) as unknown }),
  });
}

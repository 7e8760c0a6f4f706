// The endpoints for handing in findings (contract §5). All three routes take one path through the
// server.

import Type from 'typebox';
import { bodyErrors, type Endpoint, endpoint } from '../endpoint.ts';
import { limits } from '../limits.ts';
import { CtisReport } from '../ctis/report.ts';
import { SarifLog } from '../sarif.ts';
import { Receipt, UploadAccepted, UploadJob } from '../schemas/upload.ts';
import { AssetKind } from '../schemas/vocabulary.ts';

const text = (maxLength: number, description: string) =>
  Type.Optional(Type.String({ maxLength, description }));

/**
 * The facts that a document may lack. They may also come as `X-Muster-*` headers
 * (`X-Muster-Commit-Sha` …); the query wins.
 */
export const UploadQuery = Type.Object({
  repository_url: text(limits.pathCharsMax, 'the repository that was analysed'),
  asset: text(limits.pathCharsMax, 'the asset that was analysed, when it is no repository'),
  asset_type: Type.Optional(AssetKind),
  branch: text(255, 'the ref; absent: the unnamed ref'),
  commit_sha: text(128, 'the commit'),
  base_branch: text(255, 'what a pull request would be merged into'),
  pull_request: text(64, 'its number or id'),
  default_branch: Type.Optional(Type.Enum(['true', 'false'])),
  category: text(255, 'tells several analyses by one tool apart'),
  coverage: Type.Optional(Type.Enum(['full', 'partial'])),
  wait: Type.Optional(
    Type.String({ pattern: '^[0-9]{1,3}$', description: 'seconds to wait for the receipt' }),
  ),
});

const errorsOfSarif = [
  'unauthorized',
  ...bodyErrors,
  'invalid_parameter',
  'idempotency_key_reused',
  'not_sarif',
  'unsupported_sarif_version',
  'report_refused',
  'too_many_items',
  'rate_limited',
  'processing_failed',
  'unavailable',
  'storage_full',
] as const satisfies Endpoint['errors'];
/** Where all formats are taken. */
const errorsOfAll = [
  ...errorsOfSarif,
  'not_ctis',
  'not_gitleaks',
  'unsupported_ctis_version',
] as const satisfies Endpoint['errors'];

const ingestRoute = <
  const Id extends string,
  const Path extends string,
  S extends typeof SarifLog | typeof CtisReport,
  const Errors extends Endpoint['errors'],
>(
  id: Id,
  path: Path,
  summary: string,
  body: S,
  errors: Errors,
) =>
  endpoint({
    id,
    method: 'POST',
    path,
    auth: { kind: 'runner', scope: 'ingest', without: 'unauthorized' },
    summary,
    description:
      'Nothing is answered before the bytes are stored durably. 201 carries the receipt; 202 says where it will be ' +
      '(`Location`). `Prefer: respond-async` or `wait=n` shorten the wait. May be repeated; with `Idempotency-Key` the ' +
      'stored answer comes again for 24 h.',
    query: UploadQuery,
    bodyKind: 'stream',
    body,
    bodyBytesMax: limits.uploadWireBytesMax,
    replies: { 201: Receipt, 202: UploadAccepted },
    errors,
  });

export const ingest = ingestRoute(
  'ingest',
  '/api/v1/agent/ingest',
  'Hand in a CTIS report (SARIF is recognised)',
  CtisReport,
  errorsOfAll,
);
export const ingestCtis = ingestRoute(
  'ingestCtis',
  '/api/v1/agent/ingest/ctis',
  'Hand in a CTIS report (SARIF is recognised)',
  CtisReport,
  errorsOfAll,
);
export const ingestSarif = ingestRoute(
  'ingestSarif',
  '/api/v1/agent/ingest/sarif',
  'Hand in a SARIF 2.1.0 log, as it is',
  SarifLog,
  errorsOfSarif,
);

export const validateReport = endpoint({
  id: 'validateReport',
  method: 'POST',
  path: '/api/v1/agent/ingest/validate',
  auth: { kind: 'runner', scope: 'ingest', without: 'unauthorized' },
  summary: 'The receipt that a report would get; nothing of it is applied',
  description:
    'A dry run of the whole path: the document is read, judged and matched with what is stored now, and answered as it ' +
    'would be, with 200 in the place of 201. No finding, asset or event changes. The bytes are deleted with the answer; ' +
    'what stays, for 24 hours, is the upload with its receipt, marked `dryRun` in its context.',
  query: UploadQuery,
  bodyKind: 'stream',
  body: CtisReport,
  bodyBytesMax: limits.uploadWireBytesMax,
  replies: { 200: Receipt, 202: UploadAccepted },
  errors: errorsOfAll,
});

export const uploadJob = endpoint({
  id: 'uploadJob',
  method: 'GET',
  path: '/api/v1/agent/ingest/jobs/{id}',
  auth: { kind: 'runner', scope: 'ingest', without: 'unauthorized' },
  summary: 'State and receipt of one upload',
  params: Type.Object({ id: Type.String({ description: 'the upload' }) }),
  query: Type.Object({
    wait: Type.Optional(
      Type.String({
        pattern: '^[0-9]{1,3}$',
        description: 'seconds to wait for its end, at most 60',
      }),
    ),
  }),
  bodyKind: 'none',
  replies: { 200: UploadJob },
  errors: ['unauthorized', 'rate_limited', 'not_found', 'invalid_parameter'],
});

export const checkFingerprints = endpoint({
  id: 'checkFingerprints',
  method: 'POST',
  path: '/api/v1/agent/ingest/check',
  auth: { kind: 'runner', scope: 'ingest', without: 'unauthorized' },
  summary: 'Which fingerprints are known',
  description:
    "All are compared, against the producer's base fingerprint. More than 50 000 are refused, never cut.",
  bodyKind: 'json',
  bodyBytesMax: 32 * 1024 * 1024,
  body: Type.Object({
    fingerprints: Type.Array(Type.String({ maxLength: limits.fingerprintCharsMax })),
  }),
  replies: {
    200: Type.Object({ existing: Type.Array(Type.String()), missing: Type.Array(Type.String()) }),
  },
  errors: ['unauthorized', 'rate_limited', ...bodyErrors, 'invalid_body', 'too_many_items'],
});

// The endpoints that operators call, under /api/v1 with an operator token: the fleet, commands,
// uploads, findings, keys.

import Type from 'typebox';
import { bodyErrors, type Endpoint, endpoint } from '../endpoint.ts';
import { Id, Page, PageQuery } from '../schemas/shapes.ts';
import { Finding, FindingChange, FindingWithDetail } from '../schemas/finding.ts';
import {
  ApiKey,
  KeyChange,
  KeyRoll,
  NewApiKeyReply,
  NewEnrolmentToken,
  NewRunnerKey,
  NewRunnerReply,
} from '../schemas/key.ts';
import { NewRunner, Runner, RunnerMetrics } from '../schemas/runner.ts';
import { RejectedItem, Upload } from '../schemas/upload.ts';
import {
  FindingStatusFilter,
  Presence,
  type Role,
  Role as RoleSchema,
  RunnerAdmin,
  Severity,
  UploadState,
} from '../schemas/vocabulary.ts';

const ById = Type.Object({ id: Type.String() });
const everyone = ['unauthorized', 'rate_limited'] as const;
const read = [...everyone, 'invalid_parameter'] as const;
const readOne = [...everyone, 'not_found'] as const;
/** For endpoints that the role viewer may not call. */
const act = [...readOne, 'forbidden'] as const;
const write = [
  ...everyone,
  'forbidden',
  ...bodyErrors,
  'invalid_body',
] as const satisfies Endpoint['errors'];
const as = (role: Role) => ({ kind: 'operator', role }) as const;
const optionalText = (maxLength: number, description: string) =>
  Type.Optional(Type.String({ maxLength, description }));

export const whoAmI = endpoint({
  id: 'whoAmI',
  method: 'GET',
  path: '/api/v1/me',
  auth: as('viewer'),
  summary: 'Who this operator token is',
  bodyKind: 'none',
  replies: {
    200: Type.Object({
      name: Type.String(),
      role: RoleSchema,
      tenant_id: Id,
      tenant: Type.String(),
    }),
  },
  errors: everyone,
});

// ---------------------------------------------------------------- runners

export const listRunners = endpoint({
  id: 'listRunners',
  method: 'GET',
  path: '/api/v1/runners',
  auth: as('viewer'),
  summary: 'The fleet, newest first',
  query: Type.Object({
    ...PageQuery,
    admin: Type.Optional(RunnerAdmin),
    presence: Type.Optional(Presence),
    name: optionalText(255, 'part of the name'),
  }),
  bodyKind: 'none',
  replies: { 200: Page(Runner) },
  errors: read,
});

export const showRunner = endpoint({
  id: 'showRunner',
  method: 'GET',
  path: '/api/v1/runners/{id}',
  auth: as('viewer'),
  summary: 'One runner',
  params: ById,
  bodyKind: 'none',
  replies: { 200: Runner },
  errors: readOne,
});

export const runnerMetrics = endpoint({
  id: 'runnerMetrics',
  method: 'GET',
  path: '/api/v1/runners/{id}/metrics',
  auth: as('viewer'),
  summary: 'What a runner measured, for charts',
  description:
    'Kept by the minute for 2 days, by the hour for 30, by the day for 400. The default is the last 24 hours, in steps that ' +
    'give a few hundred points. On several nodes the present quarter of an hour may be missing.',
  params: ById,
  query: Type.Object({
    from: optionalText(40, 'RFC 3339; default 24 hours before `to`'),
    to: optionalText(40, 'RFC 3339; default now'),
    step: Type.Optional(
      Type.String({
        pattern: '^[0-9]{2,7}$',
        description: 'seconds, a multiple of 60; at most 1 000 points',
      }),
    ),
  }),
  bodyKind: 'none',
  replies: { 200: RunnerMetrics },
  errors: [...readOne, 'invalid_parameter'],
});

export const createRunner = endpoint({
  id: 'createRunner',
  method: 'POST',
  path: '/api/v1/runners',
  auth: as('admin'),
  summary: 'Create a runner and its first key',
  bodyKind: 'json',
  body: NewRunner,
  replies: { 201: NewRunnerReply },
  errors: write,
});

const runnerAction = <const Name extends string>(
  action: Name,
  id: string,
  summary: string,
  errors: Endpoint['errors'],
) =>
  endpoint({
    id,
    method: 'POST',
    path: `/api/v1/runners/{id}/${action}`,
    auth: as('admin'),
    summary,
    params: ById,
    bodyKind: 'none',
    replies: { 200: Runner },
    errors,
  });
const toggle = [...act, 'invalid_transition'] as const;
export const pauseRunner = runnerAction(
  'pause',
  'pauseRunner',
  'Let it claim nothing more',
  toggle,
);
export const drainRunner = runnerAction(
  'drain',
  'drainRunner',
  'Let it finish what it holds and claim nothing more: it is to be stopped',
  toggle,
);
export const resumeRunner = runnerAction('resume', 'resumeRunner', 'Let it claim again', toggle);
export const revokeRunner = runnerAction(
  'revoke',
  'revokeRunner',
  'Shut it out for good: all its keys die',
  act,
);

// ---------------------------------------------------------------- keys and enrolment tokens

export const listKeys = endpoint({
  id: 'listKeys',
  method: 'GET',
  path: '/api/v1/keys',
  auth: as('admin'),
  summary: 'Runner keys and operator tokens, newest first',
  query: Type.Object({ ...PageQuery, runner_id: Type.Optional(Id) }),
  bodyKind: 'none',
  replies: { 200: Page(ApiKey) },
  errors: [...read, 'forbidden'],
});

export const createKey = endpoint({
  id: 'createKey',
  method: 'POST',
  path: '/api/v1/keys',
  auth: as('admin'),
  summary: 'Add a key to a runner',
  bodyKind: 'json',
  body: NewRunnerKey,
  replies: { 201: NewApiKeyReply },
  errors: [...write, 'not_found'],
});

export const revokeKey = endpoint({
  id: 'revokeKey',
  method: 'POST',
  path: '/api/v1/keys/{id}/revoke',
  auth: as('admin'),
  summary: 'Revoke a key, an operator token or an enrolment token',
  params: ById,
  bodyKind: 'none',
  replies: { 200: ApiKey },
  errors: act,
});

export const changeKey = endpoint({
  id: 'changeKey',
  method: 'PATCH',
  path: '/api/v1/keys/{id}',
  auth: as('admin'),
  summary: 'Set when a key or token expires, and where it is accepted from',
  description:
    'A retired or revoked key stays what it is. Effective on every node within a second.',
  params: ById,
  bodyKind: 'json',
  body: KeyChange,
  replies: { 200: ApiKey },
  errors: [...write, 'not_found', 'invalid_transition'],
});

export const rollKey = endpoint({
  id: 'rollKey',
  method: 'POST',
  path: '/api/v1/keys/{id}/roll',
  auth: as('admin'),
  summary: 'Make the successor of a runner key',
  description:
    'With the same scopes and allow-list. The old key stays good until 15 minutes after the first use of the new one.',
  params: ById,
  bodyKind: 'json',
  body: KeyRoll,
  replies: { 201: NewApiKeyReply },
  errors: [...write, 'not_found', 'invalid_transition'],
});

export const listEnrolmentTokens = endpoint({
  id: 'listEnrolmentTokens',
  method: 'GET',
  path: '/api/v1/enrolment-tokens',
  auth: as('admin'),
  summary: 'Enrolment tokens, newest first',
  query: Type.Object({ ...PageQuery }),
  bodyKind: 'none',
  replies: { 200: Page(ApiKey) },
  errors: [...read, 'forbidden'],
});

export const createEnrolmentToken = endpoint({
  id: 'createEnrolmentToken',
  method: 'POST',
  path: '/api/v1/enrolment-tokens',
  auth: as('admin'),
  summary: 'Create an enrolment token',
  bodyKind: 'json',
  body: NewEnrolmentToken,
  replies: { 201: NewApiKeyReply },
  errors: write,
});

// ---------------------------------------------------------------- uploads

export const listUploads = endpoint({
  id: 'listUploads',
  method: 'GET',
  path: '/api/v1/uploads',
  auth: as('viewer'),
  summary: 'Uploads, newest first',
  query: Type.Object({
    ...PageQuery,
    state: Type.Optional(UploadState),
    runner_id: Type.Optional(Id),
  }),
  bodyKind: 'none',
  replies: { 200: Page(Upload) },
  errors: read,
});

export const showUpload = endpoint({
  id: 'showUpload',
  method: 'GET',
  path: '/api/v1/uploads/{id}',
  auth: as('viewer'),
  summary: 'One upload with its receipt',
  params: ById,
  bodyKind: 'none',
  replies: { 200: Upload },
  errors: readOne,
});

export const listUploadRejections = endpoint({
  id: 'listUploadRejections',
  method: 'GET',
  path: '/api/v1/uploads/{id}/rejections',
  auth: as('viewer'),
  summary: 'The items of one upload that could not be used, in the order of the document',
  description:
    'All that were rejected, up to 10 000; a receipt shows the first 100 of them and counts all.',
  params: ById,
  query: Type.Object(PageQuery),
  bodyKind: 'none',
  replies: { 200: Page(RejectedItem) },
  errors: [...read, 'not_found'],
});

// ---------------------------------------------------------------- findings and assets

export const listFindings = endpoint({
  id: 'listFindings',
  method: 'GET',
  path: '/api/v1/findings',
  auth: as('viewer'),
  summary: 'Findings, worst first, then newest',
  description:
    'Without parameters all of them, whatever their status and wherever they are; the console and `muster findings list` ' +
    'begin with `status=active&default_branch=true`. The status of a finding is that of its default branch: on another ' +
    'one (`branch`), `active` also has what is fixed on the default branch but still there.',
  query: Type.Object({
    ...PageQuery,
    status: Type.Optional(FindingStatusFilter),
    branch: optionalText(
      1024,
      'only what is on the branch of this name now; empty: on the ref without a name',
    ),
    default_branch: Type.Optional(
      Type.Enum(['true', 'false'], {
        description:
          '`true`: only what is on the default branch of its asset, or was and is resolved; not with `branch`',
      }),
    ),
    severity: Type.Optional(Severity),
    asset_id: Type.Optional(Id),
    tool: optionalText(255, 'the tool family'),
    rule_id: optionalText(500, 'the rule'),
    path: optionalText(2048, 'how the path begins'),
  }),
  bodyKind: 'none',
  replies: { 200: Page(Finding) },
  errors: read,
});

export const showFinding = endpoint({
  id: 'showFinding',
  method: 'GET',
  path: '/api/v1/findings/{id}',
  auth: as('viewer'),
  summary: 'One finding with all that is known of it',
  params: ById,
  bodyKind: 'none',
  replies: { 200: FindingWithDetail },
  errors: readOne,
});

export const changeFinding = endpoint({
  id: 'changeFinding',
  method: 'PATCH',
  path: '/api/v1/findings/{id}',
  auth: as('analyst'),
  summary: 'Set the status of a finding',
  description: 'The decision survives re-scans. `resolved` here means resolved by an operator.',
  params: ById,
  bodyKind: 'json',
  body: FindingChange,
  replies: { 200: Finding },
  errors: [...write, 'not_found'],
});

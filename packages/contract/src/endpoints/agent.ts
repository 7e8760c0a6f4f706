// The endpoints that a runner calls: the ten of the specification and their neighbours (contract
// §1). Members and statuses are those that deployed clients know.

import Type from 'typebox';
import { bodyErrors, endpoint } from '../endpoint.ts';
import { LogAppended, NewLogLines, NewProgress, RunnerCommand } from '../schemas/command.ts';
import { Enrolment, EnrolmentReply, RenewReply } from '../schemas/key.ts';
import { Heartbeat, HeartbeatReply } from '../schemas/runner.ts';

const CommandId = Type.Object({ id: Type.String({ description: 'the command' }) });
const transitionErrors = [
  'unauthorized',
  'rate_limited',
  'not_found',
  'command_claimed',
  'lease_lost',
  'invalid_transition',
  ...bodyErrors,
] as const;

/**
 * Our SDK names the attempt it speaks of, so a late duplicate of attempt 1 can't touch attempt 2.
 */
const attempt = Type.Optional(Type.Integer({ minimum: 1 }));

export const heartbeat = endpoint({
  id: 'heartbeat',
  method: 'POST',
  path: '/api/v1/agent/heartbeat',
  auth: { kind: 'runner', scope: 'heartbeat', without: 'unauthorized' },
  summary: 'Report health and metrics',
  description:
    'Every member is optional; an empty body is a sign of life. A member of the wrong type is ignored and shown to ' +
    'the operator. The hints (`pending_jobs` …) come when the header `X-OpenCTEM-Sensor-Features` names `doorbell`, ' +
    'or when there is something to say.',
  bodyKind: 'lenient',
  body: Heartbeat,
  replies: { 200: HeartbeatReply },
  errors: ['unauthorized', 'rate_limited', ...bodyErrors, 'invalid_body', 'unavailable'],
});

export const pollCommands = endpoint({
  id: 'pollCommands',
  method: 'GET',
  path: '/api/v1/agent/commands',
  auth: { kind: 'runner', scope: 'heartbeat', without: 'unauthorized' },
  summary: 'Poll commands for this runner',
  description:
    'A bare array, most urgent first, then oldest; only what this runner can do, and no more than its free slots. Nothing ' +
    'is reserved: acknowledge claims. A paused or draining runner, and a key without the scope `commands`, gets `[]`. With `wait` or ' +
    '`Prefer: wait=n` the answer comes as soon as there is something new, else `[]` at the end.',
  query: Type.Object({
    limit: Type.Optional(
      Type.String({
        description:
          '1 to 100, default 10; out of range or unreadable: the nearest bound or the default',
      }),
    ),
    wait: Type.Optional(
      Type.String({ description: 'seconds to wait for a command, at most 60; unreadable: 0' }),
    ),
  }),
  bodyKind: 'none',
  replies: { 200: Type.Array(RunnerCommand) },
  errors: ['unauthorized', 'rate_limited'],
});

export const acknowledgeCommand = endpoint({
  id: 'acknowledgeCommand',
  method: 'POST',
  path: '/api/v1/agent/commands/{id}/acknowledge',
  auth: { kind: 'runner', scope: 'commands', without: 'not_found' },
  summary: 'Claim a command',
  description:
    'Pending → acknowledged, with a lease. A repeat by the holder answers the same. With `attempt` only the claim of that ' +
    'number is made: the one that was offered, plus one.',
  params: CommandId,
  bodyKind: 'lenient',
  malformedBody: 'ignored',
  body: Type.Object({ attempt }),
  replies: { 200: RunnerCommand },
  errors: [...transitionErrors, 'runner_paused'],
});

export const startCommand = endpoint({
  id: 'startCommand',
  method: 'POST',
  path: '/api/v1/agent/commands/{id}/start',
  auth: { kind: 'runner', scope: 'commands', without: 'not_found' },
  summary: 'Mark a command running',
  params: CommandId,
  bodyKind: 'lenient',
  malformedBody: 'ignored',
  body: Type.Object({ attempt }),
  replies: { 200: RunnerCommand },
  errors: transitionErrors,
});

export const completeCommand = endpoint({
  id: 'completeCommand',
  method: 'POST',
  path: '/api/v1/agent/commands/{id}/complete',
  auth: { kind: 'runner', scope: 'commands', without: 'not_found' },
  summary: 'Finish a command',
  description:
    'From running or acknowledged (old clients never start). The same result again answers 200, another one 409. ' +
    'Of a result of more than 1 MiB the beginning is kept: `{"truncated": true, "bytes": …, "start": "…"}`.',
  params: CommandId,
  bodyKind: 'lenient',
  malformedBody: 'ignored',
  body: Type.Object({ result: Type.Optional(Type.Unknown()), attempt }),
  replies: { 200: RunnerCommand },
  errors: [...transitionErrors, 'transition_conflict'],
});

export const failCommand = endpoint({
  id: 'failCommand',
  method: 'POST',
  path: '/api/v1/agent/commands/{id}/fail',
  auth: { kind: 'runner', scope: 'commands', without: 'not_found' },
  summary: 'Report that a command failed',
  description:
    '`error_message` is cut to 4 KiB. With `retry_on_fail` the command is offered again.',
  params: CommandId,
  bodyKind: 'lenient',
  malformedBody: 'ignored',
  body: Type.Object({ error_message: Type.Optional(Type.String()), attempt }),
  replies: { 200: RunnerCommand },
  errors: [...transitionErrors, 'transition_conflict'],
});

export const releaseCommand = endpoint({
  id: 'releaseCommand',
  method: 'POST',
  path: '/api/v1/agent/commands/{id}/release',
  auth: { kind: 'runner', scope: 'commands', without: 'not_found' },
  summary: 'Give a claimed command back',
  params: CommandId,
  bodyKind: 'lenient',
  malformedBody: 'ignored',
  body: Type.Object({ attempt }),
  replies: { 200: RunnerCommand },
  errors: transitionErrors,
});

export const reportProgress = endpoint({
  id: 'reportProgress',
  method: 'POST',
  path: '/api/v1/agent/commands/{id}/progress',
  auth: { kind: 'runner', scope: 'commands', without: 'not_found' },
  summary: 'Say how far a command is',
  description:
    'By its holder; the last word counts. The answer has `cancel_requested_at` when an operator wants it stopped.',
  params: CommandId,
  bodyKind: 'json',
  body: NewProgress,
  replies: { 200: RunnerCommand },
  errors: [...transitionErrors, 'invalid_body'],
});

export const appendLog = endpoint({
  id: 'appendLog',
  method: 'POST',
  path: '/api/v1/agent/commands/{id}/logs',
  auth: { kind: 'runner', scope: 'commands', without: 'not_found' },
  summary: 'Add lines to the log of a command',
  description:
    'By its holder. `offset` is the number of lines that this attempt sent before: what was received already is passed ' +
    'over, so a call may be repeated; a gap is refused with the offset to go on from. No lines: only asks for it. A log ' +
    'is bounded; what does not fit is counted. Do not write secrets to it.',
  params: CommandId,
  bodyKind: 'json',
  body: NewLogLines,
  replies: { 200: LogAppended },
  errors: [...transitionErrors, 'invalid_body', 'log_gap'],
});

export const renewKey = endpoint({
  id: 'renewKey',
  method: 'POST',
  path: '/api/v1/agent/renew',
  auth: { kind: 'runner', scope: 'renew', without: 'not_found' },
  summary: 'Get a new API key',
  description:
    'The presented key stays good until the new one has been used (then 15 minutes more). A lost answer costs nothing: ' +
    'renew again with the old key.',
  bodyKind: 'none',
  replies: { 200: RenewReply },
  errors: ['unauthorized', 'rate_limited', 'not_found'],
});

export const enroll = endpoint({
  id: 'enroll',
  method: 'POST',
  path: '/api/v1/agent/enroll',
  auth: { kind: 'enrolment' },
  summary: 'Turn an enrolment token into a runner and its key',
  description:
    'With `enrollment_id` a repeat finds the same runner and adds a key; it uses up no second use of the token. Labels ' +
    'that the token does not allow are refused.',
  bodyKind: 'json',
  body: Enrolment,
  replies: { 201: EnrolmentReply, 200: EnrolmentReply },
  errors: ['unauthorized', 'rate_limited', ...bodyErrors, 'invalid_body'],
});

export const v2Probe = endpoint({
  id: 'v2Probe',
  method: 'GET',
  path: '/api/v2/sensor/hello',
  auth: { kind: 'none' },
  summary: 'Not here: version 2 of the protocol is not served',
  description:
    'Everything below `/api/v2/` answers 404 as plain `application/json`, so that newer clients fall back to v1.',
  bodyKind: 'none',
  replies: {
    404: Type.Object({ error: Type.String(), code: Type.String(), message: Type.String() }),
  },
  errors: [],
});

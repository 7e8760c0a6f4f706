// Commands as runners and operators see them (contract §4; member names of RP §5.2). The two views
// differ: operators see every member, runners only those that old clients can read.

import Type, { type Static } from 'typebox';
import { limits } from '../limits.ts';
import { payloadByType } from './command-payload.ts';
import { Health, Labels } from './runner.ts';
import { Id, Nullable, Time } from './shapes.ts';
import { Receipt } from './upload.ts';
import { CommandStatus, Presence, Priority, UploadState } from './vocabulary.ts';

export const Progress = Type.Object({
  percent: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })),
  message: Type.Optional(Type.String()),
  at: Time,
});

const names = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 255 }), { maxItems: 50, description });

/** The requirements of the command: the runner that takes it must meet all of them. */
const NewTarget = Type.Object(
  {
    labels: Type.Optional(Labels),
    tools: Type.Optional(names('scanners, collectors or tools, as its heartbeat names them')),
    capabilities: Type.Optional(names('as its heartbeat names them')),
  },
  { additionalProperties: false },
);

const Target = Type.Object({
  labels: Labels,
  tools: Type.Array(Type.String()),
  capabilities: Type.Array(Type.String()),
});

/**
 * A command on the runner wire: absent instead of null, because old clients fail on unexpected
 * times.
 */
export const RunnerCommand = Type.Object(
  {
    id: Id,
    tenant_id: Id,
    agent_id: Type.Optional(Id),
    type: Type.String(),
    priority: Priority,
    payload: Type.Optional(Type.Unknown()),
    status: CommandStatus,
    attempt: Type.Integer({ minimum: 0 }),
    lease_expires_at: Type.Optional(Time),
    error_message: Type.Optional(Type.String()),
    result: Type.Optional(Type.Unknown()),
    created_at: Time,
    scheduled_at: Type.Optional(Time),
    expires_at: Type.Optional(Time),
    acknowledged_at: Type.Optional(Time),
    started_at: Type.Optional(Time),
    completed_at: Type.Optional(Time),
    cancel_requested_at: Type.Optional(Time),
    progress: Type.Optional(Progress),
  },
  { $id: 'RunnerCommand' },
);
export type RunnerCommand = Static<typeof RunnerCommand>;

export const CommandAttempt = Type.Object({
  attempt: Type.Integer(),
  runner_id: Id,
  acknowledged_at: Time,
  started_at: Nullable(Time),
  ended_at: Nullable(Time),
  outcome: Nullable(Type.Enum(['completed', 'failed', 'released', 'lost', 'canceled'])),
});

/** A command as operators see it. */
export const Command = Type.Object(
  {
    id: Id,
    type: Type.String(),
    priority: Priority,
    status: CommandStatus,
    reason: Nullable(Type.String({ description: 'why it ended so: runner_lost, unconfirmed …' })),
    payload: Type.Unknown(),
    runner_id: Nullable(Id),
    target: Nullable(Target),
    holder_id: Nullable(Id),
    attempt: Type.Integer(),
    released: Type.Integer({ description: 'attempts given back; they don’t count as tried' }),
    max_attempts: Type.Integer(),
    retry_on_fail: Type.Boolean(),
    timeout_seconds: Type.Integer(),
    lease_expires_at: Nullable(Time),
    created_at: Time,
    created_by: Type.String(),
    scheduled_at: Nullable(Time),
    expires_at: Nullable(Time),
    acknowledged_at: Nullable(Time),
    started_at: Nullable(Time),
    completed_at: Nullable(Time),
    cancel_requested_at: Nullable(Time),
    result: Type.Unknown(),
    error_message: Nullable(Type.String()),
    progress: Nullable(Progress),
    log: Type.Object({
      lines: Type.Integer({ description: 'kept' }),
      bytes: Type.Integer({ description: 'kept' }),
      dropped_lines: Type.Integer({ description: 'not kept, because the log was full' }),
    }),
  },
  { $id: 'Command' },
);
export type Command = Static<typeof Command>;

/** An upload that says it was made for the command, by a runner that held it. */
export const CommandUpload = Type.Object({
  id: Id,
  runner_id: Id,
  state: UploadState,
  tool: Nullable(Type.String()),
  received_at: Time,
  finished_at: Nullable(Time),
  receipt: Nullable(Type.Pick(Receipt, ['outcome', 'findings', 'assets', 'resolved', 'held'])),
});
export type CommandUpload = Static<typeof CommandUpload>;

export const CommandWithAttempts = Type.Object({
  ...Command.properties,
  attempts: Type.Array(CommandAttempt),
  uploads: Type.Array(CommandUpload, { description: 'the newest hundred' }),
});

export const WAITING_CODES = [
  'pinned_elsewhere',
  'label_missing',
  'tool_missing',
  'capability_missing',
  'scope_missing',
  'revoked',
  'paused',
  'offline',
  'no_free_slot',
  'given_back',
  'ignored',
] as const;
export const WaitingReason = Type.Object({
  code: Type.Enum(WAITING_CODES),
  detail: Type.String(),
});
export type WaitingReason = Static<typeof WaitingReason>;

/**
 * Why nobody has taken the command yet: the reasons in the command itself, and the reasons of each
 * runner of the tenant.
 */
export const CommandWaiting = Type.Object({
  command_id: Id,
  status: CommandStatus,
  is_waiting: Type.Boolean({ description: 'false: it is held, or has ended' }),
  reasons: Type.Array(
    Type.Object({ code: Type.Enum(['not_before', 'expired']), detail: Type.String() }),
  ),
  items: Type.Array(
    Type.Object({
      runner_id: Id,
      name: Type.String(),
      presence: Presence,
      ...Health,
      can_take: Type.Boolean({ description: 'the next poll of this runner offers it' }),
      reasons: Type.Array(WaitingReason),
    }),
  ),
  next: Nullable(
    Type.String({ description: 'give it as `after` for the next page; null: the last' }),
  ),
});
export type CommandWaiting = Static<typeof CommandWaiting>;

export const NewProgress = Type.Object({
  percent: Type.Optional(Type.Number({ minimum: 0, maximum: 100 })),
  message: Type.Optional(Type.String({ description: 'cut to 4 KiB' })),
  attempt: Type.Optional(Type.Integer({ minimum: 1 })),
});
export type NewProgress = Static<typeof NewProgress>;

export const NewLogLines = Type.Object({
  offset: Type.Integer({
    minimum: 0,
    description: 'how many lines of this attempt were sent before these',
  }),
  lines: Type.Array(Type.String(), { maxItems: limits.commandLogLinesPerCallMax }),
  attempt: Type.Optional(Type.Integer({ minimum: 1 })),
});
export type NewLogLines = Static<typeof NewLogLines>;

export const LogAppended = Type.Object({
  next_offset: Type.Integer({ description: 'where the next line of this attempt goes' }),
  kept: Type.Integer({ description: 'lines of this call that were new and are kept' }),
  dropped: Type.Integer({ description: 'lines of this call that were new and did not fit' }),
  cancel_requested: Type.Boolean({ description: 'an operator wants it stopped' }),
});
export type LogAppended = Static<typeof LogAppended>;

export const CommandLog = Type.Object({
  command_id: Id,
  status: CommandStatus,
  lines: Type.Array(
    Type.Object({
      line: Type.Integer({ description: 'its place in the log of the command, from 0' }),
      attempt: Type.Integer(),
      at: Time,
      text: Type.String(),
    }),
  ),
  next_offset: Type.Integer({ description: 'give it as `offset` to go on' }),
  dropped_lines: Type.Integer(),
  is_complete: Type.Boolean({ description: 'the command has ended and this was the last line' }),
});
export type CommandLog = Static<typeof CommandLog>;

/** Seconds, because the wire of RP §5.2 (`expires_in`) counts in seconds. */
export const NewCommand = Type.Object(
  {
    type: Type.String({ minLength: 1, maxLength: 64, pattern: '^[a-z][a-z0-9_.-]*$' }),
    payload: Type.Optional(Type.Unknown()),
    priority: Type.Optional(Priority),
    runner_id: Type.Optional(Id),
    target: Type.Optional(NewTarget),
    expires_in: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 31_536_000, description: 'seconds' }),
    ),
    scheduled_at: Type.Optional(Time),
    timeout: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: limits.commandTimeoutMsMax / 1000,
        description: 'seconds from start; default 3600',
      }),
    ),
    max_attempts: Type.Optional(Type.Integer({ minimum: 1, maximum: limits.commandAttemptsMax })),
    retry_on_fail: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false, allOf: payloadByType },
);
export type NewCommand = Static<typeof NewCommand>;

// Commands as runners and operators see them (contract §4; member names of RP §5.2).

import Type, { type Static } from 'typebox';
import { limits } from '../limits.ts';
import { Id, Nullable, Time } from './shapes.ts';
import { CommandStatus, Priority } from './vocabulary.ts';

/** As the runner wire has it: absent instead of null, because old clients fail on unexpected times. */
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

/** As operators see it. */
export const Command = Type.Object(
  {
    id: Id,
    type: Type.String(),
    priority: Priority,
    status: CommandStatus,
    reason: Nullable(Type.String({ description: 'why it ended so: runner_lost, unconfirmed …' })),
    payload: Type.Unknown(),
    runner_id: Nullable(Id),
    holder_id: Nullable(Id),
    attempt: Type.Integer(),
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
  },
  { $id: 'Command' },
);
export type Command = Static<typeof Command>;

export const CommandWithAttempts = Type.Object({
  ...Command.properties,
  attempts: Type.Array(CommandAttempt),
});

/** Seconds, because the wire of RP §5.2 (`expires_in`) counts in seconds. */
export const NewCommand = Type.Object(
  {
    type: Type.String({ minLength: 1, maxLength: 64, pattern: '^[a-z][a-z0-9_.-]*$' }),
    payload: Type.Optional(Type.Unknown()),
    priority: Type.Optional(Priority),
    runner_id: Type.Optional(Id),
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
  { additionalProperties: false },
);
export type NewCommand = Static<typeof NewCommand>;

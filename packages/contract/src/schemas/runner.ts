// Runners: what they report of themselves (RP §4.1, both eras), and what operators see of them. A
// report never fails for a member of the wrong type.

import Type, { type Static } from 'typebox';
import { limits } from '../limits.ts';
import { Id, Nullable, Time } from './shapes.ts';
import { Presence, RunnerAdmin, RunnerHealth, RunnerMetric, RunnerWarning } from './vocabulary.ts';

/**
 * The members of a heartbeat that are read. Every one is optional, and one of the wrong type is
 * ignored and shown to the operator, never a refusal (contract §3): this schema documents,
 * heartbeat.decode.ts reads.
 */
export const Heartbeat = Type.Object(
  {
    name: Type.Optional(Type.String()),
    status: Type.Optional(
      Type.String({
        description: 'running, stopping, stopped, error, degraded (also online, idle)',
      }),
    ),
    version: Type.Optional(Type.String()),
    hostname: Type.Optional(Type.String()),
    message: Type.Optional(
      Type.String({ description: 'goes with `status`: a status without a message ends it' }),
    ),
    region: Type.Optional(Type.String()),
    sent_at: Type.Optional(
      Type.String({
        description: 'RFC 3339, by the runner’s own clock: its skew is measured by it',
      }),
    ),
    scanners: Type.Optional(Type.Array(Type.String())),
    collectors: Type.Optional(Type.Array(Type.String())),
    capabilities: Type.Optional(Type.Array(Type.String())),
    uptime_seconds: Type.Optional(Type.Integer()),
    total_scans: Type.Optional(Type.Integer()),
    errors: Type.Optional(Type.Integer()),
    cpu_percent: Type.Optional(Type.Number()),
    memory_percent: Type.Optional(Type.Number()),
    active_jobs: Type.Optional(Type.Integer()),
    max_concurrent_jobs: Type.Optional(Type.Integer()),
    os: Type.Optional(Type.String()),
    arch: Type.Optional(Type.String()),
    instance_id: Type.Optional(
      Type.String({ description: 'stable per installation; tells clones apart' }),
    ),
    running: Type.Optional(
      Type.Array(Type.String(), { description: 'ids of the commands executing now' }),
    ),
    queue: Type.Optional(Type.Unknown()),
    capacity: Type.Optional(Type.Unknown()),
    resources: Type.Optional(Type.Unknown()),
    tools: Type.Optional(Type.Array(Type.Unknown())),
    outbox: Type.Optional(Type.Unknown()),
    sdk: Type.Optional(Type.Unknown()),
    sensor: Type.Optional(Type.Unknown()),
  },
  { $id: 'Heartbeat' },
);

export const HeartbeatReply = Type.Object(
  {
    agent_id: Id,
    tenant_id: Id,
    status: Type.Literal('ok'),
    pending_jobs: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })),
    next_heartbeat_seconds: Type.Optional(Type.Integer({ minimum: 5, maximum: 300 })),
    actions: Type.Optional(
      Type.Array(Type.Enum(['pause', 'resume', 'drain', 'rotate_key', 'update', 'cancel'])),
    ),
    config_version: Type.Optional(Type.String({ pattern: '^[0-9a-f]{16}$' })),
    cancel_command_ids: Type.Optional(Type.Array(Id, { maxItems: 256 })),
  },
  { $id: 'HeartbeatReply' },
);
export type HeartbeatReply = Static<typeof HeartbeatReply>;

/** The health that a runner said of itself, beside its presence (contract §3). */
export const Health = {
  health: Nullable(RunnerHealth),
  health_message: Nullable(
    Type.String({ description: 'the `message` that came with its last `status`' }),
  ),
};

export const Runner = Type.Object(
  {
    id: Id,
    name: Type.String(),
    admin: RunnerAdmin,
    presence: Presence,
    presence_since: Time,
    ...Health,
    last_seen_at: Nullable(Time),
    interval_seconds: Type.Integer({ description: 'expected between two heartbeats' }),
    labels: Type.Record(Type.String(), Type.String()),
    version: Nullable(Type.String()),
    hostname: Nullable(Type.String()),
    region: Nullable(Type.String()),
    clock_skew_ms: Nullable(
      Type.Integer({ description: 'positive: its clock is ahead; null: it never said its time' }),
    ),
    warnings: Type.Array(Type.Object({ code: RunnerWarning, detail: Type.String() }), {
      description: 'what an operator should look at now; gone by itself when the reason is gone',
    }),
    reported: Type.Unknown({ description: 'the members of its last heartbeat' }),
    reported_at: Nullable(Time),
    created_at: Time,
    created_by: Type.String(),
  },
  { $id: 'Runner' },
);
export type Runner = Static<typeof Runner>;

const Values = Type.Array(Nullable(Type.Number()));

/** Columns for a chart: `average[i]` and `max[i]` belong to the step that begins at `at[i]`. */
export const RunnerMetrics = Type.Object(
  {
    from: Time,
    to: Time,
    step_seconds: Type.Integer(),
    at: Type.Array(Time),
    series: Type.Array(Type.Object({ metric: RunnerMetric, average: Values, max: Values }), {
      description: 'only what the runner told in this time; null: nothing in this step',
    }),
  },
  { $id: 'RunnerMetrics' },
);
export type RunnerMetrics = Static<typeof RunnerMetrics>;

export const Labels = Type.Record(
  Type.String({ pattern: '^[A-Za-z0-9._/-]{1,63}$' }),
  Type.String({ maxLength: 255 }),
  { maxProperties: 50 },
);

export const NewRunner = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: limits.nameCharsMax }),
    labels: Type.Optional(Labels),
  },
  { additionalProperties: false },
);

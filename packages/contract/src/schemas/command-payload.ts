// The payloads that deployed agents read, for the command types they know (RP §5.7). A payload with
// which an agent could only fail is refused when the command is created; members that nobody here
// knows pass, and so do other types.

import Type, { type TSchema } from 'typebox';
import { Id } from './shapes.ts';
import { ASSET_KINDS } from './words.ts';

const Text = Type.String({ minLength: 1, maxLength: 2048 });
const Seconds = Type.Integer({ minimum: 1, maximum: 604_800 });

/** RP §5.7: at most 50, 1 MiB each; the whole payload is bounded, too. */
const Template = Type.Object({
  id: Text,
  name: Text,
  template_type: Type.Enum(['nuclei', 'semgrep', 'gitleaks']),
  content: Type.String({ minLength: 1, pattern: '^[A-Za-z0-9+/=_\\s-]+$', description: 'base64' }),
  content_hash: Type.String({ pattern: '^[0-9a-fA-F]{64}$', description: 'SHA-256' }),
});

/**
 * Known type → its payload. With another payload an agent fails, for instance with "scanner not
 * found: ".
 */
const COMMAND_PAYLOADS = {
  scan: Type.Object({
    scanner: Type.String({
      minLength: 1,
      maxLength: 255,
      description: 'as the agent calls it: semgrep, trivy-fs …',
    }),
    target: Type.Optional(Type.String({ maxLength: 2048 })),
    targets: Type.Optional(Type.Array(Type.String({ maxLength: 2048 }), { maxItems: 10_000 })),
    config: Type.Optional(
      Type.Object({ exclude: Type.Optional(Type.Array(Type.String({ maxLength: 2048 }))) }),
    ),
    timeout_seconds: Type.Optional(Seconds),
    report_progress: Type.Optional(Type.Boolean()),
    custom_templates: Type.Optional(Type.Array(Template, { maxItems: 50 })),
    // Agents pass over these members. They say what a report of this scan is about when the report
    // doesn't (contract §5).
    repository_url: Type.Optional(Text),
    asset: Type.Optional(Text),
    asset_type: Type.Optional(Type.Enum([...ASSET_KINDS])),
    branch: Type.Optional(Text),
    commit_sha: Type.Optional(Text),
    default_branch: Type.Optional(Type.Boolean()),
    category: Type.Optional(Text),
    coverage: Type.Optional(Type.Enum(['full', 'partial'])),
  }),
  collect: Type.Object({
    collector: Type.String({ minLength: 1, maxLength: 255 }),
    source_config: Type.Optional(Type.Object({})),
  }),
  health_check: Type.Object({}),
  validate: Type.Object({
    job_id: Type.Optional(Text),
    finding_id: Type.Optional(Text),
    executor_kind: Type.Optional(Text),
    technique: Type.Optional(Text),
    target: Type.Object({
      asset_id: Type.Optional(Text),
      type: Type.Optional(Text),
      address: Type.String({
        minLength: 1,
        maxLength: 2048,
        description: 'host:port, host or URL',
      }),
    }),
    timeout_seconds: Type.Optional(Seconds),
  }),
  config_update: Type.Object({ config_data: Type.Optional(Type.Unknown()) }),
  cancel: Type.Object({ command_id: Id }),
} as const satisfies Readonly<Record<string, TSchema>>;

/** Types that an agent fails when it gets no payload. */
const NEEDS_PAYLOAD: ReadonlySet<string> = new Set(['scan', 'collect', 'validate', 'cancel']);

/** JSON Schema: when `type` is one of the known types, `payload` has its shape. */
export const payloadByType = Object.entries(COMMAND_PAYLOADS).map(([type, payload]) => ({
  if: { properties: { type: { const: type } }, required: ['type'] },
  // oxlint-disable-next-line unicorn/no-thenable -- JSON Schema's own word
  then: {
    properties: { payload },
    ...(NEEDS_PAYLOAD.has(type) ? { required: ['payload'] } : {}),
  },
}));

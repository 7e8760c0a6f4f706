// Keys and enrolment tokens (contract §2, §7). The secret is shown once; afterwards only facts
// about the key are shown.

import Type, { type Static } from 'typebox';
import { limits } from '../limits.ts';
import { Id, Nullable, Time } from './shapes.ts';
import { Labels, Runner } from './runner.ts';
import { KeyScope, KeyState, Role } from './vocabulary.ts';

export const ApiKey = Type.Object(
  {
    key_id: Type.String(),
    prefix: Type.String({ description: 'how the key begins, for telling keys apart' }),
    kind: Type.Enum(['runner', 'operator', 'enrolment']),
    name: Type.String(),
    runner_id: Nullable(Id),
    role: Nullable(Role),
    scopes: Nullable(Type.Array(KeyScope)),
    state: KeyState,
    uses_left: Nullable(Type.Integer()),
    allow_from: Nullable(
      Type.Array(Type.String(), { description: 'CIDR blocks it is accepted from; null: anywhere' }),
    ),
    labels: Nullable(
      Type.Record(Type.String(), Type.String(), {
        description: 'of an enrolment token: what its runners get',
      }),
    ),
    allowed_labels: Nullable(
      Type.Array(Type.String(), {
        description: 'of an enrolment token: what its runners may ask for; null: anything',
      }),
    ),
    created_at: Time,
    created_by: Type.String(),
    expires_at: Nullable(Time),
    retires_at: Nullable(Time),
    first_used_at: Nullable(Time),
    last_used_at: Nullable(Time),
    last_used_from: Nullable(Type.String()),
  },
  { $id: 'ApiKey' },
);
export type ApiKey = Static<typeof ApiKey>;

/** RFC 4632 and RFC 4291 §2.3 blocks, or single addresses. */
const AllowFrom = Type.Array(Type.String({ minLength: 2, maxLength: 49 }), {
  minItems: 1,
  maxItems: limits.keyAllowListMax,
  description:
    'addresses or CIDR blocks, IPv4 and IPv6, that the key is accepted from; keys renewed or enrolled with it carry the list on',
});

/** `api_key` is the secret, shown this once. */
export const NewApiKeyReply = Type.Object({ api_key: Type.String(), key: ApiKey });

export const NewRunnerKey = Type.Object(
  {
    runner_id: Id,
    name: Type.Optional(Type.String({ minLength: 1, maxLength: limits.nameCharsMax })),
    scopes: Type.Optional(Type.Array(KeyScope, { minItems: 1, uniqueItems: true })),
    expires_in: Type.Optional(
      Type.Integer({ minimum: 60, maximum: 315_360_000, description: 'seconds; absent: never' }),
    ),
    allow_from: Type.Optional(AllowFrom),
  },
  { additionalProperties: false },
);

/** The parts of a live key that an operator may change; an absent member stays as it is. */
export const KeyChange = Type.Object(
  {
    expires_in: Type.Optional(
      Nullable(
        Type.Integer({
          minimum: 0,
          maximum: 315_360_000,
          description: 'seconds from now; 0: at once; null: it does not expire',
        }),
      ),
    ),
    allow_from: Type.Optional(Nullable(AllowFrom)),
  },
  { additionalProperties: false, minProperties: 1 },
);

export const KeyRoll = Type.Object(
  {
    expires_in: Type.Optional(
      Nullable(
        Type.Integer({
          minimum: 60,
          maximum: 315_360_000,
          description: 'seconds; null: never; absent: as long as the rolled key was to live',
        }),
      ),
    ),
  },
  { additionalProperties: false },
);

export const NewEnrolmentToken = Type.Object(
  {
    name: Type.Optional(Type.String({ minLength: 1, maxLength: limits.nameCharsMax })),
    uses: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000, description: 'default 1' })),
    expires_in: Type.Optional(
      Type.Integer({ minimum: 60, maximum: 31_536_000, description: 'seconds; default 7 days' }),
    ),
    labels: Type.Optional(Labels),
    allowed_labels: Type.Optional(
      Type.Array(Type.String({ pattern: '^[A-Za-z0-9._/-]{1,63}(=.{0,255})?$' }), {
        maxItems: 50,
        description:
          'labels that a runner may ask for beside `labels`: `name` with any value, or `name=value`; absent: any; []: none',
      }),
    ),
    scopes: Type.Optional(
      Type.Array(KeyScope, {
        minItems: 1,
        uniqueItems: true,
        description: 'of the keys made with it; default everything',
      }),
    ),
    allow_from: Type.Optional(AllowFrom),
  },
  { additionalProperties: false },
);

export const Enrolment = Type.Object(
  {
    name: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: limits.nameCharsMax,
        description: 'default: the host name or an id',
      }),
    ),
    hostname: Type.Optional(Type.String({ maxLength: 255 })),
    version: Type.Optional(Type.String({ maxLength: 255 })),
    labels: Type.Optional(Labels),
    enrollment_id: Type.Optional(
      Type.String({
        minLength: 8,
        maxLength: 128,
        description:
          'chosen by the runner; a repeat with the same value finds the same runner instead of making a second',
      }),
    ),
  },
  { $id: 'Enrolment' },
);

export const EnrolmentReply = Type.Object({
  agent_id: Id,
  tenant_id: Id,
  api_key: Type.String(),
  api_prefix: Type.String(),
  expires_at: Nullable(Time),
});
export type EnrolmentReply = Static<typeof EnrolmentReply>;

/** `expires_at` is absent when the key does not expire (RP §10: null or absent). */
export const RenewReply = Type.Object({
  api_key: Type.String(),
  api_prefix: Type.String(),
  expires_at: Type.Optional(Time),
});

export const NewRunnerReply = Type.Object({ runner: Runner, api_key: Type.String(), key: ApiKey });

// Findings and assets as operators see them (contract §6). Lists show the columns; the detail of a
// finding is described in finding-detail.ts.

import Type, { type Static } from 'typebox';
import { Id, Nullable, Time } from './shapes.ts';
import { AssetKind, FindingStatus, FindingType, Severity } from './vocabulary.ts';

export const Finding = Type.Object(
  {
    id: Id,
    asset_id: Id,
    asset: Type.String({ description: "the asset's display name" }),
    tool: Type.String(),
    category: Type.String(),
    type: FindingType,
    rule_id: Type.String(),
    title: Type.String(),
    severity: Severity,
    severity_overridden: Type.Boolean(),
    status: FindingStatus,
    resolution: Nullable(Type.Enum(['fixed', 'by_operator'])),
    status_by: Type.String(),
    status_at: Time,
    accepted_until: Nullable(Time),
    path: Nullable(Type.String()),
    start_line: Nullable(Type.Integer()),
    matched_by: Type.String({
      description:
        'why it was taken for this finding when last seen: new (it was not), producer (its fingerprint), content, moved ' +
        '(its content in another file), nearest (its rule on the nearest line of its file)',
    }),
    first_seen_at: Time,
    last_seen_at: Time,
    unfinished: Type.Boolean({ description: 'its first upload is still being processed' }),
  },
  { $id: 'Finding' },
);
export type Finding = Static<typeof Finding>;

export const FindingWithDetail = Type.Object({
  ...Finding.properties,
  detail: Type.Unknown({
    description:
      'what its tool says of it (`message` first) and what else is known: FindingDocument',
  }),
  base_fingerprint: Nullable(Type.String()),
  refs: Type.Array(
    Type.Object({
      name: Type.String({ description: "'' is the unnamed ref" }),
      is_default: Type.Boolean(),
      present: Type.Boolean(),
      first_seen_at: Time,
      first_commit: Nullable(Type.String()),
      last_seen_at: Time,
      last_commit: Nullable(Type.String()),
    }),
  ),
  events: Type.Array(
    Type.Object({ at: Time, kind: Type.String(), by: Type.String(), data: Type.Unknown() }),
  ),
});

export const FindingChange = Type.Object(
  {
    status: FindingStatus,
    comment: Type.Optional(Type.String({ maxLength: 4096 })),
    accepted_until: Type.Optional(Time),
  },
  { additionalProperties: false },
);

export const Asset = Type.Object(
  {
    id: Id,
    kind: AssetKind,
    value: Type.String(),
    name: Type.String(),
    criticality: Nullable(Type.String()),
    is_fallback: Type.Boolean({
      description: "a runner's own default, made for reports that name none",
    }),
    default_ref: Nullable(Type.String()),
    open_findings: Type.Integer(),
    first_seen_at: Time,
    last_seen_at: Time,
  },
  { $id: 'Asset' },
);
export type Asset = Static<typeof Asset>;

export const AssetWithDetail = Type.Object({
  ...Asset.properties,
  attributes: Type.Unknown({ description: 'what reports said of it, put together (CTIS §3.1)' }),
  components: Type.Integer({ description: 'dependencies that reports listed for it' }),
  endpoints: Type.Integer({ description: 'what can be called on it' }),
});
export type AssetWithDetail = Static<typeof AssetWithDetail>;

/** A dependency of an asset (CTIS §3.3). */
export const Component = Type.Object(
  {
    identity: Type.String({ description: 'purl, else ecosystem/name@version' }),
    name: Type.String(),
    version: Nullable(Type.String()),
    depends_on: Type.Array(Type.String(), {
      description: 'identities of the components of this asset that it depends on',
    }),
    detail: Type.Unknown({ description: 'as the newest report has it, under CTIS names' }),
    first_seen_at: Time,
    last_seen_at: Time,
  },
  { $id: 'Component' },
);
export type Component = Static<typeof Component>;

/** How two assets are connected (CTIS §1.2), read as a sentence: `from` `type` `to`. */
export const Relationship = Type.Object(
  {
    type: Type.String(),
    from_asset_id: Id,
    from_asset: Type.String({ description: "the asset's display name" }),
    to_asset_id: Id,
    to_asset: Type.String({ description: "the asset's display name" }),
    first_seen_at: Time,
    last_seen_at: Time,
  },
  { $id: 'Relationship' },
);
export type Relationship = Static<typeof Relationship>;

/** What can be called on a web asset (CTIS §3.4). */
export const AssetEndpoint = Type.Object(
  {
    identity: Type.String({ description: 'METHOD origin/path; ANY where no method is known' }),
    detail: Type.Unknown({ description: 'as the newest report has it, under CTIS names' }),
    first_seen_at: Time,
    last_seen_at: Time,
  },
  { $id: 'AssetEndpoint' },
);
export type AssetEndpoint = Static<typeof AssetEndpoint>;

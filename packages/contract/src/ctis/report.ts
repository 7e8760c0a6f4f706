// The CTIS report (spec 1.0 to 1.6) as the OpenAPI document shows it: ours, one source for types
// and documentation. It documents the core members and leaves every object open: reading is
// tolerant, item by item, and by hand (ctis.decode.ts). Which members are known, and wrong names
// that are understood, stand in ctis/members.ts.

import Type, { type Static } from 'typebox';
import { AssetKind, FindingType, Severity } from '../schemas/vocabulary.ts';

export * from './members.ts';

const OPEN = { additionalProperties: true } as const;
const text = (description: string) => Type.Optional(Type.String({ description }));
const whole = (description: string) => Type.Optional(Type.Integer({ description }));
const bag = (description: string) => Type.Optional(Type.Object({}, { ...OPEN, description }));
const bags = (description: string) =>
  Type.Optional(Type.Array(Type.Object({}, OPEN), { description }));
const texts = (description: string) => Type.Optional(Type.Array(Type.String(), { description }));

/** §1.2 */
export const CtisBranch = Type.Object(
  {
    name: text('`refs/heads/` is stripped'),
    is_default_branch: Type.Optional(Type.Boolean()),
    commit_sha: text('what was scanned'),
    base_branch: text('of a pull request'),
    pull_request_number: whole('of a pull request'),
    pull_request_url: text('of a pull request'),
    repository_url: text('https, ssh or bare; the target where no asset is listed'),
  },
  OPEN,
);

/** §1.2 */
export const CtisMetadata = Type.Object(
  {
    id: text('the report’s own id: answered as `scan_id`'),
    timestamp: text('RFC 3339; when the report was produced'),
    duration_ms: whole('of the scan'),
    source_type: text('scanner, collector, integration, manual'),
    source_ref: text('external job'),
    coverage_type: text('full, incremental, partial; only `full` lets absence resolve'),
    branch: Type.Optional(CtisBranch),
    scope: bag('name, type, includes, excludes'),
    capability: text('since 1.5'),
    properties: bag('any members'),
  },
  OPEN,
);

/** §1.2 */
export const CtisTool = Type.Object(
  {
    name: Type.String({ description: 'scopes matching and absence' }),
    version: text('of the tool'),
    vendor: text('of the tool'),
    info_url: text('of the tool'),
    capabilities: texts('what it looks for'),
    properties: bag('any members'),
  },
  OPEN,
);

/** §3.1 */
export const CtisAsset = Type.Object(
  {
    id: text('local to the report; findings refer to it'),
    type: Type.Union([AssetKind, Type.String()], { description: 'unknown words → unclassified' }),
    value: Type.String({ description: 'the identity, normalised by the server' }),
    name: text('display name'),
    description: text('of the asset'),
    tags: texts('of the asset'),
    criticality: text('critical, high, medium, low, info'),
    confidence: whole('0–100'),
    discovered_at: text('RFC 3339'),
    technical: bag('domain, ip_address, repository, certificate, cloud, service, web3'),
    properties: bag('any members'),
  },
  OPEN,
);

/** §2.2 */
export const CtisLocation = Type.Object(
  {
    path: text('relative to the checkout'),
    start_line: whole('from 1'),
    start_column: whole('from 1'),
    end_line: whole('from 1'),
    end_column: whole('from 1'),
    snippet: text('the code itself; masked for secrets'),
    context_snippet: text('lines around it'),
    context_start_line: whole('from 1'),
    logical_location: bag('fully_qualified_name, name, kind'),
  },
  OPEN,
);

/** §2.1 */
export const CtisFinding = Type.Object(
  {
    id: text('local to the report'),
    type: Type.Union([FindingType, Type.String()], { description: 'unknown → vulnerability' }),
    title: Type.String(),
    severity: Type.Union([Severity, Type.String()], { description: 'unknown → medium' }),
    message: text('a sentence'),
    description: text('a page'),
    rule_id: text('of the tool'),
    rule_name: text('of the tool'),
    asset_ref: text('id of a listed asset'),
    asset_value: text('the target itself'),
    asset_type: text('kind of `asset_value`; repository where absent'),
    location: Type.Optional(CtisLocation),
    network: bag('host, port, protocol, service; since 1.1'),
    web: bag('url, method, parameter; since 1.6'),
    evidence: text('raw output; since 1.1'),
    evidence_items: bags('§2.9, up to 20; what `sensitive` points at is masked; since 1.6'),
    vulnerability: bag('§2.4'),
    secret: bag('§2.5'),
    misconfiguration: bag('§2.5'),
    compliance: bag('§2.5'),
    web3: bag('§2.6'),
    remediation: bag('§2.7'),
    suppression: bag('§2.7'),
    data_flow: bag('§2.3'),
    fingerprint: text('the producer’s identity of the finding'),
    partial_fingerprints: bag('name → text'),
    baseline_state: text('new, unchanged, updated, absent'),
    kind: text('fail, pass, not_applicable, informational, open, review'),
    status: text('a hint; not applied'),
    tags: texts('of the finding'),
    references: texts('URLs'),
    properties: bag('any members'),
  },
  OPEN,
);

/** §3.3 */
export const CtisDependency = Type.Object(
  {
    id: text('local to the report'),
    name: Type.String(),
    version: text('optional since 1.3'),
    ecosystem: text('npm, pypi, maven, …'),
    purl: text('package URL'),
    type: text('library, framework, …'),
    path: text('manifest'),
    licenses: texts('SPDX ids or names'),
    relationship: text('direct, transitive, …'),
    depends_on: texts('ids, purls or names of what this component depends on'),
    properties: bag('any members'),
  },
  OPEN,
);

/** §1.2, since 1.5 */
export const CtisRelationship = Type.Object(
  { type: Type.String(), from_ref: Type.String(), to_ref: Type.String() },
  OPEN,
);

/** §3.4, since 1.6 */
export const CtisEndpoint = Type.Object(
  {
    origin: Type.String({ description: 'scheme://host[:port]' }),
    path: Type.String({ description: 'begins with a slash; its template is computed' }),
    id: text('local to the report'),
    origin_ref: text('id of a listed asset; else the asset is the origin itself'),
    method: text('GET, POST, … or ANY'),
    kind: text('page, api, script, form, graphql, websocket, static, other'),
    source: text('crawl, js, sitemap, robots, spec, har, archive, dast, probe'),
    auth: text('none, required, redirect_login, unknown'),
    params: bags('location and name; never values'),
  },
  OPEN,
);

/** §1.1; also understood wrapped as `{"report": …}`. */
export const CtisReport = Type.Object(
  {
    version: text('1.<minor>; absent or empty means 1.0'),
    metadata: Type.Optional(CtisMetadata),
    tool: Type.Optional(CtisTool),
    assets: Type.Optional(Type.Array(CtisAsset)),
    findings: Type.Optional(
      Type.Array(CtisFinding, { description: '`[]` is a clean scan; absent or null says nothing' }),
    ),
    dependencies: Type.Optional(Type.Array(CtisDependency)),
    relationships: Type.Optional(Type.Array(CtisRelationship)),
    endpoints: Type.Optional(Type.Array(CtisEndpoint)),
    properties: bag('any members'),
  },
  { ...OPEN, title: 'CTIS report' },
);
export type CtisReport = Static<typeof CtisReport>;

// The part of SARIF 2.1.0 (OASIS, errata 01) that is read, § numbers of the standard beside the
// names. The types say what the standard promises; 13 % of real files break it somewhere, so
// readers take every member as unknown and look (sarif.decode.ts). The TypeBox schema is the
// documentation of the route's body, not a gate.

import Type, { type Static } from 'typebox';

export type * from './schemas/finding-detail.ts';

/** §3.13 sarifLog as the OpenAPI document shows it. */
export const SarifLog = Type.Object(
  {
    version: Type.Literal('2.1.0', { description: '§3.13.2. Decides; `$schema` does not.' }),
    $schema: Type.Optional(Type.String()),
    runs: Type.Array(
      Type.Object(
        {
          tool: Type.Object(
            { driver: Type.Object({ name: Type.String() }, { additionalProperties: true }) },
            { additionalProperties: true },
          ),
          results: Type.Optional(
            Type.Array(Type.Object({}, { additionalProperties: true }), {
              description: '§3.14.23. `[]` is a clean scan; absent says nothing.',
            }),
          ),
        },
        { additionalProperties: true },
      ),
      { description: '§3.13.4. All runs are read.' },
    ),
  },
  { additionalProperties: true, title: 'SARIF 2.1.0 log' },
);
export type SarifLog = Static<typeof SarifLog>;

/** Members known to the standard; others are warned about and ignored. */
export const SARIF_MEMBERS = {
  /** §3.13 */
  log: ['$schema', 'version', 'runs', 'inlineExternalProperties', 'properties'],
  /** §3.14 */
  run: `externalPropertyFileReferences automationDetails runAggregates baselineGuid tool language
    taxonomies translations policies invocations conversion versionControlProvenance
    originalUriBaseIds artifacts specialLocations logicalLocations addresses threadFlowLocations
    graphs webRequests webResponses results defaultEncoding defaultSourceLanguage
    newlineSequences columnKind redactionTokens properties`.split(/\s+/),
  /** §3.27 */
  result: `ruleId ruleIndex rule kind level message analysisTarget locations guid correlationGuid
      occurrenceCount partialFingerprints fingerprints stacks codeFlows graphs graphTraversals
      relatedLocations suppressions baselineState rank attachments hostedViewerUri workItemUris
      provenance fixes taxa webRequest webResponse properties`.split(/\s+/),
} as const;

/** §3.11 message */
export interface SarifMessage {
  text?: string;
  markdown?: string;
  id?: string;
  arguments?: string[];
}

/** §3.4 artifactLocation */
export interface SarifArtifactLocation {
  uri?: string;
  uriBaseId?: string;
  /** §3.4.5: into run.artifacts; -1 is "absent". */
  index?: number;
}

/** §3.30 region */
export interface SarifRegion {
  startLine?: number;
  startColumn?: number;
  endLine?: number;
  endColumn?: number;
  /** §3.30.13 */
  snippet?: { text?: string };
}

/** §3.28 location */
export interface SarifLocation {
  id?: number;
  physicalLocation?: {
    artifactLocation?: SarifArtifactLocation;
    region?: SarifRegion;
    /** §3.29.5 */
    contextRegion?: SarifRegion;
  };
  /** §3.33 */
  logicalLocations?: {
    name?: string;
    fullyQualifiedName?: string;
    kind?: string;
    index?: number;
  }[];
  message?: SarifMessage;
}

/** §3.54 toolComponentReference */
export interface SarifToolComponentReference {
  name?: string;
  index?: number;
  guid?: string;
}

/** §3.52 reportingDescriptorReference */
export interface SarifDescriptorReference {
  id?: string;
  index?: number;
  guid?: string;
  toolComponent?: SarifToolComponentReference;
}

/** §3.49 reportingDescriptor */
export interface SarifRule {
  id: string;
  guid?: string;
  name?: string;
  shortDescription?: { text?: string; markdown?: string };
  fullDescription?: { text?: string; markdown?: string };
  messageStrings?: Record<string, { text?: string; markdown?: string }>;
  helpUri?: string;
  /** §3.50 */
  defaultConfiguration?: { level?: string; enabled?: boolean };
  /** §3.53 */
  relationships?: { target: SarifDescriptorReference; kinds?: string[] }[];
  properties?: Record<string, unknown>;
}

/** §3.27 result */
export interface SarifResult {
  ruleId?: string;
  ruleIndex?: number;
  rule?: SarifDescriptorReference;
  /** §3.27.9 */
  kind?: 'pass' | 'open' | 'informational' | 'notApplicable' | 'review' | 'fail';
  /** §3.27.10 */
  level?: 'none' | 'note' | 'warning' | 'error';
  message: SarifMessage;
  locations?: SarifLocation[];
  guid?: string;
  correlationGuid?: string;
  /** §3.27.16 */
  fingerprints?: Record<string, string>;
  /** §3.27.17 */
  partialFingerprints?: Record<string, string>;
  /** §3.27.23 */
  suppressions?: { kind: string; status?: string; justification?: string }[] | null;
  /** §3.27.24 */
  baselineState?: 'new' | 'unchanged' | 'updated' | 'absent';
  rank?: number;
  hostedViewerUri?: string;
  workItemUris?: string[];
  properties?: Record<string, unknown>;
}

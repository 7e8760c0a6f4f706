// The tables as TypeScript sees them, for Kysely: ids are lower-case UUID text, byte strings are
// Uint8Array, every number is an integer and a time is milliseconds UTC. The truth is
// migrations/*/0001_start.sql; a test compares the two, column by column. The sets below say at run
// time which columns hold ids and bytes: ids are 16-byte blobs on SQLite and are converted by these
// names (id-plugin.ts), never by the look of a value.

import type { FindingStatus, UploadFault, UploadState } from '@muster/contract';
import type {
  CommandAttemptTable,
  CommandLogTable,
  CommandTable,
  ScanSessionTable,
} from './command-tables.ts';
import type {
  Flag,
  KeyKind,
  KeyState,
  Presence,
  Resolution,
  Role,
  RunnerAdmin,
  Severity,
  UploadFormat,
} from './table-words.ts';

export type * from './command-tables.ts';
export type * from './table-words.ts';

/** Written by migrate.ts alone: one row for each migration that this database has seen. */
interface SchemaVersionTable {
  version: number;
  name: string;
  sha256: string;
  applied_at: number;
}

interface InstallationTable {
  id: number;
  master_key_check: Uint8Array;
  created_at: number;
}

interface TenantTable {
  id: string;
  name: string;
  created_at: number;
}

interface CredentialTable {
  key_id: string;
  tenant_id: string;
  kind: KeyKind;
}

export interface RunnerTable {
  tenant_id: string;
  id: string;
  name: string;
  admin: RunnerAdmin;
  labels: string;
  created_at: number;
  created_by: string;
  enrollment_id: string | null;
  presence: Presence;
  presence_since: number;
  last_seen_at: number | null;
  interval_ms: number;
  version: string | null;
  hostname: string | null;
  region: string | null;
  reported: string | null;
  reported_at: number | null;
  /** Whether the runner's last sign of life came with a key that may not take commands. */
  is_ci: Flag;
  clock_skew_ms: number | null;
  installation: string | null;
  cloned_until: number | null;
}

export interface RunnerMetricsTable {
  tenant_id: string;
  runner_id: string;
  step_ms: number;
  starts_at: number;
  samples: string;
}

export interface ApiKeyTable {
  tenant_id: string;
  key_id: string;
  kind: KeyKind;
  runner_id: string | null;
  name: string;
  role: Role | null;
  scopes: string | null;
  labels: string | null;
  allowed_labels: string | null;
  allow_from: string | null;
  secret_hash: Uint8Array;
  state: KeyState;
  parent_key_id: string | null;
  uses_left: number | null;
  created_at: number;
  created_by: string;
  expires_at: number | null;
  retires_at: number | null;
  overlap_until: number | null;
  first_used_at: number | null;
  last_used_at: number | null;
  last_used_from: string | null;
}

export interface UploadTable {
  tenant_id: string;
  id: string;
  runner_id: string;
  key_id: string;
  format: UploadFormat;
  encoding: string;
  wire_bytes: number;
  stored_bytes: number;
  decoded_bytes: number | null;
  sha256: Uint8Array | null;
  context: string;
  context_digest: Uint8Array;
  command_id: string | null;
  state: UploadState;
  attempt: number;
  /**
   * The newest attempt that committed a batch: the attempts since then tell whether an upload is
   * stalled.
   */
  progress_attempt: number;
  lease_until: number | null;
  lease_holder: string | null;
  not_before: number;
  received_at: number;
  started_at: number | null;
  finished_at: number | null;
  answered_at: number | null;
  tool: string | null;
  analyses: number | null;
  items_total: number | null;
  items_done: number | null;
  /** How the runs of the report went (run-summary.decode.ts). */
  runs: string | null;
  receipt: string | null;
  problem: string | null;
  /** Why the newest attempt ended without a result. */
  fault: UploadFault | null;
  /** The time since which only the receipt is left. */
  raw_deleted_at: number | null;
  /** 1: a dry run, which only asks what would become of the report (/ingest/validate). */
  rehearsal: Flag;
  clean_scan: Flag;
}

interface UploadChunkTable {
  tenant_id: string;
  upload_id: string;
  seq: number;
  sealed: Uint8Array;
}

export interface UploadRejectionTable {
  tenant_id: string;
  upload_id: string;
  seq: number;
  pointer: string;
  code: string;
  detail: string;
  item: string | null;
}

export interface UploadBatchTable {
  tenant_id: string;
  upload_id: string;
  part: 'frame' | 'items' | 'absence';
  batch: number;
  counts: string;
  lease_holder: string;
}

interface IdempotencyTable {
  tenant_id: string;
  runner_id: string;
  idempotency_key: string;
  upload_id: string;
  sha256: Uint8Array;
  created_at: number;
}

export interface AssetTable {
  tenant_id: string;
  id: string;
  kind: string;
  kind_class: string;
  value: string;
  name: string;
  criticality: string | null;
  is_fallback: Flag;
  default_ref_id: string | null;
  attributes: string | null;
  attributes_at: number;
  first_seen_at: number;
  last_seen_at: number;
  created_upload_id: string;
}

export interface AssetRefTable {
  tenant_id: string;
  id: string;
  asset_id: string;
  name: string;
  claimed_default: Flag;
  created_at: number;
}

interface ScopeTable {
  tenant_id: string;
  asset_id: string;
  tool: string;
  category: string;
  holder_upload_id: string | null;
  lease_until: number | null;
}

export interface AnalysisTable {
  tenant_id: string;
  ref_id: string;
  tool: string;
  category: string;
  last_upload_id: string;
  last_seen_at: number;
  commit_sha: string | null;
  coverage: 'full' | 'partial';
  scanner: string | null;
  held_digest: Uint8Array | null;
  held_count: number;
}

export interface ComponentTable {
  tenant_id: string;
  asset_id: string;
  identity: string;
  name: string;
  version: string | null;
  depends_on: string;
  document: string;
  first_seen_at: number;
  last_seen_at: number;
}

export interface EndpointTable {
  tenant_id: string;
  asset_id: string;
  identity: string;
  document: string;
  first_seen_at: number;
  last_seen_at: number;
}

export interface RelationshipTable {
  tenant_id: string;
  from_asset_id: string;
  type: string;
  to_asset_id: string;
  first_seen_at: number;
  last_seen_at: number;
}

export interface FindingTable {
  tenant_id: string;
  id: string;
  asset_id: string;
  tool: string;
  category: string;
  type: string;
  rule_id: string;
  title: string;
  severity: Severity;
  severity_override: Severity | null;
  status: FindingStatus;
  resolution: Resolution | null;
  status_by: string;
  status_at: number;
  accepted_until: number | null;
  path: string | null;
  start_line: number | null;
  evidence: Uint8Array;
  base_fingerprint: string | null;
  matched_by: string;
  first_seen_at: number;
  created_upload_id: string;
}

export interface FindingDetailTable {
  tenant_id: string;
  finding_id: string;
  document: string;
}

export interface FindingRefTable {
  tenant_id: string;
  ref_id: string;
  finding_id: string;
  present: Flag;
  first_seen_at: number;
  first_commit: string | null;
  last_seen_at: number;
  last_commit: string | null;
  last_upload_id: string;
}

export interface FindingEventTable {
  tenant_id: string;
  finding_id: string;
  id: string;
  at: number;
  kind: string;
  by_whom: string;
  data: string;
}

interface EventTable {
  tenant_id: string;
  id: string;
  at: number;
  kind: string;
  data: string;
}

/** Every table by its name; what Kysely checks a query's text against. */
export interface Tables {
  schema_version: SchemaVersionTable;
  installation: InstallationTable;
  tenant: TenantTable;
  credential: CredentialTable;
  runner: RunnerTable;
  runner_metrics: RunnerMetricsTable;
  api_key: ApiKeyTable;
  command: CommandTable;
  command_attempt: CommandAttemptTable;
  command_log: CommandLogTable;
  scan_session: ScanSessionTable;
  upload: UploadTable;
  upload_chunk: UploadChunkTable;
  upload_rejection: UploadRejectionTable;
  upload_batch: UploadBatchTable;
  idempotency: IdempotencyTable;
  asset: AssetTable;
  asset_ref: AssetRefTable;
  scope: ScopeTable;
  analysis: AnalysisTable;
  component: ComponentTable;
  endpoint: EndpointTable;
  relationship: RelationshipTable;
  finding: FindingTable;
  finding_detail: FindingDetailTable;
  finding_ref: FindingRefTable;
  finding_event: FindingEventTable;
  event: EventTable;
}

export type TableName = keyof Tables;

const names = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/));

/**
 * Columns that hold a UUID: `uuid` on PostgreSQL, 16-byte blobs on SQLite (installation.id, a
 * number, is left alone).
 */
export const ID_COLUMNS = names(
  `tenant_id id runner_id holder_id command_id upload_id created_upload_id last_upload_id
    holder_upload_id asset_id from_asset_id to_asset_id ref_id default_ref_id finding_id`,
);

/** Columns whose names end in _id and which nevertheless hold text. */
const TEXT_ID_COLUMNS = names('key_id parent_key_id rule_id enrollment_id');

/** Columns that hold byte strings: `bytea` on PostgreSQL, blobs on SQLite. */
export const BYTES_COLUMNS = names(
  `answer_digest context_digest evidence held_digest master_key_check place_digest sealed
    secret_hash sha256`,
);

/**
 * Whether this is one of ID_COLUMNS or an alias that ends in one (`source_asset_id`), and none of
 * the text columns.
 */
export function isIdColumn(name: string): boolean {
  if (ID_COLUMNS.has(name)) return true;
  return name.endsWith('_id') && !TEXT_ID_COLUMNS.has(name);
}

// The closed word lists of the wire, each once. Sources: contract §3, §4, §6; CTIS 1.0-1.6 §2.1 and §3.1.

import Type, { type Static } from 'typebox';

/** Worst first; the position is the rank that the database sorts by. */
export const SEVERITIES = ['critical', 'high', 'medium', 'low', 'info'] as const;
export const Severity = Type.Enum(SEVERITIES);
export type Severity = Static<typeof Severity>;

export const FINDING_TYPES = [
  'vulnerability',
  'secret',
  'misconfiguration',
  'compliance',
  'web3',
] as const;
export const FindingType = Type.Enum(FINDING_TYPES);
export type FindingType = Static<typeof FindingType>;

export const FINDING_STATUSES = [
  'open',
  'confirmed',
  'in_progress',
  'resolved',
  'false_positive',
  'accepted',
  'duplicate',
  'suppressed',
] as const;
export const FindingStatus = Type.Enum(FINDING_STATUSES);
export type FindingStatus = Static<typeof FindingStatus>;

export const COMMAND_STATUSES = [
  'pending',
  'acknowledged',
  'running',
  'completed',
  'failed',
  'canceled',
  'expired',
] as const;
export const CommandStatus = Type.Enum(COMMAND_STATUSES);
export type CommandStatus = Static<typeof CommandStatus>;

/** Most urgent first; the position is the rank that polls sort by. */
export const PRIORITIES = ['critical', 'high', 'normal', 'low'] as const;
export const Priority = Type.Enum(PRIORITIES);
export type Priority = Static<typeof Priority>;

export const RUNNER_ADMIN_STATES = ['active', 'paused', 'draining', 'revoked'] as const;
export const RunnerAdmin = Type.Enum(RUNNER_ADMIN_STATES);
export type RunnerAdmin = Static<typeof RunnerAdmin>;

export const PRESENCES = ['never', 'online', 'late', 'stopped', 'offline'] as const;
export const Presence = Type.Enum(PRESENCES);
export type Presence = Static<typeof Presence>;

/** What an operator should look at: one identity used by two installations at once; a clock that is off. */
export const RUNNER_WARNINGS = ['cloned', 'clock_skew'] as const;
export const RunnerWarning = Type.Enum(RUNNER_WARNINGS);

/** What is kept of heartbeats over time, by the names they have there (RP §4.1). */
export const RUNNER_METRICS = [
  'cpu_percent',
  'memory_percent',
  'active_jobs',
  'disk_read_mbps',
  'disk_write_mbps',
  'network_rx_mbps',
  'network_tx_mbps',
  'disk_free_bytes',
  'outbox_pending',
] as const;
export const RunnerMetric = Type.Enum(RUNNER_METRICS);
export type RunnerMetric = Static<typeof RunnerMetric>;

export const ROLES = ['viewer', 'analyst', 'admin'] as const;
export const Role = Type.Enum(ROLES);
export type Role = Static<typeof Role>;

export const KEY_SCOPES = ['heartbeat', 'commands', 'ingest', 'renew'] as const;
export const KeyScope = Type.Enum(KEY_SCOPES);
export type KeyScope = Static<typeof KeyScope>;

export const KEY_STATES = ['candidate', 'superseded', 'proven', 'retired', 'revoked'] as const;
export const KeyState = Type.Enum(KEY_STATES);
export type KeyState = Static<typeof KeyState>;

export const UPLOAD_STATES = [
  'receiving',
  'received',
  'processing',
  'processed',
  'refused',
  'failed',
] as const;
export const UploadState = Type.Enum(UPLOAD_STATES);
export type UploadState = Static<typeof UploadState>;

/** Why an attempt to process an upload ended without a result. */
export const UPLOAD_FAULTS = [
  'crashed',
  'out_of_memory',
  'stalled',
  'error',
  'unavailable',
  'process_ended',
] as const;
export const UploadFault = Type.Enum(UPLOAD_FAULTS);
export type UploadFault = Static<typeof UploadFault>;

export const ASSET_KINDS = [
  'domain',
  'subdomain',
  'ip_address',
  'certificate',
  'website',
  'web_application',
  'api',
  'mobile_app',
  'service',
  'repository',
  'cloud_account',
  'compute',
  'storage',
  'database',
  'serverless',
  'container_registry',
  'host',
  'server',
  'container',
  'kubernetes',
  'kubernetes_cluster',
  'kubernetes_namespace',
  'network',
  'vpc',
  'subnet',
  'load_balancer',
  'firewall',
  'iam_user',
  'iam_role',
  'service_account',
  'http_service',
  'open_port',
  'discovered_url',
  'smart_contract',
  'wallet',
  'token',
  'nft_collection',
  'defi_protocol',
  'blockchain',
  'unclassified',
] as const;
export const AssetKind = Type.Enum(ASSET_KINDS);
export type AssetKind = Static<typeof AssetKind>;

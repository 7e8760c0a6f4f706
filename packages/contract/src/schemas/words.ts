// The closed word lists of the wire, each once. Sources: contract §3, §4, §6; CTIS 1.0-1.6 §2.1 and
// §3.1. Their schemas stand in vocabulary.ts, so that code which only compares words needn't load
// TypeBox.

/** Worst first; the position is the rank that the database sorts by. */
export const SEVERITIES = ['critical', 'high', 'medium', 'low', 'info'] as const;

export const FINDING_TYPES = [
  'vulnerability',
  'secret',
  'misconfiguration',
  'compliance',
  'web3',
] as const;

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

/** Statuses of findings that somebody still has to do something about. */
export const ACTIVE_STATUSES = ['open', 'confirmed', 'in_progress'] as const;

export const COMMAND_STATUSES = [
  'pending',
  'acknowledged',
  'running',
  'completed',
  'failed',
  'canceled',
  'expired',
] as const;

/** Most urgent first; the position is the rank that polls sort by. */
export const PRIORITIES = ['critical', 'high', 'normal', 'low'] as const;

export const RUNNER_ADMIN_STATES = ['active', 'paused', 'draining', 'revoked'] as const;

export const PRESENCES = ['never', 'online', 'late', 'stopped', 'offline'] as const;

/**
 * The health that a runner says of itself, worst last; `presence` says whether it still says
 * anything.
 */
export const RUNNER_HEALTHS = ['ok', 'degraded', 'error'] as const;

/**
 * Things that an operator should look at: one identity used by two installations at once; a clock
 * that is off.
 */
export const RUNNER_WARNINGS = ['cloned', 'clock_skew'] as const;

/**
 * The values of heartbeats that are kept over time, under their names in the heartbeat (RP §4.1).
 */
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

export const ROLES = ['viewer', 'analyst', 'admin'] as const;

export const KEY_SCOPES = ['heartbeat', 'commands', 'ingest', 'renew'] as const;

export const KEY_STATES = ['candidate', 'superseded', 'proven', 'retired', 'revoked'] as const;

export const UPLOAD_STATES = [
  'receiving',
  'received',
  'processing',
  'processed',
  'refused',
  'failed',
] as const;

/** Formats of reports; the media type of each that has one stands in the server's registry. */
export const REPORT_FORMATS = ['ctis', 'sarif', 'gitleaks'] as const;

/** Why an attempt to process an upload ended without a result. */
export const UPLOAD_FAULTS = [
  'crashed',
  'out_of_memory',
  'stalled',
  'error',
  'unavailable',
  'process_ended',
] as const;

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

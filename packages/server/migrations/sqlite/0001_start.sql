-- Muster 0001: the whole first schema. The same numbers and names stand in ../postgres.
--
-- Conventions: ids are 16-byte UUIDv7 blobs; times are integer milliseconds UTC; flags are 0 or 1; documents are
-- text, never a parsed JSON type (it would reorder members and drop duplicates). Primary keys and unique
-- constraints begin with tenant_id, except for the small tables that every node needs before it knows the tenant
-- (installation, tenant, credential).

create table installation (
  id integer not null primary key check (id = 1),
  master_key_check blob not null,
  created_at integer not null
) strict;

create table tenant (
  id blob not null primary key,
  name text not null unique,
  created_at integer not null
) strict, without rowid;

-- Key id -> tenant: the one look-up made before the tenant is known. Never updated.
create table credential (
  key_id text not null primary key,
  tenant_id blob not null references tenant (id),
  kind text not null check (kind in ('runner', 'operator', 'enrolment'))
) strict, without rowid;

-- ---------------------------------------------------------------- runners and their keys

create table runner (
  tenant_id blob not null references tenant (id),
  id blob not null,
  name text not null,
  admin text not null check (admin in ('active', 'paused', 'draining', 'revoked')),
  labels text not null,
  created_at integer not null,
  created_by text not null,
  enrollment_id text,
  presence text not null check (presence in ('never', 'online', 'late', 'stopped', 'offline')),
  presence_since integer not null,
  last_seen_at integer,
  interval_ms integer not null,
  version text,
  hostname text,
  region text,
  reported text,
  reported_at integer,
  is_ci integer not null check (is_ci in (0, 1)),
  clock_skew_ms integer,
  installation text,
  cloned_until integer,
  primary key (tenant_id, id)
) strict, without rowid;
create unique index runner_by_enrollment on runner (tenant_id, enrollment_id) where enrollment_id is not null;
create index runner_revoked on runner (tenant_id, id) where admin = 'revoked';

-- Runner keys, operator tokens and enrolment tokens. secret_hash is SHA-256 of the secret part.
-- labels, allowed_labels: of an enrolment token, what its runners get and may ask for. allow_from: CIDR blocks, null: anywhere.
create table api_key (
  tenant_id blob not null references tenant (id),
  key_id text not null,
  kind text not null check (kind in ('runner', 'operator', 'enrolment')),
  runner_id blob,
  name text not null,
  role text check (role in ('viewer', 'analyst', 'admin')),
  scopes text,
  labels text,
  allowed_labels text,
  allow_from text,
  secret_hash blob not null,
  state text not null check (state in ('candidate', 'superseded', 'proven', 'retired', 'revoked')),
  parent_key_id text,
  uses_left integer check (uses_left >= 0),
  created_at integer not null,
  created_by text not null,
  expires_at integer,
  retires_at integer,
  overlap_until integer,
  first_used_at integer,
  last_used_at integer,
  last_used_from text,
  primary key (tenant_id, key_id)
) strict, without rowid;
create index api_key_unused on api_key (created_at) where first_used_at is null and state <> 'proven';
create index api_key_by_runner on api_key (tenant_id, runner_id) where runner_id is not null;

-- What heartbeats measured, packed: one row for a quarter hour of minutes (step_ms 60000), a day of hours, thirty days of
-- days. samples: a JSON object, member -> one entry for each step (heartbeat/metrics.rules.ts).
create table runner_metrics (
  tenant_id blob not null references tenant (id),
  runner_id blob not null,
  step_ms integer not null,
  starts_at integer not null,
  samples text not null,
  primary key (tenant_id, runner_id, step_ms, starts_at)
) strict, without rowid;
create index runner_metrics_by_age on runner_metrics (step_ms, starts_at);

-- ---------------------------------------------------------------- commands

-- Work for runners. target: labels, tools and capabilities that a runner must have (commands/eligibility.rules.ts).
-- released: how many of its attempts were given back; they don't count against max_attempts.
-- ready_at: since when it may be claimed; moved whenever it returns to pending. log_*: what of its log is kept.
create table command (
  tenant_id blob not null references tenant (id),
  id blob not null,
  type text not null,
  payload text,
  priority integer not null check (priority between 0 and 3),
  status text not null check (status in
    ('pending', 'acknowledged', 'running', 'completed', 'failed', 'canceled', 'expired')),
  runner_id blob,
  holder_id blob,
  attempt integer not null,
  released integer not null,
  max_attempts integer not null,
  retry_on_fail integer not null check (retry_on_fail in (0, 1)),
  timeout_ms integer not null,
  lease_until integer,
  deadline_at integer,
  created_at integer not null,
  created_by text not null,
  scheduled_at integer,
  expires_at integer,
  acknowledged_at integer,
  started_at integer,
  completed_at integer,
  cancel_requested_at integer,
  result text,
  error_message text,
  reason text,
  target text,
  ready_at integer not null,
  progress_percent integer check (progress_percent between 0 and 100),
  progress_message text,
  progress_at integer,
  log_lines integer not null,
  log_bytes integer not null,
  log_dropped integer not null,
  primary key (tenant_id, id)
) strict, without rowid;
create index command_free on command (tenant_id, priority, id) where status = 'pending' and runner_id is null;
create index command_pinned on command (tenant_id, runner_id, priority, id)
  where status = 'pending' and runner_id is not null;
create index command_held on command (tenant_id, holder_id) where status in ('acknowledged', 'running');
create index command_cancel on command (tenant_id, holder_id)
  where status in ('acknowledged', 'running') and cancel_requested_at is not null;
create index command_lease on command (lease_until) where status in ('acknowledged', 'running');
create index command_expiry on command (expires_at) where status = 'pending' and expires_at is not null;
create index command_ended on command (completed_at, id) where completed_at is not null;
create index command_ready on command (ready_at, id) where status = 'pending';

-- One row for every claim: what a repeated call is judged against.
create table command_attempt (
  tenant_id blob not null,
  command_id blob not null,
  attempt integer not null,
  runner_id blob not null,
  acknowledged_at integer not null,
  started_at integer,
  ended_at integer,
  outcome text check (outcome in ('completed', 'failed', 'released', 'lost', 'canceled')),
  answer_digest blob,
  log_received integer not null,
  primary key (tenant_id, command_id, attempt)
) strict, without rowid;

-- Log lines of commands as runners sent them: a JSON array of texts a row. end_line counts all kept lines of the
-- command up to and with these.
create table command_log (
  tenant_id blob not null,
  command_id blob not null,
  end_line integer not null,
  attempt integer not null,
  received_at integer not null,
  lines text not null,
  primary key (tenant_id, command_id, end_line)
) strict;

-- A runner's own word that it scans something, for clients that keep sessions (RP §9.1). It decides nothing. place_digest:
-- SHA-256 of asset, branch and scanner, whose texts are longer than an index may hold.
create table scan_session (
  tenant_id blob not null,
  id blob not null,
  runner_id blob not null,
  status text not null check (status in ('running', 'completed', 'failed', 'canceled', 'timeout')),
  scanner_name text not null,
  scanner_version text,
  scanner_type text,
  asset_type text not null,
  asset_value text not null,
  branch text,
  place_digest blob not null,
  commit_sha text,
  base_commit_sha text,
  started_at integer not null,
  completed_at integer,
  answer text,
  primary key (tenant_id, id)
) strict, without rowid;
create index scan_session_by_place on scan_session (tenant_id, place_digest, status, id);
create index scan_session_ended on scan_session (completed_at) where completed_at is not null;
create index scan_session_running on scan_session (started_at) where status = 'running';

-- ---------------------------------------------------------------- uploads

create table upload (
  tenant_id blob not null references tenant (id),
  id blob not null,
  runner_id blob not null,
  key_id text not null,
  format text not null check (format in ('auto', 'ctis', 'sarif')),
  encoding text not null,
  wire_bytes integer not null,
  stored_bytes integer not null,
  decoded_bytes integer,
  sha256 blob,
  context text not null,
  context_digest blob not null,
  command_id blob,
  state text not null check (state in ('receiving', 'received', 'processing', 'processed', 'refused', 'failed')),
  attempt integer not null,
  progress_attempt integer not null,
  lease_until integer,
  lease_holder text,
  not_before integer not null,
  received_at integer not null,
  started_at integer,
  finished_at integer,
  answered_at integer,
  tool text,
  analyses integer,
  items_total integer,
  items_done integer,
  runs text,
  receipt text,
  problem text,
  fault text,
  raw_deleted_at integer,
  rehearsal integer not null check (rehearsal in (0, 1)),
  clean_scan integer not null check (clean_scan in (0, 1)),
  primary key (tenant_id, id)
) strict, without rowid;
create index upload_waiting on upload (tenant_id, runner_id, received_at, id) where state in ('received', 'processing');
create index upload_receiving on upload (tenant_id, runner_id) where state = 'receiving';
create index upload_raw on upload (finished_at) where finished_at is not null and raw_deleted_at is null;
create index upload_rehearsal on upload (raw_deleted_at) where rehearsal = 1;
create index upload_by_content on upload (tenant_id, runner_id, sha256);
create index upload_by_command on upload (tenant_id, command_id) where command_id is not null;

-- The bytes as they came, sealed with AES-256-GCM; about 256 KiB each.
create table upload_chunk (
  tenant_id blob not null,
  upload_id blob not null,
  seq integer not null,
  sealed blob not null,
  primary key (tenant_id, upload_id, seq)
) strict;

-- Items that could not be used, in the order of the document; seq counts from 0. item: its own text, masked and cut.
create table upload_rejection (
  tenant_id blob not null,
  upload_id blob not null,
  seq integer not null,
  pointer text not null,
  code text not null,
  detail text not null,
  item text,
  primary key (tenant_id, upload_id, seq)
) strict, without rowid;

-- What each committed batch counted or decided, of the report's frame, of its items and of what is absent. The receipt is the
-- sum, so a crash neither loses nor doubles a count. lease_holder: who wrote it; a batch of somebody who doesn't hold the
-- upload has none, and is refused.
create table upload_batch (
  tenant_id blob not null,
  upload_id blob not null,
  part text not null check (part in ('frame', 'items', 'absence')),
  batch integer not null,
  counts text not null,
  lease_holder text not null,
  primary key (tenant_id, upload_id, part, batch)
) strict, without rowid;

create table idempotency (
  tenant_id blob not null,
  runner_id blob not null,
  idempotency_key text not null,
  upload_id blob not null,
  sha256 blob not null,
  created_at integer not null,
  primary key (tenant_id, runner_id, idempotency_key)
) strict, without rowid;

-- ---------------------------------------------------------------- assets

-- attributes_at: when the report arrived that has the newest word on the attributes.
create table asset (
  tenant_id blob not null references tenant (id),
  id blob not null,
  kind text not null,
  kind_class text not null,
  value text not null,
  name text not null,
  criticality text,
  is_fallback integer not null check (is_fallback in (0, 1)),
  default_ref_id blob,
  attributes text,
  attributes_at integer not null,
  first_seen_at integer not null,
  last_seen_at integer not null,
  created_upload_id blob not null,
  primary key (tenant_id, id)
) strict, without rowid;
create unique index asset_by_value on asset (tenant_id, kind_class, value);

-- A branch of an asset; name '' is the unnamed ref. claimed_default: a report once said so.
create table asset_ref (
  tenant_id blob not null,
  id blob not null,
  asset_id blob not null,
  name text not null,
  claimed_default integer not null check (claimed_default in (0, 1)),
  created_at integer not null,
  primary key (tenant_id, id)
) strict, without rowid;
create unique index asset_ref_by_name on asset_ref (tenant_id, asset_id, name);

-- One matching scope: findings are matched per asset, tool family and category. Held by one upload at a time.
create table scope (
  tenant_id blob not null,
  asset_id blob not null,
  tool text not null,
  category text not null,
  holder_upload_id blob,
  lease_until integer,
  primary key (tenant_id, asset_id, tool, category)
) strict, without rowid;
create index scope_by_holder on scope (tenant_id, holder_upload_id, lease_until) where holder_upload_id is not null;

-- The newest analysis of a scope on one ref; coverage: how much its newest report
-- covers; scanner: the one of the command that it was made for, if any;
-- held_digest remembers an absence that the blinding guard held back.
create table analysis (
  tenant_id blob not null,
  ref_id blob not null,
  tool text not null,
  category text not null,
  last_upload_id blob not null,
  last_seen_at integer not null,
  commit_sha text,
  coverage text not null check (coverage in ('full', 'partial')),
  scanner text,
  held_digest blob,
  held_count integer not null,
  primary key (tenant_id, ref_id, tool, category)
) strict, without rowid;
create index analysis_by_upload on analysis (tenant_id, last_upload_id);

-- Dependencies (CTIS) of an asset. identity = purl, else ecosystem/name@version. depends_on: a JSON list of the
-- identities that this one depends on, as the newest report has it.
create table component (
  tenant_id blob not null,
  asset_id blob not null,
  identity text not null,
  name text not null,
  version text,
  depends_on text not null,
  document text not null,
  first_seen_at integer not null,
  last_seen_at integer not null,
  primary key (tenant_id, asset_id, identity)
) strict, without rowid;

-- What can be called on a web asset (CTIS endpoints). identity = METHOD origin/path.
create table endpoint (
  tenant_id blob not null,
  asset_id blob not null,
  identity text not null,
  document text not null,
  first_seen_at integer not null,
  last_seen_at integer not null,
  primary key (tenant_id, asset_id, identity)
) strict, without rowid;

create table relationship (
  tenant_id blob not null,
  from_asset_id blob not null,
  type text not null,
  to_asset_id blob not null,
  first_seen_at integer not null,
  last_seen_at integer not null,
  primary key (tenant_id, from_asset_id, type, to_asset_id)
) strict, without rowid;
create index relationship_by_target on relationship (tenant_id, to_asset_id, type, from_asset_id);

-- ---------------------------------------------------------------- findings

-- severity: 0 critical, 1 high, 2 medium, 3 low, 4 info. evidence: packed identity hashes, versioned
-- (ingest/evidence.format.ts). base_fingerprint: what the producer sent, for /ingest/check.
create table finding (
  tenant_id blob not null references tenant (id),
  id blob not null,
  asset_id blob not null,
  tool text not null,
  category text not null,
  type text not null,
  rule_id text not null,
  title text not null,
  severity integer not null check (severity between 0 and 4),
  severity_override integer check (severity_override between 0 and 4),
  status text not null check (status in ('open', 'confirmed', 'in_progress', 'resolved', 'false_positive',
    'accepted', 'duplicate', 'suppressed')),
  resolution text check (resolution in ('fixed', 'by_operator')),
  status_by text not null,
  status_at integer not null,
  accepted_until integer,
  path text,
  start_line integer,
  evidence blob not null,
  base_fingerprint text,
  matched_by text not null,
  first_seen_at integer not null,
  created_upload_id blob not null,
  primary key (tenant_id, id)
) strict, without rowid;
create index finding_by_scope on finding (tenant_id, asset_id, tool, category, id);
create index finding_by_status on finding (tenant_id, status, severity, id);
create index finding_by_base_fingerprint on finding (tenant_id, base_fingerprint) where base_fingerprint is not null;

create table finding_detail (
  tenant_id blob not null,
  finding_id blob not null,
  document text not null,
  primary key (tenant_id, finding_id)
) strict, without rowid;

-- Presence of a finding on one ref, with the first and last commit it was seen at.
create table finding_ref (
  tenant_id blob not null,
  ref_id blob not null,
  finding_id blob not null,
  present integer not null check (present in (0, 1)),
  first_seen_at integer not null,
  first_commit text,
  last_seen_at integer not null,
  last_commit text,
  last_upload_id blob not null,
  primary key (tenant_id, finding_id, ref_id)
) strict, without rowid;

-- What happened to one finding after its creation: reopened, resolved, status set, severity changed.
create table finding_event (
  tenant_id blob not null,
  finding_id blob not null,
  id blob not null,
  at integer not null,
  kind text not null,
  by_whom text not null,
  data text not null,
  primary key (tenant_id, finding_id, id)
) strict, without rowid;

-- The tenant's feed: one row per upload with its counts, per change by an operator; never one per finding.
create table event (
  tenant_id blob not null,
  id blob not null,
  at integer not null,
  kind text not null,
  data text not null,
  primary key (tenant_id, id)
) strict, without rowid;

-- ---------------------------------------------------------------- statistics

-- SQLite has no idea how tables will be filled, and would search by tenant alone where an index knows better. These are
-- the proportions of a grown installation (rows, then rows for each longer prefix of the index), so that every plan is
-- the same on every installation from the first row on; a golden test holds them. ANALYZE of tables is never run: of the
-- schema it makes the table of statistics, and reads it again, so that the connection that migrates knows them, too.
analyze sqlite_schema;
insert into sqlite_stat1 (tbl, idx, stat) values
  ('runner', 'runner', '2000 2000 1'),
  ('runner', 'runner_by_enrollment', '2000 2000 1'),
  ('runner_metrics', 'runner_metrics', '500000 500000 250 200 1'),
  ('runner_metrics', 'runner_metrics_by_age', '500000 200000 1000'),
  ('api_key', 'api_key', '5000 5000 1'),
  ('api_key', 'api_key_by_runner', '5000 5000 2'),
  ('command', 'command', '1000000 1000000 1'),
  ('command', 'command_pending', '1000 1000 500 1'),
  ('command', 'command_held', '1000 1000 2'),
  ('command', 'command_lease', '1000 1'),
  ('command', 'command_expiry', '1000 1'),
  ('command', 'command_ready', '1000 1'),
  ('command_attempt', 'command_attempt', '1000000 1000000 2 1'),
  ('command_log', 'sqlite_autoindex_command_log_1', '1000000 1000000 10 1'),
  ('scan_session', 'scan_session', '100000 100000 1'),
  ('scan_session', 'scan_session_by_place', '100000 100000 20 10 1'),
  ('scan_session', 'scan_session_running', '100 1'),
  ('upload', 'upload', '100000 100000 1'),
  ('upload', 'upload_waiting', '100 10 10 1'),
  ('upload', 'upload_receiving', '100 10 2'),
  ('upload', 'upload_by_content', '100000 100000 1000 1'),
  ('upload', 'upload_by_command', '50000 50000 1'),
  ('upload_chunk', 'sqlite_autoindex_upload_chunk_1', '1000000 1000000 10 1'),
  ('analysis', 'analysis', '100000 100000 5 2 1'),
  ('analysis', 'analysis_by_upload', '100000 100000 2'),
  ('asset', 'asset', '10000 10000 1'),
  ('asset', 'asset_by_value', '10000 10000 2000 1'),
  ('asset_ref', 'asset_ref', '50000 50000 1'),
  ('asset_ref', 'asset_ref_by_name', '50000 50000 100 1'),
  ('scope', 'scope', '100000 100000 10 2 1'),
  ('scope', 'scope_by_holder', '1000 1000 10 5'),
  ('finding', 'finding', '5000000 5000000 1'),
  ('finding', 'finding_by_scope', '5000000 5000000 2000 1000 500 1'),
  ('finding', 'finding_by_status', '5000000 5000000 500000 100000 1'),
  ('finding', 'finding_by_base_fingerprint', '1000000 1000000 1'),
  ('finding_detail', 'finding_detail', '5000000 5000000 1'),
  ('finding_ref', 'finding_ref', '10000000 10000000 2000 1');
analyze sqlite_schema;

-- Muster 0001: the whole first schema. The same numbers and names stand in ../sqlite.
--
-- Conventions: ids are UUIDv7; times are integer milliseconds UTC (bigint); flags are 0 or 1; text compares byte by
-- byte (collate "C"), as on SQLite; documents are text, never jsonb (it would reorder members and drop duplicates).
-- Primary keys and unique constraints begin with tenant_id, except for the small tables that every node needs before
-- it knows the tenant (installation, tenant, credential).

create table installation (
  id smallint not null primary key check (id = 1),
  master_key_check bytea not null,
  created_at bigint not null
);

create table tenant (
  id uuid not null primary key,
  name text collate "C" not null unique,
  created_at bigint not null
);

-- Key id -> tenant: the one look-up made before the tenant is known. Never updated.
create table credential (
  key_id text collate "C" not null primary key,
  tenant_id uuid not null references tenant (id),
  kind text collate "C" not null check (kind in ('runner', 'operator', 'enrolment'))
);

-- ---------------------------------------------------------------- runners and their keys

create table runner (
  tenant_id uuid not null references tenant (id),
  id uuid not null,
  name text collate "C" not null,
  admin text collate "C" not null check (admin in ('active', 'paused', 'draining', 'revoked')),
  labels text collate "C" not null,
  created_at bigint not null,
  created_by text collate "C" not null,
  enrollment_id text collate "C",
  presence text collate "C" not null check (presence in ('never', 'online', 'late', 'stopped', 'offline')),
  presence_since bigint not null,
  last_seen_at bigint,
  interval_ms bigint not null,
  version text collate "C",
  hostname text collate "C",
  region text collate "C",
  reported text collate "C",
  reported_at bigint,
  is_ci smallint not null check (is_ci in (0, 1)),
  clock_skew_ms bigint,
  installation text collate "C",
  cloned_until bigint,
  primary key (tenant_id, id)
);
create unique index runner_by_enrollment on runner (tenant_id, enrollment_id) where enrollment_id is not null;
create index runner_revoked on runner (tenant_id, id) where admin = 'revoked';

-- Runner keys, operator tokens and enrolment tokens. secret_hash is SHA-256 of the secret part.
-- labels, allowed_labels: of an enrolment token, what its runners get and may ask for. allow_from: CIDR blocks, null: anywhere.
create table api_key (
  tenant_id uuid not null references tenant (id),
  key_id text collate "C" not null,
  kind text collate "C" not null check (kind in ('runner', 'operator', 'enrolment')),
  runner_id uuid,
  name text collate "C" not null,
  role text collate "C" check (role in ('viewer', 'analyst', 'admin')),
  scopes text collate "C",
  labels text collate "C",
  allowed_labels text collate "C",
  allow_from text collate "C",
  secret_hash bytea not null,
  state text collate "C" not null check (state in ('candidate', 'superseded', 'proven', 'retired', 'revoked')),
  parent_key_id text collate "C",
  uses_left integer check (uses_left >= 0),
  created_at bigint not null,
  created_by text collate "C" not null,
  expires_at bigint,
  retires_at bigint,
  overlap_until bigint,
  first_used_at bigint,
  last_used_at bigint,
  last_used_from text collate "C",
  primary key (tenant_id, key_id)
);
create index api_key_unused on api_key (created_at) where first_used_at is null and state <> 'proven';
create index api_key_by_runner on api_key (tenant_id, runner_id) where runner_id is not null;

-- What heartbeats measured, packed: one row for a quarter hour of minutes (step_ms 60000), a day of hours, thirty days of
-- days. samples: a JSON object, member -> one entry for each step (heartbeat/metrics.rules.ts).
create table runner_metrics (
  tenant_id uuid not null references tenant (id),
  runner_id uuid not null,
  step_ms integer not null,
  starts_at bigint not null,
  samples text collate "C" not null,
  primary key (tenant_id, runner_id, step_ms, starts_at)
);
create index runner_metrics_by_age on runner_metrics (step_ms, starts_at);

-- ---------------------------------------------------------------- commands

-- Work for runners. target: labels, tools and capabilities that a runner must have (commands/eligibility.rules.ts).
-- released: how many of its attempts were given back; they don't count against max_attempts.
-- ready_at: since when it may be claimed; moved whenever it returns to pending. log_*: what of its log is kept.
create table command (
  tenant_id uuid not null references tenant (id),
  id uuid not null,
  type text collate "C" not null,
  payload text collate "C",
  priority smallint not null check (priority between 0 and 3),
  status text collate "C" not null check (status in
    ('pending', 'acknowledged', 'running', 'completed', 'failed', 'canceled', 'expired')),
  runner_id uuid,
  holder_id uuid,
  attempt integer not null,
  released integer not null,
  max_attempts integer not null,
  retry_on_fail smallint not null check (retry_on_fail in (0, 1)),
  timeout_ms bigint not null,
  lease_until bigint,
  deadline_at bigint,
  created_at bigint not null,
  created_by text collate "C" not null,
  scheduled_at bigint,
  expires_at bigint,
  acknowledged_at bigint,
  started_at bigint,
  completed_at bigint,
  cancel_requested_at bigint,
  result text collate "C",
  error_message text collate "C",
  reason text collate "C",
  target text collate "C",
  ready_at bigint not null,
  progress_percent smallint check (progress_percent between 0 and 100),
  progress_message text collate "C",
  progress_at bigint,
  log_lines integer not null,
  log_bytes integer not null,
  log_dropped bigint not null,
  primary key (tenant_id, id)
);
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
  tenant_id uuid not null,
  command_id uuid not null,
  attempt integer not null,
  runner_id uuid not null,
  acknowledged_at bigint not null,
  started_at bigint,
  ended_at bigint,
  outcome text collate "C" check (outcome in ('completed', 'failed', 'released', 'lost', 'canceled')),
  answer_digest bytea,
  log_received integer not null,
  primary key (tenant_id, command_id, attempt)
);

-- Log lines of commands as runners sent them: a JSON array of texts a row. end_line counts all kept lines of the
-- command up to and with these.
create table command_log (
  tenant_id uuid not null,
  command_id uuid not null,
  end_line integer not null,
  attempt integer not null,
  received_at bigint not null,
  lines text collate "C" not null,
  primary key (tenant_id, command_id, end_line)
);

-- A runner's own word that it scans something, for clients that keep sessions (RP §9.1). It decides nothing. place_digest:
-- SHA-256 of asset, branch and scanner, whose texts are longer than an index may hold.
create table scan_session (
  tenant_id uuid not null,
  id uuid not null,
  runner_id uuid not null,
  status text collate "C" not null check (status in ('running', 'completed', 'failed', 'canceled', 'timeout')),
  scanner_name text collate "C" not null,
  scanner_version text collate "C",
  scanner_type text collate "C",
  asset_type text collate "C" not null,
  asset_value text collate "C" not null,
  branch text collate "C",
  place_digest bytea not null,
  commit_sha text collate "C",
  base_commit_sha text collate "C",
  started_at bigint not null,
  completed_at bigint,
  answer text collate "C",
  primary key (tenant_id, id)
);
create index scan_session_by_place on scan_session (tenant_id, place_digest, status, id);
create index scan_session_ended on scan_session (completed_at) where completed_at is not null;
create index scan_session_running on scan_session (started_at) where status = 'running';

-- ---------------------------------------------------------------- uploads

create table upload (
  tenant_id uuid not null references tenant (id),
  id uuid not null,
  runner_id uuid not null,
  key_id text collate "C" not null,
  format text collate "C" not null check (format in ('auto', 'ctis', 'sarif')),
  encoding text collate "C" not null,
  wire_bytes bigint not null,
  stored_bytes bigint not null,
  decoded_bytes bigint,
  sha256 bytea,
  context text collate "C" not null,
  context_digest bytea not null,
  command_id uuid,
  state text collate "C" not null check (state in ('receiving', 'received', 'processing', 'processed', 'refused', 'failed')),
  attempt integer not null,
  progress_attempt integer not null,
  lease_until bigint,
  lease_holder text collate "C",
  not_before bigint not null,
  received_at bigint not null,
  started_at bigint,
  finished_at bigint,
  answered_at bigint,
  tool text collate "C",
  analyses integer,
  items_total integer,
  items_done integer,
  runs text collate "C",
  receipt text collate "C",
  problem text collate "C",
  fault text collate "C",
  raw_deleted_at bigint,
  rehearsal smallint not null check (rehearsal in (0, 1)),
  clean_scan smallint not null check (clean_scan in (0, 1)),
  primary key (tenant_id, id)
);
create index upload_waiting on upload (tenant_id, runner_id, received_at, id) where state in ('received', 'processing');
create index upload_receiving on upload (tenant_id, runner_id) where state = 'receiving';
create index upload_raw on upload (finished_at) where finished_at is not null and raw_deleted_at is null;
create index upload_rehearsal on upload (raw_deleted_at) where rehearsal = 1;
create index upload_by_content on upload (tenant_id, runner_id, sha256);
create index upload_by_command on upload (tenant_id, command_id) where command_id is not null;

-- The bytes as they came, sealed with AES-256-GCM; about 256 KiB each.
create table upload_chunk (
  tenant_id uuid not null,
  upload_id uuid not null,
  seq integer not null,
  sealed bytea not null,
  primary key (tenant_id, upload_id, seq)
);
-- Sealed bytes don't compress. Inside `create table`, PostgreSQL knows this from 16 on.
alter table upload_chunk alter column sealed set storage external;

-- Items that could not be used, in the order of the document; seq counts from 0. item: its own text, masked and cut.
create table upload_rejection (
  tenant_id uuid not null,
  upload_id uuid not null,
  seq integer not null,
  pointer text collate "C" not null,
  code text collate "C" not null,
  detail text collate "C" not null,
  item text collate "C",
  primary key (tenant_id, upload_id, seq)
);

-- What each committed batch counted or decided, of the report's frame, of its items and of what is absent. The receipt is the
-- sum, so a crash neither loses nor doubles a count. lease_holder: who wrote it; a batch of somebody who doesn't hold the
-- upload has none, and is refused.
create table upload_batch (
  tenant_id uuid not null,
  upload_id uuid not null,
  part text collate "C" not null check (part in ('frame', 'items', 'absence')),
  batch integer not null,
  counts text collate "C" not null,
  lease_holder text collate "C" not null,
  primary key (tenant_id, upload_id, part, batch)
);

create table idempotency (
  tenant_id uuid not null,
  runner_id uuid not null,
  idempotency_key text collate "C" not null,
  upload_id uuid not null,
  sha256 bytea not null,
  created_at bigint not null,
  primary key (tenant_id, runner_id, idempotency_key)
);

-- ---------------------------------------------------------------- assets

-- attributes_at: when the report arrived that has the newest word on the attributes.
create table asset (
  tenant_id uuid not null references tenant (id),
  id uuid not null,
  kind text collate "C" not null,
  kind_class text collate "C" not null,
  value text collate "C" not null,
  name text collate "C" not null,
  criticality text collate "C",
  is_fallback smallint not null check (is_fallback in (0, 1)),
  default_ref_id uuid,
  attributes text collate "C",
  attributes_at bigint not null,
  first_seen_at bigint not null,
  last_seen_at bigint not null,
  created_upload_id uuid not null,
  primary key (tenant_id, id)
);
create unique index asset_by_value on asset (tenant_id, kind_class, value);

-- A branch of an asset; name '' is the unnamed ref. claimed_default: a report once said so.
create table asset_ref (
  tenant_id uuid not null,
  id uuid not null,
  asset_id uuid not null,
  name text collate "C" not null,
  claimed_default smallint not null check (claimed_default in (0, 1)),
  created_at bigint not null,
  primary key (tenant_id, id)
);
create unique index asset_ref_by_name on asset_ref (tenant_id, asset_id, name);

-- One matching scope: findings are matched per asset, tool family and category. Held by one upload at a time.
create table scope (
  tenant_id uuid not null,
  asset_id uuid not null,
  tool text collate "C" not null,
  category text collate "C" not null,
  holder_upload_id uuid,
  lease_until bigint,
  primary key (tenant_id, asset_id, tool, category)
);
create index scope_by_holder on scope (tenant_id, holder_upload_id, lease_until) where holder_upload_id is not null;

-- The newest analysis of a scope on one ref; coverage: how much its newest report
-- covers; scanner: the one of the command that it was made for, if any;
-- held_digest remembers an absence that the blinding guard held back.
create table analysis (
  tenant_id uuid not null,
  ref_id uuid not null,
  tool text collate "C" not null,
  category text collate "C" not null,
  last_upload_id uuid not null,
  last_seen_at bigint not null,
  commit_sha text collate "C",
  coverage text not null check (coverage in ('full', 'partial')),
  scanner text collate "C",
  held_digest bytea,
  held_count integer not null,
  primary key (tenant_id, ref_id, tool, category)
);
create index analysis_by_upload on analysis (tenant_id, last_upload_id);

-- Dependencies (CTIS) of an asset. identity = purl, else ecosystem/name@version. depends_on: a JSON list of the
-- identities that this one depends on, as the newest report has it.
create table component (
  tenant_id uuid not null,
  asset_id uuid not null,
  identity text collate "C" not null,
  name text collate "C" not null,
  version text collate "C",
  depends_on text collate "C" not null,
  document text collate "C" not null,
  first_seen_at bigint not null,
  last_seen_at bigint not null,
  primary key (tenant_id, asset_id, identity)
);

-- What can be called on a web asset (CTIS endpoints). identity = METHOD origin/path.
create table endpoint (
  tenant_id uuid not null,
  asset_id uuid not null,
  identity text collate "C" not null,
  document text collate "C" not null,
  first_seen_at bigint not null,
  last_seen_at bigint not null,
  primary key (tenant_id, asset_id, identity)
);

create table relationship (
  tenant_id uuid not null,
  from_asset_id uuid not null,
  type text collate "C" not null,
  to_asset_id uuid not null,
  first_seen_at bigint not null,
  last_seen_at bigint not null,
  primary key (tenant_id, from_asset_id, type, to_asset_id)
);
create index relationship_by_target on relationship (tenant_id, to_asset_id, type, from_asset_id);

-- ---------------------------------------------------------------- findings

-- severity: 0 critical, 1 high, 2 medium, 3 low, 4 info. evidence: packed identity hashes, versioned
-- (ingest/evidence.format.ts). base_fingerprint: what the producer sent, for /ingest/check.
create table finding (
  tenant_id uuid not null references tenant (id),
  id uuid not null,
  asset_id uuid not null,
  tool text collate "C" not null,
  category text collate "C" not null,
  type text collate "C" not null,
  rule_id text collate "C" not null,
  title text collate "C" not null,
  severity smallint not null check (severity between 0 and 4),
  severity_override smallint check (severity_override between 0 and 4),
  status text collate "C" not null check (status in ('open', 'confirmed', 'in_progress', 'resolved', 'false_positive',
    'accepted', 'duplicate', 'suppressed')),
  resolution text collate "C" check (resolution in ('fixed', 'by_operator')),
  status_by text collate "C" not null,
  status_at bigint not null,
  accepted_until bigint,
  path text collate "C",
  start_line integer,
  evidence bytea not null,
  base_fingerprint text collate "C",
  matched_by text collate "C" not null,
  first_seen_at bigint not null,
  created_upload_id uuid not null,
  primary key (tenant_id, id)
);
create index finding_by_scope on finding (tenant_id, asset_id, tool, category, id);
create index finding_by_status on finding (tenant_id, status, severity, id);
create index finding_by_base_fingerprint on finding (tenant_id, base_fingerprint) where base_fingerprint is not null;

create table finding_detail (
  tenant_id uuid not null,
  finding_id uuid not null,
  document text collate "C" not null,
  primary key (tenant_id, finding_id)
);

-- Presence of a finding on one ref, with the first and last commit it was seen at.
create table finding_ref (
  tenant_id uuid not null,
  ref_id uuid not null,
  finding_id uuid not null,
  present smallint not null check (present in (0, 1)),
  first_seen_at bigint not null,
  first_commit text collate "C",
  last_seen_at bigint not null,
  last_commit text collate "C",
  last_upload_id uuid not null,
  primary key (tenant_id, finding_id, ref_id)
  -- Half of a page stays free for the next sighting of each row in it, which then leaves the indexes as they are (HOT).
) with (fillfactor = 50);

-- What happened to one finding after its creation: reopened, resolved, status set, severity changed.
create table finding_event (
  tenant_id uuid not null,
  finding_id uuid not null,
  id uuid not null,
  at bigint not null,
  kind text collate "C" not null,
  by_whom text collate "C" not null,
  data text collate "C" not null,
  primary key (tenant_id, finding_id, id)
);

-- The tenant's feed: one row per upload with its counts, per change by an operator; never one per finding.
create table event (
  tenant_id uuid not null,
  id uuid not null,
  at bigint not null,
  kind text collate "C" not null,
  data text collate "C" not null,
  primary key (tenant_id, id)
);

-- ---------------------------------------------------------------- row-level security

-- A session says whose rows it sees: muster.tenant is one tenant's id, or '*' for the system scope (db/postgres.ts).
-- Unset or empty sees nothing and writes nothing. The scalar sub-selects are evaluated once per statement, not per
-- row. Forced, so that it binds the tables' owner too; superusers and BYPASSRLS roles pass by it, hence the warning
-- at start. credential stays open: it is what the tenant is found by.
do $$
declare
  name text;
begin
  foreach name in array array[
    'runner', 'runner_metrics', 'api_key', 'command', 'command_attempt', 'command_log', 'scan_session', 'upload', 'upload_chunk', 'upload_batch', 'upload_rejection',
    'idempotency', 'asset', 'asset_ref', 'scope', 'analysis', 'component', 'relationship',
    'endpoint', 'finding', 'finding_detail', 'finding_ref', 'finding_event', 'event'
  ] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format($policy$
      create policy tenant_rows on %I
        using (
          (select current_setting('muster.tenant', true)) = '*'
          or tenant_id = (select nullif(nullif(current_setting('muster.tenant', true), ''), '*')::uuid)
        )
        with check (
          (select current_setting('muster.tenant', true)) = '*'
          or tenant_id = (select nullif(nullif(current_setting('muster.tenant', true), ''), '*')::uuid)
        )
    $policy$, name);
  end loop;
end
$$;

-- commands: pending for one
select * from (select "id", "priority", "runner_id", "target", "scheduled_at", "expires_at" from "command" where "tenant_id" = ? and "status" = 'pending' and "runner_id" = ? order by "priority", "id" limit ?) as "mine" union all select * from (select "id", "priority", "runner_id", "target", "scheduled_at", "expires_at" from "command" where "tenant_id" = ? and "status" = 'pending' and "runner_id" is null order by "priority", "id" limit ?) as "free" order by "priority", "id" limit ?

-- commands: pending for one, next page
select * from (select "id", "priority", "runner_id", "target", "scheduled_at", "expires_at" from "command" where "tenant_id" = ? and "status" = 'pending' and "runner_id" = ? and (priority, id) > (?, ?) order by "priority", "id" limit ?) as "mine" union all select * from (select "id", "priority", "runner_id", "target", "scheduled_at", "expires_at" from "command" where "tenant_id" = ? and "status" = 'pending' and "runner_id" is null and (priority, id) > (?, ?) order by "priority", "id" limit ?) as "free" order by "priority", "id" limit ?

-- commands: pending by ids
select * from "command" where "tenant_id" = ? and "id" in (?, ?) and "status" = 'pending' and ("expires_at" is null or "expires_at" > ?)

-- commands: ended
select "tenant_id", "id", "completed_at", "log_lines" from "command" where "completed_at" < ? and "completed_at" >= ? and ("completed_at" > ? or "id" > ?) order by "completed_at", "id" limit ?

-- commands: some lines of a log
delete from "command_log" where "tenant_id" = ? and "command_id" = ? and "end_line" < (select min("first"."end_line") + ? as "end" from "command_log" as "first" where "first"."tenant_id" = ? and "first"."command_id" = ?)

-- commands: delete
delete from "command" where "tenant_id" = ? and "id" in (select unhex(value, '-') from json_each(?)) and "completed_at" is not null and not exists (select "upload"."id" from "upload" where "upload"."tenant_id" = "command"."tenant_id" and "upload"."command_id" = "command"."id") returning "id"

-- scans: delete some
delete from "scan_session" where ("tenant_id", "id") in (select "old"."tenant_id", "old"."id" from "scan_session" as "old" where "old"."completed_at" < ? order by "old"."completed_at" limit ?)

-- scans: of a place
select * from "scan_session" where "tenant_id" = ? and "place_digest" = ? and "status" = ? and "started_at" >= ? order by "id" desc limit ?

-- keys: delete unused
select "tenant_id", "key_id" from "api_key" where "first_used_at" is null and "state" <> 'proven' and "created_at" < ? and "kind" = ? and ("parent_key_id" is not null or "created_by" like ?) and ("state" in (?, ?) or "expires_at" < ?) and not exists (select "next"."key_id" from "api_key" as "next" where "next"."tenant_id" = "api_key"."tenant_id" and "next"."runner_id" = "api_key"."runner_id" and "next"."parent_key_id" = "api_key"."key_id") order by "created_at" limit ?

-- commands: due among
select "id", "runner_id", "target" from "command" where "tenant_id" = ? and "status" = 'pending' and "id" in (select unhex(value, '-') from json_each(?)) and (("scheduled_at" is null or "scheduled_at" <= ?) and ("expires_at" is null or "expires_at" > ?))

-- commands: held by
select "holder_id", count(*) as "held" from "command" where "tenant_id" = ? and "holder_id" in (?, ?) and "status" in ('acknowledged', 'running') group by "holder_id"

-- commands: ready since
select "tenant_id", "id", "runner_id", "target", "ready_at" from "command" where "status" = 'pending' and "ready_at" <= ? and "ready_at" >= ? order by "ready_at", "id" limit ?

-- commands: ready since, next page
select "tenant_id", "id", "runner_id", "target", "ready_at" from "command" where "status" = 'pending' and "ready_at" <= ? and (ready_at, id) > (?, ?) order by "ready_at", "id" limit ?

-- commands: ready among
select "tenant_id", "id", "runner_id", "target", "ready_at" from "command" where "tenant_id" in (?) and "id" in (?) and "status" = 'pending' and ("scheduled_at" is null or "scheduled_at" <= ?)

-- commands: uploads for one
select "id", "runner_id", "state", "tool", "received_at", "finished_at", "receipt" from "upload" where "tenant_id" = ? and "command_id" = ? and "runner_id" in (?) and "rehearsal" = ? order by "id" desc limit ?

-- commands: grow a log
update "command" set "log_lines" = ?, "log_bytes" = ?, "log_dropped" = ? where "tenant_id" = ? and "id" = ? and "status" = ? and "attempt" = ? and "holder_id" = ? and "log_lines" = ? and "log_dropped" = ?

-- commands: lines of a log
select * from "command_log" where "tenant_id" = ? and "command_id" = ? and "end_line" > ? and "end_line" <= ? order by "end_line"

-- keys: of several runners
select "runner_id", "scopes", "state", "expires_at", "retires_at" from "api_key" where "tenant_id" = ? and "runner_id" in (?, ?) and "state" not in (?, ?)

-- commands: waiting for anybody
select "target", count(due) as "waiting", count(*) as "looked" from (select "target", case when (("scheduled_at" is null or "scheduled_at" <= ?) and ("expires_at" is null or "expires_at" > ?)) then 1 end as "due" from "command" where "tenant_id" = ? and "status" = 'pending' and "runner_id" is null limit ?) as "some" group by "target"

-- commands: who has something of its own
select "runner_id", count(*) as "looked" from (select "runner_id" from "command" where "tenant_id" = ? and "status" = 'pending' and "runner_id" is not null limit ?) as "some" group by "runner_id"

-- commands: how much of its own
select count(*) as "count" from (select "id" from "command" where "tenant_id" = ? and "status" = 'pending' and "runner_id" = ? and (("scheduled_at" is null or "scheduled_at" <= ?) and ("expires_at" is null or "expires_at" > ?)) limit ?) as "some"

-- commands: how many wait
select count(*) as "count" from "command" where "tenant_id" = ? and "status" = 'pending' and "runner_id" is null union all select count(*) as "count" from "command" where "tenant_id" = ? and "status" = 'pending' and "runner_id" is not null

-- commands: cancel requests
select "id", "holder_id" from "command" where "tenant_id" = ? and "status" in ('acknowledged', 'running') and "holder_id" is not null and "cancel_requested_at" is not null limit ?

-- commands: drop what was given back
delete from "command_attempt" where "tenant_id" = ? and "command_id" = ? and "runner_id" = ? and "outcome" = ? and "attempt" < ?

-- commands: guarded move
update "command" set "status" = ? where "tenant_id" = ? and "id" = ? and "status" = ? and "attempt" = ? and "cancel_requested_at" is null and "holder_id" = ?

-- commands: held leases
select "tenant_id", "id", "status", "holder_id", "attempt", "lease_until", "deadline_at" from "command" where "status" in ('acknowledged', 'running') and "lease_until" is not null order by "lease_until"

-- commands: extend leases
update "command" as "stored" set "lease_until" = case when "stored"."lease_until" > "given"."lease_until" then "stored"."lease_until" else "given"."lease_until" end from (select ? as "tenant_id", ? as "id", ? as "status", ? as "holder_id", ? as "attempt", ? as "lease_until") as "given" where "stored"."tenant_id" = "given"."tenant_id" and "stored"."id" = "given"."id" and "stored"."status" = "given"."status" and "stored"."holder_id" = "given"."holder_id" and "stored"."attempt" = "given"."attempt"

-- commands: lost leases
select * from "command" where "status" in ('acknowledged', 'running') and "lease_until" < ? order by "lease_until" limit ?

-- commands: what nobody may take
select "command"."tenant_id", "command"."id" from "runner" cross join "command" where "runner"."admin" = 'revoked' and "command"."tenant_id" = "runner"."tenant_id" and "command"."runner_id" = "runner"."id" and "command"."status" = 'pending' and "command"."runner_id" is not null limit ?

-- commands: what is outdated
select "tenant_id", "id" from "command" where "status" = 'pending' and "expires_at" <= ? order by "expires_at" limit ?

-- commands: end what waits
update "command" set "status" = ?, "reason" = ?, "completed_at" = ? where "tenant_id" = ? and "id" in (select unhex(value, '-') from json_each(?)) and "status" = 'pending'

-- keys: revoke
update "api_key" set "state" = ? where "tenant_id" = ? and ("key_id" = ? or ("parent_key_id" = ? and "created_by" = ? and "state" in (?, ?)))

-- commands: page
select * from "command" where "tenant_id" = ? and "status" = ? and "type" = ? and ("runner_id" = ? or "holder_id" = ?) and "id" < ? order by "id" desc limit ?

-- keys: find credential
select "api_key".*, "runner"."admin" as "runner_admin" from "credential" inner join "api_key" on "api_key"."tenant_id" = "credential"."tenant_id" and "api_key"."key_id" = "credential"."key_id" left join "runner" on "runner"."tenant_id" = "api_key"."tenant_id" and "runner"."id" = "api_key"."runner_id" where "credential"."key_id" = ?

-- keys: prove
update "api_key" set "state" = ?, "first_used_at" = ? where "tenant_id" = ? and "key_id" = ? and "state" in (?, ?)

-- keys: take an enrolment use
update "api_key" set "uses_left" = "uses_left" - ? where "tenant_id" = ? and "key_id" = ? and "uses_left" > ?

-- keys: page
select * from "api_key" where "tenant_id" = ? and "kind" in (?) and "runner_id" = ? and ("created_at", "key_id") < (?, ?) order by "created_at" desc, "key_id" desc limit ?

-- runners: lock
select "cloned_until" from "runner" where "tenant_id" = ? and "id" = ?

-- runners: page
select * from "runner" where "tenant_id" = ? and "admin" = ? and "presence" = ? and "name" like ? escape '!' and "id" < ? order by "id" desc limit ?

-- presence: watched
select "tenant_id", "id", "presence", "last_seen_at", "interval_ms", "is_ci" from "runner" where "presence" in (?, ?) and ("last_seen_at" + "interval_ms" < ? or "last_seen_at" > ?)

-- presence: mark silent
update "runner" set "presence" = ?, "presence_since" = ? where "tenant_id" = ? and "id" = ? and "presence" in (?, ?) and "presence" != ? and "last_seen_at" = ?

-- presence: a change of state
update "runner" set "presence" = ?, "presence_since" = ?, "last_seen_at" = case when "last_seen_at" > ? then "last_seen_at" else ? end where "tenant_id" = ? and "id" = ? and "presence" != ?

-- presence: flush
update "runner" as "stored" set "presence" = case when "stored"."last_seen_at" > "given"."last_seen_at" then "stored"."presence" else "given"."presence" end, "last_seen_at" = case when "stored"."last_seen_at" > "given"."last_seen_at" then "stored"."last_seen_at" else "given"."last_seen_at" end, "interval_ms" = case when "stored"."last_seen_at" > "given"."last_seen_at" then "stored"."interval_ms" else "given"."interval_ms" end, "is_ci" = case when "stored"."last_seen_at" > "given"."last_seen_at" then "stored"."is_ci" else "given"."is_ci" end, "version" = case when "stored"."reported_at" > "given"."reported_at" then "stored"."version" else "given"."version" end, "hostname" = case when "stored"."reported_at" > "given"."reported_at" then "stored"."hostname" else "given"."hostname" end, "region" = case when "stored"."reported_at" > "given"."reported_at" then "stored"."region" else "given"."region" end, "reported" = case when "stored"."reported_at" > "given"."reported_at" then "stored"."reported" else "given"."reported" end, "reported_at" = case when "stored"."reported_at" > "given"."reported_at" then "stored"."reported_at" else "given"."reported_at" end, "clock_skew_ms" = case when "stored"."reported_at" > "given"."reported_at" then "stored"."clock_skew_ms" else "given"."clock_skew_ms" end, "installation" = case when "stored"."reported_at" > "given"."reported_at" then "stored"."installation" else "given"."installation" end, "cloned_until" = case when "stored"."reported_at" > "given"."reported_at" then "stored"."cloned_until" else "given"."cloned_until" end from (select ? as "tenant_id", ? as "id", ? as "presence", ? as "last_seen_at", ? as "interval_ms", ? as "is_ci", ? as "version", ? as "hostname", ? as "region", ? as "reported", ? as "reported_at", ? as "clock_skew_ms", ? as "installation", ? as "cloned_until") as "given" where "stored"."tenant_id" = "given"."tenant_id" and "stored"."id" = "given"."id"
update "runner" as "stored" set "presence" = case when "stored"."last_seen_at" > "given"."last_seen_at" then "stored"."presence" else "given"."presence" end, "last_seen_at" = case when "stored"."last_seen_at" > "given"."last_seen_at" then "stored"."last_seen_at" else "given"."last_seen_at" end, "interval_ms" = case when "stored"."last_seen_at" > "given"."last_seen_at" then "stored"."interval_ms" else "given"."interval_ms" end, "is_ci" = case when "stored"."last_seen_at" > "given"."last_seen_at" then "stored"."is_ci" else "given"."is_ci" end from (select ? as "tenant_id", ? as "id", ? as "presence", ? as "last_seen_at", ? as "interval_ms", ? as "is_ci") as "given" where "stored"."tenant_id" = "given"."tenant_id" and "stored"."id" = "given"."id"

-- presence: lengthen the grace of keys
update "api_key" set "retires_at" = "overlap_until" where "tenant_id" = ? and "runner_id" in (select unhex(value, '-') from json_each(?)) and "state" = ? and "retires_at" > ? and "overlap_until" > "retires_at"

-- presence: heard last
select "id", "installation", "cloned_until", "reported_at" from "runner" where "tenant_id" = ? and "id" in (select unhex(value, '-') from json_each(?)) order by "id"

-- presence: times of a clock that was set back
update "runner" set "last_seen_at" = ?, "reported_at" = case when "reported_at" > ? then ? else "reported_at" end, "installation" = ?, "cloned_until" = ? where "tenant_id" = ? and "id" = ? and "last_seen_at" > ?

-- presence: flush of key use
select "key_id" from "api_key" where "tenant_id" = ? and "key_id" in (?)

-- uploads: who waits
select "tenant_id", "runner_id", sum(case when state = 'processing' and lease_until >= ? then 1 else 0 end) as "in_work", min(case when ((state = 'received' and not_before <= ?) or (state = 'processing' and lease_until < ?)) then received_at end) as "due_since" from "upload" where "state" in ('received', 'processing') group by "tenant_id", "runner_id"

-- uploads: claim
with "next" as (select "tenant_id", "id" from "upload" where "tenant_id" = ? and "runner_id" = ? and ((state = 'received' and not_before <= ?) or (state = 'processing' and lease_until < ?)) and "state" in ('received', 'processing') and not exists (select "parked"."id" from "upload" as "parked" where "parked"."tenant_id" = ? and "parked"."runner_id" = ? and "parked"."state" = 'received' and "parked"."state" in ('received', 'processing') and "parked"."fault" is null and "parked"."clean_scan" = ? and "parked"."not_before" > ? and "parked"."id" < "upload"."id") order by "received_at", "id" limit ?) update "upload" set "state" = ?, "attempt" = "attempt" + ?, "lease_until" = ?, "lease_holder" = ?, "started_at" = ? where (tenant_id, id) in (select tenant_id, id from next) returning *

-- metrics: lock
insert into "runner_metrics" ("tenant_id", "runner_id", "step_ms", "starts_at", "samples") values (?, ?, ?, ?, ?) on conflict ("tenant_id", "runner_id", "step_ms", "starts_at") do nothing
select * from "runner_metrics" where "tenant_id" = ? and "step_ms" = ? and "starts_at" = ? and "runner_id" in (?) order by "runner_id"

-- metrics: save
update "runner_metrics" set "samples" = ? where "tenant_id" = ? and "runner_id" = ? and "step_ms" = ? and "starts_at" = ?

-- metrics: take what is old
select * from "runner_metrics" where "step_ms" = ? and "starts_at" < ? order by "starts_at" limit ?

-- metrics: delete
delete from "runner_metrics" where "tenant_id" = ? and "step_ms" = ? and "starts_at" = ? and "runner_id" in (?)

-- metrics: read
select * from "runner_metrics" where "tenant_id" = ? and "runner_id" = ? and "step_ms" = ? and "starts_at" >= ? and "starts_at" < ?

-- uploads: extend lease
update "upload" set "lease_until" = ?, "items_done" = ? where "tenant_id" = ? and "id" = ? and "state" = ? and "lease_holder" = ? and "attempt" = ?

-- uploads: requeue
update "upload" set "state" = ?, "lease_until" = ?, "lease_holder" = ?, "not_before" = ?, "attempt" = "attempt" - ?, "fault" = ? where "tenant_id" = ? and "id" = ? and "state" = ? and "lease_holder" = ? and "attempt" = ?

-- uploads: one runner’s in turn
select "id" from "runner" where "tenant_id" = ? and "id" = ?

-- uploads: the same before
select * from "upload" where "tenant_id" = ? and "runner_id" = ? and "sha256" = ? and "context_digest" = ? and "id" != ? and "state" in (?, ?, ?, ?) and "received_at" > ? order by "id" desc limit ?

-- commands: scans of a runner
select "id", "payload" from "command" where "tenant_id" = ? and "holder_id" = ? and "status" in ('acknowledged', 'running') and "type" = ? order by "acknowledged_at" desc limit ?

-- uploads: analyses that it is the newest of
select count(*) as "analyses" from "analysis" where "tenant_id" = ? and "last_upload_id" = ?

-- uploads: ended among
select "id" from "upload" where (tenant_id, id) in (values (?, ?)) and "finished_at" is not null

-- uploads: in flight
select "runner_id", count(*) as "uploads", coalesce(sum(stored_bytes), 0) as "bytes" from "upload" where "tenant_id" = ? and "state" = 'receiving' and "finished_at" is null group by "runner_id" union all select "runner_id", count(*) as "uploads", coalesce(sum(stored_bytes), 0) as "bytes" from "upload" where "tenant_id" = ? and "state" in ('received', 'processing') group by "runner_id"

-- uploads: held by a worker
select * from "upload" where "state" in ('received', 'processing') and "state" = 'processing' and "lease_holder" = ?

-- uploads: a chunk
insert into "upload_chunk" ("tenant_id", "upload_id", "seq", "sealed") select "tenant_id", "id", ? as "seq", ? as "sealed" from "upload" where "tenant_id" = ? and "id" = ? and "state" = 'receiving' and "finished_at" is null

-- uploads: newest page
select * from "upload" where "tenant_id" = ? and not (state = 'receiving' and finished_at is not null) and "id" < ? order by "id" desc limit ?

-- retention: give up one
update "upload" set "finished_at" = ? where "tenant_id" = ? and "id" = ? and "state" = 'receiving' and "finished_at" is null

-- retention: give up the quiet
update "upload" set "finished_at" = ? where "state" = 'receiving' and "finished_at" is null and "received_at" < ?

-- retention: next given up
select "tenant_id", "id", "state" from "upload" where "state" = 'receiving' and "finished_at" is not null limit ?

-- retention: next ended dry run
select "tenant_id", "id", "state" from "upload" where "rehearsal" = 1 and "raw_deleted_at" is null and "state" in (?, ?, ?) limit ?

-- retention: next stale
select "tenant_id", "id", "state" from "upload" where "finished_at" < ? and "finished_at" is not null and "raw_deleted_at" is null and "state" in (?, ?, ?) order by "finished_at" limit ?

-- retention: unwanted now
select "tenant_id", "id", "state" from "upload" where "tenant_id" = ? and "id" = ? and "finished_at" is not null and "raw_deleted_at" is null and ("state" = 'receiving' or "rehearsal" = 1) limit ?

-- retention: some chunks
delete from "upload_chunk" where "tenant_id" = ? and "upload_id" = ? and "seq" < (select min("first"."seq") + ? as "end" from "upload_chunk" as "first" where "first"."tenant_id" = ? and "first"."upload_id" = ?)

-- retention: some rejections
delete from "upload_rejection" where "tenant_id" = ? and "upload_id" = ? and "seq" < (select min("first"."seq") + ? as "end" from "upload_rejection" as "first" where "first"."tenant_id" = ? and "first"."upload_id" = ?)

-- retention: some dry runs
with "old" as (select "tenant_id", "id" from "upload" where "rehearsal" = 1 and "raw_deleted_at" < ? limit ?) delete from "upload" where (tenant_id, id) in (select tenant_id, id from old)

-- uploads: rejections
select * from "upload_rejection" where "tenant_id" = ? and "upload_id" = ? and "seq" > ? order by "seq" limit ?

-- scopes: take
insert into "scope" ("tenant_id", "asset_id", "tool", "category", "holder_upload_id", "lease_until") values (?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?) on conflict ("tenant_id", "asset_id", "tool", "category") do update set "holder_upload_id" = ?, "lease_until" = ? where ("scope"."holder_upload_id" is null or "scope"."holder_upload_id" = ? or "scope"."lease_until" < ?)

-- scopes: extend
update "scope" set "lease_until" = ? where "tenant_id" = ? and ("asset_id", "tool", "category") in (select "asset_id", "tool", "category" from "scope" where "tenant_id" = ? and "holder_upload_id" = ? and "lease_until" < ? order by "asset_id", "tool", "category")

-- scopes: push aside
update "upload" set "lease_holder" = ?, "lease_until" = ? where "tenant_id" = ? and "state" = ? and "id" in (select "scope"."holder_upload_id" as "id" from "scope" where "scope"."tenant_id" = ? and "scope"."asset_id" in (select unhex(value, '-') from json_each(?)) and "scope"."tool" in (?) and "scope"."category" in (?) and "scope"."holder_upload_id" != ? and "scope"."lease_until" < ?)

-- scopes: held by others
select "asset_id", "tool", "category" from "scope" where "tenant_id" = ? and "asset_id" in (?, ?) and "holder_upload_id" is not null and "holder_upload_id" != ? and "lease_until" >= ?

-- scopes: free
update "scope" set "holder_upload_id" = ?, "lease_until" = ? where "tenant_id" = ? and ("asset_id", "tool", "category") in (select "asset_id", "tool", "category" from "scope" where "tenant_id" = ? and "holder_upload_id" = ? order by "asset_id", "tool", "category")

-- uploads: a batch and its guard
insert into "upload_batch" ("tenant_id", "upload_id", "part", "batch", "counts", "lease_holder") values (?, ?, ?, ?, ?, (select "upload"."lease_holder" as "lease_holder" from "upload" where "upload"."tenant_id" = ? and "upload"."id" = ? and "upload"."state" = ? and "upload"."lease_holder" = ? and "upload"."attempt" = ?))

-- analyses: of places
select "ref_id", "tool", "category", "last_upload_id" from "analysis" where "tenant_id" = ? and "ref_id" in (?) and "tool" in (?) and "category" in (?)

-- analyses: on a ref
select "tool", "category", "coverage", "scanner" from "analysis" where "tenant_id" = ? and "ref_id" = ?

-- uploads: an earlier one that waits
select "id" from "upload" where "tenant_id" = ? and "runner_id" = ? and "state" in ('received', 'processing') and "id" < ? limit ?

-- uploads: a report of a command
select "id" from "upload" where "tenant_id" = ? and "command_id" = ? and "runner_id" = ? and "id" != ? and "rehearsal" = ? and "state" != ? and ("state" != ? or "items_total" > ?) limit ?

-- analyses: save
insert into "analysis" ("tenant_id", "ref_id", "tool", "category", "last_upload_id", "last_seen_at", "commit_sha", "coverage", "scanner", "held_digest", "held_count") values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict ("tenant_id", "ref_id", "tool", "category") do update set "last_upload_id" = excluded."last_upload_id", "last_seen_at" = excluded."last_seen_at", "commit_sha" = excluded."commit_sha", "coverage" = excluded."coverage", "scanner" = excluded."scanner", "held_digest" = excluded."held_digest", "held_count" = excluded."held_count"

-- ingest: findings of a scope
select "id", "asset_id", "evidence", "status", "resolution", "status_by", "severity", "start_line", "created_upload_id" from "finding" where "tenant_id" = ? and "tool" = ? and "category" = ? and "asset_id" = ? and "id" > ? order by "id" limit ?

-- ingest: findings of several scopes
select "id", "asset_id", "evidence", "status", "resolution", "status_by", "severity", "start_line", "created_upload_id" from "finding" where "tenant_id" = ? and "tool" = ? and "category" = ? and "asset_id" in (select unhex(value, '-') from json_each(?)) limit ?

-- ingest: what may have moved
select "id", "type", "rule_id", "path", "start_line", "evidence" from "finding" where "tenant_id" = ? and "id" in (select unhex(value, '-') from json_each(?))

-- ingest: seen again on a ref
update "finding_ref" set "last_seen_at" = ?, "last_commit" = ?, "last_upload_id" = ?, "present" = ? where "tenant_id" = ? and "ref_id" = ? and "finding_id" in (select unhex(value, '-') from json_each(?))

-- ingest: seen again on several refs
update "finding_ref" set "last_seen_at" = ?, "last_commit" = ?, "last_upload_id" = ?, "present" = ? where "tenant_id" = ? and "ref_id" = ? and "finding_id" = ?

-- ingest: seen on a ref
insert into "finding_ref" ("tenant_id", "ref_id", "finding_id", "present", "first_seen_at", "first_commit", "last_seen_at", "last_commit", "last_upload_id") values (?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict ("tenant_id", "finding_id", "ref_id") do update set "present" = excluded."present", "last_seen_at" = excluded."last_seen_at", "last_commit" = excluded."last_commit", "last_upload_id" = excluded."last_upload_id"

-- ingest: sightings on the refs of one destination
select "finding_id", "ref_id", "present", "last_upload_id" from "finding_ref" where "tenant_id" = ? and "finding_id" in (select unhex(value, '-') from json_each(?)) and "ref_id" in (select unhex(value, '-') from json_each(?))

-- ingest: sightings on the refs of several destinations
select "finding_id", "ref_id", "present", "last_upload_id" from "finding_ref" where "tenant_id" = ? and "finding_id" in (select unhex(value, '-') from json_each(?)) and ("ref_id" in (select unhex(value, '-') from json_each(?))) is true

-- ingest: gone from a ref
update "finding_ref" set "present" = ? where "tenant_id" = ? and "ref_id" = ? and "finding_id" = ?

-- ingest: lock what is active
select "id", "status" from "finding" where "tenant_id" = ? and "id" in (?, ?) and "status" in (?, ?, ?) order by "id"

-- ingest: resolve as fixed
update "finding" set "status" = ?, "resolution" = ?, "status_by" = ?, "status_at" = ? where "tenant_id" = ? and "id" in (?)

-- findings: page
select "finding".*, "asset"."name" as "asset_name", "upload"."state" as "upload_state", (select max(finding_ref.last_seen_at) as "last" from "finding_ref" where "finding_ref"."tenant_id" = "finding"."tenant_id" and "finding_ref"."finding_id" = "finding"."id") as "last_seen_at" from "finding" left join "asset" on "asset"."tenant_id" = "finding"."tenant_id" and "asset"."id" = "finding"."asset_id" left join "upload" on "upload"."tenant_id" = "finding"."tenant_id" and "upload"."id" = "finding"."created_upload_id" where "finding"."tenant_id" = ? and "finding"."status" = ? and "finding"."severity" = ? and "finding"."asset_id" = ? and "finding"."tool" = ? and "finding"."rule_id" = ? and "finding"."path" >= ? and "finding"."path" < ? and "finding"."severity" = ? and "finding"."id" < ? order by "finding"."severity", "finding"."id" desc limit ?
select "finding".*, "asset"."name" as "asset_name", "upload"."state" as "upload_state", (select max(finding_ref.last_seen_at) as "last" from "finding_ref" where "finding_ref"."tenant_id" = "finding"."tenant_id" and "finding_ref"."finding_id" = "finding"."id") as "last_seen_at" from "finding" left join "asset" on "asset"."tenant_id" = "finding"."tenant_id" and "asset"."id" = "finding"."asset_id" left join "upload" on "upload"."tenant_id" = "finding"."tenant_id" and "upload"."id" = "finding"."created_upload_id" where "finding"."tenant_id" = ? and "finding"."status" = ? and "finding"."severity" = ? and "finding"."asset_id" = ? and "finding"."tool" = ? and "finding"."rule_id" = ? and "finding"."path" >= ? and "finding"."path" < ? and "finding"."severity" > ? order by "finding"."severity", "finding"."id" desc limit ?

-- findings: first page of all
select "finding".*, "asset"."name" as "asset_name", "upload"."state" as "upload_state", (select max(finding_ref.last_seen_at) as "last" from "finding_ref" where "finding_ref"."tenant_id" = "finding"."tenant_id" and "finding_ref"."finding_id" = "finding"."id") as "last_seen_at" from "finding" left join "asset" on "asset"."tenant_id" = "finding"."tenant_id" and "asset"."id" = "finding"."asset_id" left join "upload" on "upload"."tenant_id" = "finding"."tenant_id" and "upload"."id" = "finding"."created_upload_id" where "finding"."tenant_id" = ? order by "finding"."severity", "finding"."id" desc limit ?

-- findings: what is open on default branches
select "finding".*, "asset"."name" as "asset_name", "upload"."state" as "upload_state", (select max(finding_ref.last_seen_at) as "last" from "finding_ref" where "finding_ref"."tenant_id" = "finding"."tenant_id" and "finding_ref"."finding_id" = "finding"."id") as "last_seen_at" from "finding" left join "asset" on "asset"."tenant_id" = "finding"."tenant_id" and "asset"."id" = "finding"."asset_id" left join "upload" on "upload"."tenant_id" = "finding"."tenant_id" and "upload"."id" = "finding"."created_upload_id" where "finding"."tenant_id" = ? and "finding"."status" = ? and (select ("finding_ref"."present" = ? or "finding"."status" = ?) as "is_on" from "finding_ref" inner join "asset" on "asset"."default_ref_id" = "finding_ref"."ref_id" where "finding_ref"."tenant_id" = ? and "finding_ref"."finding_id" = "finding"."id" and "asset"."tenant_id" = ? and "asset"."id" = "finding"."asset_id") order by "finding"."severity", "finding"."id" desc limit ?

-- findings: what is open on default branches, next page
select "finding".*, "asset"."name" as "asset_name", "upload"."state" as "upload_state", (select max(finding_ref.last_seen_at) as "last" from "finding_ref" where "finding_ref"."tenant_id" = "finding"."tenant_id" and "finding_ref"."finding_id" = "finding"."id") as "last_seen_at" from "finding" left join "asset" on "asset"."tenant_id" = "finding"."tenant_id" and "asset"."id" = "finding"."asset_id" left join "upload" on "upload"."tenant_id" = "finding"."tenant_id" and "upload"."id" = "finding"."created_upload_id" where "finding"."tenant_id" = ? and "finding"."status" = ? and (select ("finding_ref"."present" = ? or "finding"."status" = ?) as "is_on" from "finding_ref" inner join "asset" on "asset"."default_ref_id" = "finding_ref"."ref_id" where "finding_ref"."tenant_id" = ? and "finding_ref"."finding_id" = "finding"."id" and "asset"."tenant_id" = ? and "asset"."id" = "finding"."asset_id") and "finding"."severity" = ? and "finding"."id" < ? order by "finding"."severity", "finding"."id" desc limit ?
select "finding".*, "asset"."name" as "asset_name", "upload"."state" as "upload_state", (select max(finding_ref.last_seen_at) as "last" from "finding_ref" where "finding_ref"."tenant_id" = "finding"."tenant_id" and "finding_ref"."finding_id" = "finding"."id") as "last_seen_at" from "finding" left join "asset" on "asset"."tenant_id" = "finding"."tenant_id" and "asset"."id" = "finding"."asset_id" left join "upload" on "upload"."tenant_id" = "finding"."tenant_id" and "upload"."id" = "finding"."created_upload_id" where "finding"."tenant_id" = ? and "finding"."status" = ? and (select ("finding_ref"."present" = ? or "finding"."status" = ?) as "is_on" from "finding_ref" inner join "asset" on "asset"."default_ref_id" = "finding_ref"."ref_id" where "finding_ref"."tenant_id" = ? and "finding_ref"."finding_id" = "finding"."id" and "asset"."tenant_id" = ? and "asset"."id" = "finding"."asset_id") and "finding"."severity" > ? order by "finding"."severity", "finding"."id" desc limit ?

-- findings: what is open on a branch of many assets
select "finding".*, "asset"."name" as "asset_name", "upload"."state" as "upload_state", (select max(finding_ref.last_seen_at) as "last" from "finding_ref" where "finding_ref"."tenant_id" = "finding"."tenant_id" and "finding_ref"."finding_id" = "finding"."id") as "last_seen_at" from "finding" left join "asset" on "asset"."tenant_id" = "finding"."tenant_id" and "asset"."id" = "finding"."asset_id" left join "upload" on "upload"."tenant_id" = "finding"."tenant_id" and "upload"."id" = "finding"."created_upload_id" where "finding"."tenant_id" = ? and "finding"."status" = ? and (select "finding_ref"."present" = ? as "is_on" from "finding_ref" inner join "asset_ref" on "asset_ref"."id" = "finding_ref"."ref_id" where "finding_ref"."tenant_id" = ? and "finding_ref"."finding_id" = "finding"."id" and "asset_ref"."tenant_id" = ? and "asset_ref"."asset_id" = "finding"."asset_id" and "asset_ref"."name" = ?) order by "finding"."severity", "finding"."id" desc limit ?

-- findings: what is active on a branch of some assets
select "finding".*, "asset"."name" as "asset_name", "upload"."state" as "upload_state", (select max(finding_ref.last_seen_at) as "last" from "finding_ref" where "finding_ref"."tenant_id" = "finding"."tenant_id" and "finding_ref"."finding_id" = "finding"."id") as "last_seen_at" from "finding" left join "asset" on "asset"."tenant_id" = "finding"."tenant_id" and "asset"."id" = "finding"."asset_id" left join "upload" on "upload"."tenant_id" = "finding"."tenant_id" and "upload"."id" = "finding"."created_upload_id" where "finding"."tenant_id" = ? and ("finding"."status" = ? or "finding"."status" = ? or ("finding"."status" = ? and "finding"."resolution" = ?)) and "finding"."asset_id" in (select unhex(value, '-') from json_each(?)) and (select "finding_ref"."present" = ? as "is_on" from "finding_ref" inner join "asset_ref" on "asset_ref"."id" = "finding_ref"."ref_id" where "finding_ref"."tenant_id" = ? and "finding_ref"."finding_id" = "finding"."id" and "asset_ref"."tenant_id" = ? and "asset_ref"."asset_id" = "finding"."asset_id" and "asset_ref"."name" = ?) order by "finding"."severity", "finding"."id" desc limit ?

-- findings: assets with a branch
select "asset_id" from "asset_ref" where "tenant_id" = ? and "name" = ? limit ?

-- findings: refs of one
select "finding_ref".*, "asset_ref"."name", "asset_ref"."id" as "id", "asset"."default_ref_id" from "asset_ref" inner join "finding_ref" on "finding_ref"."tenant_id" = "asset_ref"."tenant_id" and "finding_ref"."ref_id" = "asset_ref"."id" inner join "asset" on "asset"."tenant_id" = "asset_ref"."tenant_id" and "asset"."id" = "asset_ref"."asset_id" where "asset_ref"."tenant_id" = ? and "asset_ref"."asset_id" = ? and "finding_ref"."finding_id" = ? order by "asset_ref"."id"

-- findings: set status
update "finding" set "status" = ?, "resolution" = ?, "status_by" = ?, "status_at" = ?, "accepted_until" = ? where "tenant_id" = ? and "id" = ? and "status" = ?

-- assets: page
select "asset".*, "asset_ref"."name" as "default_ref_name", (select count(*) as "open" from "finding" where "finding"."tenant_id" = "asset"."tenant_id" and "finding"."asset_id" = "asset"."id" and "finding"."status" in (?, ?, ?)) as "open_findings" from "asset" left join "asset_ref" on "asset_ref"."tenant_id" = "asset"."tenant_id" and "asset_ref"."id" = "asset"."default_ref_id" where "asset"."tenant_id" = ? and "asset"."kind" = ? and ("asset"."value" like ? escape '!' or "asset"."name" like ? escape '!') and "asset"."id" < ? order by "asset"."id" desc limit ?

-- assets: components
select * from "component" where "tenant_id" = ? and "asset_id" = ? and "identity" > ? order by "identity" limit ?

-- assets: endpoints
select * from "endpoint" where "tenant_id" = ? and "asset_id" = ? and "identity" > ? order by "identity" limit ?

-- assets: relationships out
select "relationship".*, "from_asset"."name" as "from_name", "to_asset"."name" as "to_name" from "relationship" inner join "asset" as "from_asset" on "from_asset"."tenant_id" = "relationship"."tenant_id" and "from_asset"."id" = "relationship"."from_asset_id" inner join "asset" as "to_asset" on "to_asset"."tenant_id" = "relationship"."tenant_id" and "to_asset"."id" = "relationship"."to_asset_id" where "relationship"."tenant_id" = ? and "relationship"."from_asset_id" = ? and (relationship.type, "relationship"."to_asset_id") > (?, ?) order by "relationship"."type", "relationship"."to_asset_id" limit ?

-- assets: relationships in
select "relationship".*, "from_asset"."name" as "from_name", "to_asset"."name" as "to_name" from "relationship" inner join "asset" as "from_asset" on "from_asset"."tenant_id" = "relationship"."tenant_id" and "from_asset"."id" = "relationship"."from_asset_id" inner join "asset" as "to_asset" on "to_asset"."tenant_id" = "relationship"."tenant_id" and "to_asset"."id" = "relationship"."to_asset_id" where "relationship"."tenant_id" = ? and "relationship"."to_asset_id" = ? and (relationship.type, "relationship"."from_asset_id") > (?, ?) order by "relationship"."type", "relationship"."from_asset_id" limit ?

-- assets: lock
select * from "asset" where "tenant_id" = ? and "id" in (?, ?) order by "id"

-- assets: lock default refs
select "id", "default_ref_id" from "asset" where "tenant_id" = ? and "id" in (?, ?) order by "id"

-- assets: refs by name
select "id", "asset_id", "name" from "asset_ref" where "tenant_id" = ? and "asset_id" in (?, ?) and "name" in (?, ?)

-- assets: save endpoints
insert into "endpoint" ("tenant_id", "asset_id", "identity", "document", "first_seen_at", "last_seen_at") values (?, ?, ?, ?, ?, ?) on conflict ("tenant_id", "asset_id", "identity") do nothing
update "endpoint" as "stored" set "document" = case when "stored"."last_seen_at" > "given"."last_seen_at" then "stored"."document" else "given"."document" end, "last_seen_at" = case when "stored"."last_seen_at" > "given"."last_seen_at" then "stored"."last_seen_at" else "given"."last_seen_at" end from (select ? as "tenant_id", ? as "asset_id", ? as "identity", ? as "document", ? as "last_seen_at") as "given" where "stored"."tenant_id" = "given"."tenant_id" and "stored"."asset_id" = "given"."asset_id" and "stored"."identity" = "given"."identity"

-- assets: edges of components
select "identity", "name", "version", "depends_on", "document" from "component" where "tenant_id" = ? and "asset_id" = ? and "identity" in (?, ?)

-- assets: count components
select count(*) as "stored" from "component" where "tenant_id" = ? and "asset_id" = ? and "identity" in (?, ?)

-- assets: by value
select "id", "kind_class", "value" from "asset" where "tenant_id" = ? and "kind_class" in (?) and "value" in (?, ?)

-- assets: count relationships
select count(*) as "stored" from "relationship" where "tenant_id" = ? and ("from_asset_id", "type", "to_asset_id") in ((?, ?, ?), (?, ?, ?))

-- assets: count endpoints
select count(*) as "stored" from "endpoint" where "tenant_id" = ? and ("asset_id", "identity") in ((?, ?), (?, ?))

-- assets: save facts
update "asset" set "attributes" = ?, "attributes_at" = ?, "criticality" = ? where "tenant_id" = ? and "id" = ?

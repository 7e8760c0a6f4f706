-- commands: pending for one
select * from (select "id", "priority", "runner_id", "target", "scheduled_at", "expires_at" from "command" where "tenant_id" = $1 and "status" = 'pending' and "runner_id" = $2 order by "priority", "id" limit $3) as "mine" union all select * from (select "id", "priority", "runner_id", "target", "scheduled_at", "expires_at" from "command" where "tenant_id" = $4 and "status" = 'pending' and "runner_id" is null order by "priority", "id" limit $5) as "free" order by "priority", "id" limit $6

-- commands: pending for one, next page
select * from (select "id", "priority", "runner_id", "target", "scheduled_at", "expires_at" from "command" where "tenant_id" = $1 and "status" = 'pending' and "runner_id" = $2 and (priority, id) > ($3, $4::uuid) order by "priority", "id" limit $5) as "mine" union all select * from (select "id", "priority", "runner_id", "target", "scheduled_at", "expires_at" from "command" where "tenant_id" = $6 and "status" = 'pending' and "runner_id" is null and (priority, id) > ($7, $8::uuid) order by "priority", "id" limit $9) as "free" order by "priority", "id" limit $10

-- commands: pending by ids
select * from "command" where "tenant_id" = $1 and "id" in ($2, $3) and "status" = 'pending' and ("expires_at" is null or "expires_at" > $4)

-- commands: ended
select "tenant_id", "id", "completed_at", "log_lines" from "command" where "completed_at" < $1 and "completed_at" >= $2 and ("completed_at" > $3 or "id" > $4) order by "completed_at", "id" limit $5

-- commands: some lines of a log
delete from "command_log" where "tenant_id" = $1 and "command_id" = $2 and "end_line" < (select min("first"."end_line") + $3 as "end" from "command_log" as "first" where "first"."tenant_id" = $4 and "first"."command_id" = $5)

-- commands: delete
delete from "command" where "tenant_id" = $1 and "id" = any($2::uuid[]) and "completed_at" is not null and not exists (select "upload"."id" from "upload" where "upload"."tenant_id" = "command"."tenant_id" and "upload"."command_id" = "command"."id") returning "id"

-- scans: delete some
delete from "scan_session" where ("tenant_id", "id") in (select "old"."tenant_id", "old"."id" from "scan_session" as "old" where "old"."completed_at" < $1 order by "old"."completed_at" limit $2)

-- scans: of a place
select * from "scan_session" where "tenant_id" = $1 and "place_digest" = $2 and "status" = $3 and "started_at" >= $4 order by "id" desc limit $5

-- keys: delete unused
select "tenant_id", "key_id" from "api_key" where "first_used_at" is null and "state" <> 'proven' and "created_at" < $1 and "kind" = $2 and ("parent_key_id" is not null or "created_by" like $3) and ("state" in ($4, $5) or "expires_at" < $6) and not exists (select "next"."key_id" from "api_key" as "next" where "next"."tenant_id" = "api_key"."tenant_id" and "next"."runner_id" = "api_key"."runner_id" and "next"."parent_key_id" = "api_key"."key_id") order by "created_at" limit $7 for update skip locked

-- commands: due among
select "id", "runner_id", "target" from "command" where "tenant_id" = $1 and "status" = 'pending' and "id" = any($2::uuid[]) and (("scheduled_at" is null or "scheduled_at" <= $3) and ("expires_at" is null or "expires_at" > $4))

-- commands: held by
select "holder_id", count(*) as "held" from "command" where "tenant_id" = $1 and "holder_id" in ($2, $3) and "status" in ('acknowledged', 'running') group by "holder_id"

-- commands: ready since
select "tenant_id", "id", "runner_id", "target", "ready_at" from "command" where "status" = 'pending' and "ready_at" <= $1 and "ready_at" >= $2 order by "ready_at", "id" limit $3

-- commands: ready since, next page
select "tenant_id", "id", "runner_id", "target", "ready_at" from "command" where "status" = 'pending' and "ready_at" <= $1 and (ready_at, id) > ($2, $3::uuid) order by "ready_at", "id" limit $4

-- commands: ready among
select "tenant_id", "id", "runner_id", "target", "ready_at" from "command" where "tenant_id" in ($1) and "id" in ($2) and "status" = 'pending' and ("scheduled_at" is null or "scheduled_at" <= $3)

-- commands: uploads for one
select "id", "runner_id", "state", "tool", "received_at", "finished_at", "receipt" from "upload" where "tenant_id" = $1 and "command_id" = $2 and "runner_id" in ($3) and "rehearsal" = $4 order by "id" desc limit $5

-- commands: grow a log
update "command" set "log_lines" = $1, "log_bytes" = $2, "log_dropped" = $3 where "tenant_id" = $4 and "id" = $5 and "status" = $6 and "attempt" = $7 and "holder_id" = $8 and "log_lines" = $9 and "log_dropped" = $10

-- commands: lines of a log
select * from "command_log" where "tenant_id" = $1 and "command_id" = $2 and "end_line" > $3 and "end_line" <= $4 order by "end_line"

-- keys: of several runners
select "runner_id", "scopes", "state", "expires_at", "retires_at" from "api_key" where "tenant_id" = $1 and "runner_id" in ($2, $3) and "state" not in ($4, $5)

-- commands: waiting for anybody
select "target", count(due) as "waiting", count(*) as "looked" from (select "target", case when (("scheduled_at" is null or "scheduled_at" <= $1) and ("expires_at" is null or "expires_at" > $2)) then 1 end as "due" from "command" where "tenant_id" = $3 and "status" = 'pending' and "runner_id" is null limit $4) as "some" group by "target"

-- commands: who has something of its own
select "runner_id", count(*) as "looked" from (select "runner_id" from "command" where "tenant_id" = $1 and "status" = 'pending' and "runner_id" is not null limit $2) as "some" group by "runner_id"

-- commands: how much of its own
select count(*) as "count" from (select "id" from "command" where "tenant_id" = $1 and "status" = 'pending' and "runner_id" = $2 and (("scheduled_at" is null or "scheduled_at" <= $3) and ("expires_at" is null or "expires_at" > $4)) limit $5) as "some"

-- commands: how many wait
select count(*) as "count" from "command" where "tenant_id" = $1 and "status" = 'pending' and "runner_id" is null union all select count(*) as "count" from "command" where "tenant_id" = $2 and "status" = 'pending' and "runner_id" is not null

-- commands: cancel requests
select "id", "holder_id" from "command" where "tenant_id" = $1 and "status" in ('acknowledged', 'running') and "holder_id" is not null and "cancel_requested_at" is not null limit $2

-- commands: drop what was given back
delete from "command_attempt" where "tenant_id" = $1 and "command_id" = $2 and "runner_id" = $3 and "outcome" = $4 and "attempt" < $5

-- commands: guarded move
update "command" set "status" = $1 where "tenant_id" = $2 and "id" = $3 and "status" = $4 and "attempt" = $5 and "cancel_requested_at" is null and "holder_id" = $6

-- commands: held leases
select "tenant_id", "id", "status", "holder_id", "attempt", "lease_until", "deadline_at" from "command" where "status" in ('acknowledged', 'running') and "lease_until" is not null order by "lease_until"

-- commands: extend leases
update "command" as "stored" set "lease_until" = case when "stored"."lease_until" > "given"."lease_until" then "stored"."lease_until" else "given"."lease_until" end from json_populate_recordset(null::"command", $1::json) as "given" where "stored"."tenant_id" = "given"."tenant_id" and "stored"."id" = "given"."id" and "stored"."status" = "given"."status" and "stored"."holder_id" = "given"."holder_id" and "stored"."attempt" = "given"."attempt"

-- commands: lost leases
select * from "command" where "status" in ('acknowledged', 'running') and "lease_until" < $1 order by "lease_until" limit $2 for update skip locked

-- commands: what nobody may take
select "command"."tenant_id", "command"."id" from "runner" cross join "command" where "runner"."admin" = 'revoked' and "command"."tenant_id" = "runner"."tenant_id" and "command"."runner_id" = "runner"."id" and "command"."status" = 'pending' and "command"."runner_id" is not null limit $1

-- commands: what is outdated
select "tenant_id", "id" from "command" where "status" = 'pending' and "expires_at" <= $1 order by "expires_at" limit $2

-- commands: end what waits
update "command" set "status" = $1, "reason" = $2, "completed_at" = $3 where "tenant_id" = $4 and "id" = any($5::uuid[]) and "status" = 'pending'

-- keys: revoke
update "api_key" set "state" = $1 where "tenant_id" = $2 and ("key_id" = $3 or ("parent_key_id" = $4 and "created_by" = $5 and "state" in ($6, $7)))

-- commands: page
select * from "command" where "tenant_id" = $1 and "status" = $2 and "type" = $3 and ("runner_id" = $4 or "holder_id" = $5) and "id" < $6 order by "id" desc limit $7

-- keys: find credential
select "api_key".*, "runner"."admin" as "runner_admin" from "credential" inner join "api_key" on "api_key"."tenant_id" = "credential"."tenant_id" and "api_key"."key_id" = "credential"."key_id" left join "runner" on "runner"."tenant_id" = "api_key"."tenant_id" and "runner"."id" = "api_key"."runner_id" where "credential"."key_id" = $1

-- keys: prove
update "api_key" set "state" = $1, "first_used_at" = $2 where "tenant_id" = $3 and "key_id" = $4 and "state" in ($5, $6)

-- keys: take an enrolment use
update "api_key" set "uses_left" = "uses_left" - $1 where "tenant_id" = $2 and "key_id" = $3 and "uses_left" > $4

-- keys: page
select * from "api_key" where "tenant_id" = $1 and "kind" in ($2) and "runner_id" = $3 and ("created_at", "key_id") < ($4, $5) order by "created_at" desc, "key_id" desc limit $6

-- runners: lock
select "cloned_until" from "runner" where "tenant_id" = $1 and "id" = $2 for update

-- runners: page
select * from "runner" where "tenant_id" = $1 and "admin" = $2 and "presence" = $3 and lower("name" collate "C") like $4 escape '!' and "id" < $5 order by "id" desc limit $6

-- presence: watched
select "tenant_id", "id", "presence", "last_seen_at", "interval_ms", "is_ci" from "runner" where "presence" in ($1, $2) and ("last_seen_at" + "interval_ms" < $3 or "last_seen_at" > $4)

-- presence: mark silent
update "runner" set "presence" = $1, "presence_since" = $2 where "tenant_id" = $3 and "id" = $4 and "presence" in ($5, $6) and "presence" != $7 and "last_seen_at" = $8

-- presence: a change of state
update "runner" set "presence" = $1, "presence_since" = $2, "last_seen_at" = case when "last_seen_at" > $3 then "last_seen_at" else $4 end where "tenant_id" = $5 and "id" = $6 and "presence" != $7

-- presence: flush
update "runner" as "stored" set "presence" = case when "stored"."last_seen_at" > "given"."last_seen_at" then "stored"."presence" else "given"."presence" end, "last_seen_at" = case when "stored"."last_seen_at" > "given"."last_seen_at" then "stored"."last_seen_at" else "given"."last_seen_at" end, "interval_ms" = case when "stored"."last_seen_at" > "given"."last_seen_at" then "stored"."interval_ms" else "given"."interval_ms" end, "is_ci" = case when "stored"."last_seen_at" > "given"."last_seen_at" then "stored"."is_ci" else "given"."is_ci" end, "version" = case when "stored"."reported_at" > "given"."reported_at" then "stored"."version" else "given"."version" end, "hostname" = case when "stored"."reported_at" > "given"."reported_at" then "stored"."hostname" else "given"."hostname" end, "region" = case when "stored"."reported_at" > "given"."reported_at" then "stored"."region" else "given"."region" end, "reported" = case when "stored"."reported_at" > "given"."reported_at" then "stored"."reported" else "given"."reported" end, "reported_at" = case when "stored"."reported_at" > "given"."reported_at" then "stored"."reported_at" else "given"."reported_at" end, "clock_skew_ms" = case when "stored"."reported_at" > "given"."reported_at" then "stored"."clock_skew_ms" else "given"."clock_skew_ms" end, "installation" = case when "stored"."reported_at" > "given"."reported_at" then "stored"."installation" else "given"."installation" end, "cloned_until" = case when "stored"."reported_at" > "given"."reported_at" then "stored"."cloned_until" else "given"."cloned_until" end from json_populate_recordset(null::"runner", $1::json) as "given" where "stored"."tenant_id" = "given"."tenant_id" and "stored"."id" = "given"."id"
update "runner" as "stored" set "presence" = case when "stored"."last_seen_at" > "given"."last_seen_at" then "stored"."presence" else "given"."presence" end, "last_seen_at" = case when "stored"."last_seen_at" > "given"."last_seen_at" then "stored"."last_seen_at" else "given"."last_seen_at" end, "interval_ms" = case when "stored"."last_seen_at" > "given"."last_seen_at" then "stored"."interval_ms" else "given"."interval_ms" end, "is_ci" = case when "stored"."last_seen_at" > "given"."last_seen_at" then "stored"."is_ci" else "given"."is_ci" end from json_populate_recordset(null::"runner", $1::json) as "given" where "stored"."tenant_id" = "given"."tenant_id" and "stored"."id" = "given"."id"

-- presence: lengthen the grace of keys
update "api_key" set "retires_at" = "overlap_until" where "tenant_id" = $1 and "runner_id" = any($2::uuid[]) and "state" = $3 and "retires_at" > $4 and "overlap_until" > "retires_at"

-- presence: heard last
select "id", "installation", "cloned_until", "reported_at" from "runner" where "tenant_id" = $1 and "id" = any($2::uuid[]) order by "id" for update

-- presence: times of a clock that was set back
update "runner" set "last_seen_at" = $1, "reported_at" = case when "reported_at" > $2 then $3 else "reported_at" end, "installation" = $4, "cloned_until" = $5 where "tenant_id" = $6 and "id" = $7 and "last_seen_at" > $8

-- presence: flush of key use
select "key_id" from "api_key" where "tenant_id" = $1 and "key_id" in ($2) for update skip locked

-- uploads: who waits
select "tenant_id", "runner_id", sum(case when state = 'processing' and lease_until >= $1 then 1 else 0 end) as "in_work", min(case when ((state = 'received' and not_before <= $2) or (state = 'processing' and lease_until < $3)) then received_at end) as "due_since" from "upload" where "state" in ('received', 'processing') group by "tenant_id", "runner_id"

-- uploads: claim
with "next" as (select "tenant_id", "id" from "upload" where "tenant_id" = $1 and "runner_id" = $2 and ((state = 'received' and not_before <= $3) or (state = 'processing' and lease_until < $4)) and "state" in ('received', 'processing') and not exists (select "parked"."id" from "upload" as "parked" where "parked"."tenant_id" = $5 and "parked"."runner_id" = $6 and "parked"."state" = 'received' and "parked"."state" in ('received', 'processing') and "parked"."fault" is null and "parked"."clean_scan" = $7 and "parked"."not_before" > $8 and "parked"."id" < "upload"."id") order by "received_at", "id" limit $9 for update skip locked) update "upload" set "state" = $10, "attempt" = "attempt" + $11, "lease_until" = $12, "lease_holder" = $13, "started_at" = $14 where (tenant_id, id) in (select tenant_id, id from next) returning *

-- metrics: lock
insert into "runner_metrics" ("tenant_id", "runner_id", "step_ms", "starts_at", "samples") select "tenant_id", "runner_id", "step_ms", "starts_at", "samples" from json_populate_recordset(null::"runner_metrics", $1::json) on conflict ("tenant_id", "runner_id", "step_ms", "starts_at") do nothing
select * from "runner_metrics" where "tenant_id" = $1 and "step_ms" = $2 and "starts_at" = $3 and "runner_id" in ($4) order by "runner_id" for update

-- metrics: save
update "runner_metrics" as "stored" set "samples" = "given"."samples" from json_populate_recordset(null::"runner_metrics", $1::json) as "given" where "stored"."tenant_id" = "given"."tenant_id" and "stored"."runner_id" = "given"."runner_id" and "stored"."step_ms" = "given"."step_ms" and "stored"."starts_at" = "given"."starts_at"

-- metrics: take what is old
select * from "runner_metrics" where "step_ms" = $1 and "starts_at" < $2 order by "starts_at" limit $3 for update skip locked

-- metrics: delete
delete from "runner_metrics" where "tenant_id" = $1 and "step_ms" = $2 and "starts_at" = $3 and "runner_id" in ($4)

-- metrics: read
select * from "runner_metrics" where "tenant_id" = $1 and "runner_id" = $2 and "step_ms" = $3 and "starts_at" >= $4 and "starts_at" < $5

-- uploads: extend lease
update "upload" set "lease_until" = $1, "items_done" = $2 where "tenant_id" = $3 and "id" = $4 and "state" = $5 and "lease_holder" = $6 and "attempt" = $7

-- uploads: requeue
update "upload" set "state" = $1, "lease_until" = $2, "lease_holder" = $3, "not_before" = $4, "attempt" = "attempt" - $5, "fault" = $6 where "tenant_id" = $7 and "id" = $8 and "state" = $9 and "lease_holder" = $10 and "attempt" = $11

-- uploads: one runner’s in turn
select "id" from "runner" where "tenant_id" = $1 and "id" = $2 for update

-- uploads: the same before
select * from "upload" where "tenant_id" = $1 and "runner_id" = $2 and "sha256" = $3 and "context_digest" = $4 and "id" != $5 and "state" in ($6, $7, $8, $9) and "received_at" > $10 order by "id" desc limit $11

-- commands: scans of a runner
select "id", "payload" from "command" where "tenant_id" = $1 and "holder_id" = $2 and "status" in ('acknowledged', 'running') and "type" = $3 order by "acknowledged_at" desc limit $4

-- uploads: analyses that it is the newest of
select count(*) as "analyses" from "analysis" where "tenant_id" = $1 and "last_upload_id" = $2

-- uploads: ended among
select "id" from "upload" where (tenant_id, id) in (values ($1::uuid, $2::uuid)) and "finished_at" is not null

-- uploads: in flight
select "runner_id", count(*) as "uploads", coalesce(sum(stored_bytes), 0) as "bytes" from "upload" where "tenant_id" = $1 and "state" = 'receiving' and "finished_at" is null group by "runner_id" union all select "runner_id", count(*) as "uploads", coalesce(sum(stored_bytes), 0) as "bytes" from "upload" where "tenant_id" = $2 and "state" in ('received', 'processing') group by "runner_id"

-- uploads: held by a worker
select * from "upload" where "state" in ('received', 'processing') and "state" = 'processing' and "lease_holder" = $1

-- uploads: a chunk
insert into "upload_chunk" ("tenant_id", "upload_id", "seq", "sealed") select "tenant_id", "id", $1 as "seq", $2 as "sealed" from "upload" where "tenant_id" = $3 and "id" = $4 and "state" = 'receiving' and "finished_at" is null for update

-- uploads: newest page
select * from "upload" where "tenant_id" = $1 and not (state = 'receiving' and finished_at is not null) and "id" < $2 order by "id" desc limit $3

-- retention: give up one
update "upload" set "finished_at" = $1 where "tenant_id" = $2 and "id" = $3 and "state" = 'receiving' and "finished_at" is null

-- retention: give up the quiet
update "upload" set "finished_at" = $1 where "state" = 'receiving' and "finished_at" is null and "received_at" < $2

-- retention: next given up
select "tenant_id", "id", "state" from "upload" where "state" = 'receiving' and "finished_at" is not null limit $1 for update skip locked

-- retention: next ended dry run
select "tenant_id", "id", "state" from "upload" where "rehearsal" = 1 and "raw_deleted_at" is null and "state" in ($1, $2, $3) limit $4 for update skip locked

-- retention: next stale
select "tenant_id", "id", "state" from "upload" where "finished_at" < $1 and "finished_at" is not null and "raw_deleted_at" is null and "state" in ($2, $3, $4) order by "finished_at" limit $5 for update skip locked

-- retention: unwanted now
select "tenant_id", "id", "state" from "upload" where "tenant_id" = $1 and "id" = $2 and "finished_at" is not null and "raw_deleted_at" is null and ("state" = 'receiving' or "rehearsal" = 1) limit $3 for update skip locked

-- retention: some chunks
delete from "upload_chunk" where "tenant_id" = $1 and "upload_id" = $2 and "seq" < (select min("first"."seq") + $3 as "end" from "upload_chunk" as "first" where "first"."tenant_id" = $4 and "first"."upload_id" = $5)

-- retention: some rejections
delete from "upload_rejection" where "tenant_id" = $1 and "upload_id" = $2 and "seq" < (select min("first"."seq") + $3 as "end" from "upload_rejection" as "first" where "first"."tenant_id" = $4 and "first"."upload_id" = $5)

-- retention: some dry runs
with "old" as (select "tenant_id", "id" from "upload" where "rehearsal" = 1 and "raw_deleted_at" < $1 limit $2 for update skip locked) delete from "upload" where (tenant_id, id) in (select tenant_id, id from old)

-- uploads: rejections
select * from "upload_rejection" where "tenant_id" = $1 and "upload_id" = $2 and "seq" > $3 order by "seq" limit $4

-- scopes: take
insert into "scope" ("tenant_id", "asset_id", "tool", "category", "holder_upload_id", "lease_until") values ($1, $2, $3, $4, $5, $6), ($7, $8, $9, $10, $11, $12) on conflict ("tenant_id", "asset_id", "tool", "category") do update set "holder_upload_id" = $13, "lease_until" = $14 where ("scope"."holder_upload_id" is null or "scope"."holder_upload_id" = $15 or "scope"."lease_until" < $16)

-- scopes: extend
update "scope" set "lease_until" = $1 where "tenant_id" = $2 and ("asset_id", "tool", "category") in (select "asset_id", "tool", "category" from "scope" where "tenant_id" = $3 and "holder_upload_id" = $4 and "lease_until" < $5 order by "asset_id", "tool", "category" for update)

-- scopes: push aside
update "upload" set "lease_holder" = $1, "lease_until" = $2 where "tenant_id" = $3 and "state" = $4 and "id" in (select "scope"."holder_upload_id" as "id" from "scope" where "scope"."tenant_id" = $5 and "scope"."asset_id" = any($6::uuid[]) and "scope"."tool" in ($7) and "scope"."category" in ($8) and "scope"."holder_upload_id" != $9 and "scope"."lease_until" < $10)

-- scopes: held by others
select "asset_id", "tool", "category" from "scope" where "tenant_id" = $1 and "asset_id" in ($2, $3) and "holder_upload_id" is not null and "holder_upload_id" != $4 and "lease_until" >= $5

-- scopes: free
update "scope" set "holder_upload_id" = $1, "lease_until" = $2 where "tenant_id" = $3 and ("asset_id", "tool", "category") in (select "asset_id", "tool", "category" from "scope" where "tenant_id" = $4 and "holder_upload_id" = $5 order by "asset_id", "tool", "category" for update)

-- uploads: a batch and its guard
insert into "upload_batch" ("tenant_id", "upload_id", "part", "batch", "counts", "lease_holder") values ($1, $2, $3, $4, $5, (select "upload"."lease_holder" as "lease_holder" from "upload" where "upload"."tenant_id" = $6 and "upload"."id" = $7 and "upload"."state" = $8 and "upload"."lease_holder" = $9 and "upload"."attempt" = $10))

-- analyses: of places
select "ref_id", "tool", "category", "last_upload_id" from "analysis" where "tenant_id" = $1 and "ref_id" in ($2) and "tool" in ($3) and "category" in ($4)

-- analyses: on a ref
select "tool", "category", "coverage", "scanner" from "analysis" where "tenant_id" = $1 and "ref_id" = $2

-- uploads: an earlier one that waits
select "id" from "upload" where "tenant_id" = $1 and "runner_id" = $2 and "state" in ('received', 'processing') and "id" < $3 limit $4

-- uploads: a report of a command
select "id" from "upload" where "tenant_id" = $1 and "command_id" = $2 and "runner_id" = $3 and "id" != $4 and "rehearsal" = $5 and "state" != $6 and ("state" != $7 or "items_total" > $8) limit $9

-- analyses: save
insert into "analysis" ("tenant_id", "ref_id", "tool", "category", "last_upload_id", "last_seen_at", "commit_sha", "coverage", "scanner", "held_digest", "held_count") select "tenant_id", "ref_id", "tool", "category", "last_upload_id", "last_seen_at", "commit_sha", "coverage", "scanner", "held_digest", "held_count" from json_populate_recordset(null::"analysis", $1::json) on conflict ("tenant_id", "ref_id", "tool", "category") do update set "last_upload_id" = excluded."last_upload_id", "last_seen_at" = excluded."last_seen_at", "commit_sha" = excluded."commit_sha", "coverage" = excluded."coverage", "scanner" = excluded."scanner", "held_digest" = excluded."held_digest", "held_count" = excluded."held_count"

-- ingest: findings of a scope
select "id", "asset_id", "evidence", "status", "resolution", "status_by", "severity", "start_line", "created_upload_id" from "finding" where "tenant_id" = $1 and "tool" = $2 and "category" = $3 and "asset_id" = $4 and "id" > $5 order by "id" limit $6

-- ingest: findings of several scopes
select "id", "asset_id", "evidence", "status", "resolution", "status_by", "severity", "start_line", "created_upload_id" from "finding" where "tenant_id" = $1 and "tool" = $2 and "category" = $3 and "asset_id" = any($4::uuid[]) limit $5

-- ingest: what may have moved
select "id", "type", "rule_id", "path", "start_line", "evidence" from "finding" where "tenant_id" = $1 and "id" = any($2::uuid[])

-- ingest: seen again on a ref
update "finding_ref" set "last_seen_at" = $1, "last_commit" = $2, "last_upload_id" = $3, "present" = $4 where "tenant_id" = $5 and "ref_id" = $6 and "finding_id" = any($7::uuid[])

-- ingest: seen again on several refs
update "finding_ref" as "stored" set "last_seen_at" = "given"."last_seen_at", "last_commit" = "given"."last_commit", "last_upload_id" = "given"."last_upload_id", "present" = "given"."present" from json_populate_recordset(null::"finding_ref", $1::json) as "given" where "stored"."tenant_id" = "given"."tenant_id" and "stored"."ref_id" = "given"."ref_id" and "stored"."finding_id" = "given"."finding_id"

-- ingest: seen on a ref
insert into "finding_ref" ("tenant_id", "ref_id", "finding_id", "present", "first_seen_at", "first_commit", "last_seen_at", "last_commit", "last_upload_id") select "tenant_id", "ref_id", "finding_id", "present", "first_seen_at", "first_commit", "last_seen_at", "last_commit", "last_upload_id" from json_populate_recordset(null::"finding_ref", $1::json) on conflict ("tenant_id", "finding_id", "ref_id") do update set "present" = excluded."present", "last_seen_at" = excluded."last_seen_at", "last_commit" = excluded."last_commit", "last_upload_id" = excluded."last_upload_id"

-- ingest: sightings on the refs of one destination
select "finding_id", "ref_id", "present", "last_upload_id" from "finding_ref" where "tenant_id" = $1 and "finding_id" = any($2::uuid[]) and "ref_id" = any($3::uuid[])

-- ingest: sightings on the refs of several destinations
select "finding_id", "ref_id", "present", "last_upload_id" from "finding_ref" where "tenant_id" = $1 and "finding_id" = any($2::uuid[]) and ("ref_id" = any($3::uuid[])) is true

-- ingest: gone from a ref
update "finding_ref" as "stored" set "present" = "given"."present" from json_populate_recordset(null::"finding_ref", $1::json) as "given" where "stored"."tenant_id" = "given"."tenant_id" and "stored"."ref_id" = "given"."ref_id" and "stored"."finding_id" = "given"."finding_id"

-- ingest: lock what is active
select "id", "status" from "finding" where "tenant_id" = $1 and "id" in ($2, $3) and "status" in ($4, $5, $6) order by "id" for update

-- ingest: resolve as fixed
update "finding" set "status" = $1, "resolution" = $2, "status_by" = $3, "status_at" = $4 where "tenant_id" = $5 and "id" in ($6)

-- findings: page
select "finding".*, "asset"."name" as "asset_name", "upload"."state" as "upload_state", (select max(finding_ref.last_seen_at) as "last" from "finding_ref" where "finding_ref"."tenant_id" = "finding"."tenant_id" and "finding_ref"."finding_id" = "finding"."id") as "last_seen_at" from "finding" left join "asset" on "asset"."tenant_id" = "finding"."tenant_id" and "asset"."id" = "finding"."asset_id" left join "upload" on "upload"."tenant_id" = "finding"."tenant_id" and "upload"."id" = "finding"."created_upload_id" where "finding"."tenant_id" = $1 and "finding"."status" = $2 and "finding"."severity" = $3 and "finding"."asset_id" = $4 and "finding"."tool" = $5 and "finding"."rule_id" = $6 and "finding"."path" >= $7 and "finding"."path" < $8 and "finding"."severity" = $9 and "finding"."id" < $10 order by "finding"."severity", "finding"."id" desc limit $11
select "finding".*, "asset"."name" as "asset_name", "upload"."state" as "upload_state", (select max(finding_ref.last_seen_at) as "last" from "finding_ref" where "finding_ref"."tenant_id" = "finding"."tenant_id" and "finding_ref"."finding_id" = "finding"."id") as "last_seen_at" from "finding" left join "asset" on "asset"."tenant_id" = "finding"."tenant_id" and "asset"."id" = "finding"."asset_id" left join "upload" on "upload"."tenant_id" = "finding"."tenant_id" and "upload"."id" = "finding"."created_upload_id" where "finding"."tenant_id" = $1 and "finding"."status" = $2 and "finding"."severity" = $3 and "finding"."asset_id" = $4 and "finding"."tool" = $5 and "finding"."rule_id" = $6 and "finding"."path" >= $7 and "finding"."path" < $8 and "finding"."severity" > $9 order by "finding"."severity", "finding"."id" desc limit $10

-- findings: first page of all
select "finding".*, "asset"."name" as "asset_name", "upload"."state" as "upload_state", (select max(finding_ref.last_seen_at) as "last" from "finding_ref" where "finding_ref"."tenant_id" = "finding"."tenant_id" and "finding_ref"."finding_id" = "finding"."id") as "last_seen_at" from "finding" left join "asset" on "asset"."tenant_id" = "finding"."tenant_id" and "asset"."id" = "finding"."asset_id" left join "upload" on "upload"."tenant_id" = "finding"."tenant_id" and "upload"."id" = "finding"."created_upload_id" where "finding"."tenant_id" = $1 order by "finding"."severity", "finding"."id" desc limit $2

-- findings: what is open on default branches
select "finding".*, "asset"."name" as "asset_name", "upload"."state" as "upload_state", (select max(finding_ref.last_seen_at) as "last" from "finding_ref" where "finding_ref"."tenant_id" = "finding"."tenant_id" and "finding_ref"."finding_id" = "finding"."id") as "last_seen_at" from "finding" left join "asset" on "asset"."tenant_id" = "finding"."tenant_id" and "asset"."id" = "finding"."asset_id" left join "upload" on "upload"."tenant_id" = "finding"."tenant_id" and "upload"."id" = "finding"."created_upload_id" where "finding"."tenant_id" = $1 and "finding"."status" = $2 and (select ("finding_ref"."present" = $3 or "finding"."status" = $4) as "is_on" from "finding_ref" inner join "asset" on "asset"."default_ref_id" = "finding_ref"."ref_id" where "finding_ref"."tenant_id" = $5 and "finding_ref"."finding_id" = "finding"."id" and "asset"."tenant_id" = $6 and "asset"."id" = "finding"."asset_id") order by "finding"."severity", "finding"."id" desc limit $7

-- findings: what is open on default branches, next page
select "finding".*, "asset"."name" as "asset_name", "upload"."state" as "upload_state", (select max(finding_ref.last_seen_at) as "last" from "finding_ref" where "finding_ref"."tenant_id" = "finding"."tenant_id" and "finding_ref"."finding_id" = "finding"."id") as "last_seen_at" from "finding" left join "asset" on "asset"."tenant_id" = "finding"."tenant_id" and "asset"."id" = "finding"."asset_id" left join "upload" on "upload"."tenant_id" = "finding"."tenant_id" and "upload"."id" = "finding"."created_upload_id" where "finding"."tenant_id" = $1 and "finding"."status" = $2 and (select ("finding_ref"."present" = $3 or "finding"."status" = $4) as "is_on" from "finding_ref" inner join "asset" on "asset"."default_ref_id" = "finding_ref"."ref_id" where "finding_ref"."tenant_id" = $5 and "finding_ref"."finding_id" = "finding"."id" and "asset"."tenant_id" = $6 and "asset"."id" = "finding"."asset_id") and "finding"."severity" = $7 and "finding"."id" < $8 order by "finding"."severity", "finding"."id" desc limit $9
select "finding".*, "asset"."name" as "asset_name", "upload"."state" as "upload_state", (select max(finding_ref.last_seen_at) as "last" from "finding_ref" where "finding_ref"."tenant_id" = "finding"."tenant_id" and "finding_ref"."finding_id" = "finding"."id") as "last_seen_at" from "finding" left join "asset" on "asset"."tenant_id" = "finding"."tenant_id" and "asset"."id" = "finding"."asset_id" left join "upload" on "upload"."tenant_id" = "finding"."tenant_id" and "upload"."id" = "finding"."created_upload_id" where "finding"."tenant_id" = $1 and "finding"."status" = $2 and (select ("finding_ref"."present" = $3 or "finding"."status" = $4) as "is_on" from "finding_ref" inner join "asset" on "asset"."default_ref_id" = "finding_ref"."ref_id" where "finding_ref"."tenant_id" = $5 and "finding_ref"."finding_id" = "finding"."id" and "asset"."tenant_id" = $6 and "asset"."id" = "finding"."asset_id") and "finding"."severity" > $7 order by "finding"."severity", "finding"."id" desc limit $8

-- findings: what is open on a branch of many assets
select "finding".*, "asset"."name" as "asset_name", "upload"."state" as "upload_state", (select max(finding_ref.last_seen_at) as "last" from "finding_ref" where "finding_ref"."tenant_id" = "finding"."tenant_id" and "finding_ref"."finding_id" = "finding"."id") as "last_seen_at" from "finding" left join "asset" on "asset"."tenant_id" = "finding"."tenant_id" and "asset"."id" = "finding"."asset_id" left join "upload" on "upload"."tenant_id" = "finding"."tenant_id" and "upload"."id" = "finding"."created_upload_id" where "finding"."tenant_id" = $1 and "finding"."status" = $2 and (select "finding_ref"."present" = $3 as "is_on" from "finding_ref" inner join "asset_ref" on "asset_ref"."id" = "finding_ref"."ref_id" where "finding_ref"."tenant_id" = $4 and "finding_ref"."finding_id" = "finding"."id" and "asset_ref"."tenant_id" = $5 and "asset_ref"."asset_id" = "finding"."asset_id" and "asset_ref"."name" = $6) order by "finding"."severity", "finding"."id" desc limit $7

-- findings: what is active on a branch of some assets
select "finding".*, "asset"."name" as "asset_name", "upload"."state" as "upload_state", (select max(finding_ref.last_seen_at) as "last" from "finding_ref" where "finding_ref"."tenant_id" = "finding"."tenant_id" and "finding_ref"."finding_id" = "finding"."id") as "last_seen_at" from "finding" left join "asset" on "asset"."tenant_id" = "finding"."tenant_id" and "asset"."id" = "finding"."asset_id" left join "upload" on "upload"."tenant_id" = "finding"."tenant_id" and "upload"."id" = "finding"."created_upload_id" where "finding"."tenant_id" = $1 and ("finding"."status" = $2 or "finding"."status" = $3 or ("finding"."status" = $4 and "finding"."resolution" = $5)) and "finding"."asset_id" = any($6::uuid[]) and (select "finding_ref"."present" = $7 as "is_on" from "finding_ref" inner join "asset_ref" on "asset_ref"."id" = "finding_ref"."ref_id" where "finding_ref"."tenant_id" = $8 and "finding_ref"."finding_id" = "finding"."id" and "asset_ref"."tenant_id" = $9 and "asset_ref"."asset_id" = "finding"."asset_id" and "asset_ref"."name" = $10) order by "finding"."severity", "finding"."id" desc limit $11

-- findings: assets with a branch
select "asset_id" from "asset_ref" where "tenant_id" = $1 and "name" = $2 limit $3

-- findings: refs of one
select "finding_ref".*, "asset_ref"."name", "asset_ref"."id" as "id", "asset"."default_ref_id" from "asset_ref" inner join "finding_ref" on "finding_ref"."tenant_id" = "asset_ref"."tenant_id" and "finding_ref"."ref_id" = "asset_ref"."id" inner join "asset" on "asset"."tenant_id" = "asset_ref"."tenant_id" and "asset"."id" = "asset_ref"."asset_id" where "asset_ref"."tenant_id" = $1 and "asset_ref"."asset_id" = $2 and "finding_ref"."finding_id" = $3 order by "asset_ref"."id"

-- findings: set status
update "finding" set "status" = $1, "resolution" = $2, "status_by" = $3, "status_at" = $4, "accepted_until" = $5 where "tenant_id" = $6 and "id" = $7 and "status" = $8

-- assets: page
select "asset".*, "asset_ref"."name" as "default_ref_name", (select count(*) as "open" from "finding" where "finding"."tenant_id" = "asset"."tenant_id" and "finding"."asset_id" = "asset"."id" and "finding"."status" in ($1, $2, $3)) as "open_findings" from "asset" left join "asset_ref" on "asset_ref"."tenant_id" = "asset"."tenant_id" and "asset_ref"."id" = "asset"."default_ref_id" where "asset"."tenant_id" = $4 and "asset"."kind" = $5 and (lower("asset"."value" collate "C") like $6 escape '!' or lower("asset"."name" collate "C") like $7 escape '!') and "asset"."id" < $8 order by "asset"."id" desc limit $9

-- assets: components
select * from "component" where "tenant_id" = $1 and "asset_id" = $2 and "identity" > $3 order by "identity" limit $4

-- assets: endpoints
select * from "endpoint" where "tenant_id" = $1 and "asset_id" = $2 and "identity" > $3 order by "identity" limit $4

-- assets: relationships out
select "relationship".*, "from_asset"."name" as "from_name", "to_asset"."name" as "to_name" from "relationship" inner join "asset" as "from_asset" on "from_asset"."tenant_id" = "relationship"."tenant_id" and "from_asset"."id" = "relationship"."from_asset_id" inner join "asset" as "to_asset" on "to_asset"."tenant_id" = "relationship"."tenant_id" and "to_asset"."id" = "relationship"."to_asset_id" where "relationship"."tenant_id" = $1 and "relationship"."from_asset_id" = $2 and (relationship.type, "relationship"."to_asset_id") > ($3, $4::uuid) order by "relationship"."type", "relationship"."to_asset_id" limit $5

-- assets: relationships in
select "relationship".*, "from_asset"."name" as "from_name", "to_asset"."name" as "to_name" from "relationship" inner join "asset" as "from_asset" on "from_asset"."tenant_id" = "relationship"."tenant_id" and "from_asset"."id" = "relationship"."from_asset_id" inner join "asset" as "to_asset" on "to_asset"."tenant_id" = "relationship"."tenant_id" and "to_asset"."id" = "relationship"."to_asset_id" where "relationship"."tenant_id" = $1 and "relationship"."to_asset_id" = $2 and (relationship.type, "relationship"."from_asset_id") > ($3, $4::uuid) order by "relationship"."type", "relationship"."from_asset_id" limit $5

-- assets: lock
select * from "asset" where "tenant_id" = $1 and "id" in ($2, $3) order by "id" for update

-- assets: lock default refs
select "id", "default_ref_id" from "asset" where "tenant_id" = $1 and "id" in ($2, $3) order by "id" for update

-- assets: refs by name
select "id", "asset_id", "name" from "asset_ref" where "tenant_id" = $1 and "asset_id" in ($2, $3) and "name" in ($4, $5)

-- assets: save endpoints
insert into "endpoint" ("tenant_id", "asset_id", "identity", "document", "first_seen_at", "last_seen_at") select "tenant_id", "asset_id", "identity", "document", "first_seen_at", "last_seen_at" from json_populate_recordset(null::"endpoint", $1::json) on conflict ("tenant_id", "asset_id", "identity") do nothing
update "endpoint" as "stored" set "document" = case when "stored"."last_seen_at" > "given"."last_seen_at" then "stored"."document" else "given"."document" end, "last_seen_at" = case when "stored"."last_seen_at" > "given"."last_seen_at" then "stored"."last_seen_at" else "given"."last_seen_at" end from json_populate_recordset(null::"endpoint", $1::json) as "given" where "stored"."tenant_id" = "given"."tenant_id" and "stored"."asset_id" = "given"."asset_id" and "stored"."identity" = "given"."identity"

-- assets: edges of components
select "identity", "name", "version", "depends_on", "document" from "component" where "tenant_id" = $1 and "asset_id" = $2 and "identity" in ($3, $4)

-- assets: count components
select count(*) as "stored" from "component" where "tenant_id" = $1 and "asset_id" = $2 and "identity" in ($3, $4)

-- assets: by value
select "id", "kind_class", "value" from "asset" where "tenant_id" = $1 and "kind_class" in ($2) and "value" in ($3, $4)

-- assets: count relationships
select count(*) as "stored" from "relationship" where "tenant_id" = $1 and ("from_asset_id", "type", "to_asset_id") in (($2, $3, $4), ($5, $6, $7))

-- assets: count endpoints
select count(*) as "stored" from "endpoint" where "tenant_id" = $1 and ("asset_id", "identity") in (($2, $3), ($4, $5))

-- assets: save facts
update "asset" as "stored" set "attributes" = "given"."attributes", "attributes_at" = "given"."attributes_at", "criticality" = "given"."criticality" from json_populate_recordset(null::"asset", $1::json) as "given" where "stored"."tenant_id" = "given"."tenant_id" and "stored"."id" = "given"."id"

-- Muster 0002: pages of lists come from an index in the order of the list. Before, each page of the
-- findings list sorted all findings of the tenant, because the list is in the order of worst first,
-- then newest; each page of keys sorted all keys.

create index finding_by_severity on finding (tenant_id, severity, id desc);
drop index finding_by_status;
create index finding_by_status on finding (tenant_id, status, severity, id desc);
create index api_key_by_age on api_key (tenant_id, created_at, key_id);

-- As in 0001; the drop took the row of its index along.
insert into sqlite_stat1 (tbl, idx, stat) values
  ('finding', 'finding_by_severity', '5000000 5000000 1000000 1'),
  ('finding', 'finding_by_status', '5000000 5000000 500000 100000 1'),
  ('api_key', 'api_key_by_age', '5000 5000 2 1');
-- As if all uploads were one runner's: a page of them comes in its order from the primary key,
-- instead of from this index and a sort of all uploads of the runner.
update sqlite_stat1 set stat = '100000 100000 100000 1' where idx = 'upload_by_content';
analyze sqlite_schema;

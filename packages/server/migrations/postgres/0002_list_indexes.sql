-- Muster 0002: pages of lists come from an index in the order of the list. Before, each page of the
-- findings list sorted all findings of the tenant, because the list is in the order of worst first,
-- then newest; each page of keys sorted all keys.

create index finding_by_severity on finding (tenant_id, severity, id desc);
drop index finding_by_status;
create index finding_by_status on finding (tenant_id, status, severity, id desc);
create index api_key_by_age on api_key (tenant_id, created_at, key_id);

// The member names that CTIS 1.0-1.6 knows, object by object (§2, §3), and the wrong names that
// documentation and old producers use, with what they mean (§8, item 21). Readers warn about a
// member that is in neither list and keep it as data. Names are exact in case.

const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));

/**
 * Object → its members. The bags (`properties`, `source_extra`, …) take any member and aren't
 * listed.
 */
export const CTIS_MEMBERS = {
  report: words(`version $schema metadata tool assets findings dependencies relationships
    endpoints properties`),
  metadata:
    words(`id timestamp duration_ms source_type source_ref coverage_type branch scope capability
      properties`),
  branch: words(`name is_default_branch commit_sha base_branch pull_request_number
    pull_request_url repository_url`),
  tool: words('name version vendor info_url capabilities properties'),
  asset: words(`id type value name description tags criticality confidence discovered_at technical
    related_assets compliance services is_internet_accessible identifiers identity_hints
    technologies properties`),
  finding: words(`id type title severity description message confidence impact likelihood category
    vulnerability_class subcategory rule_id rule_name asset_ref asset_value asset_type location
    network web evidence evidence_items vulnerability secret misconfiguration compliance web3
    remediation references tags fingerprint partial_fingerprints correlation_id baseline_state
    kind rank occurrence_count related_locations stacks attachments work_item_uris
    hosted_viewer_uri first_seen_at last_seen_at status data_flow author author_email
    commit_date suppression exposure remediation_context business_impact native scores vex
    source_lifecycle source_extra attack properties`),
  location: words(`path start_line end_line start_column end_column snippet branch commit_sha
    context_snippet context_start_line logical_location`),
  vulnerability:
    words(`cve_id cve_ids ids cwe_id cwe_ids owasp_ids asvs cvss_version cvss_score cvss_vector
      cvss_source package purl affected_version affected_version_range fixed_version cpe
      severity_source fixed_versions advisories dependency_path ecosystem published_at
      modified_at exploit_available in_cisa_kev is_direct exploit_maturity epss_score
      epss_percentile vpr_score data_source vendor_severity layer avd_id vuln_status`),
  secret:
    words(`secret_type service masked_value length entropy valid verified_at revoked revoked_at
      scopes expires_at age_in_days rotation_due_at in_history_only commit_count`),
  misconfiguration: words(`policy_id policy_name avd_id resource_type resource_name provider
    service namespace query expected actual cause`),
  compliance: words(
    `framework framework_version control_id control_name control_description result`,
  ),
  suppression: words(
    `justification suppressed_by suppressed_at kind status reason expires_at state`,
  ),
  remediation:
    words(`recommendation steps effort fix_available auto_fixable fix_code fix_regex references
      solution_type patch_published_at advisories`),
  dependency:
    words(`name version id type ecosystem purl uid path licenses relationship depends_on location
      locations properties`),
  relationship: words('type from_ref to_ref'),
} as const;

export type CtisObject = keyof typeof CTIS_MEMBERS;

/** Object → wrong member name → the right one. The right one wins where both are there. */
export const CTIS_ALIASES: Partial<Record<CtisObject, ReadonlyMap<string, string>>> = {
  vulnerability: new Map([
    ['package_name', 'package'],
    ['installed_version', 'affected_version'],
    ['cisa_kev', 'in_cisa_kev'],
    ['owasp_category', 'owasp_ids'],
  ]),
  secret: new Map([
    ['type', 'secret_type'],
    ['verified', 'valid'],
  ]),
  misconfiguration: new Map([
    ['expected_value', 'expected'],
    ['actual_value', 'actual'],
  ]),
  compliance: new Map([['frameworks', 'framework']]),
};

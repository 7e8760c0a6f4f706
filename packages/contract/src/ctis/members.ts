// The members of CTIS 1.0-1.6, object by object (§2, §3): names, words, ranges, bounds; and the
// wrong names that documentation and old producers use, with the right ones (§8, item 21). Readers
// warn about members that aren't here and keep them as data. Names are exact in case; words aren't.
// The table is parsed on first use, so that a program that doesn't read CTIS pays nothing.

/** What one member may hold. */
export interface CtisRule {
  /** The kind of the objects in it, or in its list. */
  readonly shape: CtisObject | null;
  /** Word as `wordKey` spells it → the right word; null: any text. */
  readonly words: ReadonlyMap<string, string> | null;
  readonly min: number | null;
  readonly max: number | null;
  /** True for lists; a value that isn't a list is read as its only entry. */
  readonly isList: boolean;
  /** Entries of the list or map that are kept. */
  readonly itemsMax: number | null;
  /** Characters of the text, or of each text in the list or map, that are kept. */
  readonly charsMax: number | null;
  /**
   * The type of a member about which nothing more is said; `id` is a text that producers also write
   * as a number.
   */
  readonly type: 'anything' | 'text' | 'id' | 'boolean' | 'object';
}

export type CtisShape = ReadonlyMap<string, CtisRule>;

// Each entry is `name`, then in this order: `>shape`, `=word|word(other spelling,…)`, `:min..max`,
// `[itemsMax]` for lists (`*`: any number) or `{itemsMax}` for maps, `~charsMax`; a list of words
// may go on in the next line. A name alone is a text; `#` is a text that may be a number, `!` true
// or false, `@` an object, `?` anything. Lists of states and kinds are closed. Lists of things in
// the world (chains, vendors, frameworks, ecosystems, classes of weaknesses) are open here although
// CTIS closes them: they are never complete (§8, item 15). Members that make up a finding's
// identity have no `~`: they are bounded where they are shown. Bounds: §2, §3, §4.5.
const METHODS = 'GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|TRACE|CONNECT|ANY';
const PARAMETER = 'location=query|path|header|cookie|form|json|multipart|graphql_arg name~128';
const SHAPES = {
  report: `version? $schema metadata? tool? assets? findings? dependencies? relationships? endpoints?
    properties?`,
  metadata: `id timestamp duration_ms:0.. source_type=scanner(recon)|collector|integration|manual
    source_ref coverage_type=full|incremental|partial branch? scope>scope capability~128 properties@`,
  scope: `name type=domain|network|repository|cloud_account|blockchain|web includes[*] excludes[*]`,
  branch: `name is_default_branch! commit_sha base_branch pull_request_number:0.. pull_request_url
    repository_url`,
  tool: `name version vendor info_url capabilities[*] properties@`,
  relationship: `type from_ref to_ref`,

  finding: `id# type title severity description message confidence:0..100
    impact=critical|high|medium|low likelihood=high|medium|low category~255
    vulnerability_class[50]~200 subcategory[50]~200 rule_id# rule_name asset_ref asset_value
    asset_type location>location network>network web>web evidence evidence_items>evidence[20]
    vulnerability>vulnerability secret>secret misconfiguration>misconfiguration
    compliance>compliance web3>web3 remediation>remediation references[*] tags[*] fingerprint
    partial_fingerprints@ correlation_id baseline_state=new|unchanged|updated|absent
    kind=not_applicable(notapplicable)|pass|fail|review|open|informational rank:0..100
    occurrence_count:1.. related_locations>location[*] stacks>stack[*] attachments>attachment[50]
    work_item_uris[*] hosted_viewer_uri first_seen_at last_seen_at
    status=open|resolved|suppressed|false_positive|accepted_risk|in_progress
    data_flow>data_flow author~255 author_email~255 commit_date~64 suppression>suppression
    exposure>exposure remediation_context>remediation_context business_impact>business_impact
    native>native scores>score[32] vex>vex source_lifecycle>source_lifecycle
    source_extra{64}~4096 attack[20]~16 properties@`,
  location: `path start_line:1.. end_line:1.. start_column:1.. end_column:1.. snippet branch
    commit_sha context_snippet context_start_line:1.. logical_location>logical_location`,
  logical_location: `fully_qualified_name name kind parent_index:0..`,
  network: `host port:0..65535 protocol service`,
  web: `url method=${METHODS} endpoint_ref parameter>parameter request_ref~128
    status_code:0..599`,
  parameter: PARAMETER,
  stack: `message frames>frame[*]`,
  frame: `location>location module thread_id? parameters[50]~1000`,
  attachment: `description~2048 artifact_location>artifact_location regions>location[100]`,
  artifact_location: `uri~2048 uri_base_id~255 index:0..`,
  data_flow: `sources>flow_step[*] intermediates>flow_step[*] sinks>flow_step[*] sanitizers>flow_step[*] tainted!
    taint_type=user_input|file_read|env_var|network|database|header|cookie|session|argv|external
    vulnerability_type~64 confidence:0..100 interprocedural! cross_file! call_path[100]~1000 summary`,
  flow_step: `path line:1.. end_line:1.. column:1.. end_column:1.. content label index:0..
    type=source|sink|propagator|sanitizer|transform function class module operation
    called_function parameter_index:0.. taint_state=tainted|sanitized|unknown transformation
    notes`,
  vulnerability: `cve_id cve_ids[*] ids>vulnerability_id[64] cwe_id cwe_ids[*] owasp_ids? asvs>asvs
    cvss_version=2.0(2)|3.0(3)|3.1|4.0(4) cvss_score:0..10 cvss_vector~512 cvss_source~64 package
    purl affected_version affected_version_range~255 fixed_version~255 cpe~255
    severity_source~64 fixed_versions[100]~255 advisories[100]~2048 dependency_path[100]~500
    ecosystem published_at~64 modified_at~64 exploit_available! in_cisa_kev! is_direct!
    exploit_maturity=none|poc(proof_of_concept)|functional|weaponized epss_score:0..1
    epss_percentile:0..100 vpr_score:0..10 data_source>data_source vendor_severity{64} layer>layer
    avd_id vuln_status=affected|fixed|under_investigation|will_not_fix|fix_deferred|end_of_life`,
  vulnerability_id: `type=cve|ghsa|osv|vendor id~128 source~64`,
  asvs: `section control_id control_url level:1..3`,
  data_source: `id name url`,
  layer: `digest diff_id`,
  secret: `secret_type=api_key|password|token|certificate|private_key|
    oauth|jwt|ssh_key|aws_key|gcp_key|azure_key|generic_secret(secret,credential)|
    database_credential|encryption_key
    service~255 masked_value length:1.. entropy:0.. valid! verified_at~64 revoked! revoked_at~64
    scopes[50]~200 expires_at~64 age_in_days:0.. rotation_due_at~64 in_history_only!
    commit_count:0..`,
  misconfiguration: `policy_id# policy_name~4096 avd_id resource_type resource_name provider~255
    service~255 namespace~4096 query~4096 expected~4096 actual~4096 cause~4096`,
  compliance: `framework? framework_version~64 control_id# control_name~500 control_description~4096
    result=pass|fail|manual|not_applicable`,
  web3: `vulnerability_class swc_id contract_address chain_id? chain function_signature
    function_selector vulnerable_pattern bytecode_offset:0.. exploitable_on_mainnet!
    estimated_impact_usd:0.. affected_value_usd:0.. attack_vector~4096 poc>poc
    related_tx_hashes[100]~128 attacker_addresses[100]~128 detection_tool
    detection_confidence=high|medium|low is_false_positive! gas_issue>gas_issue
    access_control>access_control reentrancy>reentrancy oracle_manipulation>oracle_manipulation
    flash_loan>flash_loan`,
  poc: `type=transaction|script|foundry_test|hardhat_test code tx_data expected_outcome~4096
    tested_on=mainnet_fork|testnet|local fork_block_number:0..`,
  gas_issue: `current_gas:0.. optimized_gas:0.. savings_percent:0..100 suggestion~4096`,
  access_control: `missing_modifier unprotected_function
    callable_by=anyone|owner_only|role_based|whitelist escalation_path missing_role_check`,
  reentrancy: `type=cross_function|cross_contract|read_only|single_function external_call
    state_modified_after_call entry_point callback max_depth:1..`,
  oracle_manipulation: `oracle_type oracle_address
    manipulation_method=flash_loan|sandwich|time_manipulation|multi_block
    price_impact_percent:0.. missing_checks[20]~64`,
  flash_loan: `provider attack_type required_capital_usd? potential_profit_usd:0..
    attack_steps[50]~2048`,
  suppression: `justification suppressed_by suppressed_at kind=in_source(insource)|external status?
    reason expires_at state?`,
  remediation: `recommendation~16384 steps[50]~2048 effort=trivial|low|medium|high fix_available!
    auto_fixable! fix_code~16384 fix_regex>fix_regex references[100]~2048
    solution_type=patch|upgrade|config(config_change)|workaround|
    mitigation(mitigate)|no_fix patch_published_at~64
    advisories>advisory[50]`,
  fix_regex: `regex~4096 replacement~4096 count:0..`,
  advisory: `id~128 url~2048 source~64`,
  exposure: `vector=network|local|physical|adjacent_net(adjacent,adjacent_network)
    is_network_accessible! is_internet_accessible! attack_prerequisites~4096`,
  remediation_context: `type=patch|upgrade|workaround|config_change(config)|
    mitigate(mitigation)|accept_risk
    estimated_minutes:0.. complexity=simple|moderate|complex remedy_available!`,
  business_impact: `data_exposure_risk=none|low|medium|high|critical reputational_impact!
    compliance_impact[50]~200`,
  native: `scheme=nessus|qualys|defectdojo|sarif|other vuln_id~256 instance_id~256 family~256
    severity~64 status~64
    detection_type=confirmed(vuln,vulnerability)|potential(suspected,probable,practice)|
    info(ig,information,informational,information_gathered)
    credentialed! raw_ref~1024`,
  score: `system=cvss|epss|epss_percentile|ssvc|vpr|vendor version~32 vector~512
    value:-1000000..1000000 label~32 source~64 as_of~64`,
  vex: `status=not_affected(known_not_affected)|affected(known_affected,exploitable)|
    fixed(resolved,resolved_with_pedigree)|under_investigation(in_triage)
    justification=component_not_present|vulnerable_code_not_present(code_not_present)|
    vulnerable_code_not_in_execute_path(code_not_reachable)|
    vulnerable_code_cannot_be_controlled_by_adversary(requires_configuration,
    requires_dependency,requires_environment)|
    inline_mitigations_already_exist(protected_by_compiler,protected_at_runtime,
    protected_at_perimeter,protected_by_mitigating_control)
    native_justification~64 statement~4096 source~512 as_of~64`,
  source_lifecycle: `first_found~64 last_found~64 last_fixed~64 times_found:0..1000000000
    state=new|active|reopened(re_opened)|fixed`,
  evidence: `kind~64 version:0..1000 label~200 captured_at~64 content_sha256~128 http>http
    match>match[50] extracted[20]~1024 text~65536 protocol~32 command~8192 exit_code? file>file
    artifact>artifact sensitive>sensitive[200] data?`,
  http: `request>http_message response>http_message`,
  http_message: `method~32 url~8192 http_version~16 headers>header[100] body~65536 body_encoding
    body_truncated! body_size:0.. status:0..599 reason~128 time_ms:0..`,
  header: `name~256 value~8192`,
  match: `location=request|response part=status|header|body|url start:0.. end:0.. matcher~128`,
  file: `path~4096 start_line:0.. end_line:0.. snippet~65536`,
  artifact: `media_type~127 sha256~128 size:0.. ref~256`,
  sensitive: `pointer~256 start:0.. end:0.. kind~32`,

  asset: `id type value name description~4096 tags[50]~255 criticality confidence:0..100
    discovered_at~64 technical>technical related_assets[100]~255 compliance>asset_compliance
    services>asset_service[500] is_internet_accessible! identifiers>identifiers
    identity_hints>identity_hints technologies>technology[100] properties{100}`,
  asset_compliance: `frameworks[50]~200
    data_classification=public|internal|confidential|restricted|secret pii_exposed! phi_exposed!
    regulatory_owner~255`,
  asset_service: `port:1..65535 protocol=tcp|udp service_type~64 product~255 version~64
    banner~4096 cpe~255 is_public! tls_enabled! tls_version~64 state=active|inactive|filtered`,
  identifiers: `machine_id~255 cloud_resource_id~2048 bios_uuid~255 serial_number~255
    mac_addresses[32]~64 scm_repo_id~255`,
  identity_hints: `fqdn~255 netbios_name~255 os_cpe~255 cloud_resource_id~255 agent_id~255
    mac_addresses[32]~64`,
  technology: `name~128 version~64 cpe~255 categories[10]~64 confidence:0..100`,
  technical: `domain>domain ip_address>ip_address repository>repository certificate>certificate
    cloud>cloud service>service web3>asset_web3`,
  domain: `registrar~255 registered_at~64 expires_at~64 nameservers[50]~255
    dns_records>dns_record[500] whois{100}~4096`,
  dns_record: `type=A|AAAA|CNAME|MX|TXT|NS|SOA|PTR|SRV|CAA name~255 value~4096 ttl:0..`,
  ip_address: `version? hostname~255 asn:0.. asn_org~255 country city~255 ports>port[500]
    geolocation>geolocation`,
  port: `port:1..65535 protocol=tcp|udp state=open|filtered|closed service~64 banner~4096
    version~255`,
  geolocation: `latitude:-90..90 longitude:-180..180 accuracy:0..`,
  repository: `platform=github|gitlab|bitbucket|azure_devops owner~255 name~255 default_branch~255
    visibility=public|private|internal url~2048 clone_url~2048 languages{100} stars:0.. forks:0..
    last_commit_sha~64 last_commit_at~64`,
  certificate: `serial_number~255 subject_cn~255 sans[500]~255 issuer_cn~255 issuer_org~255
    not_before~64 not_after~64 signature_algorithm~64 key_algorithm~64 key_size:0..
    fingerprint~255 self_signed! expired! wildcard!`,
  cloud: `provider=aws|gcp|azure|alibaba|oracle account_id~255 region~64 zone~64
    resource_type~255 resource_id~2048 arn~2048 tags{100}~4096`,
  service: `name~255 version~255 port:1..65535 protocol~64 transport=tcp|udp tls!
    tls_version=ssl3(ssl_3,ssl3.0)|tls1.0(tls_1.0,tlsv1.0)|
    tls1.1(tls_1.1,tlsv1.1)|tls1.2(tls_1.2,tlsv1.2)|tls1.3(tls_1.3,tlsv1.3)
    tls_cert_subject~500 tls_cert_issuer~500 tls_cert_expiry~64 banner~4096 product~255 cpe~255
    extra_info~4096 state=open|filtered|closed auth_required! auth_methods[50]~64
    default_credentials! anonymous_access! response_time_ms:0.. last_seen~64 details{100}`,
  asset_web3: `chain~64 chain_id? network_type=mainnet|testnet|devnet address~128
    contract>contract wallet>wallet token>token defi>defi nft>nft`,
  contract: `name address deployer_address deployment_tx_hash deployment_block:0.. deployed_at
    verified! compiler_version evm_version optimization_enabled! optimization_runs:0..
    contract_type is_proxy! implementation_address proxy_type is_upgradeable! owner_address
    ownership_renounced! source_code_url abi bytecode_hash source_code_hash license
    libraries>library[100] interfaces[100]~255 balance tx_count:0..`,
  library: `name address`,
  wallet: `wallet_type=eoa|multisig|mpc|smart_wallet required_signatures:1.. total_owners:1..
    owners[100]~128 provider~64 balance token_balances>token_balance[500] nft_count:0..
    first_tx_at last_tx_at tx_count:0.. ens_name~255 labels[50]~64`,
  token_balance: `contract_address symbol name decimals:0..18 balance balance_formatted
    usd_value:0..`,
  token: `standard symbol name decimals:0..18 total_supply max_supply mintable! burnable! pausable!
    has_blacklist! has_transfer_fee! transfer_fee_percent:0..100 holder_count:0.. market_cap_usd:0..
    price_usd:0.. liquidity_usd:0.. trading_pairs>trading_pair[100] is_honeypot!
    honeypot_reason~4096`,
  trading_pair: `dex pair_address quote_token liquidity_usd:0..`,
  defi: `protocol_name protocol_type version tvl_usd:0.. supported_chains[100]~64
    core_contracts>core_contract[100] governance_token audited! audit_reports>audit_report[100]
    has_bug_bounty! bug_bounty_platform max_bounty_usd:0.. timelock_duration:0.. paused!`,
  core_contract: `name address role`,
  audit_report: `auditor report_url~2048 date~64 scope~4096 critical_count:0.. high_count:0..
    medium_count:0.. low_count:0..`,
  nft: `name symbol standard total_supply:0.. max_supply:0.. holder_count:0.. floor_price
    floor_price_usd:0.. total_volume total_volume_usd:0.. royalty_percent:0..100
    royalty_recipient marketplaces[50]~64 revealed! base_uri~2048
    metadata_storage=ipfs|arweave|centralized|onchain creator`,
  dependency: `name version id type ecosystem purl uid path licenses[100]~255
    relationship=direct(root)|transitive(indirect,transit)|dev(development)|optional(peer)
    depends_on[*] location>dependency_location locations>dependency_location[100] properties{100}`,
  dependency_location: `path start_line:1.. end_line:1.. start_column:1.. end_column:1.. snippet
    branch commit_sha context_snippet context_start_line:1.. logical_location>logical_location`,
  endpoint: `origin path id~128 origin_ref method=${METHODS} template
    kind=page|api|script|form|graphql|websocket|static|other
    source=crawl|js|sitemap|robots|spec|har|archive|dast|probe parent~2048 status_code:100..599
    content_type~255 auth=none|required|redirect_login|unknown technologies>technology[100]
    params>endpoint_param[100]`,
  endpoint_param: `${PARAMETER} type_hint~32 required!`,
} as const;

export type CtisObject = keyof typeof SHAPES;

const shapes = new Map<CtisObject, CtisShape>();

/** The members that objects of this kind may have, with the rule of each. */
export function ctisShape(kind: CtisObject): CtisShape {
  const known = shapes.get(kind);
  if (known !== undefined) return known;
  const text = SHAPES[kind].replaceAll(/([|,])\s+/g, '$1');
  const shape = new Map(text.split(/\s+/).map(memberOf));
  shapes.set(kind, shape);
  return shape;
}

/** How words are compared: case, blanks and hyphens make no difference (§4.2, token rule). */
export function wordKey(word: string): string {
  return word
    .trim()
    .toLowerCase()
    .replaceAll(/[\s-]+/g, '_');
}

const MEMBER =
  /^(?<name>[$\w]+)(?<type>[#!@?])?(?:>(?<shape>\w+))?(?:=(?<words>[^:[{~]+))?(?::(?<min>-?\d+)\.\.(?<max>\d*))?(?:(?<list>\[)(?:(?<items>\d+)|\*)\]|\{(?<entries>\d+)\})?(?:~(?<chars>\d+))?$/;

/** The member may hold anything. */
export const ANYTHING: CtisRule = {
  shape: null,
  words: null,
  min: null,
  max: null,
  isList: false,
  itemsMax: null,
  charsMax: null,
  type: 'anything',
};

/** A text of any length, as most members are. */
export const ANY_TEXT: CtisRule = { ...ANYTHING, type: 'text' };

const TYPES: Readonly<Record<string, CtisRule['type']>> = {
  '#': 'id',
  '!': 'boolean',
  '@': 'object',
  '?': 'anything',
};

function memberOf(text: string): [string, CtisRule] {
  const found = MEMBER.exec(text)?.groups;
  if (found?.name === undefined) throw new Error(`not a member of CTIS: ${text}`);
  const { name, type, shape, words, min, max, list, items, entries, chars } = found;
  if (name === text) return [name, ANY_TEXT];
  if (type === '?') return [name, ANYTHING];
  const isText = [shape, words, min, list, entries].every((said) => said === undefined);
  const number = (digits: string | undefined) => (digits ? Number(digits) : null);
  const rule = {
    shape: (shape as CtisObject | undefined) ?? null,
    words: words === undefined ? null : wordsOf(words),
    min: number(min),
    max: number(max),
    isList: list !== undefined,
    itemsMax: number(items ?? entries),
    charsMax: number(chars),
    type: type === undefined ? (isText ? 'text' : 'anything') : (TYPES[type] ?? 'anything'),
  } as const;
  return [name, rule];
}

function wordsOf(text: string): ReadonlyMap<string, string> {
  const words = new Map<string, string>();
  for (const entry of text.split('|')) {
    const [word = '', ...spellings] = entry.split(/[(),]/);
    for (const spelling of [word, ...spellings]) words.set(wordKey(spelling), word);
  }
  words.delete('');
  return words;
}

/** Object → wrong member name → the right one. The right one wins where both are there. */
export const CTIS_ALIASES: Partial<Record<CtisObject, ReadonlyMap<string, string>>> = {
  scope: new Map([['paths', 'includes']]),
  technical: new Map([['ip', 'ip_address']]),
  asset_service: new Map([['service', 'service_type']]),
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
  dependency_location: new Map([
    ['line', 'start_line'],
    ['column', 'start_column'],
  ]),
};

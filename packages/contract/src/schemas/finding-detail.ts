// What a finding page shows beside the columns: one shape for findings from SARIF and from CTIS. It
// is stored as JSON; texts in it are cleaned and bounded, credentials and values of secrets masked.
// Absent means "not said". Objects that only CTIS has keep their CTIS member names (CTIS 1.0-1.6
// §2).

/** A place in a file, on a site or in a program. */
export interface DetailLocation {
  /** Normalised as the finding's own path. */
  path?: string;
  /**
   * Where the place isn't a file: a URL without credentials and query values, or another URI as
   * sent.
   */
  url?: string;
  start_line?: number;
  start_column?: number;
  end_line?: number;
  end_column?: number;
  snippet?: string;
  /** Lines around the place, the first of which is `context_start_line`. */
  context?: string;
  context_start_line?: number;
  /** Fully qualified name of the function, class, selector, package or resource. */
  logical?: string;
  logical_kind?: string;
  message?: string;
  /** The number by which message links (`[text](1)`) refer to this location. */
  id?: number;
}

/** One step of a code flow. */
export interface DetailFlowStep extends DetailLocation {
  /** CTIS `type` (source, sink, …), SARIF `kinds` joined by a blank. */
  role?: string;
  importance?: string;
  function?: string;
}

export interface DetailFlow {
  message?: string;
  steps: DetailFlowStep[];
}

export interface DetailFrame extends DetailLocation {
  module?: string;
  thread_id?: number;
  parameters?: string[];
}

export interface DetailStack {
  message?: string;
  frames: DetailFrame[];
}

/** A proposed change, summed up. */
export interface DetailFix {
  description?: string;
  changes: { path?: string; replacements: number; inserted?: string }[];
}

export interface DetailSuppression {
  kind?: string;
  /** `accepted` where the report gives none (SARIF 2.1.0 §3.35.3). */
  status: string;
  justification?: string;
  by?: string;
  at?: string;
  expires_at?: string;
}

/** The rule as its tool describes it, cut to what a finding's head shows. */
export interface DetailRule {
  name?: string;
  description?: string;
  help_uri?: string;
  precision?: string;
}

export interface DetailComponent {
  purl?: string;
  ecosystem?: string;
  name: string;
  version?: string;
}

/** A web request or response, with masked credentials. */
export interface DetailExchange {
  method?: string;
  url?: string;
  status?: number;
  reason?: string;
  headers?: Record<string, string>;
  parameters?: string[];
  body?: string;
}

type Bag = Readonly<Record<string, unknown>>;

/** A type rather than an interface, so that it is a `Record<string, unknown>` as well. */
export type FindingDetail = {
  /**
   * What decided the severity: `severity`, `security-severity`, `properties.severity`, `level`, …
   */
  severity_from: string;
  /** Everything that was said about severity, by source, as it was said. */
  severity_raw?: Record<string, string | number>;
  /** SARIF level after rule and configuration (§3.27.10). */
  level?: string;
  kind?: string;
  baseline_state?: string;
  /**
   * The producer's own id of the result (SARIF `guid`, CTIS `id`) and across runs
   * (`correlationGuid`).
   */
  producer_id?: string;
  correlation_id?: string;
  rank?: number;
  confidence?: number;
  occurrence_count?: number;

  rule?: DetailRule;
  description?: string;
  message_markdown?: string;
  tags?: string[];
  cwe?: string[];
  owasp?: string[];
  /** CVE, GHSA, GO, … */
  vulnerability_ids?: string[];
  /** Other taxa: `<taxonomy>/<id>`. */
  taxa?: string[];
  references?: string[];

  locations?: DetailLocation[];
  related_locations?: DetailLocation[];
  code_flows?: DetailFlow[];
  stacks?: DetailStack[];
  fixes?: DetailFix[];
  web_request?: DetailExchange;
  web_response?: DetailExchange;
  component?: DetailComponent;

  suppressions?: DetailSuppression[];
  hosted_viewer_uri?: string;
  work_item_uris?: string[];
  /** The recipe of CTIS §5 by which the producer's `fingerprint` was made, where it is one. */
  fingerprint_recipe?: string;
  /** Fingerprints that were left out of matching, by name, with the reason. */
  fingerprints_ignored?: Record<string, string>;

  vulnerability?: Bag;
  secret?: Bag;
  misconfiguration?: Bag;
  compliance?: Bag;
  web3?: Bag;
  network?: Bag;
  web?: Bag;
  remediation?: Bag;
  evidence?: string;
  /** CTIS members that have no place of their own above, under their CTIS names. */
  ctis?: Bag;
  properties?: Bag;
  /** Members that neither standard nor reader knows. */
  unknown?: Bag;
  /** What was left out for size: member → how many. */
  omitted?: Record<string, number>;
};

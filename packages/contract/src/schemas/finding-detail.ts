// The detail of a finding, which its page shows beside the columns: one shape for findings from
// SARIF and from CTIS. It is stored as JSON; texts in it are cleaned and bounded, credentials and
// values of secrets are masked. An absent member means "not said". Objects that only CTIS has keep
// their CTIS member names (CTIS 1.0-1.6 §2).

type Bag = Readonly<Record<string, unknown>>;

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
  /** Columns count UTF-16 code units from 1, unless `column_unit` says otherwise. */
  start_column?: number;
  end_line?: number;
  end_column?: number;
  /**
   * Only where the tool said that it counts code points (SARIF 2.1.0 §3.14.27) and the line isn't
   * in the report: a character outside the basic plane before the column would count as two.
   */
  column_unit?: 'unicode_code_points';
  /** A place in a text or a binary that names no line, from 0 (SARIF 2.1.0 §3.30.4). */
  char_offset?: number;
  char_length?: number;
  byte_offset?: number;
  byte_length?: number;
  address?: DetailAddress;
  snippet?: string;
  /** Lines around the place, the first of which is `context_start_line`. */
  context?: string;
  context_start_line?: number;
  /** Fully qualified name of the function, class, selector, package or resource. */
  logical?: string;
  logical_kind?: string;
  /** The index of the finding's logical location that contains this one, from 0 (CTIS §2.2). */
  logical_parent_index?: number;
  /** Where the place is on another branch or commit than the report. */
  branch?: string;
  commit_sha?: string;
  /** Further names of the place, in the form of `logical` (axe: the selector, then the XPath). */
  logical_others?: string[];
  message?: string;
  /** The number by which message links (`[text](1)`) refer to this location. */
  id?: number;
  /** Regions of the same file that are worth a look (SARIF 2.1.0 §3.28.6). */
  annotations?: DetailLocation[];
  /** Properties that the tool keeps beside its own place of a finding (ZAP: the attack). */
  properties?: Bag;
  /** How the place relates to other locations, by their `id` (SARIF 2.1.0 §3.34). */
  relationships?: { target: number; kinds?: string[]; description?: string }[];
}

/** A place in a binary (SARIF 2.1.0 §3.32); addresses and lengths in bytes. */
export interface DetailAddress {
  absolute?: number;
  relative?: number;
  offset_from_parent?: number;
  length?: number;
  name?: string;
  kind?: string;
}

/** One step of a code flow. */
export interface DetailFlowStep extends DetailLocation {
  /** CTIS `type` (source, sink, …), SARIF `kinds` joined by a blank. */
  role?: string;
  importance?: string;
  function?: string;
  module?: string;
  /** Further facts that CTIS gives about a step, under CTIS's names (CTIS §2.3). */
  facts?: Record<string, string | number>;
  nesting_level?: number;
  /** The step's place in the order of all threads: a number of the tool's. */
  execution_order?: number;
  /** The time at which the step ran, as the tool writes it. */
  executed_at?: string;
  /** The classes of the step: `CWE-20`, `<taxonomy>/<id>`. */
  taxa?: string[];
  /** The calls that led to the step. */
  stack?: DetailStack;
  /** Variables and their values at the step. */
  state?: Record<string, string>;
  web_request?: DetailExchange;
  web_response?: DetailExchange;
}

export interface DetailFlow {
  message?: string;
  /** SARIF threads of one code flow have the same number, and names of their own. */
  flow?: number;
  thread?: string;
  state?: Record<string, string>;
  steps: DetailFlowStep[];
}

export interface DetailNode extends DetailLocation {
  node: string;
  label?: string;
  /** The node that contains this one. */
  parent?: string;
}

export interface DetailEdge {
  edge: string;
  label?: string;
  from: string;
  to: string;
}

/**
 * A graph of the result, or a graph of the run that a traversal goes through (SARIF 2.1.0 §3.39).
 */
export interface DetailGraph {
  description?: string;
  nodes: DetailNode[];
  edges: DetailEdge[];
}

/** A way through a graph (SARIF 2.1.0 §3.42). */
export interface DetailTraversal {
  /** Index into the finding's `graphs`. */
  graph?: number;
  description?: string;
  state?: Record<string, string>;
  steps: { edge: string; message?: string; state?: Record<string, string> }[];
}

/** A file that came with the result (SARIF 2.1.0 §3.21); it is named, never fetched. */
export interface DetailAttachment {
  description?: string;
  path?: string;
  url?: string;
  regions?: DetailLocation[];
  /** Parts of an image, in pixels. */
  rectangles?: {
    top?: number;
    left?: number;
    bottom?: number;
    right?: number;
    message?: string;
  }[];
}

/** When a result was found, and by what, as its producer says (SARIF 2.1.0 §3.48). */
export interface DetailProvenance {
  first_detected_at?: string;
  last_detected_at?: string;
  first_detected_run?: string;
  last_detected_run?: string;
  /** The places of the result in the output that was converted to SARIF. */
  converted_from?: DetailLocation[];
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
  changes: {
    path?: string;
    /** The number of replacements; the first of them are `edits`. */
    replacements: number;
    edits?: DetailEdit[];
  }[];
}

/**
 * A region and the text that replaces it; an insertion's region is empty, a deletion inserts
 * nothing.
 */
export interface DetailEdit
  extends Pick<
    DetailLocation,
    | 'start_line'
    | 'start_column'
    | 'end_line'
    | 'end_column'
    | 'column_unit'
    | 'char_offset'
    | 'char_length'
    | 'byte_offset'
    | 'byte_length'
  > {
  inserted?: string;
}

export interface DetailSuppression {
  kind?: string;
  /** `accepted` where the report gives none (SARIF 2.1.0 §3.35.3). */
  status: string;
  justification?: string;
  /** Beside a justification (CTIS §2.7). */
  reason?: string;
  by?: string;
  at?: string;
  expires_at?: string;
  producer_id?: string;
  /** Where the suppression stands (SARIF 2.1.0 §3.35.5). */
  location?: DetailLocation;
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
  /** `HTTP/1.1` */
  protocol?: string;
  /** The server gave no answer at all (SARIF 2.1.0 §3.47.9). */
  no_response?: true;
  method?: string;
  url?: string;
  status?: number;
  reason?: string;
  headers?: Record<string, string>;
  parameters?: string[];
  body?: string;
}

/** A type rather than an interface, so that it is a `Record<string, unknown>` as well. */
export type FindingDetail = {
  /**
   * The member that decided the severity: `severity`, `security-severity`, `properties.severity`,
   * `level`, …
   */
  severity_from: string;
  /** Everything that was said about the severity, by source, as it was said. */
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
  /** The file that was being analysed, where the finding itself is elsewhere. */
  analysis_target?: string;
  code_flows?: DetailFlow[];
  stacks?: DetailStack[];
  graphs?: DetailGraph[];
  graph_traversals?: DetailTraversal[];
  attachments?: DetailAttachment[];
  fixes?: DetailFix[];
  web_request?: DetailExchange;
  web_response?: DetailExchange;
  component?: DetailComponent;

  suppressions?: DetailSuppression[];
  provenance?: DetailProvenance;
  hosted_viewer_uri?: string;
  work_item_uris?: string[];
  /** The recipe of CTIS §5 that made the producer's `fingerprint`, where it is one of them. */
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
  /** Property bags of the objects below a SARIF result, by their place in it. */
  property_bags?: Bag;
  /** The members that were left out for size, with the number of entries left out. */
  omitted?: Record<string, number>;
};

/** The document of a finding as the API shows it (`detail`). */
export type FindingDocument = {
  /**
   * The words of the tool about this finding: SARIF `message`, CTIS `message`, else its
   * description; with neither, what stands in for them as the title.
   */
  message: string;
  start_column: number | null;
  /** The producer's fingerprints that matching uses, by name. */
  fingerprints: Readonly<Record<string, string>>;
} & FindingDetail;

// What a reader makes of a report: first its envelope, then, entry by entry, the lists beside its findings, then, item by item,
// an outcome, in as many passes as are asked for. Readers (sarif.decode.ts, ctis.decode.ts) are pure: same bytes, same drafts, in the order of the
// document. Whatever can't be used becomes a located rejection; one bad item never takes its neighbours along. The ingest
// story (ingest.ts) resolves assets, matches drafts with stored findings and writes them.

import type { AssetKind, FindingType, Receipt, Severity } from '@muster/contract';
import type { AssetNames, NamedAsset } from './asset-names.rules.ts';
import type { AssetIndex } from './asset-index.rules.ts';
import type { EntryIndex, KeyedIndex } from './list-index.rules.ts';
import type { Located, Warnings } from '../json/warnings.decode.ts';
import type { UploadRun } from '@muster/contract/plain';

/** What the sender said beside the document (query parameters or X-Muster-* headers, contract §5). */
export interface UploadContext {
  readonly repositoryUrl?: string;
  readonly asset?: string;
  readonly assetType?: AssetKind;
  readonly branch?: string;
  readonly commitSha?: string;
  readonly baseBranch?: string;
  readonly pullRequest?: string;
  readonly defaultBranch?: boolean;
  readonly category?: string;
  readonly coverage?: 'full' | 'partial';
  /** Names of parameters and headers of ours that mean nothing. */
  readonly unknown?: readonly string[];
  /** What the media type of the body said on a route that takes several formats, where it ends in `+json`. */
  readonly mediaType?: string;
  /** The scans that the upload may have been made for, as they stood when it arrived. */
  readonly scans?: readonly ScanContext[];
  /** It stands for a scan that ended without findings and without a report (place-clean-scan.ts). */
  readonly cleanScan?: true;
  /** Only to tell what would become of the report (/ingest/validate): nothing of it is applied. */
  readonly dryRun?: true;
}

/** A command of type `scan`, and what it says of the reports that are made for it. */
export interface ScanContext {
  readonly commandId: string;
  readonly scanner: string;
  /** The upload names it (`X-OpenCTEM-Command-ID`); else it is one that the runner held. */
  readonly isNamed: boolean;
  /** It looks at a part of its asset, or for a part of what there is: nothing tells that it covers what others did. */
  readonly isNarrowed: boolean;
  readonly said: Pick<
    UploadContext,
    | 'repositoryUrl'
    | 'asset'
    | 'assetType'
    | 'branch'
    | 'commitSha'
    | 'defaultBranch'
    | 'category'
    | 'coverage'
  >;
}

/** A CTIS asset as a report lists it. */
export interface AssetEntry extends NamedAsset {
  /** The report's own id for it (CTIS `asset.id`), uncut, by which findings refer to it; stored nowhere. */
  readonly ref: string | null;
  readonly name: string | null;
  readonly criticality: string | null;
  /** Everything else the report said of it, as it is stored. Made when asked for, as `document` of a dependency is. */
  readonly attributes: () => Readonly<Record<string, unknown>>;
}

/** One analysis: what one tool looked at, in one category, on one ref. Absence is judged per analysis. */
export interface AnalysisDraft {
  /** Tool family: lower-case driver name, trimmed; what matching is scoped by. */
  readonly tool: string;
  readonly toolName: string;
  readonly toolVersion: string | null;
  /** `automationDetails.id` up to its last `/`, or the sender's `category`; '' when there is none. */
  readonly category: string;
  /** Index into `assets` when the analysis as a whole names one asset (SARIF), else null (CTIS: per finding). */
  readonly asset: number | null;
  /** The command that this was made for, if any. */
  readonly commandId: string | null;
  /** What that command calls the scanner, in lower case, if it says so. */
  readonly scanner?: string;
  /** '' = the asset's unnamed ref. */
  readonly branch: string;
  readonly claimsDefaultBranch: boolean;
  readonly commitSha: string | null;
  readonly coverage: 'full' | 'partial';
  /**
   * False when the producer says that the run failed (`executionSuccessful: false`, a signal, error notifications), and when
   * what says so can't be read.
   */
  readonly succeeded: boolean;
  /**
   * False when the item list was absent or null, or nothing tells for sure whose items it lists: then nothing may be
   * concluded from what isn't there.
   */
  readonly listed: boolean;
}

/** Which recipe of identity fits; each has its own content fields (evidence.rules.ts). */
export type IdentityKind = 'code' | 'component' | 'secret' | 'web' | 'network' | 'resource';

/** One usable finding. Texts are bounded and cleaned (NUL, lone surrogates), paths relative and normalised. */
export interface FindingDraft {
  readonly pointer: string;
  /** Index into `analyses`. */
  readonly analysis: number;
  /** Index into `assets`; null: the upload's fallback asset. */
  readonly asset: number | null;
  readonly type: FindingType;
  readonly ruleId: string;
  readonly title: string;
  readonly severity: Severity;
  readonly path: string | null;
  readonly startLine: number | null;
  readonly startColumn: number | null;
  /** Bytes, else characters, before it in its file, where the report counts so. */
  readonly startOffset?: number;
  readonly message: string;
  /** The producer's stable fingerprints: name → value; empty, placeholder and non-text values are left out. */
  readonly fingerprints: Readonly<Record<string, string>>;
  /** The one fingerprint a producer would ask `/ingest/check` about (CTIS `fingerprint`), as sent. */
  readonly baseFingerprint: string | null;
  readonly identity: {
    readonly kind: IdentityKind;
    /**
     * What the defect is, without any line number: code: [snippet or context, logical location, vulnerability id];
     * component: [purl without version or ecosystem/name, vulnerability id, manifest path];
     * secret: [the raw value or snippet: hashed with a key, stored nowhere];
     * web: [method, host and path template, parameter, and the place in the code where there is one];
     * network: [host, port/protocol, vulnerability id]; resource: [type, name].
     * Never empty as a whole: with nothing better it is the message.
     */
    readonly content: readonly string[];
    /** The content is only what the message or the rule says. */
    readonly isSaid?: boolean;
  };
  /**
   * What tells equal items from similar ones beside place and message: ends of regions, further places, ways, versions. It
   * isn't what the finding is known by. Made when asked for, as `detail` is.
   */
  readonly also?: () => readonly string[];
  /** True when the report's own suppression is accepted (SARIF §3.35, CTIS `suppression`). */
  readonly suppressed: boolean;
  /** When that ends, in milliseconds UTC; absent: it has no end. Whether it has ended is `isSuppressedAt`'s to say. */
  readonly suppressedUntil?: number;
  /**
   * What the finding page shows beside the columns; stored as JSON. Secrets are masked in it. Made when asked for: the
   * pass that only judges and matches has no use for it.
   */
  readonly detail: () => Readonly<Record<string, unknown>>;
}

/**
 * True when the report's own suppression is in force at a time. That is the time at which the upload arrived, so that
 * reading it again gives the same.
 */
export function isSuppressedAt(draft: FindingDraft, timeMs: number): boolean {
  return (
    draft.suppressed && (draft.suppressedUntil === undefined || timeMs < draft.suppressedUntil)
  );
}

/** The outcome of one item of the document, in its order. */
export type Item =
  | { readonly outcome: 'finding'; readonly draft: FindingDraft }
  | { readonly outcome: 'not_problem'; readonly pointer: string; readonly reason: string }
  | { readonly outcome: 'rejected'; readonly rejection: Located };

/** A CTIS dependency by itself: what it depends on is said in names that may come later in the report. */
export interface ComponentEntry {
  /** purl, else `ecosystem/name@version`. */
  readonly identity: string;
  readonly name: string;
  readonly version: string | null;
  /** What the pages show of it, as stored. Made when asked for: the pass that only counts has no use for it. */
  readonly document: () => Readonly<Record<string, unknown>>;
  /** The report's own id for it. */
  readonly id: string | null;
  /** What else it is called, without any doubt. */
  readonly exactNames: ReadonlySet<string>;
  /** Without a version, so that several may have them. */
  readonly bareNames: readonly string[];
  /** CTIS §3.3, `depends_on`: ids, purls and names, as sent. */
  readonly dependsOn: readonly string[];
}

/** A list of a report beside its findings. */
export interface ListReader<T> {
  /** The pointer of the list. */
  readonly list: string;
  /** One entry, or why it can't be used: the same in every pass. */
  readonly read: (value: unknown, pointer: string, warnings: Warnings) => T | Located;
}

/** How the entries of the lists beside the findings are read; null where the report has no such list. */
export interface ListReaders {
  readonly assets: ListReader<AssetEntry> | null;
  readonly components: ListReader<ComponentEntry> | null;
  /** Entries of both refer to assets, all of which have to be known. */
  readonly relationships: ListReader<RelationshipDraft> | null;
  readonly endpoints: ListReader<EndpointDraft> | null;
}

/** A component whose edges are known. */
export interface ComponentDraft {
  /** As it is stored (`indexable`). */
  readonly identity: string;
  readonly name: string;
  readonly version: string | null;
  /** Identities of the report's components that this one depends on (CTIS §3.3, `depends_on`). */
  readonly dependsOn: readonly string[];
  readonly document: Readonly<Record<string, unknown>>;
}

/** What can be called on a web asset (CTIS §3.4). */
export interface EndpointDraft {
  /** Index into `assets`. */
  readonly asset: number;
  /** `METHOD origin/path`, as it is stored (`indexable`); `ANY` where no method is said. */
  readonly identity: string;
  /** Made when asked for, as that of a dependency is. */
  readonly document: () => Readonly<Record<string, unknown>>;
}

export interface RelationshipDraft {
  readonly from: number;
  readonly to: number;
  readonly type: string;
}

/** What became of the lists beside the findings that have to be known before the first finding is read. */
export interface ListIndexes {
  readonly assets: AssetIndex;
  readonly relationships: KeyedIndex<RelationshipDraft>;
  readonly endpoints: KeyedIndex<EndpointDraft>;
}

/** The lists of items of a document: JSON pointer → how many. The envelope has an empty list in each of these places. */
export type ItemCounts = ReadonlyMap<string, number>;

/** Sees every finding once before the report is known. */
export type Look = (value: unknown, list: string, index: number) => void;

/** A list beside the findings that has to be read before the first finding: how, and into which index. */
export interface IndexedList<T> {
  /** Null where the report has no such list. */
  readonly reader: ListReader<T> | null;
  readonly index: EntryIndex<T>;
}

/**
 * A report of which the envelope was read. Three states follow each other until the report is known, each made by the one
 * before; a step can't be left out or taken twice by mistake, because only a state has the step that follows from it. This
 * one waits for the entries of `assets`.
 */
export interface OpenReport {
  /** The pointers of the lists whose entries are the report's findings. */
  readonly lists: readonly string[];
  /** The pointers of all lists whose entries are read, findings among them. */
  readonly allLists: readonly string[];
  readonly assets: IndexedList<AssetEntry>;
  /** Dependencies refer to each other alone: they are read with the findings. */
  readonly components: ListReader<ComponentEntry> | null;
  /** The next state, once all entries of `assets` are in their index. */
  readonly assetsIndexed: () => ReportWithAssets;
}

/** A report whose listed assets are known. It waits for `look` to see each finding. */
export interface ReportWithAssets {
  /** Null where the envelope and the assets say what the findings are about. */
  readonly look: Look | null;
  /** The next state, once `look` has seen each finding. */
  readonly findingsSeen: () => ReportWithTargets;
}

/** A report of which all that findings are about is known; only endpoints add to the assets. */
export interface ReportWithTargets {
  readonly relationships: IndexedList<RelationshipDraft>;
  readonly endpoints: IndexedList<EndpointDraft>;
  /** The report, once all entries of both lists are in their indexes. */
  readonly linksIndexed: () => Report;
}

/** What other rooms have to know of a format. */
export interface FormatFacts {
  /** As receipts call it. */
  readonly name: Receipt['format'];
  /**
   * A report with full coverage lists all findings of every asset that it names, and not only those of the asset of its
   * analysis.
   */
  readonly coversAssets: boolean;
}

export interface Report {
  readonly format: FormatFacts;
  /** The document's version as it says ('2.1.0', '1.4'). */
  readonly version: string;
  /** The report's own id, if it has one; what the receipt answers as `scan_id`. */
  readonly reportId: string | null;
  /** How its runs went, for operators. */
  readonly runs: RunSummaries;
  readonly analyses: readonly AnalysisDraft[];
  /** All that it is about: those that it lists come first, others are implied by what findings name, or by runs. */
  readonly assets: AssetNames;
  readonly listIndexes: ListIndexes;
  /**
   * Whatever of the envelope decides how an item is read, list by list: an item with the same bytes, in a list with the
   * same context, gives the same draft but for `pointer`.
   */
  contextOf(list: string): string;
  /** Where all items of a list belong; null where each one says so itself. */
  placeOf(list: string): ItemPlace | null;
  /** What was tolerated in the envelope. */
  readonly warnings: Warnings;
  /** A new pass over the items. */
  pass(): ItemPass;
}

/** Where an item belongs: an analysis and an asset of the report, by index; null: the upload's fallback asset. */
export interface ItemPlace {
  readonly analysis: number;
  readonly asset: number | null;
}

export interface ItemPass {
  /** The outcome of one item of one of the report's lists. `index` is its place in the list. */
  read(value: unknown, list: string, index: number): Item;
  /** What this pass had to tolerate so far. */
  readonly warnings: Warnings;
}

/** The whole document can't be understood: unknown version, not an object, not this format. */
export class DocumentRefused extends Error {
  readonly code: string;
  readonly pointer: string;
  constructor(code: string, pointer: string, detail: string) {
    super(detail);
    this.name = 'DocumentRefused';
    this.code = code;
    this.pointer = pointer;
  }
}

/** The first runs of a report, and how many it has. */
export interface RunSummaries {
  readonly total: number;
  readonly shown: readonly UploadRun[];
}

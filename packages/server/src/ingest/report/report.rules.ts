// The neutral model of a report that every format is read into. A reader opens the envelope, then
// takes the lists beside the findings entry by entry, then gives each item its outcome, in as many
// passes as are asked for. Readers are pure: the same bytes give the same drafts in the same order.
// An entry or item that can't be used becomes a rejection with its place; one bad item never takes
// its neighbours along.

import type { AssetKind, FindingType, Receipt, Severity } from '@muster/contract';
import type { AssetNames, NamedAsset } from './asset-names.rules.ts';
import type { AssetIndex } from './asset-index.rules.ts';
import type { EntryIndex, KeyedIndex } from './list-index.rules.ts';
import type { Located, Warnings } from '../json/warnings.decode.ts';
import type { UploadRun } from '@muster/contract/plain';

/**
 * The words of the sender beside the document: query parameters or X-Muster-* headers (contract
 * §5).
 */
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
  /** The media type of the body, if it ends in `+json` and the route takes several formats. */
  readonly mediaType?: string;
  /** The scans that the upload may have been made for, as they stood when it arrived. */
  readonly scans?: readonly ScanContext[];
  /** The upload stands for a scan that ended without findings and report (place-clean-scan.ts). */
  readonly cleanScan?: true;
  /** A dry run (/ingest/validate): nothing of the report is applied. */
  readonly dryRun?: true;
}

/** A command of type `scan`, and what it says of the reports that are made for it. */
export interface ScanContext {
  readonly commandId: string;
  readonly scanner: string;
  /** The upload names the command (`X-OpenCTEM-Command-ID`); else the runner held it. */
  readonly isNamed: boolean;
  /**
   * The scan looks at a part of its asset, or for a part of what there is: nothing tells that it
   * covers what other scans did.
   */
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

/** An asset as the list of a report has it. */
export interface AssetEntry extends NamedAsset {
  /**
   * The id that the report gives the asset (CTIS `asset.id`), uncut; findings refer to it. It is
   * stored nowhere.
   */
  readonly ref: string | null;
  readonly name: string | null;
  readonly criticality: string | null;
  /**
   * Everything else that the report said of the asset, as it is stored. Made when asked for, like
   * the `document` of a dependency.
   */
  readonly attributes: () => Readonly<Record<string, unknown>>;
}

/**
 * One analysis: what one tool looked at, in one category, on one ref. Absence is judged per
 * analysis.
 */
export interface AnalysisDraft {
  /** The tool family, a part of the scope: the driver's name in lower case, trimmed. */
  readonly tool: string;
  readonly toolName: string;
  readonly toolVersion: string | null;
  /**
   * `automationDetails.id` up to its last `/`, or the sender's `category`; '' when there is none.
   */
  readonly category: string;
  /**
   * Index into `assets` when the whole analysis is about one asset (SARIF); null: findings name
   * theirs (CTIS).
   */
  readonly asset: number | null;
  /** The command that this was made for, if any. */
  readonly commandId: string | null;
  /** The name of the scanner in that command, in lower case, if the command has one. */
  readonly scanner?: string;
  /** '' = the asset's unnamed ref. */
  readonly branch: string;
  readonly claimsDefaultBranch: boolean;
  readonly commitSha: string | null;
  readonly coverage: 'full' | 'partial';
  /**
   * False when the producer says that the run failed (`executionSuccessful: false`, a signal, error
   * notifications), and when that can't be read.
   */
  readonly succeeded: boolean;
  /**
   * False when the list of items was absent or null, or when nothing tells for sure whose items it
   * lists: then absence from the list means nothing.
   */
  readonly listed: boolean;
}

/** The recipe of identity that fits; each has its own content fields (evidence.rules.ts). */
export type IdentityKind = 'code' | 'component' | 'secret' | 'web' | 'network' | 'resource';

/**
 * One usable finding. Texts are bounded and cleaned (NUL, lone surrogates), paths relative and
 * normalised.
 */
export interface FindingDraft {
  readonly pointer: string;
  /** Index into `analyses`. */
  readonly analysis: number;
  /** Index into `assets`; null: the fallback asset of the upload. */
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
  /**
   * The producer's stable fingerprints: name → value; empty, placeholder and non-text values are
   * left out.
   */
  readonly fingerprints: Readonly<Record<string, string>>;
  /**
   * The one fingerprint that a producer asks `/ingest/check` about (CTIS `fingerprint`), as sent.
   */
  readonly baseFingerprint: string | null;
  readonly identity: {
    readonly kind: IdentityKind;
    /**
     * The nature of the defect, without any line number. By kind:
     * code: [snippet or context, logical location, vulnerability id];
     * component: [purl without version or ecosystem/name, vulnerability id, manifest path];
     * secret: [the raw value or snippet: hashed with a key, stored nowhere];
     * web: [method, host and path template, parameter, and the place in the code if there is one];
     * network: [host, port/protocol, vulnerability id]; resource: [type, name].
     * Never empty as a whole: with nothing better it is the message.
     */
    readonly content: readonly string[];
    /** The content is only what the message or the rule says. */
    readonly isSaid?: boolean;
  };
  /**
   * What tells equal items from similar ones beside place and message: ends of regions, further
   * places, ways, versions. It is no part of the identity. Made when asked for, like `detail`.
   */
  readonly also?: () => readonly string[];
  /** True when the report's own suppression is accepted (SARIF §3.35, CTIS `suppression`). */
  readonly suppressed: boolean;
  /** The end of the suppression, in milliseconds UTC; absent: no end (see `isSuppressedAt`). */
  readonly suppressedUntil?: number;
  /**
   * The part of the finding that its page shows beside the columns, stored as JSON; its secrets are
   * masked. Made when asked for: the pass that judges and matches has no use for it.
   */
  readonly detail: () => Readonly<Record<string, unknown>>;
}

/**
 * True when the report's own suppression is in force at a time. Ask for the time at which the
 * upload arrived, so that a second reading gives the same.
 */
export function isSuppressedAt(draft: FindingDraft, timeMs: number): boolean {
  return (
    draft.suppressed && (draft.suppressedUntil === undefined || timeMs < draft.suppressedUntil)
  );
}

/** The outcome of one item; items keep the order of the document. */
export type Item =
  | { readonly outcome: 'finding'; readonly draft: FindingDraft }
  | { readonly outcome: 'not_problem'; readonly pointer: string; readonly reason: string }
  | { readonly outcome: 'rejected'; readonly rejection: Located };

/** A dependency by itself: the dependencies that it names may come later in the report. */
export interface ComponentEntry {
  /** purl, else `ecosystem/name@version`. */
  readonly identity: string;
  readonly name: string;
  readonly version: string | null;
  /** The part of it that the pages show, as stored. Made when asked for, like `detail`. */
  readonly document: () => Readonly<Record<string, unknown>>;
  /** The id that the report gives it. */
  readonly id: string | null;
  /** Other names that mean this dependency and no other. */
  readonly exactNames: ReadonlySet<string>;
  /** Names without a version, which several dependencies may have. */
  readonly bareNames: readonly string[];
  /** CTIS §3.3, `depends_on`: ids, purls and names, as sent. */
  readonly dependsOn: readonly string[];
}

/** A list of a report beside its findings. */
export interface ListReader<T> {
  /** The pointer of the list. */
  readonly list: string;
  /** Reads one entry, or says why it can't be used: the same in every pass. */
  readonly read: (value: unknown, pointer: string, warnings: Warnings) => T | Located;
}

/** How the entries of the lists beside the findings are read; null: the report has no such list. */
export interface ListReaders {
  readonly assets: ListReader<AssetEntry> | null;
  readonly components: ListReader<ComponentEntry> | null;
  /** Entries of both lists refer to assets, so all assets have to be known first. */
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

/** Something that can be called on a web asset (CTIS §3.4). */
export interface EndpointDraft {
  /** Index into `assets`. */
  readonly asset: number;
  /** `METHOD origin/path`, as it is stored (`indexable`); `ANY` when no method is said. */
  readonly identity: string;
  /** Made when asked for, like the `document` of a dependency. */
  readonly document: () => Readonly<Record<string, unknown>>;
}

export interface RelationshipDraft {
  readonly from: number;
  readonly to: number;
  readonly type: string;
}

/** The indexes of the lists that have to be known before the first finding is read. */
export interface ListIndexes {
  readonly assets: AssetIndex;
  readonly relationships: KeyedIndex<RelationshipDraft>;
  readonly endpoints: KeyedIndex<EndpointDraft>;
}

/** Lists of items: JSON pointer → how many. The envelope has an empty list in each place. */
export type ItemCounts = ReadonlyMap<string, number>;

/** Sees every finding once before the report is known. */
export type Look = (value: unknown, list: string, index: number) => void;

/** A list that has to be read before the first finding: its reader and its index. */
export interface IndexedList<T> {
  /** Null: the report has no such list. */
  readonly reader: ListReader<T> | null;
  readonly index: EntryIndex<T>;
}

/**
 * A report whose envelope was read. Three states follow each other until the report is known. Each
 * makes the next one, and only a state has the step that follows from it, so no step is left out or
 * taken twice by mistake. This state waits for the entries of `assets`.
 */
export interface OpenReport {
  /** The pointers of the lists whose entries are the report's findings. */
  readonly lists: readonly string[];
  /** The pointers of all lists whose entries are read, findings among them. */
  readonly allLists: readonly string[];
  readonly assets: IndexedList<AssetEntry>;
  /** Dependencies refer only to each other, so they are read with the findings. */
  readonly components: ListReader<ComponentEntry> | null;
  /** The next state, once all entries of `assets` are in their index. */
  readonly assetsIndexed: () => ReportWithAssets;
}

/** A report whose listed assets are known. It waits for `look` to see each finding. */
export interface ReportWithAssets {
  /** Null: envelope and assets say what the findings are about. */
  readonly look: Look | null;
  /** The next state, once `look` has seen each finding. */
  readonly findingsSeen: () => ReportWithTargets;
}

/** A report whose findings have known assets; only endpoints still add assets. */
interface ReportWithTargets {
  readonly relationships: IndexedList<RelationshipDraft>;
  readonly endpoints: IndexedList<EndpointDraft>;
  /** The report, once all entries of both lists are in their indexes. */
  readonly linksIndexed: () => Report;
}

/** What other rooms have to know of a format. */
export interface FormatFacts {
  /** The name in receipts. */
  readonly name: Receipt['format'];
  /**
   * True when a report with full coverage lists all findings of every asset that it names, and not
   * only of the asset of its analysis.
   */
  readonly coversAssets: boolean;
}

export interface Report {
  readonly format: FormatFacts;
  /** The version that the document names ('2.1.0', '1.4'). */
  readonly version: string;
  /** The report's own id, if it has one; the receipt answers it as `scan_id`. */
  readonly reportId: string | null;
  /** How the runs of the report went, for operators. */
  readonly runs: RunSummaries;
  readonly analyses: readonly AnalysisDraft[];
  /** All assets of the report: the listed ones first, then those that findings or runs name. */
  readonly assets: AssetNames;
  readonly listIndexes: ListIndexes;
  /**
   * Everything in the envelope that decides how an item is read, list by list: an item with the
   * same bytes in a list with the same context gives the same draft, except its `pointer`.
   */
  contextOf(list: string): string;
  /** Where all items of a list belong; null: each item says so itself. */
  placeOf(list: string): ItemPlace | null;
  /** The warnings of reading the envelope. */
  readonly warnings: Warnings;
  /** A new pass over the items. */
  pass(): ItemPass;
}

/**
 * Where an item belongs: an analysis and an asset of the report, by index; null: the fallback asset
 * of the upload.
 */
export interface ItemPlace {
  readonly analysis: number;
  readonly asset: number | null;
}

export interface ItemPass {
  /** The outcome of one item of one of the report's lists. `index` is its place in the list. */
  read(value: unknown, list: string, index: number): Item;
  /** The warnings of this pass so far. */
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

// Gitleaks 8 JSON report → Report. The document is a list of findings and nothing else: tool, asset
// and branch are what the sender says beside it. Every finding holds a secret, which reaches the
// content of its identity alone.

import { limits } from '@muster/contract/plain';
import {
  type JsonObject,
  listOf,
  objectOf,
  pointerToken,
  positionOf,
  stringOf,
} from '../../json/json.decode.ts';
import { Warnings } from '../../json/warnings.decode.ts';
import { isMasked, maskSaid } from '../../redact/masking.rules.ts';
import {
  addSnippet,
  maskedBag,
  type SecretValues,
  withoutValues,
  withSpellings,
} from '../../redact/secret-values.rules.ts';
import { AssetNames } from '../../report/asset-names.rules.ts';
import { findingsAlone, newListIndexes } from '../../report/asset-index.rules.ts';
import {
  type AnalysisDraft,
  DocumentRefused,
  type FindingDraft,
  type FormatFacts,
  type Item,
  type ItemPass,
  type OpenReport,
  type UploadContext,
} from '../../report/report.rules.ts';
import { boundedBag, newBudget } from '../common/bounded.decode.ts';
import { CERTAINTY, type Certainty } from '../common/certainty.rules.ts';
import {
  cleanPath,
  type PathRoots,
  pathRoots,
  relativePath,
  usablePath,
} from '../common/path.rules.ts';
import { EMPTY_SUMMARY } from '../common/run-summary.decode.ts';
import { scannerOf, scanOf } from '../common/scan-context.rules.ts';
import { branchName, contextAsset } from '../common/sender-context.rules.ts';
import { redactUrl } from '../common/web.rules.ts';

/** The document itself is the list. */
export const GITLEAKS_LISTS = [''];

export const GITLEAKS: FormatFacts = { name: 'gitleaks', coversAssets: false };

const TOOL = 'gitleaks';

/**
 * Gitleaks says no severity. Its SARIF has no level either, which means `warning` (SARIF 2.1.0
 * §3.27.10): both reports of one scan shall be equally bad.
 */
const SEVERITY = 'medium';

/** Members of a finding (Gitleaks 8.0 to 8.28, `report.Finding`). */
const MEMBERS: ReadonlySet<string> = new Set(
  `RuleID Description StartLine EndLine StartColumn EndColumn Line Match Secret File SymlinkFile
    Commit Link Entropy Author Email Date Message Tags Fingerprint`.split(/\s+/),
);

/** Gitleaks lists a handful of tags. */
const TAGS_MAX = 32;

/**
 * A list whose first entry has members as only Gitleaks names them. Nothing tells what an empty
 * list lists.
 */
export function certaintyOfGitleaks(envelope: unknown, first: unknown): Certainty {
  if (!Array.isArray(envelope)) return CERTAINTY.none;
  const leak = objectOf(first);
  const isLeak = stringOf(leak?.RuleID) !== null && stringOf(leak?.File) !== null;
  return isLeak ? CERTAINTY.sure : CERTAINTY.none;
}

/** Throws DocumentRefused for what isn't a list. */
export function openGitleaks(
  document: unknown,
  context: UploadContext,
  warnings: Warnings,
): OpenReport {
  if (!Array.isArray(document)) {
    const detail =
      'A Gitleaks report is a JSON list of findings (`gitleaks … --report-format json`).';
    throw new DocumentRefused('not_gitleaks', '', detail);
  }
  const assets = new AssetNames();
  const scan = scanOf(context, TOOL);
  const asset = contextAsset(context, warnings) ?? (scan && contextAsset(scan.said, warnings));
  const analysis = analysisOf(context, asset === null ? null : assets.add(asset), warnings);
  const roots = pathRoots([], asset?.kind === 'repository' ? asset.value : null);
  const place = { analysis: 0, asset: analysis.asset };
  return findingsAlone(GITLEAKS_LISTS, {
    format: GITLEAKS,
    version: '8',
    reportId: null,
    runs: { total: 1, shown: [{ ...EMPTY_SUMMARY, tool: TOOL }] },
    analyses: [analysis],
    assets,
    listIndexes: newListIndexes(assets),
    contextOf: () => roots.repositoryName ?? '',
    placeOf: () => place,
    warnings,
    pass: () => newPass(analysis.asset, roots),
  });
}

/**
 * The analysis by the words of the sender, else by the command that the report was made for. A
 * report lists all that the scan found.
 */
function analysisOf(
  context: UploadContext,
  asset: number | null,
  warnings: Warnings,
): AnalysisDraft {
  const scan = scanOf(context, TOOL);
  const said = scan?.said ?? {};
  return {
    tool: TOOL,
    toolName: TOOL,
    toolVersion: null,
    category: warnings.text(context.category ?? said.category ?? '', limits.nameCharsMax),
    asset,
    commandId: scan?.commandId ?? null,
    ...scannerOf(scan, warnings),
    branch: warnings.text(branchName(context.branch ?? said.branch ?? ''), limits.nameCharsMax),
    claimsDefaultBranch: (context.defaultBranch ?? said.defaultBranch) === true,
    commitSha: context.commitSha ?? said.commitSha ?? null,
    coverage: context.coverage ?? said.coverage ?? 'full',
    succeeded: true,
    listed: true,
  };
}

function newPass(asset: number | null, roots: PathRoots): ItemPass {
  const warnings = new Warnings();
  return {
    warnings,
    read: (value, list, index) => {
      const pointer = `${list}/${index}`;
      warnings.at = pointer;
      return decodeLeak(value, pointer, { asset, roots, warnings });
    },
  };
}

interface Pass {
  readonly asset: number | null;
  readonly roots: PathRoots;
  readonly warnings: Warnings;
}

function decodeLeak(value: unknown, pointer: string, pass: Pass): Item {
  const leak = objectOf(value);
  if (leak === null) {
    const detail = 'A finding must be an object.';
    return { outcome: 'rejected', rejection: { pointer, code: 'item_not_object', detail } };
  }
  const title = stringOf(leak.Description) ?? stringOf(leak.RuleID);
  if (title === null) {
    const detail = 'A Gitleaks finding needs a `RuleID` or a `Description`.';
    const rejection = { pointer: `${pointer}/RuleID`, code: 'title_missing', detail };
    return { outcome: 'rejected', rejection };
  }
  for (const name of Object.keys(leak)) {
    if (MEMBERS.has(name)) continue;
    const detail = 'Gitleaks has no such member; it is kept with the details of the finding.';
    pass.warnings.warn(`${pointer}/${pointerToken(name)}`, 'unknown_member', detail);
  }
  return { outcome: 'finding', draft: draftOf(leak, title, pointer, pass) };
}

/** The values that the finding shows: its secret, and what stands around it. */
function valuesOf(leak: JsonObject): SecretValues {
  const found = new Set<string>();
  for (const name of ['Secret', 'Match', 'Line']) addSnippet(stringOf(leak[name]), found);
  return withSpellings(found);
}

function draftOf(leak: JsonObject, title: string, pointer: string, pass: Pass): FindingDraft {
  const { asset, roots, warnings } = pass;
  const values = valuesOf(leak);
  const shown = (text: string, charsMax: number): string =>
    warnings.text(maskSaid(withoutValues(text, values, true)), charsMax);
  const ruleId = stringOf(leak.RuleID)?.trim() ?? '';
  const file = usablePath(stringOf(leak.File) ?? '');
  const path = file === null ? null : relativePath(cleanPath(file), roots);
  const secret = secretOf(leak);
  return {
    pointer,
    analysis: 0,
    asset,
    type: 'secret',
    ruleId: warnings.text(ruleId, limits.ruleIdCharsMax),
    title: shown(title.split(/\r?\n/, 1)[0] ?? title, limits.titleCharsMax),
    severity: SEVERITY,
    path: path === null ? null : warnings.text(path, limits.pathCharsMax),
    startLine: positionOf(leak.StartLine),
    startColumn: positionOf(leak.StartColumn),
    message: shown(title, limits.messageCharsMax),
    // Gitleaks' own is the commit, the file, the rule and the line: it says where, not what.
    fingerprints: {},
    baseFingerprint: warnings.textOf(leak.Fingerprint, limits.fingerprintCharsMax),
    identity:
      secret === null
        ? { kind: 'secret', content: [title], isSaid: true }
        : { kind: 'secret', content: [secret] },
    also: () => [JSON.stringify([leak.EndLine, leak.EndColumn, leak.Commit])],
    suppressed: false,
    detail: () => detailOf(leak, path, values, shown, warnings),
  };
}

/** What tells one secret from another; null where the report hides it (`gitleaks --redact`). */
function secretOf(leak: JsonObject): string | null {
  const value = stringOf(leak.Secret)?.trim() ?? stringOf(leak.Match)?.trim() ?? null;
  return value === null || isMasked(value) || /redacted/i.test(value) ? null : value;
}

const COMMIT = /^[0-9a-f]{7,64}$/i;

type Shown = (text: string, charsMax: number) => string;

/** The part of a finding that its page shows beside the columns (contract, finding-detail.ts). */
function detailOf(
  leak: JsonObject,
  path: string | null,
  values: SecretValues,
  shown: Shown,
  warnings: Warnings,
): Readonly<Record<string, unknown>> {
  const text = (name: string): string | null => {
    const said = stringOf(leak[name]);
    return said === null ? null : shown(said, limits.nameCharsMax);
  };
  const tags = warnings.first(listOf(leak.Tags), TAGS_MAX).flatMap((tag) => {
    const said = stringOf(tag);
    return said === null ? [] : [shown(said, limits.nameCharsMax)];
  });
  const places = {
    start_line: positionOf(leak.StartLine),
    start_column: positionOf(leak.StartColumn),
    end_line: positionOf(leak.EndLine),
    end_column: positionOf(leak.EndColumn),
    // A commit looks like a secret to whoever masks what looks random.
    commit_sha: COMMIT.test(stringOf(leak.Commit) ?? '') ? leak.Commit : text('Commit'),
  };
  const properties = {
    Author: text('Author'),
    Date: text('Date'),
    Message: text('Message'),
    Email: text('Email'),
    Link: linkOf(leak.Link, values),
    SymlinkFile: text('SymlinkFile'),
    Entropy: typeof leak.Entropy === 'number' ? leak.Entropy : null,
  };
  return {
    severity_from: 'default',
    rule: { description: shown(stringOf(leak.Description) ?? '', limits.messageCharsMax) },
    locations: path === null ? [] : [{ path, ...said(places), snippet: '***' }],
    ...(tags.length === 0 ? {} : { tags }),
    properties: said(properties),
    ...unknownOf(leak, values, warnings),
  };
}

/** The members that say something. */
const said = (members: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null && value !== ''));

/** The address of the place in a forge, without credentials. */
function linkOf(link: unknown, values: SecretValues): string | null {
  const text = stringOf(link);
  return text === null ? null : redactUrl(withoutValues(text, values, false));
}

/** Members that this reader doesn't know, masked and bounded. */
function unknownOf(
  leak: JsonObject,
  values: SecretValues,
  warnings: Warnings,
): { readonly unknown?: Readonly<Record<string, unknown>> } {
  const unknown = Object.entries(leak).filter(([name]) => !MEMBERS.has(name));
  if (unknown.length === 0) return {};
  const bag = boundedBag(maskedBag(Object.fromEntries(unknown), values), warnings, newBudget());
  return bag === undefined ? {} : { unknown: bag };
}

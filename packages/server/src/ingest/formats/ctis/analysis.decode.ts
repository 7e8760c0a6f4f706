// A CTIS report as a whole → its one analysis: tool, branch, commit, coverage, and whether these
// could be read (CTIS §1.1, §1.2). When one of them can't be read, nothing may be concluded from
// the findings that the report lacks (contract §6). Called by ctis.decode.ts.

import { limits } from '@muster/contract/plain';
import { familyOf } from '../common/clean-scan.rules.ts';
import { isBlank, readObject } from './members.decode.ts';
import type { AnalysisDraft, ScanContext, UploadContext } from '../../report/report.rules.ts';
import type { Warnings } from '../../json/warnings.decode.ts';
import {
  type JsonObject,
  objectOf,
  soleObjectOf,
  stringOf,
  stringsOf,
} from '../../json/json.decode.ts';
import { timeOf } from '../common/dates.rules.ts';
import { branchName } from '../common/sender-context.rules.ts';
import { scannerOf } from '../common/scan-context.rules.ts';

/** The sender's facts about a report, and the facts about its assets. */
interface Beside {
  readonly implicit: number | null;
  /** True when one id names two assets of the report. */
  readonly isAmbiguous: boolean;
  readonly context: UploadContext;
  readonly scan: ScanContext | null;
}

/** The one analysis of the report that stands at `base`; `metadata` and `branch` have been read. */
export function analysisOf(
  report: JsonObject,
  metadata: JsonObject,
  branch: JsonObject,
  base: string,
  beside: Beside,
  warnings: Warnings,
): AnalysisDraft {
  const { context, scan } = beside;
  const said = { ...scan?.said, ...context };
  const tool = readObject('tool', report.tool, `${base}/tool`, warnings);
  const toolName = warnings.textOf(tool?.name, limits.nameCharsMax)?.trim() ?? null;
  if (toolName === null) {
    const detail =
      'The report doesn’t name its tool; it is filed under "unknown", and nothing is closed by it.';
    warnings.warn(`${base}/tool/name`, 'tool_missing', detail);
  }
  warnTime(metadata.timestamp, `${base}/metadata/timestamp`, warnings);
  // The document comes first; the sender's facts fill its gaps.
  const name = stringOf(branch.name);
  const commit = stringOf(branch.commit_sha) ?? said.commitSha;
  // Go writes `false` for an unset value (CTIS §1.3). Beside a name `false` may be meant, so the
  // sender's claim counts only where the report names no branch.
  const isClaimed = branch.is_default_branch === true;
  return {
    tool: familyOf(toolName ?? 'unknown'),
    toolName: toolName ?? 'unknown',
    toolVersion: warnings.textOf(tool?.version, limits.nameCharsMax),
    category: warnings.text(said.category ?? '', limits.nameCharsMax),
    asset: beside.implicit,
    commandId: scan?.commandId ?? null,
    ...scannerOf(scan, warnings),
    branch: warnings.text(branchName(name ?? said.branch ?? ''), limits.nameCharsMax),
    claimsDefaultBranch: isClaimed || (name === null && said.defaultBranch === true),
    commitSha: commit === undefined ? null : warnings.text(commit, limits.nameCharsMax),
    coverage: context.coverage ?? coverageOf(report, metadata, `${base}/metadata`, scan, warnings),
    succeeded: true,
    listed:
      Array.isArray(report.findings) &&
      toolName !== null &&
      !beside.isAmbiguous &&
      namesAssetAndBranch(report, metadata, branch),
  };
}

/** True for a member that was sent but couldn't be read; a warning has said so. */
const isLost = (sent: unknown, read: unknown): boolean => !isBlank(sent) && isBlank(read);

/**
 * False when the members that name asset or branch can't be read: the report may then lack findings
 * only because they belong elsewhere.
 */
function namesAssetAndBranch(
  report: JsonObject,
  metadata: JsonObject,
  branch: JsonObject,
): boolean {
  const sent = objectOf(metadata.branch);
  return !(
    isLost(report.metadata, objectOf(report.metadata)) ||
    isLost(metadata.branch, sent) ||
    ['name', 'repository_url', 'is_default_branch'].some((name) =>
      isLost(sent?.[name], branch[name]),
    ) ||
    !(isBlank(report.assets) || Array.isArray(report.assets))
  );
}

/**
 * Only `full` is full (CTIS §1.2), and only without a narrowing scope: other reports may have
 * covered the rest. The command's coverage counts only where the report sends none, not even one
 * that can't be read.
 */
function coverageOf(
  report: JsonObject,
  metadata: JsonObject,
  pointer: string,
  scan: ScanContext | null,
  warnings: Warnings,
): AnalysisDraft['coverage'] {
  const sent = objectOf(report.metadata);
  const isSilent = isBlank(sent?.coverage_type);
  const word = stringOf(metadata.coverage_type)?.trim().toLowerCase();
  const stated = isSilent ? scan?.said.coverage : word;
  if (stated !== 'full') return 'partial';
  const scope = objectOf(metadata.scope);
  if (scope === null) return isBlank(sent?.scope) ? 'full' : 'partial';
  const sentScope = soleObjectOf(sent?.scope);
  const narrowing = ['includes', 'excludes'].filter((name) => {
    const isWhole = (entry: string): boolean =>
      name === 'includes' && (WHOLE.test(entry.trim()) || entry === scope.name);
    return (
      isLost(sentScope?.[name], scope[name]) || !stringsOf(scope[name]).every((one) => isWhole(one))
    );
  });
  for (const name of narrowing) {
    const detail = `A scope with \`${name}\` is a part of what there is: the coverage is partial.`;
    warnings.warn(`${pointer}/scope/${name}`, 'scope_narrowed', detail);
  }
  return narrowing.length === 0 ? 'full' : 'partial';
}

/** `.`, `/`, `*`, `**` and similar patterns stand for everything. */
const WHOLE = /^[./*]+$/;

/** Warns about a time that can't be read. Go writes year 1 for an unset time (CTIS §8, item 28). */
function warnTime(value: unknown, pointer: string, warnings: Warnings): void {
  const text = stringOf(value);
  if (text === null || text.startsWith('0001-') || timeOf(text) !== null) return;
  const detail = 'The time of the report is no time of RFC 3339; it is left out.';
  warnings.warn(pointer, 'time_unreadable', detail);
}

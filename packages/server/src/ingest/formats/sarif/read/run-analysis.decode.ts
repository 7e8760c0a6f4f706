// A SARIF run as a whole → its analysis: tool, category, repository, branch and commit, and whether
// the run went well (SARIF 2.1.0 §3.14, §3.17-§3.20, §3.23). The sender's facts beside the document
// come first. Called by sarif.decode.ts.

import { limits } from '@muster/contract/plain';
import { namedAsset, type NamedAsset } from '../../../report/asset-names.rules.ts';
import type { AnalysisDraft, UploadContext } from '../../../report/report.rules.ts';
import type { Warnings } from '../../../json/warnings.decode.ts';
import { type JsonObject, listOf, objectOf, stringOf } from '../../../json/json.decode.ts';
import { familyOf } from '../../common/clean-scan.rules.ts';
import { scannerOf, scanOf } from '../../common/scan-context.rules.ts';
import { withoutCredentials } from '../../common/web.rules.ts';
import { branchName, contextAsset } from '../../common/sender-context.rules.ts';

/**
 * The analysis of one run; `health` is how the run went. Runs of one tool and category are merged
 * later.
 */
export function analysisOf(
  run: JsonObject,
  context: UploadContext,
  asset: number | null,
  health: Pick<AnalysisDraft, 'succeeded' | 'listed'>,
  warnings: Warnings,
): AnalysisDraft {
  const driver = objectOf(objectOf(run.tool)?.driver);
  const toolName = warnings.textOf(driver?.name, limits.nameCharsMax)?.trim() ?? 'unknown';
  const version =
    stringOf(driver?.version) ??
    stringOf(driver?.semanticVersion) ??
    stringOf(driver?.dottedQuadFileVersion);
  const provenance = provenanceOf(run);
  const scan = scanOf(context, toolName);
  const said = scan?.said ?? {};
  const branch = context.branch ?? stringOf(provenance?.branch) ?? said.branch ?? '';
  const commit = context.commitSha ?? stringOf(provenance?.revisionId) ?? said.commitSha ?? null;
  const category = context.category ?? (categoryOf(run) || said.category) ?? '';
  return {
    tool: familyOf(toolName),
    toolName,
    toolVersion: version === null ? null : warnings.text(version, limits.nameCharsMax),
    category: warnings.text(category, limits.nameCharsMax),
    asset,
    commandId: scan?.commandId ?? null,
    ...scannerOf(scan, warnings),
    branch: warnings.text(branchName(branch), limits.nameCharsMax),
    claimsDefaultBranch: (context.defaultBranch ?? said.defaultBranch) === true,
    commitSha: commit === null ? null : warnings.text(commit, limits.nameCharsMax),
    coverage: context.coverage ?? said.coverage ?? 'full',
    succeeded: health.succeeded,
    listed: health.listed && namesItsAnalysis(run),
  };
}

/**
 * False when the members that name tool, category, asset or branch are missing or can't be read:
 * the run may then lack findings only because they belong elsewhere. Warnings tell the places.
 */
function namesItsAnalysis({
  tool,
  automationDetails,
  versionControlProvenance,
}: JsonObject): boolean {
  const isText = (value: unknown) =>
    value === undefined || value === null || typeof value === 'string';
  const details = automationDetails ?? {};
  const entries = versionControlProvenance ?? [];
  return (
    stringOf(objectOf(objectOf(tool)?.driver)?.name) !== null &&
    objectOf(details) !== null &&
    isText(objectOf(details)?.id) &&
    Array.isArray(entries) &&
    entries.every((entry: unknown) => {
      const provenance = objectOf(entry ?? {});
      return provenance !== null && isText(provenance.repositoryUri) && isText(provenance.branch);
    })
  );
}

/** §3.17.3: the id up to its last `/`; the rest names the single run. */
function categoryOf(run: JsonObject): string {
  const id = stringOf(objectOf(run.automationDetails)?.id) ?? '';
  // CI systems write the address of a job there, which may hold credentials.
  return withoutCredentials(id.slice(0, Math.max(0, id.lastIndexOf('/'))).trim());
}

/** §3.23: the first entry with the address of a repository, else the first entry. */
function provenanceOf(run: JsonObject): JsonObject | null {
  for (const entry of listOf(run.versionControlProvenance)) {
    const provenance = objectOf(entry);
    if (stringOf(provenance?.repositoryUri) !== null) return provenance;
  }
  return objectOf(listOf(run.versionControlProvenance)[0]);
}

/**
 * The asset that the sender, the run or the command names; null leaves the choice to the upload's
 * fallback, never to a guess.
 */
export function assetOf(
  run: JsonObject,
  context: UploadContext,
  warnings: Warnings,
): NamedAsset | null {
  const stated = contextAsset(context, warnings);
  if (stated !== null) return stated;
  const uri = stringOf(provenanceOf(run)?.repositoryUri);
  if (uri !== null) return namedAsset('repository', uri, warnings);
  const tool = stringOf(objectOf(objectOf(run.tool)?.driver)?.name) ?? '';
  const scan = scanOf(context, tool);
  return scan === null ? null : contextAsset(scan.said, warnings);
}

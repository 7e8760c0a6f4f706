// What a SARIF run as a whole says: which tool, which category, which repository, branch and
// commit, and whether it went well (SARIF 2.1.0 §3.14, §3.17-§3.20, §3.23). What the sender said
// beside the document comes first. Called by sarif.decode.ts, once per run.

import { limits } from '@muster/contract/plain';
import { type NamedAsset, namedAsset } from './asset-names.rules.ts';
import type { AnalysisDraft, UploadContext } from './draft.rules.ts';
import { type JsonObject, listOf, type Notes, objectOf, stringOf } from './report-notes.decode.ts';
import { familyOf } from './clean-scan.rules.ts';
import { scanOf, scannerOf } from './scan-context.rules.ts';
import { withoutCredentials } from './web.rules.ts';

/** The analysis of one run that went so, before runs of the same tool and category are merged. */
export function analysisOf(
  run: JsonObject,
  context: UploadContext,
  asset: number | null,
  went: Pick<AnalysisDraft, 'succeeded' | 'listed'>,
  notes: Notes,
): AnalysisDraft {
  const driver = objectOf(objectOf(run.tool)?.driver);
  const toolName = notes.textOf(driver?.name, limits.nameCharsMax)?.trim() ?? 'unknown';
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
    toolVersion: version === null ? null : notes.text(version, limits.nameCharsMax),
    category: notes.text(category, limits.nameCharsMax),
    asset,
    commandId: scan?.commandId ?? null,
    ...scannerOf(scan, notes),
    branch: notes.text(branchName(branch), limits.nameCharsMax),
    claimsDefaultBranch: (context.defaultBranch ?? said.defaultBranch) === true,
    commitSha: commit === null ? null : notes.text(commit, limits.nameCharsMax),
    coverage: context.coverage ?? said.coverage ?? 'full',
    succeeded: went.succeeded,
    listed: went.listed && saysWhose(run),
  };
}

/**
 * False when what tells tool, category, asset or branch of a run isn't there or can't be read: then what it lacks may be
 * somebody else's. Warnings tell where.
 */
function saysWhose({ tool, automationDetails, versionControlProvenance }: JsonObject): boolean {
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

/**
 * `refs/heads/main` → `main`; tags and pull requests keep their prefix; a detached `HEAD` names no
 * branch.
 */
export function branchName(ref: string): string {
  const name = ref.trim().replace(/^refs\/heads\//, '');
  return name === 'HEAD' ? '' : name;
}

/** §3.17.3: everything before the last `/`; what follows it names the single run. */
function categoryOf(run: JsonObject): string {
  const id = stringOf(objectOf(run.automationDetails)?.id) ?? '';
  // CI systems put the address of a job there.
  return withoutCredentials(id.slice(0, Math.max(0, id.lastIndexOf('/'))).trim());
}

/** §3.23: the first repository that has an address. */
function provenanceOf(run: JsonObject): JsonObject | null {
  for (const entry of listOf(run.versionControlProvenance)) {
    const provenance = objectOf(entry);
    if (stringOf(provenance?.repositoryUri) !== null) return provenance;
  }
  return objectOf(listOf(run.versionControlProvenance)[0]);
}

/**
 * The asset that sender, run or command names; null leaves it to the upload's fallback, never to a guess.
 */
export function assetOf(run: JsonObject, context: UploadContext, notes: Notes): NamedAsset | null {
  const stated = contextAsset(context, notes);
  if (stated !== null) return stated;
  const uri = stringOf(provenanceOf(run)?.repositoryUri);
  if (uri !== null) return namedAsset('repository', uri, notes);
  const tool = stringOf(objectOf(objectOf(run.tool)?.driver)?.name) ?? '';
  const scan = scanOf(context, tool);
  return scan === null ? null : contextAsset(scan.said, notes);
}

/** The asset that the sender names beside the document. */
export function contextAsset(context: UploadContext, notes: Notes): NamedAsset | null {
  if (context.repositoryUrl !== undefined) {
    return namedAsset('repository', context.repositoryUrl, notes);
  }
  return context.asset === undefined
    ? null
    : namedAsset(context.assetType ?? 'unclassified', context.asset, notes);
}

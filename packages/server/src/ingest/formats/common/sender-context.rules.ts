// The asset and the branch that the sender of a report states → the form in which every reader uses
// them. A detached `HEAD` names no branch, and a missing asset stays missing. Pure. Called by
// ctis/analysis.decode.ts, ctis/ctis.decode.ts and read/run-analysis.decode.ts.

import { namedAsset, type NamedAsset } from '../../report/asset-names.rules.ts';
import type { UploadContext } from '../../report/report.rules.ts';
import type { Warnings } from '../../json/warnings.decode.ts';

/**
 * `refs/heads/main` → `main`. Tags and pull requests keep their prefix; a detached `HEAD` becomes
 * ''.
 */
export function branchName(ref: string): string {
  const name = ref.trim().replace(/^refs\/heads\//, '');
  return name === 'HEAD' ? '' : name;
}

/** The asset that the sender names beside the document; null when there is none. */
export function contextAsset(context: UploadContext, warnings: Warnings): NamedAsset | null {
  if (context.repositoryUrl !== undefined) {
    return namedAsset('repository', context.repositoryUrl, warnings);
  }
  return context.asset === undefined
    ? null
    : namedAsset(context.assetType ?? 'unclassified', context.asset, warnings);
}

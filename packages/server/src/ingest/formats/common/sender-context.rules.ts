// What the sender of a report says of it, in the form in which every reader uses it: the asset and the branch. Pure.

import { namedAsset, type NamedAsset } from '../../report/asset-names.rules.ts';
import type { UploadContext } from '../../report/report.rules.ts';
import type { Warnings } from '../../json/warnings.decode.ts';

/**
 * `refs/heads/main` → `main`; tags and pull requests keep their prefix; a detached `HEAD` names no
 * branch.
 */
export function branchName(ref: string): string {
  const name = ref.trim().replace(/^refs\/heads\//, '');
  return name === 'HEAD' ? '' : name;
}

/** The asset that the sender names beside the document. */
export function contextAsset(context: UploadContext, warnings: Warnings): NamedAsset | null {
  if (context.repositoryUrl !== undefined) {
    return namedAsset('repository', context.repositoryUrl, warnings);
  }
  return context.asset === undefined
    ? null
    : namedAsset(context.assetType ?? 'unclassified', context.asset, warnings);
}

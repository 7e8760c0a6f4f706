// The command that a report belongs to → its facts about the report: asset, branch, coverage
// (contract §5). They count only where neither the request nor the report states its own. Nothing
// is guessed: a command that doesn't name its asset tells no asset, and where several commands fit,
// none counts.

import { ASSET_KINDS, limits } from '@muster/contract/plain';
import { ipAddress, normaliseAsset } from '../../report/asset.rules.ts';
import { familyOf, fitsTool } from './clean-scan.rules.ts';
import type { ScanContext, UploadContext } from '../../report/report.rules.ts';
import type { Warnings } from '../../json/warnings.decode.ts';

/**
 * The facts of a command's payload that are stored beside the upload. `isNamed`: the runner named
 * this command for the report.
 */
export function scanContextOf(
  commandId: string,
  payload: Readonly<Record<string, unknown>>,
  isNamed: boolean,
): ScanContext {
  const text = (name: string): string | undefined => {
    const value = payload[name];
    const isUsable =
      typeof value === 'string' && value !== '' && value.length <= limits.pathCharsMax;
    return isUsable ? value : undefined;
  };
  const kind = ASSET_KINDS.find((one) => one === payload['asset_type']);
  const coverage = (['full', 'partial'] as const).find((one) => one === payload['coverage']);
  const stated = {
    repositoryUrl: text('repository_url'),
    asset: text('asset'),
    assetType: kind,
    branch: text('branch'),
    commitSha: text('commit_sha'),
    defaultBranch:
      typeof payload['default_branch'] === 'boolean' ? payload['default_branch'] : undefined,
    category: text('category'),
    coverage,
  };
  const names = stated.repositoryUrl === undefined && stated.asset === undefined;
  const said = Object.entries({ ...(names ? targetOf(text('target')) : {}), ...defined(stated) });
  const scanner = text('scanner') ?? '';
  const isWhole = !names && isAllOf(payload['target'], stated.repositoryUrl, stated.asset);
  const isNarrowed = narrows(payload, names || isWhole);
  return { commandId, scanner, isNamed, isNarrowed, said: Object.fromEntries(said) };
}

/**
 * Payload members that never narrow a scan. `target` may: it narrows none when it names the whole
 * asset.
 */
const NOT_NARROWING: ReadonlySet<string> = new Set(
  `scanner timeout_seconds report_progress repository_url asset asset_type branch commit_sha default_branch category
    coverage`.split(/\s+/),
);

/**
 * True when a member may narrow the scan: rules, paths, exclusions, and every member that is
 * unknown here. `isWhole`: the target names the whole asset.
 */
function narrows(payload: Readonly<Record<string, unknown>>, isWhole: boolean): boolean {
  return Object.entries(payload).some(([name, value]) => {
    if (NOT_NARROWING.has(name) || saysNothing(value)) return false;
    return name !== 'target' || !isWhole;
  });
}

/**
 * The directory that a scanner is started in (RP §5.7): the whole checkout that the command names.
 */
const CHECKOUT = /^\.\/?$/;

/**
 * True when a target is the whole repository or asset that the payload names. All spellings of a
 * repository are one; a path may be a part of an asset, and a port a part of a host.
 */
function isAllOf(target: unknown, repository: string | undefined, asset: string | undefined) {
  if (typeof target !== 'string' || target === asset) return target === asset;
  if (CHECKOUT.test(target)) return repository !== undefined;
  const [one, other] = [target, repository ?? ''].map((said) => normaliseAsset('repository', said));
  return one !== null && one?.value === other?.value;
}

/** True for null, for '' and for lists and objects that hold nothing else. */
function saysNothing(value: unknown): boolean {
  if (typeof value !== 'object') return value === '';
  return value === null || Object.values(value).every(saysNothing);
}

const defined = (object: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));

/** `https://host/path.git`, `ssh://…` and `git@host:path` are repositories on every host. */
const GIT_ADDRESS =
  /^(?:ssh:\/\/|git:\/\/|git\+|[\w.-]+@[\w.-]+:(?!\d+$))|^https?:\/\/[^?#]+\.git\/?$/i;

/** A forge's page with at least owner and name in its path belongs to a repository. */
const FORGE =
  /^https?:\/\/(?:[^/@]*@)?(?:www\.)?(?:github\.com|gitlab\.com|bitbucket\.org|codeberg\.org)\/[^/]+\/[^/]/i;

/**
 * The asset that a target names by its address. A path or a bare name names none: it means
 * something else on every machine.
 */
function targetOf(target: string | undefined): UploadContext {
  if (target === undefined) return {};
  if (GIT_ADDRESS.test(target) || FORGE.test(target)) return { repositoryUrl: target };
  if (/^https?:\/\//i.test(target)) return { asset: target, assetType: 'website' };
  return ipAddress(target) === null ? {} : { asset: target, assetType: 'ip_address' };
}

/** The scanner's name in the command of a report, in the form in which names are compared. */
export function scannerOf(
  scan: ScanContext | null,
  warnings: Warnings,
): { readonly scanner?: string } {
  const name = familyOf(warnings.text(scan?.scanner ?? '', limits.nameCharsMax));
  return name === '' ? {} : { scanner: name };
}

/** The scan that a report of this tool belongs to; null when none fits, or several do. */
export function scanOf(context: UploadContext, tool: string): ScanContext | null {
  const fitting = (context.scans ?? []).filter(
    (scan) => scan.isNamed || fitsTool(scan.scanner, tool),
  );
  return fitting.length === 1 ? (fitting[0] ?? null) : null;
}

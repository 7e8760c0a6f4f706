// What the command that a report belongs to tells about it (contract §5): used where neither the request nor the report
// says what it is about. Never a guess: a scan that doesn't name its asset, or one of several that fit, tells nothing.
// Called by the routes (what is kept of a command) and by both readers.

import { ASSET_KINDS, limits } from '@muster/contract/plain';
import { ipAddress, normaliseAsset } from '../../report/asset.rules.ts';
import { familyOf, fitsTool } from './clean-scan.rules.ts';
import type { ScanContext, UploadContext } from '../../report/report.rules.ts';
import type { Warnings } from '../../json/warnings.decode.ts';

/** What is kept of a command's payload beside the upload. `isNamed`: the runner said that the report belongs to it. */
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

/** Members of a payload that leave the whole of the asset to be looked at; `target` does where it names the asset. */
const NOT_NARROWING: ReadonlySet<string> = new Set(
  `scanner timeout_seconds report_progress repository_url asset asset_type branch commit_sha default_branch category
    coverage`.split(/\s+/),
);

/**
 * Whether a member may narrow the scan: rules of its own, paths, exclusions, and whatever nobody here knows. `isWhole`: the
 * target doesn't.
 */
function narrows(payload: Readonly<Record<string, unknown>>, isWhole: boolean): boolean {
  return Object.entries(payload).some(([name, value]) => {
    if (NOT_NARROWING.has(name) || saysNothing(value)) return false;
    return name !== 'target' || !isWhole;
  });
}

/** The directory that a scanner is started in (RP §5.7): the command says whose checkout that is, and no part of it. */
const CHECKOUT = /^\.\/?$/;

/**
 * Whether a target is the repository or asset that is named beside it. A repository is one however it is spelled; a path may
 * be a part of it, and a port a part of a host.
 */
function isAllOf(target: unknown, repository: string | undefined, asset: string | undefined) {
  if (typeof target !== 'string' || target === asset) return target === asset;
  if (CHECKOUT.test(target)) return repository !== undefined;
  const [one, other] = [target, repository ?? ''].map((said) => normaliseAsset('repository', said));
  return one !== null && one?.value === other?.value;
}

/** Null, and texts, lists and objects without anything in them. */
function saysNothing(value: unknown): boolean {
  if (typeof value !== 'object') return value === '';
  return value === null || Object.values(value).every(saysNothing);
}

const defined = (object: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));

/** `https://host/path.git`, `ssh://…` and `git@host:path` are repositories wherever they are. */
const GIT_ADDRESS =
  /^(?:ssh:\/\/|git:\/\/|git\+|[\w.-]+@[\w.-]+:(?!\d+$))|^https?:\/\/[^?#]+\.git\/?$/i;

/** Of a forge every page is one of a repository: host, then at least owner and name. */
const FORGE =
  /^https?:\/\/(?:[^/@]*@)?(?:www\.)?(?:github\.com|gitlab\.com|bitbucket\.org|codeberg\.org)\/[^/]+\/[^/]/i;

/** A target that names something of its own: an address. Paths and bare names mean another thing on every machine. */
function targetOf(target: string | undefined): UploadContext {
  if (target === undefined) return {};
  if (GIT_ADDRESS.test(target) || FORGE.test(target)) return { repositoryUrl: target };
  if (/^https?:\/\//i.test(target)) return { asset: target, assetType: 'website' };
  return ipAddress(target) === null ? {} : { asset: target, assetType: 'ip_address' };
}

/** The name by which the command of a report calls its scanner, to be compared with that of another. */
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

// Groups of items become destinations: the asset, the ref and the scope that a group is matched
// against and written to. The upload takes the scopes of its destinations, so that no other upload
// changes what it is matched against.

import { limits } from '@muster/contract/plain';
import { present } from '../../lib/assert.ts';
import type { Db } from '../../db/db.ts';
import type { AssetPlace } from '../inventory/assets.ts';
import type { AnalysisDraft, Report } from '../report/report.rules.ts';
import type { BatchPlace } from './finding-rows.rules.ts';
import type { Inventory } from '../inventory/inventory.ts';
import { analysesOf } from '../store/inventory.queries.ts';
import { pushAside, type ScopeKey, takeScopes } from '../store/scope.queries.ts';
import { type IngestDeps, ScopeBusy } from '../lease/lease.ts';
import { type RefWish, resolveRefs } from './refs.ts';
import { Warnings } from '../json/warnings.decode.ts';
import { type Slices, sliced } from '../lease/slices.ts';
import type { Group, ItemIndex } from '../index/item-index.rules.ts';
import type { UploadRow } from '../store/upload.queries.ts';

/**
 * The most rounds of one report: each reads the document once more. Further refs of one asset share
 * the last round, and each of them is matched by itself: a defect that is new on several of them
 * becomes several findings.
 */
const ROUNDS_MAX = 16;

/** What some groups are matched against and written to. */
export interface Destination {
  readonly analysis: AnalysisDraft;
  readonly asset: AssetPlace;
  readonly place: BatchPlace;
  /**
   * The number of destinations before this one that have the same scope on other refs. They are
   * matched and written one after the other, as if each had been an upload of its own: a finding
   * that the first one creates is known to the second.
   */
  readonly round: number;
}

export interface Destinations {
  readonly all: readonly Destination[];
  /** For each group of the item index, the number of its destination. */
  readonly ofGroup: readonly number[];
  readonly warnings: Warnings;
}

/** A scope as one text, by which scopes are told apart and sorted. */
const scopeText = ({ assetId, tool, category }: ScopeKey): string =>
  `${assetId} ${tool}\n${category}`;

/**
 * The destination of each group, and destinations without items: those of assets that a full
 * analysis names without a finding, because there all findings may be resolved.
 */
export async function resolveDestinations(
  slices: Slices,
  upload: UploadRow,
  report: Report,
  itemIndex: ItemIndex,
  inventory: Inventory,
  nowMs: number,
): Promise<Destinations> {
  const groups = [...itemIndex.groups, ...groupsWithoutItems(report, itemIndex)].map((group) =>
    targetOfGroup(upload, report, group, inventory),
  );
  const refs = await resolveRefs(
    slices,
    groups.map((group) => group.wish),
    nowMs,
  );
  const all: Destination[] = [];
  const ofGroup: number[] = [];
  const numbers = new Map<string, number>();
  const destinationsOfScope = new Map<string, number>();
  const warnings = new Warnings();
  for (const { analysis, asset, wish } of groups) {
    const refId = refs.id(wish);
    const taken = refs.otherDefault(wish);
    if (taken !== null) {
      const detail = `The default branch of this asset is ${taken}; ${wish.branch} stays an ordinary one.`;
      warnings.warn('', 'default_branch_taken', detail);
    }
    // Two names of one asset, or the same analysis twice, make one destination, so that each stored
    // finding is matched once.
    const scope = scopeText({ assetId: asset.id, ...analysis });
    const key = `${refId} ${scope}`;
    const number = numbers.get(key) ?? all.length;
    const known = all[number];
    const before = destinationsOfScope.get(scope) ?? 0;
    const round = known?.round ?? Math.min(before, ROUNDS_MAX - 1);
    if (known === undefined) destinationsOfScope.set(scope, before + 1);
    numbers.set(key, number);
    ofGroup.push(number);
    all[number] = {
      analysis: known === undefined ? analysis : mergeAnalyses(known.analysis, analysis),
      asset,
      round,
      place: {
        destination: number,
        tenantId: upload.tenant_id,
        uploadId: upload.id,
        assetId: asset.id,
        tool: analysis.tool,
        category: analysis.category,
        refId,
        isDefaultRef: refs.isDefault(wish),
        defaultRefId: refs.defaultId(wish),
        isStale: false,
        commitSha: analysis.commitSha,
        nowMs,
      },
    };
  }
  return { all: unlistedBesideFallback(all, warnings), ofGroup, warnings };
}

/** The analysis and the asset of a group, and the ref that the group asks for. */
function targetOfGroup(
  upload: UploadRow,
  report: Report,
  group: Group,
  inventory: Inventory,
): { readonly analysis: AnalysisDraft; readonly asset: AssetPlace; readonly wish: RefWish } {
  const analysis = present(report.analyses[group.analysis], 'the analysis of a group');
  const asset = present(
    group.asset === null ? inventory.fallback : inventory.asset(group.asset),
    'the asset of a group',
  );
  const wish = {
    tenantId: upload.tenant_id,
    assetId: asset.id,
    branch: analysis.branch,
    claimsDefault: analysis.claimsDefaultBranch,
  };
  return { analysis, asset, wish };
}

/**
 * Findings without a known asset may belong to any asset of their analysis. A finding that is
 * missing on one of those assets may be among them, so absence means nothing on the other assets of
 * that analysis.
 */
function unlistedBesideFallback(
  destinations: readonly Destination[],
  warnings: Warnings,
): readonly Destination[] {
  const keyOf = ({ tool, category }: AnalysisDraft) => `${tool}\n${category}`;
  const onFallback = destinations.filter(({ asset }) => asset.is_fallback === 1);
  const uncertain = new Set(onFallback.map(({ analysis }) => keyOf(analysis)));
  const told = new Set<string>();
  return destinations.map((destination) => {
    const { analysis, asset } = destination;
    const key = keyOf(analysis);
    if (asset.is_fallback === 1 || analysis.coverage !== 'full' || !uncertain.has(key))
      return destination;
    const detail = `Nothing tells the asset of some findings of ${analysis.toolName}: on the assets of the others nothing is closed.`;
    if (!told.has(key)) warnings.warn('', 'no_target_asset', detail);
    told.add(key);
    return { ...destination, analysis: { ...analysis, listed: false } };
  });
}

function groupsWithoutItems(report: Report, itemIndex: ItemIndex): Group[] {
  const known = new Set(itemIndex.groups.map((group) => `${group.analysis}/${group.asset}`));
  return report.analyses.flatMap((analysis, index) => {
    if (analysis.coverage !== 'full') return [];
    const named = assetsOf(report, analysis);
    return named
      .filter((asset) => !known.has(`${index}/${asset}`))
      .map((asset) => ({ analysis: index, asset }));
  });
}

/**
 * The assets of which an analysis says that it lists all findings: its own, or all that the report
 * names.
 */
function assetsOf({ format, assets }: Report, { asset }: AnalysisDraft): readonly number[] {
  if (asset !== null) return [asset];
  return format.coversAssets ? Array.from({ length: assets.length }, (_, index) => index) : [];
}

const mergeAnalyses = (one: AnalysisDraft, other: AnalysisDraft): AnalysisDraft => ({
  ...one,
  coverage: one.coverage === 'full' && other.coverage === 'full' ? 'full' : 'partial',
  succeeded: one.succeeded && other.succeeded,
  listed: one.listed && other.listed,
});

/**
 * Takes the scopes of all destinations in a fixed order, so that two uploads with the same scopes
 * can't wait for each other. All or none: after ScopeBusy the taken ones are given back
 * (endByError).
 */
export async function holdScopes(
  { clock }: Pick<IngestDeps, 'clock'>,
  slices: Slices,
  upload: UploadRow,
  destinations: readonly Destination[],
): Promise<void> {
  const keys = new Map(destinations.map(({ place }) => [scopeText(place), place] as const));
  const ordered = [...keys.keys()].sort().map((key) => present(keys.get(key), 'a scope'));
  for (const slice of sliced(ordered)) {
    await slices.write(async (tx) => {
      const nowMs = clock.nowMs();
      await pushAside(tx, upload, slice, nowMs);
      const taken = await takeScopes(tx, upload, slice, nowMs, nowMs + limits.uploadLeaseMs);
      if (taken < slice.length) throw new ScopeBusy();
    });
  }
}

/**
 * Marks the destinations as stale whose analysis has a later upload applied already, because this
 * upload waited or was tried again. The ids of uploads sort by their arrival. The scopes are held.
 */
export async function markStale(
  db: Db,
  upload: UploadRow,
  destinations: Destinations,
): Promise<Destinations> {
  const later = new Set<string>();
  const keyOf = (ref: string, tool: string, category: string) => `${ref} ${tool}\n${category}`;
  const places = destinations.all.map(({ place: { refId, tool, category } }) => ({
    ref_id: refId,
    tool,
    category,
  }));
  for (const slice of sliced(places)) {
    for (const row of await analysesOf(db, upload.tenant_id, slice)) {
      if (row.last_upload_id > upload.id) later.add(keyOf(row.ref_id, row.tool, row.category));
    }
  }
  if (later.size === 0) return destinations;
  const all = destinations.all.map((destination) => {
    const { refId, tool, category } = destination.place;
    if (!later.has(keyOf(refId, tool, category))) return destination;
    const where = category === '' ? tool : `${tool}, ${category}`;
    const detail = `A later upload of the analysis (${where}) was applied before this one: nothing that it said is changed, and nothing is closed.`;
    destinations.warnings.warn('', 'later_upload_applied', detail);
    return { ...destination, place: { ...destination.place, isStale: true } };
  });
  return { ...destinations, all };
}

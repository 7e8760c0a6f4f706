// Where the findings of a report go: every group of entries gets its asset, its ref and its matching scope, and the
// upload takes the scopes, so that nobody else changes what it matches against.

import { limits } from '@muster/contract/plain';
import { present } from '../lib/assert.ts';
import type { Db } from '../db/db.ts';
import type { AssetPlace } from './assets.ts';
import type { AnalysisDraft, Report } from './draft.rules.ts';
import type { BatchPlace } from './finding-rows.rules.ts';
import type { Frame } from './frame.ts';
import { analysesOf } from './frame.queries.ts';
import { pushAside, takeScopes } from './scope.queries.ts';
import { type IngestDeps, ScopeBusy } from './lease.ts';
import { type RefWish, settleRefs } from './refs.ts';
import { Notes } from './report-notes.decode.ts';
import { type Slices, sliced } from './slices.ts';
import type { Group, Survey } from './survey.rules.ts';
import type { UploadRow } from './upload.queries.ts';

/**
 * Rounds of one report at most: each reads the document once more. Refs of one asset beyond that share the last round, and
 * are each matched by themselves: a defect that is new on several of them becomes several findings.
 */
const ROUNDS_MAX = 16;

/** What some groups are matched against and written to. */
export interface Site {
  readonly analysis: AnalysisDraft;
  readonly asset: AssetPlace;
  readonly place: BatchPlace;
  /**
   * How many sites before it have the same scope, on other refs. They are matched and written one after the other, as if
   * they had been uploads of their own: a finding that the first one creates is known to the second.
   */
  readonly round: number;
}

export interface Sites {
  readonly all: readonly Site[];
  /** For each group of the survey, the number of its site. */
  readonly ofGroup: readonly number[];
  readonly notes: Notes;
}

/**
 * Where each group goes; also assets that a conclusive analysis names without an item: there all may be resolved.
 */
export async function settleSites(
  slices: Slices,
  upload: UploadRow,
  report: Report,
  found: Survey,
  frame: Frame,
  nowMs: number,
): Promise<Sites> {
  const groups = [...found.groups, ...groupsWithoutItems(report, found)].map((group) =>
    settleGroup(upload, report, group, frame),
  );
  const refs = await settleRefs(
    slices,
    groups.map((group) => group.wish),
    nowMs,
  );
  const all: Site[] = [];
  const ofGroup: number[] = [];
  const numbers = new Map<string, number>();
  const sitesOfScope = new Map<string, number>();
  const notes = new Notes();
  for (const { analysis, asset, wish } of groups) {
    const refId = refs.id(wish);
    const taken = refs.otherDefault(wish);
    if (taken !== null) {
      const detail = `The default branch of this asset is ${taken}; ${wish.branch} stays an ordinary one.`;
      notes.warn('', 'default_branch_taken', detail);
    }
    // Two names of one asset, or one analysis twice: one site, so that a stored finding is used once.
    const key = `${asset.id} ${refId} ${analysis.tool}\n${analysis.category}`;
    const number = numbers.get(key) ?? all.length;
    const known = all[number];
    const scope = `${asset.id} ${analysis.tool}\n${analysis.category}`;
    const before = sitesOfScope.get(scope) ?? 0;
    const round = known?.round ?? Math.min(before, ROUNDS_MAX - 1);
    if (known === undefined) sitesOfScope.set(scope, before + 1);
    numbers.set(key, number);
    ofGroup.push(number);
    all[number] = {
      analysis: known === undefined ? analysis : mergeAnalyses(known.analysis, analysis),
      asset,
      round,
      place: {
        site: number,
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
  return { all: withoutStrays(all, notes), ofGroup, notes };
}

/** What a group is about, and the ref that it asks for. */
function settleGroup(
  upload: UploadRow,
  report: Report,
  group: Group,
  frame: Frame,
): { readonly analysis: AnalysisDraft; readonly asset: AssetPlace; readonly wish: RefWish } {
  const analysis = present(report.analyses[group.analysis], 'the analysis of a group');
  const asset = present(
    group.asset === null ? frame.fallback : frame.asset(group.asset),
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
 * Findings that no asset is known for may be those of any asset that others of their analysis belong to: what is missing
 * there may be among them, so that nothing is concluded from it.
 */
function withoutStrays(sites: readonly Site[], notes: Notes): readonly Site[] {
  const keyOf = ({ tool, category }: AnalysisDraft) => `${tool}\n${category}`;
  const strays = sites.filter(({ asset }) => asset.is_fallback === 1);
  const uncertain = new Set(strays.map(({ analysis }) => keyOf(analysis)));
  const told = new Set<string>();
  return sites.map((site) => {
    const { analysis, asset } = site;
    const key = keyOf(analysis);
    if (asset.is_fallback === 1 || analysis.coverage !== 'full' || !uncertain.has(key)) return site;
    const detail = `Nothing tells the asset of some findings of ${analysis.toolName}: on the assets of the others nothing is closed.`;
    if (!told.has(key)) notes.warn('', 'no_target_asset', detail);
    told.add(key);
    return { ...site, analysis: { ...analysis, listed: false } };
  });
}

function groupsWithoutItems(report: Report, found: Survey): Group[] {
  const known = new Set(found.groups.map((group) => `${group.analysis}/${group.asset}`));
  return report.analyses.flatMap((analysis, index) => {
    if (analysis.coverage !== 'full') return [];
    const named = assetsOf(report, analysis);
    return named
      .filter((asset) => !known.has(`${index}/${asset}`))
      .map((asset) => ({ analysis: index, asset }));
  });
}

/** A SARIF run is about one asset, or one that isn't known; CTIS findings are about any that the report names. */
function assetsOf({ format, assets }: Report, { asset }: AnalysisDraft): readonly number[] {
  if (asset !== null) return [asset];
  return format === 'ctis' ? Array.from({ length: assets.length }, (_, index) => index) : [];
}

const mergeAnalyses = (one: AnalysisDraft, other: AnalysisDraft): AnalysisDraft => ({
  ...one,
  coverage: one.coverage === 'full' && other.coverage === 'full' ? 'full' : 'partial',
  succeeded: one.succeeded && other.succeeded,
  listed: one.listed && other.listed,
});

/**
 * Takes the scopes of all sites in a fixed order, so that two uploads with the same scopes can't wait for each other. All
 * or none: after ScopeBusy those that were taken are given back (settleFailure).
 */
export async function holdScopes(
  { clock }: Pick<IngestDeps, 'clock'>,
  slices: Slices,
  upload: UploadRow,
  sites: readonly Site[],
): Promise<void> {
  const keys = new Map(
    sites.map(({ place }) => [`${place.assetId} ${place.tool}\n${place.category}`, place] as const),
  );
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
 * Marks the sites whose analysis a later upload has been applied to already: this one waited, or was tried again. Ids of
 * uploads are made when they arrive, and sort by that. Their scopes are held.
 */
export async function markStale(db: Db, upload: UploadRow, sites: Sites): Promise<Sites> {
  const later = new Set<string>();
  const keyOf = (ref: string, tool: string, category: string) => `${ref} ${tool}\n${category}`;
  const places = sites.all.map(({ place: { refId, tool, category } }) => ({
    ref_id: refId,
    tool,
    category,
  }));
  for (const slice of sliced(places)) {
    for (const row of await analysesOf(db, upload.tenant_id, slice)) {
      if (row.last_upload_id > upload.id) later.add(keyOf(row.ref_id, row.tool, row.category));
    }
  }
  if (later.size === 0) return sites;
  const all = sites.all.map((site) => {
    const { refId, tool, category } = site.place;
    if (!later.has(keyOf(refId, tool, category))) return site;
    const where = category === '' ? tool : `${tool}, ${category}`;
    const detail = `A later upload of the analysis (${where}) was applied before this one: nothing that it said is changed, and nothing is closed.`;
    sites.notes.warn('', 'later_upload_applied', detail);
    return { ...site, place: { ...site.place, isStale: true } };
  });
  return { ...sites, all };
}

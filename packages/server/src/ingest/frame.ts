// What a report is about becomes rows: assets (found or made), relationships, endpoints. In slices, each stored
// with what it counted, so that a re-run after a crash only looks the ids up. Called by the ingest story and rehearse.ts.

import type { Db } from '../db/db.ts';
import { identityKey, identityOf } from './asset-names.rules.ts';
import {
  type AssetPlace,
  countsAssets,
  fallbackAsset,
  forgetsAssets,
  type SaveAssets,
  settleAssets,
  writesAssets,
} from './assets.ts';
import type { Report } from './draft.rules.ts';
import { assetsByValue } from './frame.queries.ts';
import { scopesOfOthers } from './scope.queries.ts';
import type { IngestDeps } from './lease.ts';
import { countsLinks, forgetsLinks, type LinkSaver, settleLinks, writesLinks } from './links.ts';
import type { Reading } from './reading.ts';
import type { FrameCounts } from './receipt.rules.ts';
import type { Notes } from './report-notes.decode.ts';
import { type Slices, sliced } from './slices.ts';
import type { Survey } from './survey.rules.ts';
import type { UploadRow } from './upload.queries.ts';

export interface FrameAccount {
  readonly assets: FrameCounts;
  readonly dependencies: FrameCounts;
  readonly relationships: FrameCounts;
  readonly endpoints: FrameCounts;
}

export interface Frame {
  /** By index into the report's assets. */
  asset(index: number): AssetPlace;
  readonly fallback: AssetPlace | null;
  /** What dependencies belong to: they have no link to an asset, so it is the report's first one (CTIS §3.3). */
  readonly home: AssetPlace | null;
  /** Dependencies are counted elsewhere (components.ts). */
  readonly account: Omit<FrameAccount, 'dependencies'>;
  /** What reading all of it once more had to tolerate. */
  readonly notes: readonly Notes[];
}

/** Where slices go. */
export interface FrameSaver {
  readonly assets: SaveAssets;
  readonly links: LinkSaver;
}

/** What earlier tries of the upload counted is counted once. */
export const writesFrame = (slices: Slices, upload: UploadRow): FrameSaver => ({
  assets: writesAssets(slices, upload),
  links: writesLinks(slices),
});

/** For a rehearsal, of which nothing is written. */
export const countsFrame = (db: Db, upload: UploadRow): FrameSaver => ({
  assets: countsAssets(db, upload),
  links: countsLinks(db),
});

const FORGETS: FrameSaver = { assets: forgetsAssets, links: forgetsLinks };

/** Does anything of the report belong to no asset that it names? */
const needsFallback = (
  report: Report,
  { groups, components }: Pick<Survey, 'groups' | 'components'>,
): boolean =>
  groups.some((group) => group.asset === null) ||
  (report.assets.length === 0 && components.usable > 0);

/**
 * Does another upload hold what an analysis of the report, by its named asset, will be matched against? A cheap look before
 * all items are read; what it doesn't see is met when the scopes are taken.
 */
export async function isAnyScopeBusy(
  db: Db,
  upload: UploadRow,
  { analyses, assets }: Report,
  nowMs: number,
): Promise<boolean> {
  const named = analyses.flatMap(({ asset, tool, category }) =>
    asset === null ? [] : [{ ...identityOf(assets.at(asset)), tool, category }],
  );
  for (const slice of sliced(named)) {
    const stored = await assetsByValue(db, upload.tenant_id, slice);
    const ids = new Map(stored.map((row) => [identityKey(row), row.id]));
    const busy = await scopesOfOthers(db, upload, [...ids.values()], nowMs);
    const keys = new Set(busy.map((scope) => `${scope.assetId} ${scope.tool}\n${scope.category}`));
    const isBusy = slice.some((one) =>
      keys.has(`${ids.get(identityKey(one))} ${one.tool}\n${one.category}`),
    );
    if (isBusy) return true;
  }
  return false;
}

/**
 * Finds or makes all that the report is about, and the fallback asset where it needs one. All of it is dated by the arrival of the
 * upload: one that is applied late takes nothing back that a later one said.
 */
export async function settleFrame(
  deps: IngestDeps,
  upload: UploadRow,
  reading: Reading,
  survey: Survey,
  save: FrameSaver,
): Promise<Frame> {
  const { report } = reading;
  const fallback = needsFallback(report, survey) ? fallbackAsset(upload) : null;
  const assets = await settleAssets(deps, upload, reading, fallback, save.assets);
  const { places } = assets;
  const links = await settleLinks(deps, upload, reading, places, save.links);
  const { relationships, endpoints } = links;
  return {
    asset: (index) => places.at(index),
    fallback: assets.fallback,
    home: report.assets.length > 0 ? places.at(0) : assets.fallback,
    account: { assets: assets.counts, relationships, endpoints },
    notes: [assets.notes, links.notes],
  };
}

/** What reading the lists once more had to tolerate of a report of which nothing is applied. */
export async function noteFrame(
  deps: IngestDeps,
  upload: UploadRow,
  reading: Reading,
  survey: Survey,
): Promise<readonly Notes[]> {
  return (await settleFrame(deps, upload, reading, survey, FORGETS)).notes;
}

// The inventory of a report becomes rows: its assets, found or made, and the relationships and
// endpoints between and on them. It is written in slices, each stored with its counts, so that a
// re-run after a crash only looks the ids up. Called by ingest.ts and dry-run.ts.

import type { Db } from '../../db/db.ts';
import { fallbackAsset, identityKey, identityOf } from '../report/asset-names.rules.ts';
import {
  type AssetPlace,
  assetCounter,
  assetsUnsaved,
  type SaveAssets,
  resolveAssets,
  assetWriter,
} from './assets.ts';
import type { Report } from '../report/report.rules.ts';
import { assetsByValue } from '../store/inventory.queries.ts';
import { scopesOfOthers } from '../store/scope.queries.ts';
import type { IngestDeps } from '../lease/lease.ts';
import { linkCounter, linksUnsaved, type LinkSaver, resolveLinks, linkWriter } from './links.ts';
import type { Reading } from '../index/reading.ts';
import type { ListCounts } from './list-counts.rules.ts';
import type { Warnings } from '../json/warnings.decode.ts';
import { type Slices, sliced } from '../lease/slices.ts';
import type { ItemIndex } from '../index/item-index.rules.ts';
import type { UploadRow } from '../store/upload.queries.ts';

export interface InventoryCounts {
  readonly assets: ListCounts;
  readonly dependencies: ListCounts;
  readonly relationships: ListCounts;
  readonly endpoints: ListCounts;
}

export interface Inventory {
  /** By index into the report's assets. */
  asset(index: number): AssetPlace;
  readonly fallback: AssetPlace | null;
  /**
   * The asset that dependencies belong to. They don't name one, so it is the first asset of the
   * report (CTIS §3.3).
   */
  readonly componentAsset: AssetPlace | null;
  /** Without the dependencies, which components.ts counts. */
  readonly counts: Omit<InventoryCounts, 'dependencies'>;
  /** The warnings of reading the lists once more. */
  readonly warnings: readonly Warnings[];
}

/** Where the slices are saved. */
interface InventorySaver {
  readonly assets: SaveAssets;
  readonly links: LinkSaver;
}

/** Writes the slices; what earlier tries of the upload wrote is counted once. */
export const inventoryWriter = (slices: Slices, upload: UploadRow): InventorySaver => ({
  assets: assetWriter(slices, upload),
  links: linkWriter(slices),
});

/** For a dry run: writes nothing, and counts. */
export const inventoryCounter = (db: Db, upload: UploadRow): InventorySaver => ({
  assets: assetCounter(db, upload),
  links: linkCounter(db),
});

const UNSAVED: InventorySaver = { assets: assetsUnsaved, links: linksUnsaved };

/** True when findings or dependencies of the report belong to no asset that it names. */
const needsFallback = (
  report: Report,
  { groups, components }: Pick<ItemIndex, 'groups' | 'components'>,
): boolean =>
  groups.some((group) => group.asset === null) ||
  (report.assets.length === 0 && components.usable > 0);

/**
 * True when another upload holds a scope that an analysis of the report, by the asset that it
 * names, will be matched against. This is a cheap look before all items are read; a scope that it
 * misses is met when the scopes are taken.
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
 * Finds or makes the assets of a report and the fallback asset if it needs one, and writes its
 * relationships and endpoints. All rows are dated by the arrival of the upload: an upload that is
 * applied late takes back nothing that a later one said.
 */
export async function resolveInventory(
  deps: IngestDeps,
  upload: UploadRow,
  reading: Reading,
  itemIndex: ItemIndex,
  save: InventorySaver,
): Promise<Inventory> {
  const { report } = reading;
  const fallback = needsFallback(report, itemIndex) ? fallbackAsset(upload) : null;
  const assets = await resolveAssets(deps, upload, reading, fallback, save.assets);
  const { places } = assets;
  const links = await resolveLinks(deps, upload, reading, places, save.links);
  const { relationships, endpoints } = links;
  return {
    asset: (index) => places.at(index),
    fallback: assets.fallback,
    componentAsset: report.assets.length > 0 ? places.at(0) : assets.fallback,
    counts: { assets: assets.counts, relationships, endpoints },
    warnings: [assets.warnings, links.warnings],
  };
}

/** The warnings of reading the lists of a report that is not applied. */
export async function warningsOfInventory(
  deps: IngestDeps,
  upload: UploadRow,
  reading: Reading,
  itemIndex: ItemIndex,
): Promise<readonly Warnings[]> {
  return (await resolveInventory(deps, upload, reading, itemIndex, UNSAVED)).warnings;
}

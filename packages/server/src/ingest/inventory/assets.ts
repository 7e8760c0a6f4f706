// The assets of a report become rows, found or made. Listed assets are read again, with all that
// their entries say of them, and are written in slices as they come; then the assets that are only
// named elsewhere, and the fallback asset of the upload. At most a slice of them is held, and an id
// of each stays. Entries of the same asset are merged. Called by inventory.ts.

import { type AssetKind, limits } from '@muster/contract/plain';
import type { Db } from '../../db/db.ts';
import { present } from '../../lib/assert.ts';
import { GrowingTexts } from '../../lib/growing-texts.ts';
import { type AssetId, newId } from '../../lib/ids.ts';
import { cut } from '../../lib/text.ts';
import { mergedAttributes } from './asset-attributes.rules.ts';
import {
  type AssetNames,
  identityKey,
  identityOf,
  type NamedAsset,
} from '../report/asset-names.rules.ts';
import type { AssetEntry } from '../report/report.rules.ts';
import {
  type AssetFacts,
  type AssetRow,
  assetsByValue,
  insertAssets,
  lockAssets,
  saveAssetFacts,
  touchAssets,
} from '../store/inventory.queries.ts';
import type { IngestDeps } from '../lease/lease.ts';
import type { Reading } from '../index/reading.ts';
import type { ListCounts } from './list-counts.rules.ts';
import { Warnings } from '../json/warnings.decode.ts';
import { GrowingSlice, type Slices } from '../lease/slices.ts';
import { EntriesAgain } from '../index/entries.ts';
import { ReaderDefects } from '../index/reader-defects.ts';
import type { UploadRow } from '../store/upload.queries.ts';

/** A stored asset, as far as those need it who write its findings and lists. */
export type AssetPlace = Pick<AssetRow, 'tenant_id' | 'id' | 'is_fallback'>;

const FALLBACK_NAME = 'reports without an asset';

/** The facts of an asset that the entries of one slice say. */
interface SaidAsset {
  /** Index into the assets of the report; the fallback asset comes behind them. */
  readonly row: number;
  /** No entry of an earlier slice was the same asset. */
  readonly isFirst: boolean;
  readonly kind: AssetKind;
  readonly kind_class: string;
  readonly value: string;
  readonly name: string;
  readonly criticality: string | null;
  readonly attributes: string;
  /** The id that the asset gets if it is new. Ids sort in the order of the report. */
  readonly id: AssetId;
}

/**
 * How many assets of a slice were new, and the ids of those without an earlier entry, by
 * `identityKey`.
 */
interface SavedAssets {
  readonly created: number;
  readonly ids: ReadonlyMap<string, string>;
}

/** Saves one slice. Slices come in the order of the report, and every try has the same ones. */
export type SaveAssets = (slice: readonly SaidAsset[]) => Promise<SavedAssets>;

/** Writes each slice in a transaction of its own, dated by the arrival of the upload. */
export const assetWriter =
  (slices: Slices, upload: UploadRow): SaveAssets =>
  async (slice) => {
    const created = await slices.once((tx) => saveAssets(tx, upload, slice));
    return { created, ids: await storedIds(slices.db, upload, slice) };
  };

/** For a dry run: writes nothing, and gives a new asset an id that nobody else sees. */
export const assetCounter =
  (db: Db, upload: UploadRow): SaveAssets =>
  async (slice) => {
    const stored = await storedIds(db, upload, slice);
    const fresh = slice.filter((said) => said.isFirst && !stored.has(identityKey(said)));
    const made = fresh.map((said) => [identityKey(said), said.id] as const);
    return { created: fresh.length, ids: new Map([...stored, ...made]) };
  };

/** For a report that is not applied. */
export const assetsUnsaved: SaveAssets = (slice) =>
  Promise.resolve({ created: 0, ids: new Map(slice.map((said) => [identityKey(said), said.id])) });

/** The ids of a report's assets, by their rows. */
export class AssetPlaces {
  readonly #ids = new GrowingTexts();
  readonly #tenantId: string;
  readonly #names: AssetNames;

  constructor(tenantId: string, names: AssetNames) {
    this.#tenantId = tenantId;
    this.#names = names;
  }

  get length(): number {
    return this.#ids.length;
  }

  /** Adds the id of the next asset; the fallback asset follows the report's own assets. */
  add(id: string): void {
    this.#ids.push(id);
  }

  at(row: number): AssetPlace {
    const isFallback = row === this.#names.length || isFallbackAsset(this.#names.at(row));
    return { tenant_id: this.#tenantId, id: this.#ids.at(row), is_fallback: isFallback ? 1 : 0 };
  }
}

const isFallbackAsset = ({ kind, value }: NamedAsset): boolean =>
  kind === 'unclassified' && value.startsWith('runner:');

/** Gathers assets in slices, has the slices saved, and adds the ids of their assets to `places`. */
class AssetSlices {
  created = 0;
  #slice = new GrowingSlice<SaidAsset>();
  readonly #save: SaveAssets;
  readonly #places: AssetPlaces;

  constructor(save: SaveAssets, places: AssetPlaces) {
    this.#save = save;
    this.#places = places;
  }

  /** Entries of the same asset in one slice are merged. */
  async add(said: SaidAsset): Promise<void> {
    const key = identityKey(said);
    const before = this.#slice.get(key);
    const all = before === undefined ? said : { ...before, ...mergedFacts(before, said) };
    this.#slice.put(key, all, said.attributes.length);
    if (this.#slice.isFull) await this.flush();
  }

  async flush(): Promise<void> {
    if (this.#slice.isEmpty) return;
    const slice = this.#slice.inOrder();
    const { created, ids } = await this.#save(slice);
    this.created += created;
    for (const said of firstsByRow(slice)) {
      this.#places.add(present(ids.get(identityKey(said)), `the stored asset ${said.value}`));
    }
    this.#slice = new GrowingSlice();
  }
}

/** The assets of a slice without an earlier entry, in the order of the report. */
const firstsByRow = (slice: readonly SaidAsset[]): SaidAsset[] =>
  slice.filter(({ isFirst }) => isFirst).sort((one, other) => one.row - other.row);

/**
 * Has all slices saved. Returns where the assets are, their sum for the receipt, and the warnings
 * of making their attributes. `fallback`: null when the report doesn't need it.
 */
export async function resolveAssets(
  deps: IngestDeps,
  upload: UploadRow,
  reading: Reading,
  fallback: NamedAsset | null,
  save: SaveAssets,
): Promise<{
  places: AssetPlaces;
  fallback: AssetPlace | null;
  counts: ListCounts;
  warnings: Warnings;
}> {
  const { assets: names, listIndexes } = reading.report;
  const warnings = new Warnings();
  const defects = new ReaderDefects(deps, upload);
  const places = new AssetPlaces(upload.tenant_id, names);
  const slices = new AssetSlices(save, places);
  for await (const said of listedAssets(upload, reading, warnings, defects)) {
    await slices.add(said);
  }
  for (let row = listIndexes.assets.rows; row < names.length; row += 1) {
    await slices.add(saidOf(upload, names.at(row), null, row, true));
  }
  const fallbackRow = fallback === null ? null : (names.find(fallback) ?? names.length);
  if (fallback !== null && fallbackRow !== null) {
    const isFirst = fallbackRow === names.length;
    await slices.add(saidOf(upload, fallback, { name: FALLBACK_NAME }, fallbackRow, isFirst));
  }
  await slices.flush();
  const { created } = slices;
  const { rejected } = listIndexes.assets;
  const usable = countAssets(reading) - rejected + (fallback === null ? 0 : 1);
  const counts = {
    received: usable + rejected,
    created,
    updated: places.length - created,
    duplicate: usable - places.length,
    rejected,
  };
  const place = fallbackRow === null ? null : places.at(fallbackRow);
  return { places, fallback: place, counts, warnings };
}

/**
 * The number of entries in the report's list of assets, usable or not, and of assets that are only
 * named elsewhere.
 */
export const countAssets = ({ report: { assets, listIndexes } }: Pick<Reading, 'report'>): number =>
  listIndexes.assets.received + assets.length - listIndexes.assets.rows;

/** The usable entries of the report's list of assets, in their order. */
async function* listedAssets(
  upload: UploadRow,
  { source, document, readers, report }: Reading,
  warnings: Warnings,
  defects: ReaderDefects,
): AsyncGenerator<SaidAsset, void, undefined> {
  const { assets: listIndex } = report.listIndexes;
  if (readers.assets === null || listIndex.usable === 0) return;
  const entries = new EntriesAgain(readers.assets, listIndex, warnings);
  for await (const items of source.items(document, new Set([readers.assets.list]))) {
    for (const item of items) {
      const again = entries.next(item);
      if (again === null) continue;
      const { entry, pointer, row, isFirst } = again;
      const { name, criticality } = entry;
      const attributes = defects.detail(entry.attributes, {}, pointer, warnings);
      yield saidOf(upload, entry, { name, criticality, attributes }, row, isFirst);
    }
  }
}

/** The facts that an entry says of an asset; null: nothing but its name. */
function saidOf(
  upload: UploadRow,
  asset: NamedAsset,
  said: Partial<Pick<AssetEntry, 'name' | 'criticality'> & { attributes: object }> | null,
  row: number,
  isFirst: boolean,
): SaidAsset {
  const identity = identityOf(asset);
  return {
    row,
    isFirst,
    kind: asset.kind,
    ...identity,
    name: cut(said?.name ?? identity.value, limits.nameCharsMax),
    criticality: said?.criticality ?? null,
    attributes: JSON.stringify(said?.attributes ?? {}),
    id: newId<AssetId>(upload.received_at),
  };
}

/** The ids of the assets without an earlier slice that are stored. */
async function storedIds(
  db: Db,
  upload: UploadRow,
  slice: readonly SaidAsset[],
): Promise<Map<string, string>> {
  const firsts = slice.filter(({ isFirst }) => isFirst);
  if (firsts.length === 0) return new Map();
  const rows = await assetsByValue(db, upload.tenant_id, firsts);
  return new Map(rows.map((row) => [identityKey(row), row.id]));
}

/**
 * Inserts new assets, touches known ones, and adds what the report says of them. Returns how many
 * were new. Rows are locked in the order of their keys and ids, whatever the order of the report:
 * two uploads of the same assets can't wait for each other.
 */
async function saveAssets(tx: Db, upload: UploadRow, slice: readonly SaidAsset[]): Promise<number> {
  const { tenant_id: tenantId, received_at: seenMs } = upload;
  const firsts = slice.filter(({ isFirst }) => isFirst);
  const created = await insertAssets(
    tx,
    firsts.map((said) => newRow(upload, said)),
  );
  const byKey = new Map(slice.map((said) => [identityKey(said), said] as const));
  const known = new Map<string, SaidAsset>();
  for (const row of await assetsByValue(tx, tenantId, slice)) {
    const said = byKey.get(identityKey(row));
    // An asset that this slice inserted has everything already.
    if (said !== undefined && row.id !== said.id) known.set(row.id, said);
  }
  const ids = [...known.keys()];
  const stored = await lockAssets(tx, tenantId, ids);
  await touchAssets(tx, tenantId, ids, seenMs);
  const news: AssetFacts[] = [];
  for (const row of stored) {
    const said = present(known.get(row.id), 'the asset of the report');
    if (said.attributes === '{}' && said.criticality === null) continue;
    // In a late upload the entries of one asset in several slices count in turn, each less than the
    // one before. To let the last one win among them, all of them would have to be held.
    const isLate = row.attributes_at > seenMs;
    const facts = isLate ? mergedFacts(said, row) : mergedFacts(row, said);
    const at = { attributes_at: isLate ? row.attributes_at : seenMs };
    const criticality = row.criticality ?? said.criticality;
    news.push({ tenant_id: tenantId, id: row.id, ...facts, criticality, ...at });
  }
  await saveAssetFacts(tx, news);
  return created;
}

type Facts = Pick<AssetRow, 'attributes' | 'criticality'>;

/** Merges attributes, so that the newest value wins; a known criticality stays (CTIS §7.3). */
function mergedFacts(
  stored: Facts,
  said: Facts,
): { attributes: string; criticality: string | null } {
  const attributesOf = (text: string | null) => JSON.parse(text ?? '{}') as Record<string, unknown>;
  const merged = mergedAttributes(attributesOf(stored.attributes), attributesOf(said.attributes));
  return {
    attributes: JSON.stringify(merged),
    criticality: stored.criticality ?? said.criticality,
  };
}

function newRow(upload: UploadRow, said: SaidAsset): AssetRow {
  const { kind, kind_class: kindClass, value, name, criticality, attributes, id } = said;
  return {
    tenant_id: upload.tenant_id,
    id,
    kind,
    kind_class: kindClass,
    value,
    name,
    criticality,
    is_fallback: isFallbackAsset(said) ? 1 : 0,
    default_ref_id: null,
    attributes,
    attributes_at: upload.received_at,
    first_seen_at: upload.received_at,
    last_seen_at: upload.received_at,
    created_upload_id: upload.id,
  };
}

// The relationships between the assets of a report, and the endpoints on them, become rows. Both
// lists are read again once the assets are stored, and are written in slices as they come; at most
// a slice of each is held. Called by inventory.ts.

import type { Db } from '../../db/db.ts';
import type { AssetPlaces } from './assets.ts';
import type { EndpointDraft, RelationshipDraft } from '../report/report.rules.ts';
import {
  type EndpointRow,
  type RelationshipRow,
  saveEndpoints,
  saveRelationships,
} from '../store/inventory.queries.ts';
import type { IngestDeps } from '../lease/lease.ts';
import { countEndpoints, countRelationships } from '../store/link.queries.ts';
import type { ListIndex } from '../report/list-index.rules.ts';
import type { Reading } from '../index/reading.ts';
import type { ListCounts } from './list-counts.rules.ts';
import { Warnings } from '../json/warnings.decode.ts';
import { GrowingSlice, type Slices } from '../lease/slices.ts';
import { EntriesAgain } from '../index/entries.ts';
import { ReaderDefects } from '../index/reader-defects.ts';
import type { UploadRow } from '../store/upload.queries.ts';

/** A row of a slice; `isFirst`: no earlier slice has it. */
interface Link<T> {
  readonly row: T;
  readonly isFirst: boolean;
}

/**
 * Saves one slice, and returns how many of its rows were new. Slices come in the order of the
 * report, and every try has the same ones.
 */
type SaveLinks<T> = (slice: readonly Link<T>[]) => Promise<number>;

export interface LinkSaver {
  readonly relationships: SaveLinks<RelationshipRow>;
  readonly endpoints: SaveLinks<EndpointRow>;
}

/** Writes each slice in a transaction of its own. */
export function linkWriter(slices: Slices): LinkSaver {
  const writes =
    <T>(query: (tx: Db, rows: readonly T[]) => Promise<number>): SaveLinks<T> =>
    async (slice) => {
      const rows = slice.map(({ row }) => row);
      return await slices.once((tx) => query(tx, rows));
    };
  return { relationships: writes(saveRelationships), endpoints: writes(saveEndpoints) };
}

/** For a dry run: writes nothing. */
export function linkCounter(db: Db): LinkSaver {
  const counts =
    <T>(query: (db: Db, rows: readonly T[]) => Promise<number>): SaveLinks<T> =>
    async (slice) => {
      const firsts = slice.flatMap(({ row, isFirst }) => (isFirst ? [row] : []));
      return firsts.length - (await query(db, firsts));
    };
  return { relationships: counts(countRelationships), endpoints: counts(countEndpoints) };
}

/** For a report that is not applied. */
export const linksUnsaved: LinkSaver = {
  relationships: () => Promise.resolve(0),
  endpoints: () => Promise.resolve(0),
};

/** Gathers the rows of one list in slices, and has them saved. */
class LinkSlices<T> {
  created = 0;
  #slice = new GrowingSlice<Link<T>>();
  readonly #save: SaveLinks<T>;

  constructor(save: SaveLinks<T>) {
    this.#save = save;
  }

  /**
   * `key` sorts rows in one order for all uploads, so that two of them can't wait for each other.
   * The last row of a key counts.
   */
  async add(key: string, link: Link<T>, chars: number): Promise<void> {
    const isFirst = link.isFirst || this.#slice.get(key)?.isFirst === true;
    this.#slice.put(key, { ...link, isFirst }, chars);
    if (this.#slice.isFull) await this.flush();
  }

  async flush(): Promise<void> {
    if (this.#slice.isEmpty) return;
    this.created += await this.#save(this.#slice.inOrder());
    this.#slice = new GrowingSlice();
  }
}

/**
 * Has all slices of both lists saved. Returns their sums for the receipt, and the warnings of
 * making documents.
 */
export async function resolveLinks(
  deps: IngestDeps,
  upload: UploadRow,
  reading: Reading,
  assets: AssetPlaces,
  save: LinkSaver,
): Promise<{ relationships: ListCounts; endpoints: ListCounts; warnings: Warnings }> {
  const { listIndexes } = reading.report;
  const warnings = new Warnings();
  const defects = new ReaderDefects(deps, upload);
  const relationships = new LinkSlices(save.relationships);
  const endpoints = new LinkSlices(save.endpoints);
  const { tenant_id: tenantId, received_at: seenMs } = upload;
  const seen = { tenant_id: tenantId, first_seen_at: seenMs, last_seen_at: seenMs };
  for await (const link of linksOf(reading, warnings)) {
    const { pointer, isFirst } = link;
    if ('relationship' in link) {
      // A relationship that comes again says nothing new.
      if (!isFirst) continue;
      const { from, to, type } = link.relationship;
      const ends = { from_asset_id: assets.at(from).id, type, to_asset_id: assets.at(to).id };
      const key = `${ends.from_asset_id} ${type} ${ends.to_asset_id}`;
      await relationships.add(key, { row: { ...seen, ...ends }, isFirst }, key.length);
    } else {
      const { asset, identity, document: made } = link.endpoint;
      const document = JSON.stringify(defects.detail(made, {}, pointer, warnings));
      const row = { ...seen, asset_id: assets.at(asset).id, identity, document };
      await endpoints.add(`${row.asset_id} ${identity}`, { row, isFirst }, document.length);
    }
  }
  await relationships.flush();
  await endpoints.flush();
  return {
    relationships: countsOf(listIndexes.relationships, relationships.created),
    endpoints: countsOf(listIndexes.endpoints, endpoints.created),
    warnings,
  };
}

type Found = { readonly pointer: string; readonly isFirst: boolean } & (
  | { readonly relationship: RelationshipDraft }
  | { readonly endpoint: EndpointDraft }
);

/**
 * The usable entries of both lists, in the order of the document. `isFirst`: no earlier entry was
 * the same.
 */
async function* linksOf(
  { source, document, readers, report: { listIndexes } }: Reading,
  warnings: Warnings,
): AsyncGenerator<Found, void, undefined> {
  if (listIndexes.relationships.usable + listIndexes.endpoints.usable === 0) return;
  const relationships =
    readers.relationships &&
    new EntriesAgain(readers.relationships, listIndexes.relationships, warnings);
  const endpoints =
    readers.endpoints && new EntriesAgain(readers.endpoints, listIndexes.endpoints, warnings);
  const lists = [readers.relationships, readers.endpoints].flatMap((reader) => reader?.list ?? []);
  for await (const items of source.items(document, new Set(lists))) {
    for (const item of items) {
      if (item.list === readers.relationships?.list) {
        const again = relationships?.next(item) ?? null;
        if (again !== null) yield { ...again, relationship: again.entry };
      } else {
        const again = endpoints?.next(item) ?? null;
        if (again !== null) yield { ...again, endpoint: again.entry };
      }
    }
  }
}

const countsOf = (
  { received, usable, rejected, rows }: ListIndex,
  created: number,
): ListCounts => ({
  received,
  created,
  updated: rows - created,
  duplicate: usable - rows,
  rejected,
});

// The first pass over the assets that a report lists: each entry becomes a row by the name of its
// asset, or is rejected. The ids that the report itself gives are kept as hashes, because findings,
// relationships and endpoints refer to assets by them. assets.ts reads the entries again and makes
// the drafts. Filled by reading.ts, asked by ctis/targets.decode.ts.

import { GrowingInts } from '../../lib/growing-ints.ts';
import type { AssetNames } from './asset-names.rules.ts';
import type { AssetEntry, ListIndexes, OpenReport, Report } from './report.rules.ts';
import { type Located, Warnings } from '../json/warnings.decode.ts';
import { HashedTexts } from './hashed-texts.columns.ts';
import { KeyedIndex, ListIndex } from './list-index.rules.ts';
import { objectOf, stringOf } from '../json/json.decode.ts';

/** Stands for the row of an asset that was rejected. */
const REJECTED = -1;

export class AssetIndex extends ListIndex {
  /** The warnings about ids of entries; the receipt tells them behind the others. */
  readonly idWarnings = new Warnings();
  readonly names: AssetNames;
  /** True when an id names two assets: a finding that refers to it may be about either. */
  isAmbiguous = false;
  readonly #ids = new HashedTexts();
  /** The row that each id means. */
  readonly #meanings = new GrowingInts();
  /** True when an entry was too deep or too large to be read: its id is unknown. */
  #hasUnread = false;

  /** `names` are those of the report. */
  constructor(names: AssetNames) {
    super();
    this.names = names;
  }

  /** Takes in the next entry; `pointer` is its place. */
  take(entry: AssetEntry, pointer: string): void {
    const row = this.names.add(entry);
    this.accept(row);
    const { ref } = entry;
    if (ref === null) return;
    const meant = this.#mean(ref, row);
    if (meant === row) return;
    this.isAmbiguous = true;
    const detail = `The id "${ref.slice(0, 64)}" names two assets; references mean the first, and nothing is closed.`;
    this.idWarnings.warn(`${pointer}/id`, 'asset_id_repeated', detail);
  }

  /**
   * The id of a rejected asset is kept, too: a finding that refers to it is about no other asset.
   */
  override reject(rejection: Located, value: unknown): void {
    super.reject(rejection, value);
    if (value === undefined) this.#hasUnread = true;
    const ref = stringOf(objectOf(value)?.id)?.trim();
    if (ref !== undefined) this.#mean(ref, REJECTED);
  }

  /** The row that an id means; an id that means none gets this row. */
  #mean(ref: string, row: number): number {
    const number = this.#ids.add(ref);
    if (number === this.#meanings.length) this.#meanings.push(row);
    else if (this.#meanings.at(number) === REJECTED) this.#meanings.set(number, row);
    return this.#meanings.at(number);
  }

  /** The row of the usable asset that an id means; null: it means none. */
  rowOfRef(ref: string): number | null {
    const row = this.#meaning(ref);
    return row === REJECTED ? null : row;
  }

  /** True when an id means an asset that was rejected, or may mean one that wasn't even read. */
  isRejectedRef(ref: string): boolean {
    const meaning = this.#meaning(ref);
    return meaning === REJECTED || (meaning === null && this.#hasUnread);
  }

  #meaning(ref: string): number | null {
    const number = this.#ids.find(ref);
    return number === null ? null : this.#meanings.at(number);
  }
}

/** The empty indexes of a report with these assets. */
export const newListIndexes = (names: AssetNames): ListIndexes => ({
  assets: new AssetIndex(names),
  relationships: new KeyedIndex(({ from, to, type }) => `${from} ${to} ${type}`),
  endpoints: new KeyedIndex(({ asset, identity }) => `${asset} ${identity}`),
});

/**
 * The states of a report whose format has no lists beside the findings: it is known as soon as its
 * envelope was read.
 */
export function findingsAlone(lists: readonly string[], report: Report): OpenReport {
  const { assets, relationships, endpoints } = report.listIndexes;
  const known = {
    relationships: { reader: null, index: relationships },
    endpoints: { reader: null, index: endpoints },
    linksIndexed: () => report,
  };
  return {
    lists,
    allLists: lists,
    assets: { reader: null, index: assets },
    components: null,
    assetsIndexed: () => ({ look: null, findingsSeen: () => known }),
  };
}

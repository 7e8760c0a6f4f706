// The assets of a report, each a row by what it is known by wherever it is named: in its list, by a finding, an endpoint, a
// run or the sender. Kept as numbers and short texts outside of the heap, about 70 bytes an asset. Filled by the readers
// of reports, in the order in which they come to know of assets; the rows of findings, relationships and endpoints are
// indexes into it.

import { ASSET_KINDS, type AssetKind, limits } from '@muster/contract/plain';
import { GrowingInts } from '../../lib/growing-ints.ts';
import { GrowingTexts } from '../../lib/growing-texts.ts';
import { kindClassOf, normaliseAsset } from './asset.rules.ts';
import { DocumentFault } from '../document/scan.decode.ts';
import { HashedTexts } from './hashed-texts.columns.ts';
import { indexable } from './indexed-text.rules.ts';
import type { Warnings } from '../json/warnings.decode.ts';
import type { UploadRow } from '../store/upload.queries.ts';

/** An asset by its kind and its normalised value (asset.rules.ts). */
export interface NamedAsset {
  readonly kind: AssetKind;
  readonly value: string;
}

/** An asset by a value as it was sent; null when that names nothing. */
export function namedAsset(kind: AssetKind, value: string, warnings: Warnings): NamedAsset | null {
  const normal = normaliseAsset(kind, warnings.text(value, limits.pathCharsMax));
  return normal === null ? null : { kind: normal.kind, value: normal.value };
}

/** What an asset is known by, as it is stored: assets that agree in this are one. */
export interface AssetIdentity {
  readonly kind_class: string;
  readonly value: string;
}

export function identityOf({ kind, value }: NamedAsset): AssetIdentity {
  return { kind_class: kindClassOf(kind, value), value: indexable(value) };
}

/** An identity as one text. */
export const identityKey = ({ kind_class: kindClass, value }: AssetIdentity): string =>
  `${kindClass} ${value}`;

export class AssetNames {
  readonly #keys = new HashedTexts();
  readonly #values = new GrowingTexts();
  /** Indexes into ASSET_KINDS. */
  readonly #kinds = new GrowingInts();
  readonly #bytesMax: number;

  /** `bytesMax`: of all values together. */
  constructor(bytesMax: number = limits.assetNamesBytesMax) {
    this.#bytesMax = bytesMax;
  }

  /** How many rows there are. */
  get length(): number {
    return this.#values.length;
  }

  /** The row of an asset, and a new one for a new asset. Throws DocumentFault when they are too many to be held. */
  add(asset: NamedAsset): number {
    const identity = identityOf(asset);
    const row = this.#keys.add(identityKey(identity));
    if (row < this.length) return row;
    this.#values.push(identity.value);
    this.#kinds.push(ASSET_KINDS.indexOf(asset.kind));
    if (this.#values.bytes <= this.#bytesMax) return row;
    const detail = `the names of its assets take more than ${this.#bytesMax} bytes`;
    throw new DocumentFault(detail, 'size');
  }

  /** The row of an asset; null for one that isn't there. */
  find(asset: NamedAsset): number | null {
    return this.#keys.find(identityKey(identityOf(asset)));
  }

  /** The asset of a row, of the kind that it was first said to be. A long value comes as it is stored. */
  at(row: number): NamedAsset {
    return { kind: ASSET_KINDS[this.#kinds.at(row)] as AssetKind, value: this.#values.at(row) };
  }
}

/** Reports that name no asset land on the runner's own default asset, and merge with nobody else's. */
export const fallbackAsset = (upload: UploadRow): NamedAsset => ({
  kind: 'unclassified',
  value: `runner:${upload.runner_id}`,
});

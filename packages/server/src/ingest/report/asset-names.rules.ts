// The assets of a report: each is one row by its normalised name, wherever the report names it: in
// its list, in a finding, an endpoint or a run, or beside the document. Readers of reports add
// assets as they meet them, and everything that is about an asset keeps its row. Rows are numbers
// and short texts outside of the heap, about 70 bytes an asset.

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

/** The asset that a value names as it was sent; null when it names nothing. */
export function namedAsset(kind: AssetKind, value: string, warnings: Warnings): NamedAsset | null {
  const normal = normaliseAsset(kind, warnings.text(value, limits.pathCharsMax));
  return normal === null ? null : { kind: normal.kind, value: normal.value };
}

/** The stored identity of an asset: assets that agree in it are one. */
interface AssetIdentity {
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

  /** `bytesMax`: the bound of all values together. */
  constructor(bytesMax: number = limits.assetNamesBytesMax) {
    this.#bytesMax = bytesMax;
  }

  /** The number of rows. */
  get length(): number {
    return this.#values.length;
  }

  /**
   * The row of an asset; a new asset gets a new row. Throws DocumentFault when the values are too
   * large to be held.
   */
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

  /** The row of an asset; null when it has none. */
  find(asset: NamedAsset): number | null {
    return this.#keys.find(identityKey(identityOf(asset)));
  }

  /**
   * The asset of a row, with the kind under which it was added first. A long value comes as it is
   * stored.
   */
  at(row: number): NamedAsset {
    return { kind: ASSET_KINDS[this.#kinds.at(row)] as AssetKind, value: this.#values.at(row) };
  }
}

/**
 * The asset of findings that name none: the runner's own, so that they merge with nobody else's.
 */
export const fallbackAsset = (upload: UploadRow): NamedAsset => ({
  kind: 'unclassified',
  value: `runner:${upload.runner_id}`,
});

// Which asset a CTIS finding is about (CTIS §7.2, contract §5): asset_ref, else the report's only
// asset. Where the report lists none: its repository, else the asset_value that the finding states,
// else the one that the others share, else the sender's word, else the upload's fallback. Never a
// guess that merges unrelated projects. Called by ctis.decode.ts.

import { type AssetKind, limits } from '@muster/contract/plain';
import { normaliseAsset } from './asset.rules.ts';
import { assetKindOf, type ListedAssets, warnAssetType } from './ctis-frame.decode.ts';
import type { AssetDraft } from './draft.rules.ts';
import { type JsonObject, type Notes, objectOf, stringOf } from './report-notes.decode.ts';

export class Targets {
  readonly #assets: AssetDraft[];
  readonly #byRef = new Map<string, number>();
  readonly #byKey = new Map<string, number>();
  readonly #listed: number;
  readonly #rejectedRefs: ReadonlySet<string>;
  #implicit: number | null = null;
  #isAmbiguous = false;

  /** From the assets that the report lists; `pointer` is where their list stands. */
  constructor(assets: ListedAssets, pointer: string, notes: Notes) {
    const listed = assets.usable;
    this.#assets = [...listed];
    this.#listed = listed.length;
    this.#rejectedRefs = assets.rejectedRefs;
    for (const [index, asset] of listed.entries()) {
      const key = keyOf(asset.kind, asset.value);
      if (key !== null && !this.#byKey.has(key)) this.#byKey.set(key, index);
      const { ref } = asset;
      if (ref === null) continue;
      const known = this.#byRef.get(ref);
      if (known === undefined) this.#byRef.set(ref, index);
      else if (this.#byKey.get(key ?? '') !== known) {
        this.#isAmbiguous = true;
        const detail = `The id "${ref.slice(0, 64)}" names two assets; references mean the first, and nothing is closed.`;
        notes.warn(`${pointer}/${assets.places[index]}/id`, 'asset_id_repeated', detail);
      }
    }
    // Beside one that was rejected, the only usable asset isn't the report's only one.
    if (this.#byKey.size === 1 && assets.rejections.length === 0) this.#implicit = 0;
  }

  /**
   * The listed assets, then those that findings name by value, then the one that the report
   * implies.
   */
  get assets(): readonly AssetDraft[] {
    return this.#assets;
  }

  /** From the report's own asset ids to indexes of `assets`. */
  get byRef(): ReadonlyMap<string, number> {
    return this.#byRef;
  }

  /** What findings without a target of their own are about; null is the upload's fallback. */
  get implicit(): number | null {
    return this.#implicit;
  }

  /** True when an id names two assets: a finding that refers to it may be about either. */
  get isAmbiguous(): boolean {
    return this.#isAmbiguous;
  }

  /**
   * What the frame alone settles. Returns whether findings have to be looked at, too: `asset_value` counts only where
   * nothing else names the target (deployed producers send it beside a listed asset, CTIS §7.2).
   */
  begin(repositoryUrl: string | null, notes: Notes): boolean {
    if (this.#implicit !== null) return false;
    if (this.#listed > 0 || repositoryUrl === null) return true;
    this.#implicit = this.add('repository', repositoryUrl, notes);
    return false;
  }

  /** Takes in the target that a finding names by value. */
  look(value: unknown, pointer: string, notes: Notes): void {
    const finding = objectOf(value);
    const target = stringOf(finding?.asset_value);
    if (finding === null || target === null) return;
    if (this.#byRef.has(stringOf(finding.asset_ref)?.trim() ?? '')) return;
    const type = stringOf(finding.asset_type);
    if (type !== null) warnAssetType(type, `${pointer}/asset_type`, notes);
    this.add(kindOfTarget(finding), target, notes);
  }

  /** After all findings were looked at: what those without a target are about. */
  settle(stated: AssetDraft | null, notes: Notes): void {
    if (this.#listed > 0) return;
    if (this.#assets.length === 1) this.#implicit = 0;
    else if (this.#assets.length === 0 && stated !== null) {
      this.#implicit = this.add(stated.kind, stated.value, notes);
    }
  }

  /**
   * The asset of one finding; notes a reference that leads nowhere and a target that is missing.
   */
  of(finding: JsonObject, pointer: string, notes: Notes): number | null {
    const ref = stringOf(finding.asset_ref)?.trim() ?? null;
    const byRef = ref === null ? undefined : this.#byRef.get(ref);
    if (byRef !== undefined) return byRef;
    if (ref !== null) {
      const detail = 'The reference leads to no asset of this report; it is left out.';
      notes.warn(`${pointer}/asset_ref`, 'asset_ref_unknown', detail);
      if (this.#rejectedRefs.has(ref)) return null;
    }
    if (this.#implicit !== null) return this.#implicit;
    const value = stringOf(finding.asset_value);
    const key = value === null ? null : keyOf(kindOfTarget(finding), value);
    const byValue = key === null ? undefined : this.#byKey.get(key);
    if (byValue === undefined && this.#assets.length > 0) {
      const detail =
        'The report names assets and the finding none of them: nothing is closed on any.';
      notes.warn(pointer, 'no_target_asset', detail);
    }
    return byValue ?? null;
  }

  /** The index of an asset, added if it isn't among the report's yet; null when the value names nothing. */
  add(kind: AssetKind, value: string, notes: Notes): number | null {
    const normal = normaliseAsset(kind, notes.text(value, limits.pathCharsMax));
    const key = keyOf(kind, value);
    if (normal === null || key === null) return null;
    const known = this.#byKey.get(key);
    if (known !== undefined) return known;
    const { kind: normalKind, value: normalValue } = normal;
    const index = this.#assets.length;
    this.#byKey.set(key, index);
    this.#assets.push({
      ref: null,
      kind: normalKind,
      value: normalValue,
      name: null,
      criticality: null,
      attributes: {},
    });
    return index;
  }
}

/** CTIS §7.2, rule 2: a target without type is a repository. */
function kindOfTarget(finding: JsonObject): AssetKind {
  return stringOf(finding.asset_type) === null ? 'repository' : assetKindOf(finding.asset_type);
}

function keyOf(kind: AssetKind, value: string): string | null {
  const normal = normaliseAsset(kind, value);
  return normal === null ? null : `${normal.kindClass} ${normal.value}`;
}

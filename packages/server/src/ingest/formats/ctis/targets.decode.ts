// A CTIS finding → the asset that it is about (CTIS §7.2, contract §5): `asset_ref`, else the
// report's only asset. Where the report lists no asset: its repository, else the `asset_value` that
// the finding states, else the one that all other findings share, else the sender's asset, else the
// upload's fallback. No guess ever merges unrelated projects. Called by ctis/ctis.decode.ts and
// ctis/endpoints.decode.ts.

import type { AssetKind } from '@muster/contract/plain';
import { type AssetNames, type NamedAsset, namedAsset } from '../../report/asset-names.rules.ts';
import type { AssetIndex } from '../../report/asset-index.rules.ts';
import { assetKindOf, warnAssetType } from './lists.decode.ts';
import type { Warnings } from '../../json/warnings.decode.ts';
import { type JsonObject, objectOf, stringOf } from '../../json/json.decode.ts';

export class Targets {
  /**
   * The listed assets, then those that findings name by value, then the one that the report
   * implies, then the origins of endpoints.
   */
  readonly names: AssetNames;
  /** The assets that the report lists; all of them are known before any method is called. */
  readonly listed: AssetIndex;
  #implicit: number | null = null;

  constructor(listed: AssetIndex) {
    this.names = listed.names;
    this.listed = listed;
  }

  /** The asset of findings without a target of their own; null: the upload's fallback. */
  get implicit(): number | null {
    return this.#implicit;
  }

  /**
   * Decides what the envelope and the listed assets can decide alone. Returns true when the
   * findings must be looked at, too: `asset_value` counts only where nothing else names the target
   * (deployed producers send it beside a listed asset, CTIS §7.2).
   */
  begin(repositoryUrl: string | null, warnings: Warnings): boolean {
    const { usable, rejected } = this.listed;
    // Beside a rejected asset, the only usable one isn't the report's only one.
    if (this.names.length === 1 && rejected === 0) this.#implicit = 0;
    if (this.#implicit !== null) return false;
    if (usable > 0 || repositoryUrl === null) return true;
    this.#implicit = this.add('repository', repositoryUrl, warnings);
    return false;
  }

  /** Adds the target that a finding names by value. */
  look(value: unknown, pointer: string, warnings: Warnings): void {
    const finding = objectOf(value);
    const target = stringOf(finding?.asset_value);
    if (finding === null || target === null) return;
    if (this.listed.rowOfRef(stringOf(finding.asset_ref)?.trim() ?? '') !== null) return;
    const type = stringOf(finding.asset_type);
    if (type !== null) warnAssetType(type, `${pointer}/asset_type`, warnings);
    this.add(kindOfTarget(finding), target, warnings);
  }

  /** After all findings were looked at: what those without a target are about. */
  resolve(stated: NamedAsset | null): void {
    if (this.listed.usable > 0) return;
    if (this.names.length === 1) this.#implicit = 0;
    else if (this.names.length === 0 && stated !== null) this.#implicit = this.names.add(stated);
  }

  /**
   * The asset of one finding. Warns about a reference that leads nowhere and about a missing
   * target.
   */
  of(finding: JsonObject, pointer: string, warnings: Warnings): number | null {
    const ref = stringOf(finding.asset_ref)?.trim() ?? null;
    const byRef = ref === null ? null : this.listed.rowOfRef(ref);
    if (byRef !== null) return byRef;
    if (ref !== null) {
      const detail = 'The reference leads to no asset of this report; it is left out.';
      warnings.warn(`${pointer}/asset_ref`, 'asset_ref_unknown', detail);
      if (this.listed.isRejectedRef(ref)) return null;
    }
    if (this.#implicit !== null) return this.#implicit;
    const value = stringOf(finding.asset_value);
    const named =
      value === null
        ? null
        : warnings.quietly(() => namedAsset(kindOfTarget(finding), value, warnings));
    const byValue = named === null ? null : this.names.find(named);
    if (byValue === null && this.names.length > 0) {
      const detail =
        'The report names assets and the finding none of them: nothing is closed on any.';
      warnings.warn(pointer, 'no_target_asset', detail);
    }
    return byValue;
  }

  /**
   * The index of an asset, added if the report doesn't have it yet; null when the value names
   * nothing.
   */
  add(kind: AssetKind, value: string, warnings: Warnings): number | null {
    const named = namedAsset(kind, value, warnings);
    return named === null ? null : this.names.add(named);
  }
}

/** The kind of a finding's target; a target without a type is a repository (CTIS §7.2, rule 2). */
function kindOfTarget(finding: JsonObject): AssetKind {
  return stringOf(finding.asset_type) === null ? 'repository' : assetKindOf(finding.asset_type);
}

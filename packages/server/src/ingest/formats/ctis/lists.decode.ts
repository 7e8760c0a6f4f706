// Assets and relationships of a CTIS report (CTIS §3) → usable entries or located rejections. Each
// entry is read alone. Findings and relationships refer to assets by their ids. Dependencies and
// endpoints have files of their own (components.decode.ts, endpoints.decode.ts). Called by
// ctis/components.decode.ts, ctis/ctis.decode.ts, ctis/endpoints.decode.ts and
// ctis/targets.decode.ts.

import { ASSET_KINDS, type AssetKind, limits } from '@muster/contract/plain';
import { namedAsset } from '../../report/asset-names.rules.ts';
import { boundedBag, newBudget } from '../common/bounded.decode.ts';
import { readObject } from './members.decode.ts';
import type { AssetIndex } from '../../report/asset-index.rules.ts';
import type { AssetEntry, RelationshipDraft } from '../../report/report.rules.ts';
import type { Located, Warnings } from '../../json/warnings.decode.ts';
import { type JsonObject, objectOf, stringOf } from '../../json/json.decode.ts';
import { severityOfWord } from '../common/severity.rules.ts';

const KINDS: ReadonlySet<string> = new Set(ASSET_KINDS);

/** Warns about a value that should be a list; it counts as an empty list. */
export function warnUnlessList(value: unknown, pointer: string, warnings: Warnings): void {
  if (value === undefined || value === null || Array.isArray(value)) return;
  warnings.warn(pointer, 'wrong_type', 'A list is expected here; it is left out.');
}

/**
 * The kind of an asset as the server knows it; `other` and unknown words are unclassified (CTIS
 * §8).
 */
export function assetKindOf(value: unknown): AssetKind {
  const word = stringOf(value)?.trim().toLowerCase() ?? '';
  return KINDS.has(word) ? (word as AssetKind) : 'unclassified';
}

/** Warns about a word that is no type of asset. */
export function warnAssetType(value: unknown, pointer: string, warnings: Warnings): void {
  const word = stringOf(value)?.trim().toLowerCase() ?? '';
  if (KINDS.has(word) || word === 'other') return;
  const said = word === '' ? 'The asset has no type' : `"${word.slice(0, 64)}" is no asset type`;
  warnings.warn(pointer, 'unknown_asset_type', `${said}; it is taken as unclassified.`);
}

/** One asset by itself, or the reason why it can't be used. */
export function readAsset(
  value: unknown,
  pointer: string,
  warnings: Warnings,
): AssetEntry | Located {
  const raw = objectOf(value) === null ? null : readObject('asset', value, pointer, warnings);
  if (raw === null) return notAnObject(pointer);
  const detail = 'An asset needs a `value` that names it.';
  return (
    assetOf(raw, pointer, warnings) ?? {
      pointer: `${pointer}/value`,
      code: 'value_missing',
      detail,
    }
  );
}

function assetOf(raw: JsonObject, pointer: string, warnings: Warnings): AssetEntry | null {
  const value = stringOf(raw.value) ?? stringOf(raw.name);
  if (value === null) return null;
  const kind = assetKindOf(raw.type);
  warnAssetType(raw.type, `${pointer}/type`, warnings);
  const normal = namedAsset(kind, value, warnings);
  if (normal === null) return null;
  if (normal.kind !== kind) {
    const detail = `The value is of type ${normal.kind}, not ${kind}; it is taken as that.`;
    warnings.warn(`${pointer}/type`, 'asset_type_corrected', detail);
  }
  const criticality = stringOf(raw.criticality);
  const known = criticality === null ? null : severityOfWord(criticality);
  if (criticality !== null && known === null) {
    const detail = 'The criticality is none of critical, high, medium, low, info; it is left out.';
    warnings.warn(`${pointer}/criticality`, 'unknown_word', detail);
  }
  return {
    ref: stringOf(raw.id)?.trim() ?? null,
    kind: normal.kind,
    value: normal.value,
    name: warnings.textOf(raw.name, limits.nameCharsMax),
    criticality: known,
    attributes: () => attributesOf(raw, kind, value, normal.value, warnings),
  };
}

/** The members that have no column, and kind and value as sent where they were read differently. */
function attributesOf(
  raw: JsonObject,
  kind: AssetKind,
  value: string,
  normalValue: string,
  warnings: Warnings,
): JsonObject {
  const rest = Object.entries(raw).filter(([name]) => !ASSET_COLUMNS.has(name));
  const sent = stringOf(raw.type);
  if (sent !== null && sent !== kind) rest.push(['type_as_sent', sent]);
  if (value.trim() !== normalValue) rest.push(['value_as_sent', value]);
  return boundedBag(Object.fromEntries(rest), warnings, newBudget()) ?? {};
}

const ASSET_COLUMNS: ReadonlySet<string> = new Set(['id', 'type', 'value', 'name', 'criticality']);

/** CTIS §1.2. The list is open: other words are kept for readers who know them. */
const RELATIONSHIPS: ReadonlySet<string> = new Set(
  'subdomain_of resolves_to cname_of exposes serves_certificate hosted_by'.split(' '),
);

/** One relationship, or the reason why it can't be used; all assets are known by then. */
export function readRelationship(
  value: unknown,
  pointer: string,
  assets: Pick<AssetIndex, 'rowOfRef'>,
  warnings: Warnings,
): RelationshipDraft | Located {
  const raw =
    objectOf(value) === null ? null : readObject('relationship', value, pointer, warnings);
  if (raw === null) return notAnObject(pointer);
  const type = warnings.textOf(raw.type, limits.nameCharsMax);
  if (type !== null && !RELATIONSHIPS.has(type.trim().toLowerCase())) {
    const detail = `"${type.slice(0, 64)}" is no relationship of CTIS; it is kept as it is.`;
    warnings.warn(`${pointer}/type`, 'unknown_word', detail);
  }
  const fromRef = stringOf(raw.from_ref)?.trim() ?? '';
  const toRef = stringOf(raw.to_ref)?.trim() ?? '';
  const from = assets.rowOfRef(fromRef);
  const to = assets.rowOfRef(toRef);
  if (from === null || to === null) {
    const detail = 'The reference leads to no asset of this report.';
    const member = from === null ? 'from_ref' : 'to_ref';
    return { pointer: `${pointer}/${member}`, code: 'asset_ref_unknown', detail };
  }
  if (type === null) {
    const detail = 'A relationship needs a type.';
    return { pointer: `${pointer}/type`, code: 'type_missing', detail };
  }
  if (fromRef === toRef) {
    const detail = 'The two assets are one.';
    return { pointer: `${pointer}/to_ref`, code: 'relationship_to_itself', detail };
  }
  return { from, to, type: known(type) };
}

/** CTIS's own words in CTIS's spelling; other words as they were sent. */
function known(type: string): string {
  const word = type.trim().toLowerCase();
  return RELATIONSHIPS.has(word) ? word : type;
}

export function notAnObject(pointer: string): Located {
  return { pointer, code: 'item_not_object', detail: 'An object is expected here.' };
}

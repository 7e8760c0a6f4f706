// The lists of a CTIS report beside its findings: assets and relationships here, dependencies and
// endpoints in files of their own (CTIS §3). Each entry becomes usable or a located rejection; ids of assets are what findings and
// relationships refer to. Called by ctis.decode.ts.

import { ASSET_KINDS, type AssetKind, limits } from '@muster/contract/plain';
import { normaliseAsset } from './asset.rules.ts';
import { boundedBag, newBudget } from './bounded.decode.ts';
import { readObject } from './ctis-members.decode.ts';
import type { AssetDraft, FrameList, Located, RelationshipDraft } from './draft.rules.ts';
import { type JsonObject, listOf, type Notes, objectOf, stringOf } from './report-notes.decode.ts';
import { severityOfWord } from './severity.rules.ts';

const KINDS: ReadonlySet<string> = new Set(ASSET_KINDS);

/** Runs over a list that ought to be one; other shapes are a warning and an empty list. */
export function entriesOf(value: unknown, pointer: string, notes: Notes): readonly unknown[] {
  if (value !== undefined && value !== null && !Array.isArray(value)) {
    notes.warn(pointer, 'wrong_type', 'A list is expected here; it is left out.');
  }
  return listOf(value);
}

/** The kind as the server knows it; `other` and unknown words are unclassified (CTIS §8). */
export function assetKindOf(value: unknown): AssetKind {
  const word = stringOf(value)?.trim().toLowerCase() ?? '';
  return KINDS.has(word) ? (word as AssetKind) : 'unclassified';
}

/** Notes a type that isn't one. */
export function warnAssetType(value: unknown, pointer: string, notes: Notes): void {
  const word = stringOf(value)?.trim().toLowerCase() ?? '';
  if (KINDS.has(word) || word === 'other') return;
  const said = word === '' ? 'The asset has no type' : `"${word.slice(0, 64)}" is no asset type`;
  notes.warn(pointer, 'unknown_asset_type', `${said}; it is taken as unclassified.`);
}

/** The assets of a report; of the rejected ones their ids, by which findings may refer to them all the same. */
export interface ListedAssets extends FrameList<AssetDraft> {
  readonly rejectedRefs: ReadonlySet<string>;
  /** Of each usable one its index in the list as it was sent. */
  readonly places: readonly number[];
}

export function readAssets(value: unknown, pointer: string, notes: Notes): ListedAssets {
  const rejectedRefs = new Set<string>();
  const usable: AssetDraft[] = [];
  const places: number[] = [];
  const rejections: Located[] = [];
  for (const [index, entry] of entriesOf(value, pointer, notes).entries()) {
    const at = `${pointer}/${index}`;
    const raw = objectOf(entry) === null ? null : readObject('asset', entry, at, notes);
    const draft = raw === null ? null : assetDraftOf(raw, at, notes);
    if (draft !== null) {
      usable.push(draft);
      places.push(index);
    } else if (raw === null) rejections.push(notAnObject(at));
    else {
      const detail = 'An asset needs a `value` that names it.';
      const ref = stringOf(raw.id)?.trim();
      if (ref !== undefined) rejectedRefs.add(ref);
      rejections.push({ pointer: `${at}/value`, code: 'value_missing', detail });
    }
  }
  return { usable, rejections, rejectedRefs, places };
}

function assetDraftOf(raw: JsonObject, pointer: string, notes: Notes): AssetDraft | null {
  const value = stringOf(raw.value) ?? stringOf(raw.name);
  if (value === null) return null;
  const kind = assetKindOf(raw.type);
  warnAssetType(raw.type, `${pointer}/type`, notes);
  const normal = normaliseAsset(kind, notes.text(value, limits.pathCharsMax));
  if (normal === null) return null;
  if (normal.kind !== kind) {
    const detail = `The value is of type ${normal.kind}, not ${kind}; it is taken as that.`;
    notes.warn(`${pointer}/type`, 'asset_type_corrected', detail);
  }
  const criticality = stringOf(raw.criticality);
  const known = criticality === null ? null : severityOfWord(criticality);
  if (criticality !== null && known === null) {
    const detail = 'The criticality is none of critical, high, medium, low, info; it is left out.';
    notes.warn(`${pointer}/criticality`, 'unknown_word', detail);
  }
  const rest = Object.entries(raw).filter(([name]) => !ASSET_COLUMNS.has(name));
  const sent = stringOf(raw.type);
  if (sent !== null && sent !== kind) rest.push(['type_as_sent', sent]);
  if (value.trim() !== normal.value) rest.push(['value_as_sent', value]);
  return {
    ref: stringOf(raw.id)?.trim() ?? null,
    kind: normal.kind,
    value: normal.value,
    name: notes.textOf(raw.name, limits.nameCharsMax),
    criticality: known,
    attributes: boundedBag(Object.fromEntries(rest), notes, newBudget()) ?? {},
  };
}

const ASSET_COLUMNS: ReadonlySet<string> = new Set(['id', 'type', 'value', 'name', 'criticality']);

/** CTIS §1.2. The list is open: what another word means, its reader knows. */
const RELATIONSHIPS: ReadonlySet<string> = new Set(
  'subdomain_of resolves_to cname_of exposes serves_certificate hosted_by'.split(' '),
);

/** `byRef` leads from the report's own asset ids to indexes of usable assets. */
export function readRelationships(
  value: unknown,
  pointer: string,
  byRef: ReadonlyMap<string, number>,
  notes: Notes,
): FrameList<RelationshipDraft> {
  const usable: RelationshipDraft[] = [];
  const rejections: Located[] = [];
  for (const [index, entry] of entriesOf(value, pointer, notes).entries()) {
    const at = `${pointer}/${index}`;
    const raw = objectOf(entry) === null ? null : readObject('relationship', entry, at, notes);
    if (raw === null) {
      rejections.push(notAnObject(at));
      continue;
    }
    const type = notes.textOf(raw.type, limits.nameCharsMax);
    const from = byRef.get(stringOf(raw.from_ref)?.trim() ?? '');
    const to = byRef.get(stringOf(raw.to_ref)?.trim() ?? '');
    if (type !== null && !RELATIONSHIPS.has(type.trim().toLowerCase())) {
      const detail = `"${type.slice(0, 64)}" is no relationship of CTIS; it is kept as it is.`;
      notes.warn(`${at}/type`, 'unknown_word', detail);
    }
    const problem =
      from === undefined
        ? ([
            'from_ref',
            'asset_ref_unknown',
            'The reference leads to no asset of this report.',
          ] as const)
        : to === undefined
          ? ([
              'to_ref',
              'asset_ref_unknown',
              'The reference leads to no asset of this report.',
            ] as const)
          : type === null
            ? (['type', 'type_missing', 'A relationship needs a type.'] as const)
            : from === to
              ? (['to_ref', 'relationship_to_itself', 'The two assets are one.'] as const)
              : null;
    if (problem !== null) {
      const [member, code, detail] = problem;
      rejections.push({ pointer: `${at}/${member}`, code, detail });
    } else if (from !== undefined && to !== undefined && type !== null) {
      usable.push({ from, to, type: known(type) });
    }
  }
  return { usable, rejections };
}

/** CTIS's own words in CTIS's spelling. */
function known(type: string): string {
  const word = type.trim().toLowerCase();
  return RELATIONSHIPS.has(word) ? word : type;
}

export function notAnObject(pointer: string): Located {
  return { pointer, code: 'item_not_object', detail: 'An object is expected here.' };
}

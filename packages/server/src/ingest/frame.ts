// What a report is about becomes rows: assets (found or made), components, relationships, endpoints. In slices, each stored
// with what it counted, so that a re-run after a crash only looks the ids up. Called by the ingest story and rehearse.ts.

import { hash } from 'node:crypto';
import { limits } from '@muster/contract/plain';
import type { Db } from '../db/db.ts';
import { present } from '../lib/assert.ts';
import { type AssetId, newId } from '../lib/ids.ts';
import { cut } from '../lib/text.ts';
import { normaliseAsset } from './asset.rules.ts';
import { mergedAttributes } from './asset-attributes.rules.ts';
import { unitedComponent } from './component-uniting.rules.ts';
import type { AssetDraft, Report, FrameList, Located } from './draft.rules.ts';
import {
  type AssetRow,
  type AssetFacts,
  assetsByValue,
  type EndpointRow,
  insertAssets,
  lockAssets,
  type RelationshipRow,
  saveAssetFacts,
  saveComponents,
  saveEndpoints,
  saveRelationships,
  scopesOfOthers,
  touchAssets,
} from './frame.queries.ts';
import { type FrameCounts, noFrame } from './receipt.rules.ts';
import { type Slices, sliced } from './slices.ts';
import type { UploadRow } from './upload.queries.ts';

export interface FrameAccount {
  readonly assets: FrameCounts;
  readonly dependencies: FrameCounts;
  readonly relationships: FrameCounts;
  readonly endpoints: FrameCounts;
  readonly warnings: readonly Located[];
}

export interface Frame {
  /** By index into the report's assets. */
  readonly assets: readonly AssetRow[];
  readonly fallback: AssetRow | null;
  readonly account: FrameAccount;
}

/** The runner's own default asset: reports that name none land here, and merge with nobody else's. */
export function fallbackDraft(upload: UploadRow): AssetDraft {
  return {
    ref: null,
    kind: 'unclassified',
    value: `runner:${upload.runner_id}`,
    name: 'reports without an asset',
    criticality: null,
    attributes: {},
  };
}

/** Bytes of a value that is looked up: an index entry of PostgreSQL holds about 2700. */
const INDEXED_BYTES_MAX = 1024;

/** A text that is too long to be indexed keeps its beginning; a digest of the whole keeps it distinct. */
function indexable(text: string): string {
  if (Buffer.byteLength(text) <= INDEXED_BYTES_MAX) return text;
  return `${cut(text, 200)}…${hash('sha256', text, 'hex')}`;
}

const keyOf = (kindClass: string, value: string): string => `${kindClass} ${value}`;

/** Does anything of the report belong to no asset that it names? */
export const needsFallback = (
  report: Report,
  survey: { readonly groups: readonly { readonly asset: number | null }[] },
): boolean =>
  survey.groups.some((group) => group.asset === null) ||
  (report.assets.usable.length === 0 && report.components.usable.length > 0);

/**
 * Does another upload hold what an analysis of the report, by its named asset, will be matched against? A cheap look before
 * all items are read; what it doesn't see is met when the scopes are taken.
 */
export async function isAnyScopeBusy(
  db: Db,
  upload: UploadRow,
  { analyses, assets }: Report,
  nowMs: number,
): Promise<boolean> {
  const named = analyses.flatMap(({ asset, tool, category }) => {
    const draft = asset === null ? undefined : assets.usable[asset];
    return draft === undefined ? [] : [{ ...identityOf(draft), tool, category }];
  });
  for (const slice of sliced(named)) {
    const stored = await assetsByValue(db, upload.tenant_id, slice);
    const ids = new Map(stored.map((row) => [keyOf(row.kind_class, row.value), row.id]));
    const busy = await scopesOfOthers(db, upload, [...ids.values()], nowMs);
    const keys = new Set(busy.map((scope) => `${scope.assetId} ${scope.tool}\n${scope.category}`));
    const isBusy = slice.some(({ kind_class: kindClass, value, tool, category }) =>
      keys.has(`${ids.get(keyOf(kindClass, value))} ${tool}\n${category}`),
    );
    if (isBusy) return true;
  }
  return false;
}

/** What an asset is known by. */
export function identityOf({ kind, value }: AssetDraft): Pick<AssetRow, 'kind_class' | 'value'> {
  const normal = present(normaliseAsset(kind, value), `the asset ${value}`);
  return { kind_class: normal.kindClass, value: indexable(normal.value) };
}

/**
 * Finds or makes all that the report's frame names. What earlier tries of the upload counted is counted once. All of it is
 * dated by the arrival of the upload: one that is applied late takes nothing back that a later one said.
 */
export async function settleFrame(
  slices: Slices,
  upload: UploadRow,
  report: Report,
  needsFallback: boolean,
): Promise<Frame> {
  const seenMs = upload.received_at;
  const drafts = [...report.assets.usable];
  if (needsFallback) drafts.push(fallbackDraft(upload));
  const { rows, counts } = await settleAssets(slices, upload, drafts, seenMs);
  counts.rejected = report.assets.rejections.length;
  counts.received = drafts.length + counts.rejected;
  const assets = rows.slice(0, report.assets.usable.length);
  const fallback = needsFallback ? present(rows.at(-1), 'the fallback asset') : null;
  const home = assets[0] ?? fallback;
  const dependencies = await settleComponents(slices, upload, report, home, seenMs);
  const relationships = await settleRelationships(slices, upload, report, assets, seenMs);
  const endpoints = await settleEndpoints(slices, upload, report, assets, seenMs);
  return {
    assets,
    fallback,
    account: { assets: counts, dependencies, relationships, endpoints, warnings: [] },
  };
}

async function settleAssets(
  slices: Slices,
  upload: UploadRow,
  drafts: readonly AssetDraft[],
  seenMs: number,
): Promise<{ rows: AssetRow[]; counts: FrameCounts }> {
  const counts = noFrame();
  const wanted = new Map<string, AssetRow>();
  const keys: string[] = [];
  for (const draft of drafts) {
    const identity = identityOf(draft);
    const key = keyOf(identity.kind_class, identity.value);
    keys.push(key);
    const same = wanted.get(key);
    const row = newAsset(upload, draft, identity, seenMs);
    wanted.set(key, same === undefined ? row : { ...same, ...together(same, row) });
    if (same !== undefined) counts.duplicate += 1;
  }
  const stored = new Map<string, AssetRow>();
  // In the order of their keys, whatever the order of the report: two uploads of the same assets can't wait for each other.
  for (const slice of sliced(inOrder(wanted))) {
    const created = await slices.once((tx) => saveAssets(tx, upload, slice, seenMs));
    counts.created += created;
    counts.updated += slice.length - created;
    for (const row of await assetsByValue(slices.db, upload.tenant_id, slice)) {
      stored.set(keyOf(row.kind_class, row.value), row);
    }
  }
  return { rows: keys.map((key) => present(stored.get(key), `the stored asset ${key}`)), counts };
}

/** New assets are inserted, known ones touched, and what the report says of them is added. Returns how many were new. */
async function saveAssets(
  tx: Db,
  upload: UploadRow,
  rows: readonly AssetRow[],
  seenMs: number,
): Promise<number> {
  const { tenant_id: tenantId } = upload;
  const created = await insertAssets(tx, rows);
  const said = new Map(rows.map((row) => [keyOf(row.kind_class, row.value), row] as const));
  const stored = (await lockAssets(tx, tenantId, rows)).filter((row) =>
    said.has(keyOf(row.kind_class, row.value)),
  );
  const known = stored.filter((row) => row.created_upload_id !== upload.id);
  const ids = known.map((row) => row.id);
  await touchAssets(tx, tenantId, ids, seenMs);
  const news: AssetFacts[] = [];
  for (const row of known) {
    const draft = present(said.get(keyOf(row.kind_class, row.value)), 'the asset of the report');
    if (draft.attributes === '{}' && draft.criticality === null) continue;
    const isLate = row.attributes_at > seenMs;
    const facts = isLate ? together(draft, row) : together(row, draft);
    const at = { attributes_at: isLate ? row.attributes_at : seenMs };
    const criticality = row.criticality ?? draft.criticality;
    news.push({ tenant_id: tenantId, id: row.id, ...facts, criticality, ...at });
  }
  await saveAssetFacts(tx, news);
  return created;
}

/** Attributes are merged, newest word last; a criticality that is known stays (CTIS §7.3). */
function together(
  stored: Pick<AssetRow, 'attributes' | 'criticality'>,
  said: Pick<AssetRow, 'attributes' | 'criticality'>,
): Pick<AssetRow, 'attributes' | 'criticality'> {
  const attributesOf = (text: string | null) => JSON.parse(text ?? '{}') as Record<string, unknown>;
  const merged = mergedAttributes(attributesOf(stored.attributes), attributesOf(said.attributes));
  return {
    attributes: JSON.stringify(merged),
    criticality: stored.criticality ?? said.criticality,
  };
}

function newAsset(
  upload: UploadRow,
  draft: AssetDraft,
  { kind_class: kindClass, value }: Pick<AssetRow, 'kind_class' | 'value'>,
  seenMs: number,
): AssetRow {
  return {
    tenant_id: upload.tenant_id,
    id: newId<AssetId>(seenMs),
    kind: draft.kind,
    kind_class: kindClass,
    value,
    name: cut(draft.name ?? value, limits.nameCharsMax),
    criticality: draft.criticality,
    is_fallback: value.startsWith('runner:') && draft.kind === 'unclassified' ? 1 : 0,
    default_ref_id: null,
    attributes: JSON.stringify(draft.attributes),
    attributes_at: seenMs,
    first_seen_at: seenMs,
    last_seen_at: seenMs,
    created_upload_id: upload.id,
  };
}

/** A CTIS dependency has no link to an asset; it belongs to the report's first one (CTIS §3.3). */
async function settleComponents(
  slices: Slices,
  upload: UploadRow,
  report: Report,
  home: AssetRow | null,
  seenMs: number,
): Promise<FrameCounts> {
  const list = report.components;
  if (home === null) return countsOf(list, { created: 0, updated: 0 });
  const byIdentity = Map.groupBy(list.usable, (component) => indexable(component.identity));
  const united = [...byIdentity].map(([identity, same]) => ({
    identity,
    one: unitedComponent(same),
  }));
  const rows = united.map(({ identity, one: component }) => ({
    tenant_id: upload.tenant_id,
    asset_id: home.id,
    identity,
    name: component.name,
    version: component.version,
    depends_on: JSON.stringify([...new Set(component.dependsOn.map(indexable))]),
    document: JSON.stringify(component.document),
    first_seen_at: seenMs,
    last_seen_at: seenMs,
  }));
  const ordered = inOrder(new Map(rows.map((row) => [row.identity, row])));
  return countsOf(list, await save(slices, ordered, saveComponents));
}

async function settleRelationships(
  slices: Slices,
  upload: UploadRow,
  report: Report,
  assets: readonly AssetRow[],
  seenMs: number,
): Promise<FrameCounts> {
  const rows = new Map<string, RelationshipRow>();
  for (const { from, to, type } of report.relationships.usable) {
    const row = {
      tenant_id: upload.tenant_id,
      from_asset_id: present(assets[from], 'the from asset').id,
      type,
      to_asset_id: present(assets[to], 'the to asset').id,
      first_seen_at: seenMs,
      last_seen_at: seenMs,
    };
    rows.set(`${row.from_asset_id} ${type} ${row.to_asset_id}`, row);
  }
  return countsOf(report.relationships, await save(slices, inOrder(rows), saveRelationships));
}

/** What can be called on each asset. Of several with the same method and address in one report the last is kept. */
async function settleEndpoints(
  slices: Slices,
  upload: UploadRow,
  report: Report,
  assets: readonly AssetRow[],
  seenMs: number,
): Promise<FrameCounts> {
  const rows = new Map<string, EndpointRow>();
  for (const endpoint of report.endpoints.usable) {
    const { id } = present(assets[endpoint.asset], "the endpoint's asset");
    const identity = indexable(endpoint.identity);
    rows.set(`${id} ${identity}`, {
      tenant_id: upload.tenant_id,
      asset_id: id,
      identity,
      document: JSON.stringify(endpoint.document),
      first_seen_at: seenMs,
      last_seen_at: seenMs,
    });
  }
  return countsOf(report.endpoints, await save(slices, inOrder(rows), saveEndpoints));
}

/** The rows by the order of their keys: the same slices in every try, and the same order of locks in every upload. */
function inOrder<T>(rows: ReadonlyMap<string, T>): T[] {
  return [...rows].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, row]) => row);
}

/** Saves rows slice by slice with a query that returns how many of them were new. */
async function save<T>(
  slices: Slices,
  rows: readonly T[],
  query: (tx: Db, rows: readonly T[]) => Promise<number>,
): Promise<Saved> {
  let created = 0;
  for (const slice of sliced(rows)) created += await slices.once((tx) => query(tx, slice));
  return { created, updated: rows.length - created };
}

type Saved = Pick<FrameCounts, 'created' | 'updated'>;

const countsOf = <T>(list: FrameList<T>, { created, updated }: Saved): FrameCounts => ({
  received: list.usable.length + list.rejections.length,
  created,
  updated,
  duplicate: list.usable.length - created - updated,
  rejected: list.rejections.length,
});

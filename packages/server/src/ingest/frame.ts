// What a report is about becomes rows: assets and refs (found or made), components, relationships, endpoints; and the places
// where its findings are matched. One transaction, stored with its counts as batch 0, so that a re-run after a crash
// only looks the ids up.

import { hash } from 'node:crypto';
import { limits } from '@muster/contract';
import type { Db } from '../db/db.ts';
import { present } from '../lib/assert.ts';
import { type AssetId, newId, type RefId } from '../lib/ids.ts';
import { cut } from '../lib/text.ts';
import { normaliseAsset } from './asset.rules.ts';
import { mergedAttributes } from './asset-attributes.rules.ts';
import type {
  AnalysisDraft,
  AssetDraft,
  ComponentDraft,
  Report,
  EndpointDraft,
  FrameList,
  Located,
} from './draft.rules.ts';
import {
  type AssetRefRow,
  type AssetRow,
  type AssetFacts,
  assetFacts,
  assetsByValue,
  countRelationships,
  insertAssets,
  insertRefs,
  lockDefaultRef,
  knownIdentities,
  markClaimedDefault,
  refsByName,
  saveAssetFacts,
  saveComponents,
  saveEndpoints,
  saveRelationships,
  setDefaultRef,
  touchAssets,
} from './frame.queries.ts';
import { type FrameCounts, noFrame } from './receipt.rules.ts';
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
export function indexable(text: string): string {
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

/** Runs inside the transaction of batch 0, or (resuming) outside of any: then it writes nothing new. */
export async function settleFrame(
  tx: Db,
  upload: UploadRow,
  report: Report,
  needsFallback: boolean,
  nowMs: number,
): Promise<Frame> {
  const drafts = [...report.assets.usable];
  if (needsFallback) drafts.push(fallbackDraft(upload));
  const { rows, counts } = await settleAssets(tx, upload, drafts, nowMs);
  counts.rejected = report.assets.rejections.length;
  counts.received = drafts.length + counts.rejected;
  const assets = rows.slice(0, report.assets.usable.length);
  const fallback = needsFallback ? present(rows.at(-1), 'the fallback asset') : null;
  const home = assets[0] ?? fallback;
  const dependencies = await settleComponents(tx, upload, report, home, nowMs);
  const relationships = await settleRelationships(tx, upload, report, assets, nowMs);
  const endpoints = await settleEndpoints(tx, upload, report, assets, nowMs);
  return {
    assets,
    fallback,
    account: { assets: counts, dependencies, relationships, endpoints, warnings: [] },
  };
}

async function settleAssets(
  tx: Db,
  upload: UploadRow,
  drafts: readonly AssetDraft[],
  nowMs: number,
): Promise<{ rows: AssetRow[]; counts: FrameCounts }> {
  const counts = noFrame();
  const wanted = new Map<string, AssetRow>();
  const keys: string[] = [];
  for (const draft of drafts) {
    const normal = present(normaliseAsset(draft.kind, draft.value), `the asset ${draft.value}`);
    const value = indexable(normal.value);
    const key = keyOf(normal.kindClass, value);
    keys.push(key);
    const same = wanted.get(key);
    const row = newAsset(upload, draft, normal.kindClass, value, nowMs);
    wanted.set(key, same === undefined ? row : { ...same, ...together(same, row) });
    if (same !== undefined) counts.duplicate += 1;
  }
  const values = [...new Set([...wanted.values()].map((row) => row.value))];
  await insertAssets(tx, [...wanted.values()]);
  const stored = new Map<string, AssetRow>();
  for (const row of await assetsByValue(tx, upload.tenant_id, values)) {
    const key = keyOf(row.kind_class, row.value);
    if (wanted.has(key)) stored.set(key, row);
  }
  const known = [...stored.values()].filter((row) => row.created_upload_id !== upload.id);
  counts.updated = known.length;
  counts.created = stored.size - known.length;
  await touchAssets(
    tx,
    upload.tenant_id,
    known.map((row) => row.id),
    nowMs,
  );
  await learn(tx, upload.tenant_id, known, wanted);
  return { rows: keys.map((key) => present(stored.get(key), `the stored asset ${key}`)), counts };
}

/** What the report says of known assets is added to what is known of them. Their rows are locked: they were touched. */
async function learn(
  tx: Db,
  tenantId: string,
  known: readonly AssetRow[],
  wanted: ReadonlyMap<string, AssetRow>,
): Promise<void> {
  const said = new Map<string, AssetRow>();
  for (const row of known) {
    const draft = present(wanted.get(keyOf(row.kind_class, row.value)), 'the asset of the report');
    if (draft.attributes !== '{}' || draft.criticality !== null) said.set(row.id, draft);
  }
  const changes: AssetFacts[] = [];
  for (const stored of await assetFacts(tx, tenantId, [...said.keys()])) {
    const facts = together(stored, present(said.get(stored.id), 'what was said of the asset'));
    const isNews =
      facts.attributes !== stored.attributes || facts.criticality !== stored.criticality;
    if (isNews) changes.push({ ...stored, ...facts });
  }
  await saveAssetFacts(tx, changes);
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
  kindClass: string,
  value: string,
  nowMs: number,
): AssetRow {
  return {
    tenant_id: upload.tenant_id,
    id: newId<AssetId>(nowMs),
    kind: draft.kind,
    kind_class: kindClass,
    value,
    name: cut(draft.name ?? value, limits.nameCharsMax),
    criticality: draft.criticality,
    is_fallback: value.startsWith('runner:') && draft.kind === 'unclassified' ? 1 : 0,
    default_ref_id: null,
    attributes: JSON.stringify(draft.attributes),
    first_seen_at: nowMs,
    last_seen_at: nowMs,
    created_upload_id: upload.id,
  };
}

/** A CTIS dependency has no link to an asset; it belongs to the report's first one (CTIS §3.3). */
async function settleComponents(
  tx: Db,
  upload: UploadRow,
  report: Report,
  home: AssetRow | null,
  nowMs: number,
): Promise<FrameCounts> {
  const list = report.components;
  const counts = countsOf(list);
  if (home === null || list.usable.length === 0) return counts;
  const byIdentity = new Map<string, ComponentDraft>();
  for (const component of list.usable) {
    const identity = indexable(component.identity);
    const edges = [...(byIdentity.get(identity)?.dependsOn ?? []), ...component.dependsOn];
    byIdentity.set(identity, { ...component, dependsOn: [...new Set(edges.map(indexable))] });
  }
  const tenantId = upload.tenant_id;
  const known = await knownIdentities(tx, 'component', tenantId, home.id, [...byIdentity.keys()]);
  await saveComponents(
    tx,
    [...byIdentity].map(([identity, component]) => ({
      tenant_id: tenantId,
      asset_id: home.id,
      identity,
      name: component.name,
      version: component.version,
      depends_on: JSON.stringify(component.dependsOn),
      document: JSON.stringify(component.document),
      first_seen_at: nowMs,
      last_seen_at: nowMs,
    })),
  );
  counts.updated = known.size;
  counts.created = byIdentity.size - known.size;
  counts.duplicate = list.usable.length - byIdentity.size;
  return counts;
}

async function settleRelationships(
  tx: Db,
  upload: UploadRow,
  report: Report,
  assets: readonly AssetRow[],
  nowMs: number,
): Promise<FrameCounts> {
  const counts = countsOf(report.relationships);
  const rows = new Map<string, Parameters<typeof saveRelationships>[1][number]>();
  for (const { from, to, type } of report.relationships.usable) {
    const row = {
      tenant_id: upload.tenant_id,
      from_asset_id: present(assets[from], 'the from asset').id,
      type,
      to_asset_id: present(assets[to], 'the to asset').id,
      first_seen_at: nowMs,
      last_seen_at: nowMs,
    };
    const key = `${row.from_asset_id} ${type} ${row.to_asset_id}`;
    if (rows.has(key)) counts.duplicate += 1;
    else rows.set(key, row);
  }
  for (const row of rows.values()) {
    if ((await countRelationships(tx, row)) > 0) counts.updated += 1;
    else counts.created += 1;
  }
  await saveRelationships(tx, [...rows.values()]);
  return counts;
}

/** What can be called on each asset. Of several with the same method and address in one report the last is kept. */
async function settleEndpoints(
  tx: Db,
  upload: UploadRow,
  report: Report,
  assets: readonly AssetRow[],
  nowMs: number,
): Promise<FrameCounts> {
  const list = report.endpoints;
  const counts = countsOf(list);
  const tenantId = upload.tenant_id;
  const byAsset = new Map<string, Map<string, EndpointDraft>>();
  for (const endpoint of list.usable) {
    const { id } = present(assets[endpoint.asset], "the endpoint's asset");
    const endpoints = byAsset.get(id) ?? new Map<string, EndpointDraft>();
    byAsset.set(id, endpoints.set(indexable(endpoint.identity), endpoint));
  }
  for (const [assetId, endpoints] of byAsset) {
    const identities = [...endpoints.keys()];
    const known = await knownIdentities(tx, 'endpoint', tenantId, assetId, identities);
    counts.updated += known.size;
    counts.created += endpoints.size - known.size;
    await saveEndpoints(
      tx,
      [...endpoints].map(([identity, { document }]) => ({
        tenant_id: tenantId,
        asset_id: assetId,
        identity,
        document: JSON.stringify(document),
        first_seen_at: nowMs,
        last_seen_at: nowMs,
      })),
    );
  }
  counts.duplicate = list.usable.length - counts.created - counts.updated;
  return counts;
}

const countsOf = <T>(list: FrameList<T>): FrameCounts => ({
  ...noFrame(),
  received: list.usable.length + list.rejections.length,
  rejected: list.rejections.length,
});

export interface Ref {
  readonly id: string;
  readonly isDefault: boolean;
  readonly warning: Located | null;
}

/**
 * The ref of an analysis on an asset, found or made. The first branch that is claimed as default stays so; until one is
 * claimed, the first ref that was seen stands in for it.
 */
export async function settleRef(
  tx: Db,
  asset: AssetRow,
  analysis: AnalysisDraft,
  nowMs: number,
): Promise<Ref> {
  const { tenant_id: tenantId } = asset;
  const fresh: AssetRefRow = {
    tenant_id: tenantId,
    id: newId<RefId>(nowMs),
    asset_id: asset.id,
    name: analysis.branch,
    claimed_default: 0,
    created_at: nowMs,
  };
  // Read again, and locked: another upload may have settled the default ref since this row was read.
  const known = await lockDefaultRef(tx, tenantId, asset.id);
  await insertRefs(tx, [fresh]);
  const refs = await refsByName(tx, tenantId, [asset.id]);
  const ref = present(
    refs.find((row) => row.name === analysis.branch),
    'the ref',
  );
  await setDefaultRef(tx, tenantId, asset.id, ref.id, null);
  const first = [...refs].sort((a, b) => (a.id < b.id ? -1 : 1))[0] ?? ref;
  const defaultId = known ?? first.id;
  if (!analysis.claimsDefaultBranch || ref.claimed_default === 1) {
    return { id: ref.id, isDefault: defaultId === ref.id, warning: null };
  }
  const claimed = refs.find((row) => row.claimed_default === 1);
  if (claimed !== undefined) {
    const detail = `The default branch of this asset is ${claimed.name}; ${ref.name} stays an ordinary one.`;
    return {
      id: ref.id,
      isDefault: defaultId === ref.id,
      warning: { pointer: '', code: 'default_branch_taken', detail },
    };
  }
  await markClaimedDefault(tx, tenantId, ref.id);
  await setDefaultRef(tx, tenantId, asset.id, ref.id, defaultId);
  return { id: ref.id, isDefault: true, warning: null };
}

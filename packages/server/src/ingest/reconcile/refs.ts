// The refs that the analyses of a report are about, found or made, and the default ref of each
// asset. The first branch that a report claims as the default one stays the default. Until one is
// claimed, the first ref that was seen stands in for it. Called by destinations.ts.

import type { Db } from '../../db/db.ts';
import { present } from '../../lib/assert.ts';
import { newId, type RefId } from '../../lib/ids.ts';
import {
  type AssetRefRow,
  insertRefs,
  lockDefaultRefs,
  markClaimedDefault,
  refsById,
  refsByName,
  setDefaultRefs,
} from '../store/inventory.queries.ts';
import { type Slices, sliced } from '../lease/slices.ts';

/** A ref that an analysis of the report is about. */
export interface RefWish {
  readonly tenantId: string;
  readonly assetId: string;
  readonly branch: string;
  /** The report says that it is the default branch. */
  readonly claimsDefault: boolean;
}

type NamedRef = Pick<AssetRefRow, 'id' | 'asset_id' | 'name'>;

/**
 * The default ref of an asset. `claimedName`: the branch that a report claimed as the default one;
 * null while another ref stands in for it.
 */
interface DefaultRef {
  readonly id: string;
  readonly claimedName: string | null;
}

class Refs {
  readonly #ids = new Map<string, string>();
  readonly #defaults = new Map<string, DefaultRef>();

  id({ assetId, branch }: RefWish): string {
    return present(this.#ids.get(`${assetId} ${branch}`), 'the ref');
  }

  /** The default ref of an asset; undefined until it is decided. */
  defaultOf(assetId: string): DefaultRef | undefined {
    return this.#defaults.get(assetId);
  }

  /** The ref whose state is shown for the asset. */
  defaultId({ assetId }: RefWish): string {
    return present(this.#defaults.get(assetId), 'the default ref').id;
  }

  isDefault(wish: RefWish): boolean {
    return this.defaultId(wish) === this.id(wish);
  }

  /**
   * The branch that stays the default one although the report claims this one; null: there is no
   * such conflict.
   */
  otherDefault(wish: RefWish): string | null {
    if (!wish.claimsDefault || this.isDefault(wish)) return null;
    return this.#defaults.get(wish.assetId)?.claimedName ?? null;
  }

  note(rows: readonly NamedRef[], defaults: ReadonlyMap<string, DefaultRef>): void {
    for (const row of rows) this.#ids.set(`${row.asset_id} ${row.name}`, row.id);
    for (const [assetId, ref] of defaults) this.#defaults.set(assetId, ref);
  }
}

/**
 * Finds or makes the refs in the order of the ids of their assets, so that two uploads with the
 * same assets can't wait for each other. The refs of one asset keep the given order, which decides
 * which one was claimed first.
 */
export async function resolveRefs(
  slices: Slices,
  wishes: Iterable<RefWish>,
  nowMs: number,
): Promise<Refs> {
  const distinct = new Map(
    [...wishes].map((wish) => [`${wish.assetId} ${wish.claimsDefault} ${wish.branch}`, wish]),
  );
  const ordered = [...distinct.values()].sort((one, other) =>
    one.assetId === other.assetId ? 0 : one.assetId < other.assetId ? -1 : 1,
  );
  const refs = new Refs();
  for (const slice of sliced(ordered)) {
    const { rows, defaults } = await slices.write((tx) => resolveSlice(tx, slice, refs, nowMs));
    refs.note(rows, defaults);
  }
  return refs;
}

async function resolveSlice(
  tx: Db,
  wishes: readonly RefWish[],
  before: Refs,
  nowMs: number,
): Promise<{ rows: NamedRef[]; defaults: Map<string, DefaultRef> }> {
  const tenantId = present(wishes[0], 'a wish').tenantId;
  const assetIds = [...new Set(wishes.map((wish) => wish.assetId))];
  const names = [...new Set(wishes.map((wish) => wish.branch))];
  // The assets are locked: another upload may be about to decide their default refs.
  const stored = await lockDefaultRefs(tx, tenantId, assetIds);
  await insertRefs(tx, freshRefs(wishes, nowMs));
  const rows = await refsByName(tx, tenantId, assetIds, names);
  const known = await refsById(tx, tenantId, [...stored.values()]);
  const defaults = new Map<string, DefaultRef>();
  // A claimed ref is always the default one of its asset.
  for (const { asset_id: assetId, id, name, claimed_default: claimed } of known) {
    defaults.set(assetId, { id, claimedName: claimed === 1 ? name : null });
  }
  // A dry run stores no new assets and so none of their default refs; earlier slices know them.
  for (const assetId of assetIds) {
    const known = before.defaultOf(assetId);
    if (known !== undefined && !defaults.has(assetId)) defaults.set(assetId, known);
  }
  const ids = new Map(rows.map((row) => [`${row.asset_id} ${row.name}`, row.id]));
  const claimed: string[] = [];
  for (const { assetId, branch, claimsDefault } of wishes) {
    const id = present(ids.get(`${assetId} ${branch}`), 'the ref');
    const isClaimed = (defaults.get(assetId)?.claimedName ?? null) !== null;
    if (claimsDefault && !isClaimed) {
      defaults.set(assetId, { id, claimedName: branch });
      claimed.push(id);
    } else if (!defaults.has(assetId)) defaults.set(assetId, { id, claimedName: null });
  }
  await markClaimedDefault(tx, tenantId, claimed);
  const changed = [...defaults].filter(([assetId, { id }]) => stored.get(assetId) !== id);
  await setDefaultRefs(
    tx,
    changed.map(([assetId, { id }]) => ({ tenant_id: tenantId, id: assetId, default_ref_id: id })),
  );
  return { rows, defaults };
}

/** A row for each ref, whether it is stored already or not. */
function freshRefs(wishes: readonly RefWish[], nowMs: number): AssetRefRow[] {
  const distinct = new Map(wishes.map((wish) => [`${wish.assetId} ${wish.branch}`, wish]));
  return [...distinct.values()].map(({ tenantId, assetId, branch }) => ({
    tenant_id: tenantId,
    id: newId<RefId>(nowMs),
    asset_id: assetId,
    name: branch,
    claimed_default: 0,
    created_at: nowMs,
  }));
}

// The dependencies of a report become components of its first asset, with the edges between them.
// They are read again once all of them are known by name, because an edge may lead to a later one,
// and are written in slices as they come; at most a slice of them is held. Several entries of one
// component are united, and their edges add up. Called by ingest.ts and dry-run.ts.

import type { Db } from '../../db/db.ts';
import { present } from '../../lib/assert.ts';
import type { AssetPlace } from './assets.ts';
import { countComponents, storedComponents } from '../store/component.queries.ts';
import { unitedComponent } from './component-uniting.rules.ts';
import { boundedEdges, edgesOf } from './edges.rules.ts';
import type { ComponentDraft } from '../report/report.rules.ts';
import { saveComponents } from '../store/inventory.queries.ts';
import type { IngestDeps } from '../lease/lease.ts';
import type { Reading } from '../index/reading.ts';
import type { ListCounts } from './list-counts.rules.ts';
import { Warnings } from '../json/warnings.decode.ts';
import { inOrder, SLICE_CHARS_MAX, SLICE_ROWS, type Slices } from '../lease/slices.ts';
import type { ItemIndex } from '../index/item-index.rules.ts';
import { EntriesAgain } from '../index/entries.ts';
import { ReaderDefects } from '../index/reader-defects.ts';
import type { UploadRow } from '../store/upload.queries.ts';

/** What became of a slice: how many components were new, and how many edges were left out. */
interface SavedSlice {
  readonly created: number;
  readonly leftOut: number;
}

/** Saves one slice. Slices come in the order of the report, and every try has the same ones. */
type SaveSlice = (slice: ComponentSlice) => Promise<SavedSlice>;

/** Writes each slice in a transaction of its own, dated by the arrival of the upload. */
export const componentWriter =
  (slices: Slices, upload: UploadRow, asset: AssetPlace | null): SaveSlice =>
  async (slice) => {
    // Uniting comes before the transaction, because nobody else can write during it.
    const united = slice.united();
    return await slices.once((tx) =>
      writeSlice(tx, upload, present(asset, 'the asset of a list'), slice.again, united),
    );
  };

/** For a dry run: writes nothing. Edges beyond the bound are counted for each slice by itself. */
export const componentCounter =
  (db: Db, asset: AssetPlace | null): SaveSlice =>
  async (slice) => {
    const known = await countComponents(db, present(asset, 'the asset of a list'), slice.first);
    return { created: slice.first.length - known, leftOut: slice.united().leftOut };
  };

/** The warnings of reading the dependencies of a report that is not applied. */
export async function warningsOfComponents(
  deps: IngestDeps,
  upload: UploadRow,
  reading: Reading,
  itemIndex: ItemIndex,
): Promise<readonly Warnings[]> {
  const save: SaveSlice = (slice) =>
    Promise.resolve({ created: 0, leftOut: slice.united().leftOut });
  return (await resolveComponents(deps, upload, reading, itemIndex, save)).warnings;
}

/**
 * Has all slices saved. Returns their sum for the receipt, and the warnings of reading the
 * dependencies, in the order in which the receipt tells them.
 */
export async function resolveComponents(
  deps: IngestDeps,
  upload: UploadRow,
  reading: Reading,
  itemIndex: ItemIndex,
  save: SaveSlice,
): Promise<{ counts: ListCounts; warnings: readonly Warnings[] }> {
  const { received, rejected, usable, names, warnings, idWarnings } = itemIndex.components;
  const edgeWarnings = new Warnings();
  let created = 0;
  let slice = new ComponentSlice();
  const flush = async (): Promise<void> => {
    const saved = await save(slice);
    created += saved.created;
    if (saved.leftOut > 0) edgeWarnings.leaveOut(saved.leftOut);
    slice = new ComponentSlice();
  };
  const defects = new ReaderDefects(deps, upload);
  for await (const { draft, isFirst } of componentsOf(reading, itemIndex, edgeWarnings, defects)) {
    slice.add(draft, isFirst);
    if (slice.isFull) await flush();
  }
  if (!slice.isEmpty) await flush();
  const updated = names.length - created;
  const counts = { received, created, updated, duplicate: usable - names.length, rejected };
  return { counts, warnings: [warnings, idWarnings, edgeWarnings] };
}

/** Stands for the details of a component that could not be read. */
const NO_DETAIL: Pick<ComponentDraft, 'dependsOn' | 'document'> = { dependsOn: [], document: {} };

/**
 * The usable dependencies in the order of the report. `isFirst`: no earlier one was the same
 * component.
 */
async function* componentsOf(
  { source, document, readers: { components } }: Reading,
  itemIndex: ItemIndex,
  warnings: Warnings,
  defects: ReaderDefects,
): AsyncGenerator<{ draft: ComponentDraft; isFirst: boolean }, void, undefined> {
  if (components === null || itemIndex.components.usable === 0) return;
  const { names } = itemIndex.components;
  const entries = new EntriesAgain(components, itemIndex.components, warnings);
  for await (const items of source.items(document, new Set([components.list]))) {
    for (const item of items) {
      const again = entries.next(item);
      if (again === null) continue;
      const { entry, pointer, row, isFirst } = again;
      const made = (): typeof NO_DETAIL => ({
        dependsOn: edgesOf(entry, row, pointer, names, warnings),
        document: entry.document(),
      });
      const detail = defects.detail(made, NO_DETAIL, pointer, warnings);
      const { name, version } = entry;
      yield { draft: { identity: names.identityOf(row), name, version, ...detail }, isFirst };
    }
  }
}

/** A component as it is written. */
type Component = Omit<ComponentDraft, 'document'> & { readonly document: string };

/** Components that follow each other in a report, each once. */
class ComponentSlice {
  /** The entries of each component, by its identity. */
  readonly #components = new Map<string, Component[]>();
  readonly #again = new Set<string>();
  #entries = 0;
  #chars = 0;

  add(draft: ComponentDraft, isFirst: boolean): void {
    const { identity } = draft;
    const same = this.#components.get(identity);
    if (same === undefined && !isFirst) this.#again.add(identity);
    const document = JSON.stringify(draft.document);
    const component = { ...draft, document };
    if (same === undefined) this.#components.set(identity, [component]);
    else same.push(component);
    this.#entries += 1;
    this.#chars += draft.dependsOn.reduce((sum, edge) => sum + edge.length, document.length);
  }

  get isEmpty(): boolean {
    return this.#components.size === 0;
  }

  get isFull(): boolean {
    return this.#entries === SLICE_ROWS || this.#chars >= SLICE_CHARS_MAX;
  }

  /**
   * Each component once, in one order for all uploads, so that two of them can't wait for each
   * other; and how many edges are beyond the bound.
   */
  united(): { readonly components: readonly Component[]; readonly leftOut: number } {
    const all = inOrder(this.#components).map(unitedEntries);
    const leftOut = all.reduce((sum, one) => sum + one.leftOut, 0);
    return { components: all.map(({ component }) => component), leftOut };
  }

  /** Identities of the components that no earlier slice had. */
  get first(): string[] {
    return [...this.#components.keys()].filter((identity) => !this.#again.has(identity));
  }

  /** Identities of the components that an earlier slice had, too. */
  get again(): string[] {
    return [...this.#again];
  }
}

/** The entries of one component as one, each edge once; edges beyond the bound are only counted. */
function unitedEntries(same: readonly Component[]): { component: Component; leftOut: number } {
  const [only] = same;
  if (only !== undefined && same.length === 1) return { component: only, leftOut: 0 };
  const drafts = same.map((one) => ({
    ...one,
    document: JSON.parse(one.document) as ComponentDraft['document'],
  }));
  const { document, dependsOn, ...component } = unitedComponent(drafts);
  const all = [...new Set(dependsOn)];
  const edges = boundedEdges(all);
  return {
    component: { ...component, dependsOn: edges, document: JSON.stringify(document) },
    leftOut: all.length - edges.length,
  };
}

async function writeSlice(
  tx: Db,
  upload: UploadRow,
  asset: AssetPlace,
  again: readonly string[],
  united: ReturnType<ComponentSlice['united']>,
): Promise<SavedSlice> {
  const before = new Map<string, Component>();
  for (const { depends_on: edges, ...stored } of await storedComponents(tx, asset, again)) {
    before.set(stored.identity, { ...stored, dependsOn: JSON.parse(edges) as string[] });
  }
  let { leftOut } = united;
  const rows = united.components.map((one) => {
    const known = before.get(one.identity);
    const all = unitedEntries(known === undefined ? [one] : [known, one]);
    leftOut += all.leftOut;
    const { identity, name, version, dependsOn, document } = all.component;
    return {
      tenant_id: upload.tenant_id,
      asset_id: asset.id,
      identity,
      name,
      version,
      depends_on: JSON.stringify(dependsOn),
      document,
      first_seen_at: upload.received_at,
      last_seen_at: upload.received_at,
    };
  });
  return { created: await saveComponents(tx, rows), leftOut };
}

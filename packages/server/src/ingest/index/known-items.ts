// Recognises items that are stored just as they are sent again, without parsing them, so that a
// report which repeats another one is indexed several times as fast. This is only a cache: an equal
// hash stands for the same bytes read in the same context (rawHash), whatever became of the stored
// finding since. Called by reading.ts.

import { present } from '../../lib/assert.ts';
import type { Db } from '../../db/db.ts';
import { GrowingInts } from '../../lib/growing-ints.ts';
import { fallbackAsset, identityOf } from '../report/asset-names.rules.ts';
import type { ItemPlace, Report } from '../report/report.rules.ts';
import { EvidenceTable, HashChains, RAW } from '../match/evidence-table.rules.ts';
import { evidenceOfScope } from '../store/finding.queries.ts';
import { assetsByValue } from '../store/inventory.queries.ts';
import { type ScopeKey } from '../store/scope.queries.ts';
import type { KnownItem } from './item-index.rules.ts';
import type { UploadRow } from '../store/upload.queries.ts';

/** Rows of evidence read in one statement: 70 bytes each. */
const PAGE_ROWS = 5000;

/**
 * A scope may have at most this many findings for each item of the report: of a larger one most
 * would be read for nothing.
 */
const KNOWN_PER_ITEM_MAX = 2;

/**
 * The most scopes that are read: a log may have many thousand runs, each with a scope of its own.
 */
const SCOPES_MAX = 100;

interface KnownScope {
  readonly table: EvidenceTable;
  /** The severity of each row. */
  readonly severities: GrowingInts;
  readonly chains: HashChains;
}

class KnownItems {
  readonly #report: Report;
  readonly #scopes: ReadonlyMap<string, KnownScope>;
  /** The last list, and where its items belong: items come list by list. */
  #last: {
    readonly list: string;
    readonly place: ItemPlace | null;
    readonly scope: KnownScope | undefined;
  } | null = null;

  constructor(report: Report, scopes: ReadonlyMap<string, KnownScope>) {
    this.#report = report;
    this.#scopes = scopes;
  }

  /** Whether an item of this list may be known. */
  hasAny(list: string): boolean {
    const { scope } = this.#of(list);
    return scope !== undefined && scope.table.length > 0;
  }

  /**
   * The stored item that an item of this list repeats, by the hash of its bytes; null: the item has
   * to be read.
   */
  find(list: string, raw: Buffer): KnownItem | null {
    const { place, scope } = this.#of(list);
    if (place === null || scope === undefined) return null;
    const row = scope.chains.find(raw);
    if (row === null) return null;
    return { table: scope.table, row, place, severity: scope.severities.at(row) };
  }

  /**
   * Gives the memory back when all items are indexed: as much is read again then, to be matched.
   */
  release(): void {
    for (const { table, severities, chains } of this.#scopes.values()) {
      for (const kept of [table, severities, chains]) kept.release();
    }
  }

  #of(list: string): { readonly place: ItemPlace | null; readonly scope: KnownScope | undefined } {
    if (this.#last?.list === list) return this.#last;
    const place = this.#scopes.size === 0 ? null : this.#report.placeOf(list);
    const scope = place === null ? undefined : this.#scopes.get(scopeKey(this.#report, place));
    this.#last = { list, place, scope };
    return this.#last;
  }
}

const scopeKey = ({ analyses }: Report, { analysis, asset }: ItemPlace): string => {
  const { tool, category } = present(analyses[analysis], 'the analysis of a list');
  return JSON.stringify([asset, tool, category]);
};

/** Reads the scopes that the report's lists are about. `lists`: the number of items in each. */
export async function readKnown(
  db: Db,
  upload: UploadRow,
  report: Report,
  lists: ReadonlyMap<string, number>,
): Promise<KnownItems> {
  const scopes = new Map<string, KnownScope>();
  let room = KNOWN_PER_ITEM_MAX * [...lists.values()].reduce((sum, count) => sum + count, 0);
  for (const list of lists.keys()) {
    const place = report.placeOf(list);
    if (place === null || scopes.has(scopeKey(report, place))) continue;
    if (scopes.size === SCOPES_MAX) break;
    const { tool, category } = present(report.analyses[place.analysis], 'the analysis of a list');
    const assetId = await storedAsset(db, upload, report, place.asset);
    const table = new EvidenceTable();
    const severities = new GrowingInts();
    if (assetId !== null) {
      await fill(db, upload.tenant_id, { assetId, tool, category }, table, severities, room);
    }
    room -= table.length;
    const chains = new HashChains(table, RAW);
    for (let row = 0; row < table.length; row += 1) if (table.has(row, RAW)) chains.add(row);
    scopes.set(scopeKey(report, place), { table, severities, chains });
  }
  return new KnownItems(report, scopes);
}

/** `asset`: index into the report's assets; null: the fallback asset of the upload. */
async function storedAsset(
  db: Db,
  upload: UploadRow,
  report: Report,
  asset: number | null,
): Promise<string | null> {
  const named = asset === null ? fallbackAsset(upload) : report.assets.at(asset);
  const identity = identityOf(named);
  const rows = await assetsByValue(db, upload.tenant_id, [identity]);
  return rows[0]?.id ?? null;
}

async function fill(
  db: Db,
  tenantId: string,
  scope: ScopeKey,
  table: EvidenceTable,
  severities: GrowingInts,
  rowsMax: number,
): Promise<void> {
  for (let after: string | null = null; table.length < rowsMax; ) {
    const page = await evidenceOfScope(db, tenantId, scope, after, PAGE_ROWS);
    for (const row of page) {
      table.addPacked(row.evidence, row.start_line);
      severities.push(row.severity);
    }
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE_ROWS) return;
    after = last.id;
  }
}

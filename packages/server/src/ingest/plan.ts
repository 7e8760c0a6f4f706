// What becomes of every finding of a report, decided before anything is written: which repeat another, which batch writes
// them, which stored finding each is, and what a ref had that none of them is. Stored findings are read page by page into
// columns; a whole upload is matched at once (match.rules.ts). Called by ingest.ts.

import { limits } from '@muster/contract';
import { type Absence, absenceIn } from './absence.ts';
import { findingsOfScope, sightingsOnRef } from './finding.queries.ts';
import type { Db } from '../db/db.ts';
import { GrowingInts } from '../lib/growing-ints.ts';
import { type MatchedBy, match } from './match.rules.ts';
import type { Site, Sites } from './sites.ts';
import { StoredFindings } from './stored-findings.rules.ts';
import type { Survey } from './survey.rules.ts';

/** Stored findings read in one statement: half a megabyte, in which the database's thread is busy for some 10 ms. */
const PAGE_ROWS = 2000;

/** The number of a batch for findings that repeat another one of their report: none; those of batches begin with 1. */
export const NO_BATCH = -1;

/** The stored row of a finding that isn't stored yet. */
const NEW = -1;

export interface Matching {
  readonly site: Site;
  readonly stored: StoredFindings;
  /** Row of `stored`; null: the finding is new. */
  readonly row: number | null;
  readonly by: MatchedBy;
}

export class Plan {
  readonly #survey: Survey;
  readonly #sites: Sites;
  readonly #stored: readonly StoredFindings[];
  readonly #batches: GrowingInts;
  readonly #storedRow: Int32Array;
  readonly #by: Uint8Array;
  readonly absences: ReadonlyMap<Site, Absence>;

  constructor(
    survey: Survey,
    sites: Sites,
    stored: readonly StoredFindings[],
    batches: GrowingInts,
    committed: ReadonlyMap<number, string>,
  ) {
    this.#survey = survey;
    this.#sites = sites;
    this.#stored = stored;
    this.#batches = batches;
    this.#storedRow = new Int32Array(survey.evidence.length).fill(NEW);
    this.#by = new Uint8Array(survey.evidence.length);
    const rowsOfSite = sites.all.map((): number[] => []);
    for (let row = 0; row < survey.evidence.length; row += 1) {
      const batch = batches.at(row);
      // What this upload wrote before it was interrupted is settled and takes no part.
      if (batch === NO_BATCH || committed.has(batch)) continue;
      rowsOfSite[this.#siteOf(row)]?.push(row);
    }
    this.absences = new Map(
      sites.all.map((site, number) => [site, this.#match(number, rowsOfSite[number] ?? [])]),
    );
  }

  batchOf(row: number): number {
    return this.#batches.at(row);
  }

  /** Where a finding goes, and which stored one it is. */
  of(row: number): Matching {
    const number = this.#siteOf(row);
    const storedRow = this.#storedRow[row] as number;
    return {
      site: this.#sites.all[number] as Site,
      stored: this.#stored[number] as StoredFindings,
      row: storedRow === NEW ? null : storedRow,
      by: BY[this.#by[row] as number] as MatchedBy,
    };
  }

  #siteOf(row: number): number {
    return this.#sites.ofGroup[this.#survey.groupOf(row)] as number;
  }

  #match(number: number, rows: readonly number[]): Absence {
    const stored = this.#stored[number] as StoredFindings;
    const free = Array.from({ length: stored.length }, (_, row) => row).filter(
      (row) => !stored.isSettled(row),
    );
    const seen = new Set<number>();
    match(
      { evidence: this.#survey.evidence, rows },
      { evidence: stored.evidence, rows: free },
      (row, found, by) => {
        this.#storedRow[row] = found;
        this.#by[row] = BY.indexOf(by);
        seen.add(found);
      },
    );
    return absenceIn(stored, seen);
  }
}

const BY: readonly MatchedBy[] = ['new', 'producer', 'content'];

/** Reads the scopes of all sites and matches. `committed`: batches that an earlier try wrote. */
export async function makePlan(
  db: Db,
  survey: Survey,
  sites: Sites,
  committed: ReadonlyMap<number, string>,
): Promise<Plan> {
  const stored: StoredFindings[] = [];
  for (const site of sites.all) stored.push(await readScope(db, site));
  return new Plan(survey, sites, stored, batchesOf(survey, sites), committed);
}

/** Batches in the order of the document, whatever the sites: the same for every try of an upload. */
function batchesOf(survey: Survey, sites: Sites): GrowingInts {
  const repeats = survey.foldRepeats(sites.ofGroup);
  const batches = new GrowingInts();
  let written = 0;
  for (const repeat of repeats) {
    batches.push(repeat === 1 ? NO_BATCH : 1 + Math.floor(written / limits.ingestBatchItems));
    if (repeat === 0) written += 1;
  }
  return batches;
}

async function readScope(db: Db, { place }: Site): Promise<StoredFindings> {
  const { tenantId, refId, uploadId } = place;
  const stored = new StoredFindings();
  for (let after: string | null = null; ; ) {
    const page = await findingsOfScope(db, tenantId, place, after, PAGE_ROWS);
    const [first, last] = [page[0], page.at(-1)];
    if (first === undefined || last === undefined) return stored;
    const sightings = await sightingsOnRef(db, tenantId, refId, first.id, last.id);
    for (const row of page) stored.add(row, sightings.get(row.id), uploadId);
    if (page.length < PAGE_ROWS) return stored;
    after = last.id;
  }
}

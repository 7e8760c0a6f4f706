// What becomes of every finding of a report, decided before anything is written: which repeat another, which batch writes
// them, which stored finding each is, and what a ref had that none of them is. Stored findings are read page by page into
// columns; a whole upload is matched at once (match.rules.ts). Called by ingest.ts.

import { limits } from '@muster/contract/plain';
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
  readonly #round: number | null;
  readonly #storedRow: Int32Array;
  readonly #by: Uint8Array;
  readonly absences: ReadonlyMap<Site, Absence>;

  constructor(
    survey: Survey,
    sites: Sites,
    stored: readonly StoredFindings[],
    batches: GrowingInts,
    committed: ReadonlyMap<number, string>,
    round: number | null,
  ) {
    this.#survey = survey;
    this.#sites = sites;
    this.#stored = stored;
    this.#batches = batches;
    this.#round = round;
    this.#storedRow = new Int32Array(survey.evidence.length).fill(NEW);
    this.#by = new Uint8Array(survey.evidence.length);
    const rowsOfSite = sites.all.map((): number[] => []);
    for (let row = 0; row < survey.evidence.length; row += 1) {
      // Of a scope that holds nothing everything is new: a list of a million rows would be made for nothing.
      if (stored[this.#siteOf(row)]?.length === 0) continue;
      const batch = this.batchOf(row);
      // What this upload wrote before it was interrupted is settled and takes no part.
      if (batch === NO_BATCH || committed.has(batch)) continue;
      rowsOfSite[this.#siteOf(row)]?.push(row);
    }
    this.absences = new Map(
      [...sites.all.entries()]
        .filter(([, site]) => isOf(site, round))
        .map(([number, site]) => [site, this.#match(number, rowsOfSite[number] ?? [])]),
    );
  }

  /** The number of the batch that writes a finding; NO_BATCH where this plan has nothing to do with it. */
  batchOf(row: number): number {
    const site = this.#sites.all[this.#siteOf(row)] as Site;
    return isOf(site, this.#round) ? this.#batches.at(row) : NO_BATCH;
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

const isOf = (site: Site, round: number | null): boolean => round === null || site.round === round;

/**
 * Reads the scopes of the sites of one round and matches. `committed`: batches that an earlier try wrote. Without a round
 * all sites are matched against what is stored now, for a rehearsal: it writes nothing that a later round could know.
 */
export async function makePlan(
  db: Db,
  survey: Survey,
  sites: Sites,
  committed: ReadonlyMap<number, string>,
  round: number | null = null,
): Promise<Plan> {
  const stored: StoredFindings[] = [];
  for (const site of sites.all) {
    stored.push(isOf(site, round) ? await readScope(db, site) : new StoredFindings());
  }
  return new Plan(survey, sites, stored, batchesOf(survey, sites), committed, round);
}

/** Batches round by round in the order of the document, whatever the sites: the same for every try of an upload. */
function batchesOf(survey: Survey, sites: Sites): GrowingInts {
  const repeats = survey.foldRepeats(sites.ofGroup);
  const roundOf = (row: number): number =>
    (sites.all[sites.ofGroup[survey.groupOf(row)] as number] as Site).round;
  const rows = Array.from({ length: roundsOf(sites) }, () => 0);
  repeats.forEach((repeat, row) => {
    if (repeat === 0) rows[roundOf(row)] = (rows[roundOf(row)] ?? 0) + 1;
  });
  // The number of the first batch of each round, and how many rows of it have been given theirs.
  const firsts: number[] = [];
  let next = 1;
  for (const count of rows) {
    firsts.push(next);
    next += Math.ceil(count / limits.ingestBatchItems);
  }
  const written = rows.map(() => 0);
  const batches = new GrowingInts();
  repeats.forEach((repeat, row) => {
    const round = roundOf(row);
    const before = written[round] as number;
    const batch = (firsts[round] as number) + Math.floor(before / limits.ingestBatchItems);
    batches.push(repeat === 1 ? NO_BATCH : batch);
    if (repeat === 0) written[round] = before + 1;
  });
  return batches;
}

/** How many rounds the sites take: one, unless a report has several refs of one asset. */
export const roundsOf = (sites: Sites): number =>
  sites.all.reduce((most, site) => Math.max(most, site.round + 1), 1);

async function readScope(db: Db, { place }: Site): Promise<StoredFindings> {
  const { tenantId, refId, defaultRefId, uploadId } = place;
  const stored = new StoredFindings();
  for (let after: string | null = null; ; ) {
    const page = await findingsOfScope(db, tenantId, place, after, PAGE_ROWS);
    const last = page.at(-1);
    if (last === undefined) return stored;
    const ids = page.map((row) => row.id);
    const sightings = await sightingsOnRef(db, tenantId, refId, ids);
    const known = place.isDefaultRef ? null : await sightingsOnRef(db, tenantId, defaultRefId, ids);
    for (const row of page) {
      stored.add(row, sightings.get(row.id), uploadId, known?.has(row.id) === true);
    }
    if (page.length < PAGE_ROWS) return stored;
    after = last.id;
  }
}

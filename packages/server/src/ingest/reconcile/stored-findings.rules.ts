// What matching and writing need to know of the stored findings of all destinations of a report, in columns: about 90 bytes each
// with the id, however many there are, in however many scopes. Rows are numbered as they are added. Filled by match-plan.ts.

import { FINDING_STATUSES } from '@muster/contract/plain';
import { GrowingIds } from '../../lib/growing-ids.ts';
import { GrowingInts } from '../../lib/growing-ints.ts';
import { EvidenceTable } from '../match/evidence-table.rules.ts';
import type { BatchPlace } from './finding-rows.rules.ts';
import type { FindingRow, StoredFinding, StoredSighting } from '../store/finding.queries.ts';

/** Statuses of findings that somebody still has to do something about. */
const ACTIVE: readonly FindingRow['status'][] = ['open', 'confirmed', 'in_progress'];

export const isActive = (status: FindingRow['status']): boolean => ACTIVE.includes(status);

// Bits of a row's state: three of the status, three of the severity, then one each.
const SEVERITY_SHIFT = 3;
const FIXED = 1 << 6;
const BY_REPORT = 1 << 7;
const PRESENT = 1 << 8;
const MINE = 1 << 9;
const CREATED_HERE = 1 << 10;
const SIGHTED = 1 << 11;
const FOREIGN = 1 << 12;
const SEEN_LATER = 1 << 13;
const ON_DEFAULT = 1 << 14;

/** A row as it stands beside a finding of a report. */
export interface StoredState {
  readonly id: string;
  readonly status: FindingRow['status'];
  readonly severity: FindingRow['severity'];
  /** Resolved because it was absent. */
  readonly isFixed: boolean;
  /** The report's own suppression set the status. */
  readonly isByReport: boolean;
  /** It was seen on the ref before, present there now or not. */
  readonly isSighted: boolean;
  /** It was present on the ref when last looked for. */
  readonly isPresent: boolean;
  /** It is known on the default ref, and the upload is about another one. */
  readonly isForeign: boolean;
  /** An upload that arrived later has it: that one was interrupted, or this one was. What that one said of it stays. */
  readonly isSeenLater: boolean;
  /** The upload itself created it, on another ref or before it was interrupted. */
  readonly isCreatedHere: boolean;
}

export class StoredFindings {
  readonly evidence = new EvidenceTable();
  readonly #ids = new GrowingIds();
  readonly #states = new GrowingInts();
  readonly #destinations = new GrowingInts();

  get length(): number {
    return this.#ids.length;
  }

  /**
   * `destination`: the number of the one in whose scope it is. `sighting`: on the ref that the upload is about, `onDefault`: on the
   * default one; undefined where it was never seen there.
   */
  add(
    destination: number,
    row: StoredFinding,
    sighting: StoredSighting | undefined,
    onDefault: StoredSighting | undefined,
    { uploadId, isDefaultRef }: Pick<BatchPlace, 'uploadId' | 'isDefaultRef'>,
  ): void {
    this.evidence.addPacked(row.evidence, row.start_line);
    this.#ids.push(row.id);
    let state = FINDING_STATUSES.indexOf(row.status) | (row.severity << SEVERITY_SHIFT);
    if (row.resolution === 'fixed') state |= FIXED;
    if (row.status_by === 'report') state |= BY_REPORT;
    if (sighting !== undefined) state |= SIGHTED;
    if (sighting?.present === true) state |= PRESENT;
    if (onDefault !== undefined && !isDefaultRef) state |= FOREIGN;
    if (onDefault?.present === true) state |= ON_DEFAULT;
    if (sighting?.lastUploadId === uploadId) state |= MINE;
    // Ids of uploads sort by when they arrived.
    if (sighting !== undefined && sighting.lastUploadId > uploadId) state |= SEEN_LATER;
    if (row.created_upload_id === uploadId) state |= CREATED_HERE;
    this.#states.push(state);
    this.#destinations.push(destination);
  }

  destinationOf(row: number): number {
    return this.#destinations.at(row);
  }

  at(row: number): StoredState {
    const state = this.#states.at(row);
    return {
      id: this.id(row),
      status: this.status(row),
      severity: ((state >> SEVERITY_SHIFT) & 7) as FindingRow['severity'],
      isFixed: (state & FIXED) !== 0,
      isByReport: (state & BY_REPORT) !== 0,
      isSighted: (state & SIGHTED) !== 0,
      isPresent: this.isPresent(row),
      isForeign: (state & FOREIGN) !== 0,
      isSeenLater: this.isSeenLater(row),
      isCreatedHere: this.isCreatedHere(row),
    };
  }

  id(row: number): string {
    return this.#ids.at(row);
  }

  status(row: number): FindingRow['status'] {
    return FINDING_STATUSES[this.#states.at(row) & 7] as FindingRow['status'];
  }

  /** It was present on the ref when last looked for. */
  isPresent(row: number): boolean {
    return (this.#states.at(row) & PRESENT) !== 0;
  }

  /** This upload has written it before it was interrupted: it is settled. */
  isSettled(row: number): boolean {
    return (this.#states.at(row) & MINE) !== 0;
  }

  /**
   * It may have moved: as far as is known it is still there, on the ref, or on the default one if it was never seen on the ref.
   * What only other branches have is theirs: two of them may well have something alike. What is mended, or is another one's
   * duplicate, goes nowhere.
   */
  mayHaveMoved(row: number): boolean {
    const state = this.#states.at(row);
    const status = this.status(row);
    if ((state & MINE) !== 0 || status === 'resolved' || status === 'duplicate') return false;
    return (state & ((state & SIGHTED) === 0 ? ON_DEFAULT : PRESENT)) !== 0;
  }

  /** Of StoredState. */
  isSeenLater(row: number): boolean {
    return (this.#states.at(row) & SEEN_LATER) !== 0;
  }

  /** Of StoredState. */
  isCreatedHere(row: number): boolean {
    return (this.#states.at(row) & CREATED_HERE) !== 0;
  }
}

// The stored findings of all destinations of a report, in columns: what matching and writing have
// to know of them, in about 90 bytes each with the id, in however many scopes they are. Rows are
// numbered in the order of `add`. Filled by match-plan.ts.

import { FINDING_STATUSES, SEVERITIES } from '@muster/contract/plain';
import { assert } from '../../lib/assert.ts';
import { GrowingIds } from '../../lib/growing-ids.ts';
import { GrowingInts } from '../../lib/growing-ints.ts';
import { EvidenceTable } from '../match/evidence-table.rules.ts';
import type { BatchPlace } from './finding-rows.rules.ts';
import type { FindingRow, StoredFinding, StoredSighting } from '../store/finding.queries.ts';

/** Bits for a status and for a severity. With the nine flags they take 15 bits of a row's state. */
const STATUS_BITS = 3;
const SEVERITY_BITS = 3;

// A value that doesn't fit would read back as another one, and change the bits beside it.
assert(FINDING_STATUSES.length <= 2 ** STATUS_BITS, 'a finding status needs more bits');
assert(SEVERITIES.length <= 2 ** SEVERITY_BITS, 'a severity needs more bits');

const STATUS_MASK = 2 ** STATUS_BITS - 1;
const SEVERITY_MASK = 2 ** SEVERITY_BITS - 1;
const FLAGS_SHIFT = STATUS_BITS + SEVERITY_BITS;

// The flags of a row's state stand above its status and its severity.
const FIXED = 1 << FLAGS_SHIFT;
const BY_REPORT = FIXED << 1;
const PRESENT = FIXED << 2;
const MINE = FIXED << 3;
const CREATED_HERE = FIXED << 4;
const SIGHTED = FIXED << 5;
const FOREIGN = FIXED << 6;
const SEEN_LATER = FIXED << 7;
const ON_DEFAULT = FIXED << 8;

/** The state of a stored finding, seen from the ref and the upload in work. */
export interface StoredState {
  readonly id: string;
  readonly status: FindingRow['status'];
  readonly severity: FindingRow['severity'];
  /** Absence resolved it. */
  readonly isFixed: boolean;
  /** A suppression in a report set its status. */
  readonly isByReport: boolean;
  /** It was seen on the ref before, whether it is present there now or not. */
  readonly isSighted: boolean;
  /** It was present on the ref in the last report that could tell. */
  readonly isPresent: boolean;
  /** It is known on the default ref, and the upload is about another one. */
  readonly isForeign: boolean;
  /**
   * An upload that arrived later has it, because that one or this one was interrupted. The
   * words of the later one stay.
   */
  readonly isSeenLater: boolean;
  /** The upload itself created it, on another ref or before an interruption. */
  readonly isCreatedHere: boolean;
}

/** Status and severity as one number. A value that the contract doesn't know is a defect. */
function packedState(status: FindingRow['status'], severity: number): number {
  const number = FINDING_STATUSES.indexOf(status);
  assert(number >= 0, 'a stored status is one of the contract');
  assert(severity >= 0 && severity < SEVERITIES.length, 'a stored severity is one of the contract');
  return number | (severity << STATUS_BITS);
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
   * `destination`: the number of the destination whose scope the finding is in. `sighting`: on the
   * ref that the upload is about; `onDefault`: on the default ref. Undefined: never seen there.
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
    let state = packedState(row.status, row.severity);
    if (row.resolution === 'fixed') state |= FIXED;
    if (row.status_by === 'report') state |= BY_REPORT;
    if (sighting !== undefined) state |= SIGHTED;
    if (sighting?.present === true) state |= PRESENT;
    if (onDefault !== undefined && !isDefaultRef) state |= FOREIGN;
    if (onDefault?.present === true) state |= ON_DEFAULT;
    if (sighting?.lastUploadId === uploadId) state |= MINE;
    // The ids of uploads sort by their arrival.
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
      severity: ((state >> STATUS_BITS) & SEVERITY_MASK) as FindingRow['severity'],
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
    return FINDING_STATUSES[this.#states.at(row) & STATUS_MASK] as FindingRow['status'];
  }

  /** It was present on the ref in the last report that could tell. */
  isPresent(row: number): boolean {
    return (this.#states.at(row) & PRESENT) !== 0;
  }

  /** This upload wrote the finding before it was interrupted; the finding takes no further part. */
  isWritten(row: number): boolean {
    return (this.#states.at(row) & MINE) !== 0;
  }

  /**
   * True when the finding may have moved: as far as is known it still exists on the ref, or on the
   * default ref if it was never seen on the ref. A finding that only other branches have doesn't
   * count: two branches may well have similar findings. Resolved findings and duplicates move
   * nowhere.
   */
  mayHaveMoved(row: number): boolean {
    const state = this.#states.at(row);
    const status = this.status(row);
    if ((state & MINE) !== 0 || status === 'resolved' || status === 'duplicate') return false;
    return (state & ((state & SIGHTED) === 0 ? ON_DEFAULT : PRESENT)) !== 0;
  }

  /** As in StoredState. */
  isSeenLater(row: number): boolean {
    return (this.#states.at(row) & SEEN_LATER) !== 0;
  }

  /** As in StoredState. */
  isCreatedHere(row: number): boolean {
    return (this.#states.at(row) & CREATED_HERE) !== 0;
  }
}

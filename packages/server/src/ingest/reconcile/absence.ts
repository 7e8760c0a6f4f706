// Findings that a ref had and a full report no longer has are resolved, where the rules allow that
// conclusion (contract §6, Absence). Better a finding stays open for too long than a failed scan
// closes it. The decision is made once for the whole upload and stored; then it is carried out
// slice by slice. A try after a crash goes on with the decision of the first one. Called by
// finish.ts.

import { hash } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import type { Db } from '../../db/db.ts';
import { newId } from '../../lib/ids.ts';
import {
  type FindingRow,
  insertFindingEvents,
  lockActive,
  markAbsent,
  resolveFixed,
} from '../store/finding.queries.ts';
import type { BatchPlace } from './finding-rows.rules.ts';
import { findAnalysis } from '../store/inventory.queries.ts';
import type { Tally } from '../index/tally.rules.ts';
import type { Destination } from './destinations.ts';
import { type LeasedSlices, sliced } from '../lease/slices.ts';
import { isActive, RESOLVED_BY_ABSENCE } from '../../findings/finding.machine.ts';
import type { StoredFindings } from './stored-findings.rules.ts';

/**
 * The blinding guard: when an upload would close more than 100 findings and more than half of the
 * open ones of a destination, the closing is held back.
 */
const GUARD_COUNT = 100;
const GUARD_SHARE = 0.5;

/**
 * True when the report listed all findings of an asset that it names: absence tells that a finding
 * is gone.
 */
export const isComplete = (
  { analysis, asset }: Destination,
  { rejectionsByCode }: Tally,
): boolean =>
  analysis.coverage === 'full' &&
  analysis.succeeded &&
  analysis.listed &&
  rejectionsByCode.size === 0 &&
  asset.is_fallback !== 1;

/** True when absence at this destination may be concluded from. A late upload concludes nothing. */
export const isConclusive = (destination: Destination, tally: Tally): boolean =>
  isComplete(destination, tally) && !destination.place.isStale;

/** The findings that a ref had in a scope and that an upload did not see. */
export interface Absence {
  readonly absent: readonly { readonly id: string; readonly status: FindingRow['status'] }[];
  /**
   * How many findings of the ref were open before the upload; without those that only a later
   * upload has.
   */
  readonly open: number;
}

export const NO_ABSENCE: Absence = { absent: [], open: 0 };

/**
 * The absence at each destination, by its number; a destination without stored findings is missing.
 * A finding is absent when it was present on its ref until now, has no partner after matching (a
 * mark in `unmatched`), and no later upload has it. The scopes are held, so only operators change
 * the findings meanwhile. `opened`: by destination, how many more findings are open because of what
 * this upload has written already.
 */
export function absencesIn(
  stored: StoredFindings,
  unmatched: Uint8Array,
  opened: ReadonlyMap<number, number>,
): ReadonlyMap<number, Absence> {
  const absences = new Map<number, { absent: Absence['absent'][number][]; open: number }>();
  for (let row = 0; row < stored.length; row += 1) {
    const destination = stored.destinationOf(row);
    const absence = absences.get(destination) ?? {
      absent: [],
      open: -(opened.get(destination) ?? 0),
    };
    absences.set(destination, absence);
    if (!stored.isPresent(row)) continue;
    const isUnmatched = unmatched[row] === 1 && !stored.isWritten(row);
    if (isUnmatched && stored.isSeenLater(row)) continue;
    if (isActive(stored.status(row)) && !stored.isCreatedHere(row)) absence.open += 1;
    if (!isUnmatched) continue;
    absence.absent.push({ id: stored.id(row), status: stored.status(row) });
  }
  return absences;
}

/**
 * A destination where absence is concluded from, with what is absent there. `destination` is its
 * number in the upload.
 */
export interface Conclusion {
  readonly destination: number;
  readonly place: BatchPlace;
  readonly absence: Absence;
}

/**
 * Destinations whose closing is held back: how many findings, and a digest by which an equal scan
 * is recognised.
 */
export type Held = ReadonlyMap<number, { readonly count: number; readonly digest: Buffer }>;

/**
 * The destinations whose closing the guard holds back; at all others the absent findings may be
 * closed.
 */
export async function heldBack(db: Db, conclusions: readonly Conclusion[]): Promise<Held> {
  const held = new Map<number, { count: number; digest: Buffer }>();
  for (const { destination, place, absence } of conclusions) {
    const ids = activeOf(absence);
    if (ids.length <= GUARD_COUNT || ids.length <= absence.open * GUARD_SHARE) continue;
    const digest = hash('sha256', ids.sort().join(' '), 'buffer');
    const { tenantId, refId, tool, category } = place;
    const before = (await findAnalysis(db, tenantId, refId, tool, category))?.held_digest ?? null;
    // A second scan that lacks the same findings is believed.
    if (before === null || !digest.equals(before))
      held.set(destination, { count: ids.length, digest });
  }
  return held;
}

const activeOf = ({ absent }: Absence): string[] =>
  absent.filter(({ status }) => isActive(status)).map(({ id }) => id);

/** How many findings are resolved when all absences are carried out that aren't held back. */
export function countClosable(conclusions: readonly Conclusion[], held: Held): number {
  const ids = conclusions
    .filter(({ destination, place }) => place.isDefaultRef && !held.has(destination))
    .flatMap(({ absence }) => activeOf(absence));
  return new Set(ids).size;
}

interface Closed {
  readonly resolved: number;
  readonly held: Held;
}

/**
 * Carries absence out, or goes on where an earlier try ended; what that try resolved is counted.
 */
export async function resolveAbsent(
  slices: LeasedSlices,
  clock: Clock,
  conclusions: readonly Conclusion[],
): Promise<Closed> {
  const isNothing = conclusions.every(({ absence }) => absence.absent.length === 0);
  if (isNothing && !slices.isResumed) return { resolved: 0, held: new Map() };
  const held = await heldAsDecided(slices, conclusions);
  const counts = slices.appended<number>();
  const gone = conclusions
    .filter(({ destination }) => !held.has(destination))
    .flatMap(({ place, absence }) => absence.absent.map(({ id }) => ({ place, id })));
  for (const slice of sliced(gone)) {
    counts.push(await slices.append((tx) => resolveSlice(tx, slice, clock.nowMs())));
  }
  return { resolved: counts.reduce((sum, count) => sum + count, 0), held };
}

/**
 * How many absent findings the decision was about, and the digest by which they are held back;
 * null: they aren't.
 */
type Decision = readonly [
  destination: number,
  { readonly count: number; readonly digest: string | null },
];

/**
 * The closings that the guard holds back, as the first try decided: closing findings and recording
 * the analysis change what the guard judges by.
 */
async function heldAsDecided(
  slices: LeasedSlices,
  conclusions: readonly Conclusion[],
): Promise<Held> {
  const decided = new Map(
    await slices.once(async (tx) => decisionsOf(conclusions, await heldBack(tx, conclusions))),
  );
  // When others left more absent findings between two tries, those are judged by themselves.
  const hasMore = ({ destination, absence }: Conclusion): boolean =>
    activeOf(absence).length > (decided.get(destination)?.count ?? GUARD_COUNT);
  const held = new Map(await heldBack(slices.db, conclusions.filter(hasMore)));
  for (const one of conclusions) {
    const { count, digest } = decided.get(one.destination) ?? { count: 0, digest: null };
    if (digest === null || hasMore(one)) continue;
    held.set(one.destination, { count, digest: Buffer.from(digest, 'hex') });
  }
  return held;
}

/** The decisions about destinations where more is absent than the guard always lets pass. */
function decisionsOf(conclusions: readonly Conclusion[], held: Held): Decision[] {
  const counted = conclusions.map(({ destination, absence }): Decision => {
    const digest = held.get(destination)?.digest.toString('hex') ?? null;
    return [destination, { count: activeOf(absence).length, digest }];
  });
  return counted.filter(([, { count }]) => count > GUARD_COUNT);
}

/**
 * Marks findings as absent on their refs, and resolves those whose ref is the default one. Returns
 * how many were resolved.
 */
async function resolveSlice(
  tx: Db,
  gone: readonly { readonly place: BatchPlace; readonly id: string }[],
  nowMs: number,
): Promise<number> {
  const [first] = gone;
  if (first === undefined) return 0;
  const { tenantId, uploadId } = first.place;
  await markAbsent(
    tx,
    gone.map(({ place, id }) => ({ tenant_id: tenantId, ref_id: place.refId, finding_id: id })),
  );
  // A finding that is gone from another ref keeps the status that is shown.
  const ids = gone.filter(({ place }) => place.isDefaultRef).map(({ id }) => id);
  // The statuses as they are now: an operator may have decided since the findings were read.
  const open = await lockActive(tx, tenantId, ids);
  await resolveFixed(
    tx,
    tenantId,
    open.map((finding) => finding.id),
    RESOLVED_BY_ABSENCE,
    nowMs,
  );
  await insertFindingEvents(
    tx,
    open.map((finding) => ({
      tenant_id: tenantId,
      finding_id: finding.id,
      id: newId(nowMs),
      at: nowMs,
      kind: 'resolved',
      by_whom: `upload:${uploadId}`,
      data: JSON.stringify({ from: finding.status, as: RESOLVED_BY_ABSENCE.resolution }),
    })),
  );
  return open.length;
}

// What is no longer there is resolved, where the rules allow that conclusion (contract §6, Absence). Better a finding open
// for too long than one closed by a scan that failed. First it is decided for the whole upload, and the decision is stored;
// then it is carried out slice by slice. A try after a crash goes on with the decision of the first one. Called by finish.ts.

import { hash } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import type { Db } from '../db/db.ts';
import { newId } from '../lib/ids.ts';
import type { AnalysisDraft } from './draft.rules.ts';
import {
  type FindingRow,
  insertFindingEvents,
  lockActive,
  markAbsent,
  resolveFixed,
} from './finding.queries.ts';
import type { BatchPlace } from './finding-rows.rules.ts';
import { findAnalysis } from './frame.queries.ts';
import { type LeasedSlices, sliced } from './slices.ts';
import { isActive, type StoredFindings } from './stored-findings.rules.ts';

/** The blinding guard: what would close more than this many, and more than half of the open ones, is held. */
const GUARD_COUNT = 100;
const GUARD_SHARE = 0.5;

/** May this analysis of a named asset conclude anything from what isn't in it? */
export function concludes(
  analysis: AnalysisDraft,
  anythingRejected: boolean,
  isFallback: boolean,
): boolean {
  return (
    analysis.coverage === 'full' &&
    analysis.succeeded &&
    analysis.listed &&
    !anythingRejected &&
    !isFallback
  );
}

/** What an upload did not see of what a ref had in a scope. */
export interface Absence {
  readonly absent: readonly { readonly id: string; readonly status: FindingRow['status'] }[];
  /** Findings of the ref that were open before the upload. */
  readonly open: number;
}

export const NO_ABSENCE: Absence = { absent: [], open: 0 };

/**
 * What is absent: present on its ref until now, not marked in `seen`, and nothing that a later upload has. By the numbers of
 * the sites; those that hold nothing are missing. Their scopes are held: only operators change them.
 */
export function absencesIn(stored: StoredFindings, seen: Uint8Array): ReadonlyMap<number, Absence> {
  const absences = new Map<number, { absent: Absence['absent'][number][]; open: number }>();
  for (let row = 0; row < stored.length; row += 1) {
    const site = stored.siteOf(row);
    const absence = absences.get(site) ?? { absent: [], open: 0 };
    absences.set(site, absence);
    if (!stored.isPresent(row)) continue;
    if (isActive(stored.status(row)) && !stored.isCreatedHere(row)) absence.open += 1;
    if (stored.isSettled(row) || stored.isSeenLater(row) || seen[row] === 1) continue;
    absence.absent.push({ id: stored.id(row), status: stored.status(row) });
  }
  return absences;
}

/**
 * Of the sites where the guard may hold anything back, how much was open: to be kept before the first batch is written, because
 * batches change statuses, and a try after a crash must judge by the same number.
 */
export const guardedOpen = (absences: ReadonlyMap<number, Absence>): [number, number][] =>
  [...absences]
    .filter(([, { open }]) => open > GUARD_COUNT)
    .map(([site, { open }]) => [site, open]);

/** A place where a conclusion is drawn, by its number among the sites of the upload, and what it did not see there. */
export interface Conclusion {
  readonly site: number;
  readonly place: BatchPlace;
  readonly absence: Absence;
}

/** Sites whose closing is held back: how many findings, and a digest to know an equal scan by. */
export type Held = ReadonlyMap<number, { readonly count: number; readonly digest: Buffer }>;

/** What the guard holds back; everything else may be closed. */
export async function holdBack(db: Db, conclusions: readonly Conclusion[]): Promise<Held> {
  const held = new Map<number, { count: number; digest: Buffer }>();
  for (const { site, place, absence } of conclusions) {
    const ids = absence.absent.filter(({ status }) => isActive(status)).map(({ id }) => id);
    if (ids.length <= GUARD_COUNT || ids.length <= absence.open * GUARD_SHARE) continue;
    const digest = hash('sha256', ids.sort().join(' '), 'buffer');
    const { tenantId, refId, tool, category } = place;
    const before = (await findAnalysis(db, tenantId, refId, tool, category))?.held_digest ?? null;
    // A second equal scan is believed.
    if (before === null || !digest.equals(before)) held.set(site, { count: ids.length, digest });
  }
  return held;
}

/** How many findings closing what isn't held would resolve. */
export function closable(conclusions: readonly Conclusion[], held: Held): number {
  const ids = conclusions
    .filter(({ site, place }) => place.isDefaultRef && !held.has(site))
    .flatMap(({ absence }) => absence.absent.filter(({ status }) => isActive(status)))
    .map(({ id }) => id);
  return new Set(ids).size;
}

export interface Closed {
  readonly resolved: number;
  readonly held: Held;
}

/** Carries absence out, or goes on where an earlier try ended; what that one closed is counted. */
export async function settleAbsence(
  slices: LeasedSlices,
  clock: Clock,
  conclusions: readonly Conclusion[],
): Promise<Closed> {
  const isNothing = conclusions.every(({ absence }) => absence.absent.length === 0);
  if (isNothing && !slices.isResumed) return { resolved: 0, held: new Map() };
  const decided = await slices.once(async (tx) =>
    [...(await holdBack(tx, conclusions))].map(
      ([site, { count, digest }]) => [site, count, digest.toString('hex')] as const,
    ),
  );
  const held: Held = new Map(
    decided.map(([site, count, hex]) => [site, { count, digest: Buffer.from(hex, 'hex') }]),
  );
  const counts = slices.appended<number>();
  const gone = conclusions
    .filter(({ site }) => !held.has(site))
    .flatMap(({ place, absence }) => absence.absent.map(({ id }) => ({ place, id })));
  for (const slice of sliced(gone)) {
    counts.push(await slices.append((tx) => close(tx, slice, clock.nowMs())));
  }
  return { resolved: counts.reduce((sum, count) => sum + count, 0), held };
}

/** Marks findings as gone from their refs; on the default ref they are resolved. Returns how many were resolved. */
async function close(
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
  // Elsewhere than on the default ref it is gone from that ref only; the status shown stays.
  const ids = gone.filter(({ place }) => place.isDefaultRef).map(({ id }) => id);
  // As they are now: an operator may have decided since they were read.
  const open = await lockActive(tx, tenantId, ids);
  await resolveFixed(
    tx,
    tenantId,
    open.map((finding) => finding.id),
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
      data: JSON.stringify({ from: finding.status, as: 'fixed' }),
    })),
  );
  return open.length;
}

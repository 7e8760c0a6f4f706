// What is no longer there is resolved, where the rules allow that conclusion (contract §6, Absence). Better a finding open for too long than one closed by a scan that failed.

import { hash } from 'node:crypto';
import type { Db } from '../db/db.ts';
import { newId } from '../lib/ids.ts';
import type { AnalysisDraft } from './draft.rules.ts';
import {
  type FindingRow,
  insertFindingEvents,
  markAbsent,
  resolveFixed,
} from './finding.queries.ts';
import { findAnalysis, type ScopeKey } from './frame.queries.ts';
import { isActive, type StoredFindings } from './stored-findings.rules.ts';

/** The blinding guard: what would close more than this many, and more than half of the open ones, is held. */
const GUARD_COUNT = 100;
const GUARD_SHARE = 0.5;

/** Ids written in one statement, below the parameter limits of both databases. */
const IDS_MAX = 500;

export interface Place {
  readonly tenantId: string;
  readonly uploadId: string;
  readonly scope: ScopeKey;
  readonly refId: string;
  readonly isDefaultRef: boolean;
}

export interface AbsenceResult {
  readonly resolved: number;
  readonly held: number;
  /** What was held, to know an equal scan by; null: nothing. */
  readonly heldDigest: Buffer | null;
}

const NOTHING: AbsenceResult = { resolved: 0, held: 0, heldDigest: null };

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

/** What is absent: present on the ref until now, and none of `seen`. The scope is held: only operators change it. */
export function absenceIn(stored: StoredFindings, seen: ReadonlySet<number>): Absence {
  const absent: { id: string; status: FindingRow['status'] }[] = [];
  let open = 0;
  for (let row = 0; row < stored.length; row += 1) {
    if (!stored.isPresent(row)) continue;
    if (isActive(stored.status(row)) && !stored.isCreatedHere(row)) open += 1;
    if (stored.isSettled(row) || seen.has(row)) continue;
    absent.push({ id: stored.id(row), status: stored.status(row) });
  }
  return { absent, open };
}

/** Resolves, or holds, what is absent. Inside the finishing transaction. */
export async function settleAbsence(
  tx: Db,
  place: Place,
  { absent, open }: Absence,
  nowMs: number,
): Promise<AbsenceResult> {
  const { tenantId, refId, scope } = place;
  if (absent.length === 0) return NOTHING;
  const ids = absent.filter(({ status }) => isActive(status)).map((finding) => finding.id);
  const digest = hash('sha256', ids.sort().join(' '), 'buffer');
  if (ids.length > GUARD_COUNT && ids.length > open * GUARD_SHARE) {
    const before = await findAnalysis(tx, tenantId, refId, scope.tool, scope.category);
    const held = before?.held_digest ?? null;
    if (held === null || !digest.equals(held)) {
      return { resolved: 0, held: ids.length, heldDigest: digest };
    }
  }
  let resolved = 0;
  for (let at = 0; at < absent.length; at += IDS_MAX) {
    resolved += await settleSlice(tx, place, absent.slice(at, at + IDS_MAX), nowMs);
  }
  return { resolved, held: 0, heldDigest: null };
}

async function settleSlice(
  tx: Db,
  place: Place,
  slice: Absence['absent'],
  nowMs: number,
): Promise<number> {
  const { tenantId, refId, uploadId } = place;
  const ids = slice.map((finding) => finding.id);
  await markAbsent(tx, tenantId, refId, ids);
  // Elsewhere than on the default ref it is gone from that ref only; the status shown stays.
  if (!place.isDefaultRef) return 0;
  await insertFindingEvents(
    tx,
    slice
      .filter(({ status }) => isActive(status))
      .map((finding) => ({
        tenant_id: tenantId,
        finding_id: finding.id,
        id: newId(nowMs),
        at: nowMs,
        kind: 'resolved',
        by_whom: `upload:${uploadId}`,
        data: JSON.stringify({ from: finding.status, as: 'fixed' }),
      })),
  );
  return await resolveFixed(tx, tenantId, ids, nowMs);
}

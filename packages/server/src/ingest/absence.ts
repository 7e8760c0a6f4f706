// What is no longer there is resolved, where the rules allow that conclusion (contract §6, Absence). Runs inside the
// finishing transaction. Better a finding open for too long than one closed by a scan that failed.

import { hash } from 'node:crypto';
import type { Db } from '../db/db.ts';
import { newId } from '../lib/ids.ts';
import type { AnalysisDraft } from './draft.rules.ts';
import {
  absentOnRef,
  countOpenOnRef,
  insertFindingEvents,
  markAbsent,
  resolveFixed,
} from './finding.queries.ts';
import { findAnalysis, type ScopeKey } from './frame.queries.ts';

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

const isActive = (finding: { status: string }): boolean =>
  ['open', 'confirmed', 'in_progress'].includes(finding.status);

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

/** Resolves, or holds, what this ref had in this scope and the upload did not see. */
export async function settleAbsence(tx: Db, place: Place, nowMs: number): Promise<AbsenceResult> {
  const { tenantId, refId, scope, uploadId } = place;
  const absent = await absentOnRef(tx, tenantId, refId, scope, uploadId);
  if (absent.length === 0) return NOTHING;
  const active = absent.filter(isActive);
  const open = await countOpenOnRef(tx, tenantId, refId, scope, uploadId);
  const digest = hash('sha256', active.map((finding) => finding.id).join(' '), 'buffer');
  if (active.length > GUARD_COUNT && active.length > open * GUARD_SHARE) {
    const before = await findAnalysis(tx, tenantId, refId, scope.tool, scope.category);
    const confirmed =
      before?.held_digest !== null && before !== undefined && digest.equals(before.held_digest);
    if (!confirmed) return { resolved: 0, held: active.length, heldDigest: digest };
  }
  let resolved = 0;
  for (let at = 0; at < absent.length; at += IDS_MAX) {
    const slice = absent.slice(at, at + IDS_MAX);
    const ids = slice.map((finding) => finding.id);
    await markAbsent(tx, tenantId, refId, ids);
    // Elsewhere than on the default ref it is gone from that ref only; the status shown stays.
    if (!place.isDefaultRef) continue;
    resolved += await resolveFixed(tx, tenantId, ids, nowMs);
    await insertFindingEvents(
      tx,
      slice.filter(isActive).map((finding) => ({
        tenant_id: tenantId,
        finding_id: finding.id,
        id: newId(nowMs),
        at: nowMs,
        kind: 'resolved',
        by_whom: `upload:${uploadId}`,
        data: JSON.stringify({ from: finding.status, as: 'fixed' }),
      })),
    );
  }
  return { resolved, held: 0, heldDigest: null };
}

// Where the findings of a report go: every group of entries gets its asset, its ref and its matching scope, and the
// upload takes the scopes, so that nobody else changes what it matches against.

import { limits } from '@muster/contract';
import type { Db } from '../db/db.ts';
import { present } from '../lib/assert.ts';
import type { AnalysisDraft, Report } from './draft.rules.ts';
import type { BatchPlace } from './finding-rows.rules.ts';
import { type Frame, type Ref, settleRef } from './frame.ts';
import { type AssetRow, takeScope } from './frame.queries.ts';
import { holdLease, type IngestDeps, ScopeBusy } from './lease.ts';
import { Notes } from './report-notes.decode.ts';
import type { Group, Survey } from './survey.rules.ts';
import type { UploadRow } from './upload.queries.ts';

/** What some groups are matched against and written to. */
export interface Site {
  readonly analysis: AnalysisDraft;
  readonly asset: AssetRow;
  readonly place: BatchPlace;
}

export interface Sites {
  readonly all: readonly Site[];
  /** For each group of the survey, the number of its site. */
  readonly ofGroup: readonly number[];
  readonly notes: Notes;
}

/**
 * Where each group goes; also assets that a conclusive analysis names without an item: there all may be resolved. Inside a
 * transaction.
 */
export async function settleSites(
  tx: Db,
  upload: UploadRow,
  report: Report,
  found: Survey,
  frame: Frame,
  nowMs: number,
): Promise<Sites> {
  const groups = [...found.groups, ...groupsWithoutItems(report, found)];
  const all: Site[] = [];
  const ofGroup: number[] = [];
  const numbers = new Map<string, number>();
  const notes = new Notes();
  for (const group of groups) {
    const analysis = present(report.analyses[group.analysis], 'the analysis of a group');
    const asset = present(
      group.asset === null ? frame.fallback : frame.assets[group.asset],
      'the asset of a group',
    );
    const ref: Ref = await settleRef(tx, asset, analysis, nowMs);
    if (ref.warning !== null) {
      notes.warn(ref.warning.pointer, ref.warning.code, ref.warning.detail);
    }
    // Two names of one asset, or one analysis twice: one site, so that a stored finding is used once.
    const key = `${asset.id} ${ref.id} ${analysis.tool}\n${analysis.category}`;
    const number = numbers.get(key) ?? all.length;
    const known = all[number];
    numbers.set(key, number);
    ofGroup.push(number);
    all[number] = {
      analysis: known === undefined ? analysis : mergeAnalyses(known.analysis, analysis),
      asset,
      place: {
        tenantId: upload.tenant_id,
        uploadId: upload.id,
        assetId: asset.id,
        tool: analysis.tool,
        category: analysis.category,
        refId: ref.id,
        isDefaultRef: ref.isDefault,
        commitSha: analysis.commitSha,
        nowMs,
      },
    };
  }
  return { all, ofGroup, notes };
}

function groupsWithoutItems(report: Report, found: Survey): Group[] {
  const known = new Set(found.groups.map((group) => `${group.analysis}/${group.asset}`));
  return report.analyses.flatMap((analysis, index) => {
    if (analysis.coverage !== 'full') return [];
    const named =
      analysis.asset === null ? report.assets.usable.map((_, asset) => asset) : [analysis.asset];
    return named
      .filter((asset) => !known.has(`${index}/${asset}`))
      .map((asset) => ({ analysis: index, asset }));
  });
}

const mergeAnalyses = (one: AnalysisDraft, other: AnalysisDraft): AnalysisDraft => ({
  ...one,
  coverage: one.coverage === 'full' && other.coverage === 'full' ? 'full' : 'partial',
  succeeded: one.succeeded && other.succeeded,
  listed: one.listed && other.listed,
});

/**
 * Takes the scopes of all sites, all or none, in a fixed order, so that two uploads with the same scopes can't wait for
 * each other. Guarded by the lease: a worker that was overtaken takes nothing. Returns how many.
 */
export async function takeScopes(
  deps: IngestDeps,
  upload: UploadRow,
  sites: readonly Site[],
): Promise<number> {
  const nowMs = deps.clock.nowMs();
  const keys = new Map(
    sites.map(({ place }) => [`${place.assetId} ${place.tool}\n${place.category}`, place] as const),
  );
  await deps.database.transaction(upload.tenant_id, async (tx) => {
    await holdLease(deps, tx, { upload, scopes: 0 }, {});
    for (const key of [...keys.keys()].sort()) {
      const scope = present(keys.get(key), 'a scope');
      const until = nowMs + limits.uploadLeaseMs;
      if (!(await takeScope(tx, upload.tenant_id, scope, upload.id, nowMs, until))) {
        throw new ScopeBusy();
      }
    }
  });
  return keys.size;
}

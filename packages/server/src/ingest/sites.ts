// Where the findings of a report go: every group of entries gets its asset, its ref and its matching scope, and the
// upload takes the scopes, so that nobody else changes what it matches against.

import { limits } from '@muster/contract';
import { present } from '../lib/assert.ts';
import type { AnalysisDraft, DecodedReport, Located } from './draft.rules.ts';
import type { BatchPlace } from './finding-rows.rules.ts';
import { type Frame, type Ref, settleRef } from './frame.ts';
import { type AssetRow, takeScope } from './frame.queries.ts';
import { holdLease, type IngestDeps, ScopeBusy } from './lease.ts';
import type { Tally } from './receipt.rules.ts';
import type { Entry, Survey } from './survey.rules.ts';
import type { UploadRow } from './upload.queries.ts';

/** What a group is matched against and written to. */
export interface Site {
  readonly group: { readonly entries: readonly Entry[]; readonly analysis: number };
  readonly analysis: AnalysisDraft;
  readonly asset: AssetRow;
  readonly place: BatchPlace;
}

/** Where each group goes; also assets that a conclusive analysis names without an item: there all may be resolved. */
export async function settleSites(
  deps: IngestDeps,
  upload: UploadRow,
  report: DecodedReport,
  found: Survey,
  frame: Frame,
): Promise<{ sites: Site[]; warnings: Located[] }> {
  const groups = new Map(found.groups.map((group) => [`${group.analysis}/${group.asset}`, group]));
  report.analyses.forEach((analysis, index) => {
    if (analysis.coverage !== 'full') return;
    const named =
      analysis.asset === null ? report.assets.usable.map((_, asset) => asset) : [analysis.asset];
    for (const asset of named) {
      const key = `${index}/${asset}`;
      if (!groups.has(key)) groups.set(key, { analysis: index, asset, entries: [] });
    }
  });
  const nowMs = deps.clock.nowMs();
  return await deps.database.transaction(upload.tenant_id, async (tx) => {
    const sites = new Map<string, Site>();
    const warnings: Located[] = [];
    for (const group of groups.values()) {
      const analysis = present(report.analyses[group.analysis], 'the analysis of a group');
      const asset = present(
        group.asset === null ? frame.fallback : frame.assets[group.asset],
        'the asset of a group',
      );
      const ref: Ref = await settleRef(tx, asset, analysis, nowMs);
      if (ref.warning !== null) warnings.push(ref.warning);
      const key = `${asset.id} ${ref.id} ${analysis.tool}\n${analysis.category}`;
      const known = sites.get(key);
      // Two names of one asset, or one analysis twice: one site, so that a stored finding is used once.
      const entries =
        known === undefined
          ? group.entries
          : mergeEntries(known.group.entries, group.entries, found.tally);
      sites.set(key, {
        group: { analysis: group.analysis, entries },
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
      });
    }
    return { sites: [...sites.values()], warnings };
  });
}

function mergeEntries(known: readonly Entry[], more: readonly Entry[], tally: Tally): Entry[] {
  const seen = new Set(known.map((entry) => entry.sameness));
  const fresh = more.filter((entry) => !seen.has(entry.sameness));
  tally.duplicate += more.length - fresh.length;
  return [...known, ...fresh];
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

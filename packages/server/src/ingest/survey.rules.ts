// The first pass: every item of a report has its outcome or becomes an entry with its evidence, grouped by what it is
// matched against. Nothing is written yet, so the whole upload can still be refused.

import { limits } from '@muster/contract';
import type { DecodedReport, FindingDraft } from './draft.rules.ts';
import { type Evidence, evidenceOf, samenessOf } from './evidence.rules.ts';
import { noTally, type Tally, tallyRejection } from './receipt.rules.ts';

export interface Entry {
  readonly draft: FindingDraft;
  readonly evidence: Evidence;
  /** Equal for equal items only; also the tie-break of matching. */
  readonly sameness: string;
}

/** The entries of one analysis on one asset: what is matched, and judged for absence, together. */
export interface Group {
  readonly analysis: number;
  /** Index into the report's assets; null: the upload's fallback asset. */
  readonly asset: number | null;
  readonly entries: Entry[];
}

export interface Survey {
  readonly tally: Tally;
  readonly groups: readonly Group[];
}

/** More items than limits.uploadItemsMax: the story refuses the upload. */
export class TooManyItems extends Error {}

export function survey(report: DecodedReport, secretKey: Buffer): Survey {
  const tally = noTally();
  const groups = new Map<string, Group>();
  const seen = new Map<Group, Set<string>>();
  let items = frameItems(report);
  for (const item of report.items()) {
    tally.received += 1;
    items += 1;
    if (items > limits.uploadItemsMax) throw new TooManyItems();
    if (item.outcome === 'rejected') {
      tally.rejected += 1;
      tallyRejection(tally, item.rejection);
    } else if (item.outcome === 'not_problem') {
      tally.notProblem += 1;
    } else {
      const { draft } = item;
      const group = groupOf(groups, draft);
      const evidence = evidenceOf(draft, secretKey);
      const sameness = samenessOf(draft, evidence);
      const known = seen.get(group) ?? new Set<string>();
      seen.set(group, known);
      if (known.has(sameness)) {
        tally.duplicate += 1;
      } else {
        known.add(sameness);
        group.entries.push({ draft, evidence, sameness });
      }
    }
  }
  return { tally, groups: [...groups.values()] };
}

/** Assets, dependencies and relationships count as items, too. */
const frameItems = (report: DecodedReport): number =>
  [report.assets, report.components, report.relationships].reduce(
    (sum, list) => sum + list.usable.length + list.rejections.length,
    0,
  );

function groupOf(groups: Map<string, Group>, draft: FindingDraft): Group {
  const key = `${draft.analysis}/${draft.asset}`;
  const known = groups.get(key);
  if (known !== undefined) return known;
  const group: Group = { analysis: draft.analysis, asset: draft.asset, entries: [] };
  groups.set(key, group);
  return group;
}

// What equal evidence has left over on both sides is read once more, and matched by what it is in whatever file, and by what is
// nearest (moved.rules.ts). Mostly that is little or nothing, so that nothing of it is kept of the others. Called by plan.ts.

import type { Db } from '../db/db.ts';
import { parseItem } from './document-parse.decode.ts';
import type { ScannedItem } from './document-items.decode.ts';
import type { Report } from './draft.rules.ts';
import { movedOf } from './evidence.rules.ts';
import { MOVED, packedHash, SAMENESS } from './evidence-table.rules.ts';
import { findingsById } from './finding.queries.ts';
import type { Loose } from './moved.rules.ts';
import { sliced } from './slices.ts';
import type { StoredFindings } from './stored-findings.rules.ts';
import { NO_ROW, type Survey } from './survey.rules.ts';

/** A report that can be read once more. */
export interface Rereading {
  readonly report: Report;
  readonly secretKey: Buffer;
  /** The items of the survey in the same order. */
  readonly items: () => AsyncIterable<readonly ScannedItem[]>;
}

const textOf = (hash: Buffer | null): string | null => hash && hash.toString('base64', 0, 16);

/** One rule may find secrets and other things: those are never the same. */
const ruleOf = (type: string, ruleId: string): string => `${type} ${ruleId}`;

/** The stored findings of these rows that may be known again. */
export async function looseStored(
  db: Db,
  tenantId: string,
  stored: StoredFindings,
  rows: readonly number[],
): Promise<Loose[]> {
  const loose: Loose[] = [];
  for (const slice of sliced(rows)) {
    const rowOf = new Map(slice.map((row) => [stored.id(row), row]));
    for (const found of await findingsById(db, tenantId, [...rowOf.keys()])) {
      const row = rowOf.get(found.id);
      if (row === undefined || found.path === null) continue;
      loose.push({
        row,
        site: stored.siteOf(row),
        path: found.path,
        line: found.start_line ?? 0,
        moved: textOf(packedHash(found.evidence, MOVED)),
        tie: stored.evidence.hashText(row, SAMENESS),
        rule: found.start_line === null ? null : ruleOf(found.type, found.rule_id),
      });
    }
  }
  return loose;
}

/** The findings of the report in the rows with a mark that may be known again. */
export async function looseDrafts(
  { report, secretKey, items }: Rereading,
  survey: Survey,
  marks: Uint8Array,
  siteOf: (row: number) => number,
): Promise<Loose[]> {
  const pass = report.pass();
  const loose: Loose[] = [];
  let number = 0;
  for await (const piece of items()) {
    for (const { bytes, list, index } of piece) {
      const row = survey.rowOf(number);
      number += 1;
      if (row === NO_ROW || marks[row] !== 1 || bytes === null) continue;
      const read = pass.notes.quietly(() => pass.read(parseItem(bytes), list, index));
      if (read.outcome !== 'finding' || read.draft.path === null) continue;
      const { path, startLine, type, ruleId, identity } = read.draft;
      loose.push({
        row,
        site: siteOf(row),
        path,
        line: startLine ?? 0,
        moved: textOf(movedOf(read.draft, secretKey)),
        tie: survey.evidence.hashText(row, SAMENESS),
        rule: identity.kind === 'code' && startLine !== null ? ruleOf(type, ruleId) : null,
      });
    }
  }
  return loose;
}

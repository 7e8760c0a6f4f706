// What equal evidence has left over on both sides is read once more, and matched by what it is in whatever file, and by what is
// nearest (moved.rules.ts). Mostly that is little or nothing, so that nothing of it is kept of the others. Called by match-plan.ts.

import type { Db } from '../../db/db.ts';
import { quickHash } from '../../lib/quick-hash.ts';
import { parseItem } from '../document/parse.decode.ts';
import type { ScannedItem } from '../document/items.decode.ts';
import type { Report } from '../report/report.rules.ts';
import { movedOf } from '../match/evidence.rules.ts';
import { MOVED, packedHash, DUPLICATE_KEY } from '../match/evidence-table.rules.ts';
import { findingsById } from '../store/finding.queries.ts';
import type { Loose } from '../match/moved.rules.ts';
import { sliced } from '../lease/slices.ts';
import { isActive } from '../../findings/finding.machine.ts';
import type { StoredFindings } from './stored-findings.rules.ts';
import { NO_ROW, type ItemIndex } from '../index/item-index.rules.ts';

/** A report that can be read once more. */
export interface Rereading {
  readonly report: Report;
  readonly secretKey: Buffer;
  /** The items of the itemIndex in the same order. */
  readonly items: () => AsyncIterable<readonly ScannedItem[]>;
}

const textOf = (hash: Buffer | null): string | null => hash && hash.toString('base64', 0, 16);

/** Something of the same rule so many lines away may be the same, edited. */
const REACH = 50;

/** What people have decided not to act on may hide something else: it goes no further than an edit. */
const REACH_OF_DECIDED = 5;

/** Paths may be long: only hashes of them are kept. */
const hashed = (...texts: readonly string[]): string => quickHash(texts).join();

/** Folder and file, then the file. */
const namesOf = (path: string): readonly [string, string] => {
  const segments = path.split('/');
  return [hashed(...segments.slice(-2)), hashed(...segments.slice(-1))];
};

/** Without a rule nothing is known by its line; one rule may find secrets and other things, which are never the same. */
const inFileOf = (type: string, ruleId: string, path: string): string | null =>
  ruleId === '' ? null : hashed(type, ruleId, path);

/** The stored findings of these rows that may be known again. */
export async function looseStored(
  db: Db,
  tenantId: string,
  stored: StoredFindings,
  rows: readonly number[],
): Promise<Loose[]> {
  const loose: Loose[] = [];
  for (const slice of sliced(rows)) {
    // One finding may stand in several rows: one for each of several refs.
    const rowsOf = Map.groupBy(slice, (row) => stored.id(row));
    for (const found of await findingsById(db, tenantId, [...rowsOf.keys()])) {
      const { path, start_line: line, type, rule_id: ruleId } = found;
      if (path === null) continue;
      for (const row of rowsOf.get(found.id) ?? []) {
        loose.push({
          row,
          destination: stored.destinationOf(row),
          line: line ?? 0,
          tie: stored.evidence.hashText(row, DUPLICATE_KEY),
          moved: textOf(packedHash(found.evidence, MOVED)),
          names: namesOf(path),
          inFile: line === null ? null : inFileOf(type, ruleId, path),
          reach: isActive(stored.status(row)) ? REACH : REACH_OF_DECIDED,
        });
      }
    }
  }
  return loose;
}

/** The findings of the report in the rows with a mark that may be known again. */
export async function looseDrafts(
  { report, secretKey, items }: Rereading,
  itemIndex: ItemIndex,
  marks: Uint8Array,
  destinationOf: (row: number) => number,
): Promise<Loose[]> {
  const pass = report.pass();
  const loose: Loose[] = [];
  let number = 0;
  for await (const piece of items()) {
    for (const { bytes, list, index } of piece) {
      const row = itemIndex.rowOf(number);
      number += 1;
      if (row === NO_ROW || marks[row] !== 1 || bytes === null) continue;
      const read = pass.warnings.quietly(() => pass.read(parseItem(bytes), list, index));
      if (read.outcome !== 'finding' || read.draft.path === null) continue;
      const { path, startLine, type, ruleId, identity } = read.draft;
      const isCode = identity.kind === 'code' && startLine !== null;
      loose.push({
        row,
        destination: destinationOf(row),
        line: startLine ?? 0,
        tie: itemIndex.evidence.hashText(row, DUPLICATE_KEY),
        moved: textOf(movedOf(read.draft, secretKey)),
        names: namesOf(path),
        inFile: isCode ? inFileOf(type, ruleId, path) : null,
        reach: REACH,
      });
    }
  }
  return loose;
}

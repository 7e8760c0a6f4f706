// The findings that equal evidence left over on both sides are read once more and described for
// matching by content in another file, or by the nearest line (moved.rules.ts). Mostly they are few
// or none, so nothing of this is kept for the other findings. Called by match-plan.ts.

import type { Db } from '../../db/db.ts';
import { quickHash } from '../../lib/quick-hash.ts';
import { parseItem } from '../document/parse.decode.ts';
import type { ScannedItem } from '../document/items.decode.ts';
import type { Report } from '../report/report.rules.ts';
import { movedOf } from '../match/evidence.rules.ts';
import { MOVED, packedHash, DUPLICATE_KEY } from '../match/evidence-table.rules.ts';
import { findingsById } from '../store/finding.queries.ts';
import type { Unmatched } from '../match/moved.rules.ts';
import { sliced } from '../lease/slices.ts';
import { isActive } from '../../findings/finding.machine.ts';
import type { StoredFindings } from './stored-findings.rules.ts';
import { NO_ROW, type ItemIndex } from '../index/item-index.rules.ts';

/** A report that can be read once more. */
export interface Rereading {
  readonly report: Report;
  readonly secretKey: Buffer;
  /** The items of the item index in the same order. */
  readonly items: () => AsyncIterable<readonly ScannedItem[]>;
}

const textOf = (hash: Buffer | null): string | null => hash && hash.toString('base64', 0, 16);

/** A finding of the same rule this many lines away may be the same one, edited. */
const REACH = 50;

/**
 * The reach of a finding that people decided not to act on. It is no wider than an edit: a wide
 * reach could hide another defect behind that decision.
 */
const REACH_OF_DECIDED = 5;

/** Paths may be long: only hashes of them are kept. */
const hashed = (...texts: readonly string[]): string => quickHash(texts).join();

/** Hashes of folder and file together, then of the file alone. */
const namesOf = (path: string): readonly [string, string] => {
  const segments = path.split('/');
  return [hashed(...segments.slice(-2)), hashed(...segments.slice(-1))];
};

/**
 * A hash of rule and file; null without a rule: then the line tells nothing. The type is part of
 * it, because one rule may find secrets and other things, which are never the same.
 */
const inFileOf = (type: string, ruleId: string, path: string): string | null =>
  ruleId === '' ? null : hashed(type, ruleId, path);

/** The stored findings of these rows, as far as they can be recognised after a move. */
export async function unmatchedStored(
  db: Db,
  tenantId: string,
  stored: StoredFindings,
  rows: readonly number[],
): Promise<Unmatched[]> {
  const unmatched: Unmatched[] = [];
  for (const slice of sliced(rows)) {
    // A finding may stand in several rows, one for each of several refs.
    const rowsOf = Map.groupBy(slice, (row) => stored.id(row));
    for (const found of await findingsById(db, tenantId, [...rowsOf.keys()])) {
      const { path, start_line: line, type, rule_id: ruleId } = found;
      if (path === null) continue;
      for (const row of rowsOf.get(found.id) ?? []) {
        unmatched.push({
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
  return unmatched;
}

/** The findings of the report in the marked rows, as far as they can be recognised after a move. */
export async function unmatchedDrafts(
  { report, secretKey, items }: Rereading,
  itemIndex: ItemIndex,
  marks: Uint8Array,
  destinationOf: (row: number) => number,
): Promise<Unmatched[]> {
  const pass = report.pass();
  const unmatched: Unmatched[] = [];
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
      unmatched.push({
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
  return unmatched;
}

// Which finding of a report is which stored one: pure, deterministic, independent of the order of the document.
// Strongest evidence first; every stored finding is used once. Within equal evidence, equal items come first, then those
// on the same line, the rest in the order of their lines. Taking matched pairs out of both sides changes no other pair,
// which is what lets an interrupted upload go on where it stopped.

import {
  CONTENT,
  type EvidenceTable,
  HashChains,
  PRODUCER,
  SAMENESS,
} from './evidence-table.rules.ts';

export type MatchedBy = 'new' | 'producer' | 'content';

/** Rows of a table that take part. */
export interface Side {
  readonly evidence: EvidenceTable;
  readonly rows: Iterable<number>;
}

/** No row. */
const NONE = -1;

const TIERS = [
  [PRODUCER, 'producer'],
  [CONTENT, 'content'],
] as const;

/** Calls `pair` for every draft that is a stored finding, with both rows and why; the others are new. */
export function match(
  drafts: Side,
  stored: Side,
  pair: (draft: number, found: number, by: MatchedBy) => void,
): void {
  let left = [...drafts.rows];
  let right = [...stored.rows];
  for (const [kind, by] of TIERS) {
    if (left.length === 0 || right.length === 0) return;
    const taken = { drafts: new Set<number>(), stored: new Set<number>() };
    for (const bucket of buckets(left, right, drafts.evidence, stored.evidence, kind)) {
      for (const [draft, found] of pairUp(bucket, drafts.evidence, stored.evidence)) {
        taken.drafts.add(draft);
        taken.stored.add(found);
        pair(draft, found, by);
      }
    }
    left = left.filter((row) => !taken.drafts.has(row));
    right = right.filter((row) => !taken.stored.has(row));
  }
}

/** Drafts and stored findings that meet in equal evidence. */
interface Bucket {
  readonly drafts: number[];
  readonly stored: number[];
}

function* buckets(
  left: readonly number[],
  right: readonly number[],
  drafts: EvidenceTable,
  stored: EvidenceTable,
  kind: typeof PRODUCER | typeof CONTENT,
): Generator<Bucket, void, undefined> {
  const chains = new HashChains(stored, kind);
  for (const row of right) if (stored.has(row, kind)) chains.add(row);
  // The first row of a chain that is equal is the same one for all drafts of a bucket: their list begins there, and goes
  // on by positions in `left`. A million buckets of one draft each would be too many objects.
  const heads = new Int32Array(stored.length).fill(NONE);
  const next = new Int32Array(left.length).fill(NONE);
  left.forEach((row, position) => {
    if (!drafts.has(row, kind)) return;
    for (const first of chains.same(drafts, row)) {
      next[position] = heads[first] as number;
      heads[first] = position;
      break;
    }
  });
  for (const first of right) {
    const members: number[] = [];
    for (let at = heads[first] as number; at !== NONE; at = next[at] as number) {
      members.push(left[at] as number);
    }
    if (members.length > 0) {
      yield { drafts: members, stored: [...chains.same(stored, first)] };
    }
  }
}

type Pairs = (readonly [number, number])[];

function pairUp(bucket: Bucket, drafts: EvidenceTable, stored: EvidenceTable): Pairs {
  const pairs: Pairs = [];
  let left = inOrder(bucket.drafts, drafts);
  let right = inOrder(bucket.stored, stored);
  // The same item exactly, then the same line, then in the order of the lines. Equal items have equal lines, so that
  // the order of lines and items is good for both.
  for (const compare of [compareItems, compareLines]) {
    const restOfLeft: number[] = [];
    const restOfRight: number[] = [];
    let at = 0;
    for (const row of left) {
      while (at < right.length && compare(stored, right[at] as number, drafts, row) < 0) {
        restOfRight.push(right[at] as number);
        at += 1;
      }
      if (at < right.length && compare(stored, right[at] as number, drafts, row) === 0) {
        pairs.push([row, right[at] as number]);
        at += 1;
      } else restOfLeft.push(row);
    }
    left = restOfLeft;
    right = [...restOfRight, ...right.slice(at)];
  }
  left.slice(0, right.length).forEach((row, position) => {
    pairs.push([row, right[position] as number]);
  });
  return pairs;
}

type Compare = (one: EvidenceTable, row: number, other: EvidenceTable, otherRow: number) => number;

const compareLines: Compare = (one, row, other, otherRow) => one.line(row) - other.line(otherRow);

const compareItems: Compare = (one, row, other, otherRow) =>
  compareLines(one, row, other, otherRow) || one.compare(row, SAMENESS, other, otherRow);

function inOrder(rows: readonly number[], table: EvidenceTable): number[] {
  return rows.length === 1 ? [...rows] : [...rows].sort((a, b) => compareItems(table, a, table, b));
}

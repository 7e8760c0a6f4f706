// Which finding of a report is which stored one: pure, deterministic, independent of the order of the document.
// Strongest evidence first; every stored finding is used once. Within equal evidence, those come first that are alike in content
// and words, and among these the lines decide. Taking matched pairs out of both sides changes neither how many of the others
// are matched nor which, unless lines alone told them apart: so an interrupted upload can go on where it stopped.

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

const wholeOf = (table: EvidenceTable, row: number): string =>
  `${table.hashText(row, CONTENT)} ${table.wordsText(row)}`;

/**
 * What those of a bucket are paired by, one after the other, before lines decide: everything that was said of them, what they
 * are, what was said, nothing. Only a producer's fingerprint brings together what differs in content or path.
 */
const LIKENESSES: readonly ((table: EvidenceTable, row: number) => string)[] = [
  wholeOf,
  (table, row) => table.hashText(row, CONTENT),
  (table, row) => table.wordsText(row),
  () => '',
];

function pairUp(
  { drafts: some, stored: known }: Bucket,
  drafts: EvidenceTable,
  stored: EvidenceTable,
): Pairs {
  const [draft, found] = [some[0], known[0]];
  if (some.length === 1 && known.length === 1) return [[draft as number, found as number]];
  const pairs: Pairs = [];
  let [left, right] = [some, known];
  for (const likeness of LIKENESSES) {
    const alike = Map.groupBy(right, (row) => likeness(stored, row));
    const taken = { drafts: new Set<number>(), stored: new Set<number>() };
    for (const [key, rows] of Map.groupBy(left, (row) => likeness(drafts, row))) {
      const others = alike.get(key);
      if (others === undefined) continue;
      for (const pair of pairByLines(
        inOrder(rows, drafts),
        inOrder(others, stored),
        likeness === wholeOf,
      )) {
        pairs.push([pair[0].row, pair[1].row]);
        taken.drafts.add(pair[0].row);
        taken.stored.add(pair[1].row);
      }
    }
    left = left.filter((row) => !taken.drafts.has(row));
    right = right.filter((row) => !taken.stored.has(row));
    if (left.length === 0 || right.length === 0) break;
  }
  return pairs;
}

/** A row with its line. */
interface Placed {
  readonly row: number;
  readonly line: number;
}

function inOrder(rows: readonly number[], table: EvidenceTable): Placed[] {
  const order = (a: number, b: number): number =>
    table.line(a) - table.line(b) ||
    table.column(a) - table.column(b) ||
    table.compare(a, SAMENESS, table, b);
  return rows.toSorted(order).map((row) => ({ row, line: table.line(row) }));
}

/**
 * Pairs those whose lines fit, then the others in the order of their lines, until one side is used up. Of items that are alike
 * (`areAlike`) the lines move together: one that is inserted above moves all of them, so that of equal items on neighbouring
 * lines each has the old line of the next. There the shift that fits most goes first, else only the same line fits.
 */
function pairByLines(
  left: readonly Placed[],
  right: readonly Placed[],
  areAlike: boolean,
): [Placed, Placed][] {
  const pairs: [Placed, Placed][] = [];
  for (let round = 1; left.length > 0 && right.length > 0; round += 1) {
    const shifts = areAlike ? shiftsOf(left, right) : [0];
    const fitting = bestOf(shifts.map((shift) => pairsAt(shift, left, right)));
    // Of many that are alike, one alone fits some shift by chance.
    const isTold = areFew(left, right) || !areAlike || (fitting.length > 1 && round <= ROUNDS_MAX);
    const next = isTold && fitting.length > 0 ? fitting : inTurn(left, right);
    pairs.push(...next);
    const taken = new Set(next.flat());
    left = left.filter((one) => !taken.has(one));
    right = right.filter((one) => !taken.has(one));
  }
  return pairs;
}

/** The first of the longest; shifts come smallest first. */
const bestOf = (all: readonly [Placed, Placed][][]): [Placed, Placed][] =>
  all.reduce((best, some) => (some.length > best.length ? some : best));

const inTurn = (left: readonly Placed[], right: readonly Placed[]): [Placed, Placed][] =>
  left.slice(0, right.length).map((one, at) => [one, right[at] as Placed]);

/** Parts of a file that moved by themselves: each is a pass over all of many items. */
const ROUNDS_MAX = 8;

/** Shifts of all with all are tried for so many. */
const TRIED_MAX = 256;

const areFew = (left: readonly Placed[], right: readonly Placed[]): boolean =>
  left.length * right.length <= TRIED_MAX;

/** By how many lines they may have moved, the smallest first: of many, as far as those at both ends tell. */
function shiftsOf(left: readonly Placed[], right: readonly Placed[]): number[] {
  const shifts = new Set([0]);
  if (areFew(left, right)) {
    for (const one of left) for (const other of right) shifts.add(one.line - other.line);
  } else {
    for (const at of [0, 1, 2, 3, -1, -2, -3, -4]) {
      const [one, other] = [left.at(at), right.at(at)];
      if (one !== undefined && other !== undefined) shifts.add(one.line - other.line);
    }
  }
  return [...shifts].sort((a, b) => Math.abs(a) - Math.abs(b) || b - a);
}

/** Those whose lines differ by the shift. */
function pairsAt(
  shift: number,
  left: readonly Placed[],
  right: readonly Placed[],
): [Placed, Placed][] {
  const pairs: [Placed, Placed][] = [];
  let at = 0;
  for (const one of left) {
    while (at < right.length && (right[at] as Placed).line + shift < one.line) at += 1;
    const other = right[at];
    if (other === undefined) break;
    if (other.line + shift !== one.line) continue;
    pairs.push([one, other]);
    at += 1;
  }
  return pairs;
}

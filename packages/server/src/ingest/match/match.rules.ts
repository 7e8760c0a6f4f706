// Matches the findings of a report with stored findings by equal evidence: pure, deterministic,
// independent of the order of the document. The strongest evidence counts first, and each stored
// finding is matched once. Among findings with equal evidence, those alike in content and words are
// paired first, and among these the lines decide. Taking a matched pair out of both sides changes
// no other pair, so an interrupted upload can go on where it stopped.

import {
  CONTENT,
  type EvidenceTable,
  HashChains,
  PRODUCER,
  DUPLICATE_KEY,
} from './evidence-table.rules.ts';

/**
 * How a finding was matched with a stored one (`moved`, `nearest`: moved.rules.ts); `new`: it was
 * not.
 */
export type MatchedBy = 'new' | EqualIn | 'moved' | 'nearest';

type EqualIn = 'producer' | 'content';

/**
 * One side of a matching, in columns: a million objects or lists of rows would take too much
 * memory.
 */
interface Side {
  readonly evidence: EvidenceTable;
  /**
   * A mark for each row of the table: 1 when the row takes part. `match` clears the marks of the
   * rows that it pairs.
   */
  readonly open: Uint8Array;
  /** The number of the destination of a row: only rows of one destination are paired. */
  readonly destinationOf: (row: number) => number;
}

/** No row. */
const NONE = -1;

const TIERS = [
  [PRODUCER, 'producer'],
  [CONTENT, 'content'],
] as const;

/**
 * Pairs drafts with stored findings: calls `pair` with both rows and the kind of evidence. A draft
 * without a call is new.
 */
export function match(
  drafts: Side,
  stored: Side,
  pair: (draft: number, found: number, by: EqualIn) => void,
): void {
  for (const [kind, by] of TIERS) {
    if (!drafts.open.includes(1) || !stored.open.includes(1)) return;
    for (const bucket of buckets(drafts, stored, kind)) {
      for (const [draft, found] of pairUp(bucket, drafts.evidence, stored.evidence)) {
        drafts.open[draft] = 0;
        stored.open[found] = 0;
        pair(draft, found, by);
      }
    }
  }
}

/** Drafts and stored findings of one destination with equal evidence. */
interface Bucket {
  readonly drafts: number[];
  readonly stored: number[];
}

function* buckets(
  drafts: Side,
  stored: Side,
  kind: typeof PRODUCER | typeof CONTENT,
): Generator<Bucket, void, undefined> {
  const takesPart = ({ evidence, open }: Side, row: number): boolean =>
    open[row] === 1 && evidence.has(row, kind);
  const chains = new HashChains(stored.evidence, kind, stored.destinationOf);
  for (let row = 0; row < stored.open.length; row += 1) {
    if (takesPart(stored, row)) chains.add(row);
  }
  // A list of drafts for each stored row. All drafts of a bucket find the same first row in their
  // chain, so the list of the bucket begins at that row.
  const heads = new Int32Array(stored.open.length).fill(NONE);
  const next = new Int32Array(drafts.open.length).fill(NONE);
  for (let row = 0; row < drafts.open.length; row += 1) {
    if (!takesPart(drafts, row)) continue;
    for (const first of chains.same(drafts.evidence, row, drafts.destinationOf(row))) {
      next[row] = heads[first] as number;
      heads[first] = row;
      break;
    }
  }
  for (let first = 0; first < heads.length; first += 1) {
    const members: number[] = [];
    for (let row = heads[first] as number; row !== NONE; row = next[row] as number) {
      members.push(row);
    }
    if (members.length > 0) {
      yield { drafts: members, stored: [...chains.same(stored.evidence, first)] };
    }
  }
  chains.release();
}

type Pairs = (readonly [number, number])[];

const wholeOf = (table: EvidenceTable, row: number): string =>
  `${table.hashText(row, CONTENT)} ${table.wordsText(row)}`;

/**
 * How the members of a bucket are paired, one way after the other, before lines decide: by
 * everything that was said of them, by what they are, by what was said, by nothing. Only a
 * fingerprint of the producer brings together findings that differ in content or path.
 */
const LIKENESSES: readonly ((table: EvidenceTable, row: number) => string)[] = [
  wholeOf,
  (table, row) => table.hashText(row, CONTENT),
  (table, row) => table.wordsText(row),
  () => '',
];

/** The pairs of a bucket: drafts with stored findings, by their rows in the two tables. */
function pairUp(bucket: Bucket, drafts: EvidenceTable, stored: EvidenceTable): Pairs {
  let { drafts: left, stored: right } = bucket;
  if (left.length === 1 && right.length === 1) return [[left[0] as number, right[0] as number]];
  const pairs: Pairs = [];
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
export interface Placed {
  readonly row: number;
  readonly line: number;
}

function inOrder(rows: readonly number[], table: EvidenceTable): Placed[] {
  const order = (a: number, b: number): number =>
    table.line(a) - table.line(b) ||
    table.column(a) - table.column(b) ||
    table.compare(a, DUPLICATE_KEY, table, b);
  return rows.toSorted(order).map((row) => ({ row, line: table.line(row) }));
}

/**
 * Pairs two sides in the order of their lines until one side is used up. Findings that are alike in
 * all but their lines (`areAlike`) move together: a line inserted above moves each of them, so that
 * one of several on neighbouring lines may now have the old line of the next. Among other findings,
 * those on the same line are paired first.
 */
export function pairByLines<T extends Placed>(
  left: readonly T[],
  right: readonly T[],
  areAlike: boolean,
): (readonly [T, T])[] {
  const steps = Math.min(left.length, right.length) * Math.abs(left.length - right.length);
  if (areAlike && steps <= STEPS_MAX) {
    if (left.length >= right.length) return nearest(right, left).map(([b, a]) => [a, b]);
    return nearest(left, right);
  }
  const pairs = onOneLine(left, right);
  const taken = new Set(pairs.flat());
  const rest = right.filter((one) => !taken.has(one));
  const others = left.filter((one) => !taken.has(one)).slice(0, rest.length);
  return [...pairs, ...others.map((one, at) => [one, rest[at] as T] as const)];
}

/**
 * The largest table of `nearest`: 40 MB, a tenth of a second. With more, some 6000 items beside
 * half as many that only lines tell apart, an interrupted upload may go on by the other way of
 * pairing.
 */
const STEPS_MAX = 10_000_000;

/**
 * A partner for each of the few, in the same order on both sides, so that the sum of the squares of
 * the line distances is the least. Taking a pair out of both sides changes no other pair.
 */
function nearest<T extends Placed>(few: readonly T[], many: readonly T[]): [T, T][] {
  const spare = many.length - few.length;
  // A row for each of the few: for each number of the many that may be passed over up to it, the
  // number that costs the least.
  const passed: Int32Array[] = [];
  let costs = new Float64Array(spare + 1);
  few.forEach(({ line }, at) => {
    const next = new Float64Array(spare + 1).fill(Number.POSITIVE_INFINITY);
    const choice = new Int32Array(spare + 1);
    for (let over = 0; over <= spare; over += 1) {
      const cost = (costs[over] as number) + ((many[at + over] as T).line - line) ** 2;
      const fewer = over === 0 ? Number.POSITIVE_INFINITY : (next[over - 1] as number);
      next[over] = Math.min(cost, fewer);
      choice[over] = cost < fewer ? over : (choice[over - 1] as number);
    }
    passed.push(choice);
    costs = next;
  });
  const pairs: [T, T][] = [];
  let over = spare;
  for (let at = few.length - 1; at >= 0; at -= 1) {
    over = passed[at]?.[over] as number;
    pairs.push([few[at] as T, many[at + over] as T]);
  }
  return pairs;
}

/** The pairs whose lines are the same. */
function onOneLine<T extends Placed>(left: readonly T[], right: readonly T[]): [T, T][] {
  const pairs: [T, T][] = [];
  let at = 0;
  for (const one of left) {
    while (at < right.length && (right[at] as T).line < one.line) at += 1;
    const other = right[at];
    if (other?.line !== one.line) continue;
    pairs.push([one, other]);
    at += 1;
  }
  return pairs;
}

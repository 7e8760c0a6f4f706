// Matches findings that equal evidence has left over: the same content in another file, or a
// finding of the same rule on the nearest line of the same file (contract §6). Pure, and
// independent of the order of the document. Taking a matched pair out of both sides changes no
// other pair, as in match.rules.ts. Called by match-plan.ts.

import { pairByLines, type Placed } from './match.rules.ts';

/** A finding of a report, or a stored one, that has no partner yet. */
export interface Unmatched extends Placed {
  /** Only findings of one destination are paired. */
  readonly destination: number;
  /** Orders findings on one line, so that chance doesn't. */
  readonly tie: string;
  /** The text of movedOf; null when there is none. */
  readonly moved: string | null;
  /** Hashes of two names: that of folder and file together, and that of the file alone. */
  readonly names: readonly [string, string];
  /** A hash of the rule and the file of a defect in code; null when its line says nothing. */
  readonly inFile: string | null;
  /** The most lines that it may be away from its old line. */
  readonly reach: number;
}

type Pair = (draft: Unmatched, found: Unmatched) => void;

/** Pairs findings of one key, which are in the order of their lines. */
type PairUp = (drafts: readonly Unmatched[], stored: readonly Unmatched[], pair: Pair) => void;

const byLines: PairUp = (drafts, stored, pair) => {
  for (const [draft, found] of pairByLines(drafts, stored, true)) pair(draft, found);
};

/** Pairs the nearest of all first, each once, within the reach of both. */
const byNearness: PairUp = (drafts, stored, pair) => {
  // Stored findings by reach and line; the first one is last, where `pop` takes it.
  const waiting = new Map<string, Unmatched[]>();
  for (const one of stored.toReversed()) {
    const key = `${one.reach} ${one.line}`;
    const there = waiting.get(key);
    if (there === undefined) waiting.set(key, [one]);
    else there.push(one);
  }
  const reaches = [...new Set(stored.map(({ reach }) => reach))].sort((a, b) => b - a);
  const furthest = reaches[0] ?? -1;
  let left = drafts;
  for (let away = 0; away <= furthest && left.length > 0; away += 1) {
    left = left.filter((draft) => {
      if (draft.reach < away) return true;
      for (const line of away === 0 ? [draft.line] : [draft.line - away, draft.line + away]) {
        for (const reach of reaches) {
          const found = reach < away ? undefined : waiting.get(`${reach} ${line}`)?.pop();
          if (found === undefined) continue;
          pair(draft, found);
          return false;
        }
      }
      return true;
    });
  }
};

/**
 * What two findings must have in common, the strongest first; null: the finding can't be paired
 * that way.
 */
const TIERS: readonly (readonly [
  'moved' | 'nearest',
  (one: Unmatched) => string | null,
  PairUp,
])[] = [
  ['moved', ({ moved, names }) => moved && `${moved} ${names[0]}`, byLines],
  ['moved', ({ moved, names }) => moved && `${moved} ${names[1]}`, byLines],
  ['moved', ({ moved }) => moved, byLines],
  ['nearest', ({ inFile }) => inFile, byNearness],
];

/**
 * Pairs drafts with stored findings: calls `pair` with both rows and the way. A draft without a
 * call is new.
 */
export function matchMoved(
  drafts: readonly Unmatched[],
  stored: readonly Unmatched[],
  pair: (draft: number, found: number, by: 'moved' | 'nearest') => void,
): void {
  let [left, right] = [drafts, stored];
  for (const [by, keyOf, pairUp] of TIERS) {
    const known = grouped(right, keyOf);
    const taken = new Set<Unmatched>();
    for (const [key, some] of grouped(left, keyOf)) {
      pairUp(some, known.get(key) ?? [], (draft, found) => {
        pair(draft.row, found.row, by);
        taken.add(draft).add(found);
      });
    }
    left = left.filter((one) => !taken.has(one));
    right = right.filter((one) => !taken.has(one));
  }
}

/** The findings that have the key, in groups, each in the order of its lines. */
function grouped(
  all: readonly Unmatched[],
  keyOf: (one: Unmatched) => string | null,
): ReadonlyMap<string, readonly Unmatched[]> {
  const groups = new Map<string, Unmatched[]>();
  for (const one of all) {
    const key = keyOf(one);
    if (key === null) continue;
    const keyAtDestination = `${one.destination} ${key}`;
    const group = groups.get(keyAtDestination);
    if (group === undefined) groups.set(keyAtDestination, [one]);
    else group.push(one);
  }
  const byTie = (a: Unmatched, b: Unmatched): number =>
    a.tie < b.tie ? -1 : Number(a.tie > b.tie);
  for (const group of groups.values()) group.sort((a, b) => a.line - b.line || byTie(a, b));
  return groups;
}

// Which findings that equal evidence has left over are the same after all: the same content in another file, or something
// else on the nearest line of the same file (contract §6). Pure, and of no matter of the order of the document. Taking
// matched pairs out of both sides changes no other pair, as in match.rules.ts. Called by moved-findings.ts.

import { pairByLines, type Placed } from './match.rules.ts';

/** A finding of a report, or a stored one, that has no partner yet. */
export interface Loose extends Placed {
  /** Only those of one destination meet. */
  readonly destination: number;
  /** Puts those on one line into an order that is no matter of chance. */
  readonly tie: string;
  /** The text of movedOf; null where it has none. */
  readonly moved: string | null;
  /** What folder and file together are called, and the file alone, as hashes. */
  readonly names: readonly [string, string];
  /** The rule of a defect in code with its file, as a hash; null where the line says nothing. */
  readonly inFile: string | null;
  /** So many lines it may be away from where it was. */
  readonly reach: number;
}

type Pair = (draft: Loose, found: Loose) => void;

/** Those of one key, in the order of their lines. */
type PairUp = (drafts: readonly Loose[], stored: readonly Loose[], pair: Pair) => void;

const byLines: PairUp = (drafts, stored, pair) => {
  for (const [draft, found] of pairByLines(drafts, stored, true)) pair(draft, found);
};

/** The nearest of all first, each once, within the reach of both. */
const byNearness: PairUp = (drafts, stored, pair) => {
  // By reach and line, the first one last.
  const waiting = new Map<string, Loose[]>();
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

/** What both have to have in common, the strongest first; null: it can't be known again that way. */
const TIERS: readonly (readonly ['moved' | 'nearest', (one: Loose) => string | null, PairUp])[] = [
  ['moved', ({ moved, names }) => moved && `${moved} ${names[0]}`, byLines],
  ['moved', ({ moved, names }) => moved && `${moved} ${names[1]}`, byLines],
  ['moved', ({ moved }) => moved, byLines],
  ['nearest', ({ inFile }) => inFile, byNearness],
];

/** Calls `pair` for every draft that is a stored finding, with both rows and why; the others are new. */
export function matchMoved(
  drafts: readonly Loose[],
  stored: readonly Loose[],
  pair: (draft: number, found: number, by: 'moved' | 'nearest') => void,
): void {
  let [left, right] = [drafts, stored];
  for (const [by, keyOf, pairUp] of TIERS) {
    const known = grouped(right, keyOf);
    const taken = new Set<Loose>();
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

/** Those that have the key, each group in the order of their lines. */
function grouped(
  all: readonly Loose[],
  keyOf: (one: Loose) => string | null,
): ReadonlyMap<string, readonly Loose[]> {
  const groups = new Map<string, Loose[]>();
  for (const one of all) {
    const key = keyOf(one);
    if (key === null) continue;
    const inSite = `${one.destination} ${key}`;
    const group = groups.get(inSite);
    if (group === undefined) groups.set(inSite, [one]);
    else group.push(one);
  }
  const byTie = (a: Loose, b: Loose): number => (a.tie < b.tie ? -1 : Number(a.tie > b.tie));
  for (const group of groups.values()) group.sort((a, b) => a.line - b.line || byTie(a, b));
  return groups;
}

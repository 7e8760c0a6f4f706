// Which findings that equal evidence has left over are the same after all: the same content in another file, or something
// else on nearly the same line of the same file (contract §6). Pure, and of no matter of the order of the document. Taking
// matched pairs out of both sides changes no other pair, as in match.rules.ts. Called by moved-findings.ts.

import { pairByLines, type Placed } from './match.rules.ts';

/** A finding of a report, or a stored one, that has no partner yet. */
export interface Loose extends Placed {
  /** Only those of one site meet. */
  readonly site: number;
  readonly path: string;
  /** The text of movedOf; null where it has none. */
  readonly moved: string | null;
  /** Puts those on one line into an order that is no matter of chance. */
  readonly tie: string;
  /** The rule of a defect in code that has a line; null where the line says nothing. */
  readonly rule: string | null;
}

/** Further away than this, something of the same rule in the same file is something else. */
const NEAREST_LINES_MAX = 50;

const lastSegments = (path: string, count: number): string =>
  path.split('/').slice(-count).join('/');

/** What both have to have in common, the strongest first; null: it can't be known again that way. */
const TIERS: readonly (readonly ['moved' | 'nearest', (one: Loose) => string | null])[] = [
  ['moved', ({ moved, path }) => moved && `${moved} ${lastSegments(path, 2)}`],
  ['moved', ({ moved, path }) => moved && `${moved} ${lastSegments(path, 1)}`],
  ['moved', ({ moved }) => moved],
  ['nearest', ({ rule, path }) => rule && `${rule}\n${path}`],
];

/** Calls `pair` for every draft that is a stored finding, with both rows and why; the others are new. */
export function matchMoved(
  drafts: readonly Loose[],
  stored: readonly Loose[],
  pair: (draft: number, found: number, by: 'moved' | 'nearest') => void,
): void {
  let [left, right] = [drafts, stored];
  for (const [by, keyOf] of TIERS) {
    const known = grouped(right, keyOf);
    const taken = new Set<Loose>();
    for (const [key, some] of grouped(left, keyOf)) {
      for (const [draft, found] of pairByLines(some, known.get(key) ?? [], by === 'nearest')) {
        if (by === 'nearest' && Math.abs(draft.line - found.line) > NEAREST_LINES_MAX) continue;
        pair(draft.row, found.row, by);
        taken.add(draft).add(found);
      }
    }
    left = left.filter((one) => !taken.has(one));
    right = right.filter((one) => !taken.has(one));
  }
}

const byText = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

/** Those that have the key, each group in the order of their lines. */
function grouped(
  all: readonly Loose[],
  keyOf: (one: Loose) => string | null,
): ReadonlyMap<string, readonly Loose[]> {
  const groups = new Map<string, Loose[]>();
  for (const one of all) {
    const key = keyOf(one);
    if (key === null) continue;
    const inSite = `${one.site} ${key}`;
    const group = groups.get(inSite);
    if (group === undefined) groups.set(inSite, [one]);
    else group.push(one);
  }
  const order = (a: Loose, b: Loose): number =>
    a.line - b.line || byText(a.path, b.path) || byText(a.tie, b.tie);
  for (const group of groups.values()) group.sort(order);
  return groups;
}

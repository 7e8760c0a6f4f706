// Which draft is which stored finding: pure, deterministic, independent of the order of the document. Strongest
// evidence first; every stored finding is used once. Within equal evidence, equal items come first, then those on the
// same line, the rest in the order of their lines. Taking matched pairs out of both sides changes no other pair, which is what lets
// an interrupted upload go on where it stopped.

import type { Evidence } from './evidence.rules.ts';

export interface MatchDraft {
  readonly evidence: Evidence;
  readonly line: number | null;
  /** Equal for equal items; also breaks ties, so that the order in the document never does. */
  readonly sameness: string;
}

export interface MatchStored extends MatchDraft {
  readonly id: string;
}

export type MatchedBy = 'new' | 'producer' | 'content';

export interface Match {
  /** For each draft: the stored finding it is, or null, and why. */
  readonly pairs: readonly { readonly storedId: string | null; readonly by: MatchedBy }[];
  /** Stored findings that no draft is. */
  readonly absent: readonly string[];
}

type Tier = 'producer' | 'content';

export function match(drafts: readonly MatchDraft[], stored: readonly MatchStored[]): Match {
  const pairs = drafts.map((): { storedId: string | null; by: MatchedBy } => ({
    storedId: null,
    by: 'new',
  }));
  const free = new Set(stored.map((_, index) => index));
  for (const tier of ['producer', 'content'] satisfies Tier[]) {
    const buckets = bucketsOf(drafts, stored, pairs, free, tier);
    for (const bucket of buckets.values()) {
      for (const [draft, found] of pairUp(bucket, drafts, stored)) {
        pairs[draft] = { storedId: (stored[found] as MatchStored).id, by: tier };
        free.delete(found);
      }
    }
    if (free.size === 0) break;
  }
  return { pairs, absent: [...free].map((index) => (stored[index] as MatchStored).id) };
}

interface Bucket {
  readonly drafts: number[];
  readonly stored: number[];
}

/** The unmatched drafts and free stored findings by equal evidence; only buckets with both sides matter. */
function bucketsOf(
  drafts: readonly MatchDraft[],
  stored: readonly MatchStored[],
  pairs: readonly { storedId: string | null }[],
  free: ReadonlySet<number>,
  tier: Tier,
): Map<string, Bucket> {
  const buckets = new Map<string, Bucket>();
  for (const index of free) {
    const key = (stored[index] as MatchStored).evidence[tier];
    if (key === null) continue;
    const bucket = buckets.get(key);
    if (bucket === undefined) buckets.set(key, { drafts: [], stored: [index] });
    else bucket.stored.push(index);
  }
  drafts.forEach((draft, index) => {
    const key = draft.evidence[tier];
    if (key === null || pairs[index]?.storedId !== null) return;
    // A producer that says "another fingerprint" is believed before the content says "the same".
    buckets.get(key)?.drafts.push(index);
  });
  return buckets;
}

function pairUp(
  bucket: Bucket,
  drafts: readonly MatchDraft[],
  stored: readonly MatchStored[],
): [number, number][] {
  if (bucket.drafts.length === 1 && bucket.stored.length === 1) {
    return [[bucket.drafts[0] as number, bucket.stored[0] as number]];
  }
  const result: [number, number][] = [];
  let left = sorted(bucket.drafts, (index) => drafts[index] as MatchDraft);
  let right = sorted(bucket.stored, (index) => stored[index] as MatchStored);
  // The same item exactly, then the same line, then in the order of the lines.
  for (const keyOf of [sameItem, sameLine]) {
    const byKey = new Map<string, number[]>();
    for (const index of right) {
      const key = keyOf(stored[index] as MatchStored);
      const known = byKey.get(key);
      if (known === undefined) byKey.set(key, [index]);
      else known.push(index);
    }
    const used = new Set<number>();
    left = left.filter((index) => {
      const found = byKey.get(keyOf(drafts[index] as MatchDraft))?.shift();
      if (found === undefined) return true;
      used.add(found);
      result.push([index, found]);
      return false;
    });
    right = right.filter((index) => !used.has(index));
  }
  left.slice(0, right.length).forEach((index, position) => {
    result.push([index, right[position] as number]);
  });
  return result;
}

const sameItem = (item: MatchDraft): string => item.sameness;
const sameLine = (item: MatchDraft): string => String(item.line ?? 0);

function sorted(indices: readonly number[], itemOf: (index: number) => MatchDraft): number[] {
  return [...indices].sort((a, b) => {
    const [one, two] = [itemOf(a), itemOf(b)];
    const byLine = (one.line ?? 0) - (two.line ?? 0);
    if (byLine !== 0) return byLine;
    return one.sameness < two.sameness ? -1 : one.sameness > two.sameness ? 1 : 0;
  });
}

// Looser matching over generated leftovers: each leftover is used once, the order doesn't matter,
// and removing a pair from both sides changes nothing for the others.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Unmatched, matchMoved } from '../../src/ingest/match/moved.rules.ts';

const RUNS = { numRuns: 500 };

const unmatched = fc.record({
  destination: fc.constantFrom(0, 1),
  line: fc.integer({ min: 1, max: 120 }),
  moved: fc.constantFrom(null, 'm1', 'm2'),
  names: fc.constantFrom<[string, string]>(['a/x', 'x'], ['b/x', 'x'], ['b/y', 'y']),
  inFile: fc.constantFrom(null, 'r1 a', 'r1 b', 'r2 a'),
  reach: fc.constantFrom(5, 50),
});

/** All leftovers of a side, each with a value of its own that breaks ties. */
const side = fc
  .array(unmatched, { maxLength: 12 })
  .map((all): Unmatched[] => all.map((one, row) => ({ ...one, row, tie: `t${row}` })));

function pairsOf(drafts: readonly Unmatched[], stored: readonly Unmatched[]): string[] {
  const pairs: string[] = [];
  matchMoved(drafts, stored, (draft, found, by) => pairs.push(`${draft} ${found} ${by}`));
  return pairs.sort();
}

test('each is used once, by what both have', () => {
  fc.assert(
    fc.property(side, side, (drafts, stored) => {
      const [used, found] = [new Set<number>(), new Set<number>()];
      matchMoved(drafts, stored, (draft, row, by) => {
        const [one, other] = [drafts[draft] as Unmatched, stored[row] as Unmatched];
        assert.equal(one.destination, other.destination);
        if (by === 'moved') assert.ok(one.moved !== null && one.moved === other.moved);
        else {
          assert.ok(one.inFile !== null && one.inFile === other.inFile);
          assert.ok(Math.abs(one.line - other.line) <= Math.min(one.reach, other.reach));
        }
        assert.ok(!used.has(draft) && !found.has(row));
        used.add(draft);
        found.add(row);
      });
    }),
    RUNS,
  );
});

test('the order of neither side matters', () => {
  fc.assert(
    fc.property(side, side, (drafts, stored) => {
      assert.deepEqual(
        pairsOf([...drafts].reverse(), [...stored].reverse()),
        pairsOf(drafts, stored),
      );
    }),
    RUNS,
  );
});

test('pairs that are taken out of both sides change no other pair', () => {
  fc.assert(
    fc.property(side, side, fc.array(fc.boolean(), { maxLength: 12 }), (drafts, stored, gone) => {
      const all = pairsOf(drafts, stored);
      const taken = all.filter((_, at) => gone[at] === true);
      const rows = (at: number): Set<number> =>
        new Set(taken.map((pair) => Number(pair.split(' ')[at])));
      const [some, known] = [rows(0), rows(1)];
      const rest = pairsOf(
        drafts.filter(({ row }) => !some.has(row)),
        stored.filter(({ row }) => !known.has(row)),
      );
      assert.deepEqual(
        rest,
        all.filter((pair) => !taken.includes(pair)),
      );
    }),
    RUNS,
  );
});

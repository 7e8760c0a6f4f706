// Matching as a function: whatever drafts meet whatever stored findings, the order says nothing, equal meets equal,
// nothing is used twice, and what was settled can be taken away without changing the rest. Few different hashes and
// lines, so that almost everything is ambiguous.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FINDING_OUTCOMES } from '@muster/contract';
import fc from 'fast-check';
import { decodeSarif } from '../../src/ingest/sarif.decode.ts';
import {
  type StoredEvidence,
  packEvidence,
  unpackEvidence,
} from '../../src/ingest/evidence.format.ts';
import { match, type MatchDraft, type MatchStored } from '../../src/ingest/match.rules.ts';
import { mustRefuse, noBatch, noFrame, receiptOf } from '../../src/ingest/receipt.rules.ts';
import { survey } from '../../src/ingest/survey.rules.ts';
import { randomOf } from '../generate/random.ts';
import { sarifOf, sightsOf } from '../generate/reports.ts';

const RUNS = { numRuns: 500 };

const producer = fc.option(fc.constantFrom('p1', 'p2', 'p3'), { nil: null });
const content = fc.constantFrom('c1', 'c2', 'c3');
const line = fc.option(fc.integer({ min: 1, max: 5 }), { nil: null });
const words = fc.constantFrom('one', 'two');

/** As samenessOf does: evidence, line and words. */
const draft: fc.Arbitrary<MatchDraft> = fc
  .record({ producer, content, line, words })
  .map(({ producer, content, line, words }) => ({
    evidence: { producer, content },
    line,
    sameness: `${producer} ${content} ${line} ${words}`,
  }));

/** A report's drafts: the survey folds equal ones, so none comes twice. */
const drafts = fc.uniqueArray(draft, { selector: (one) => one.sameness, maxLength: 14 });
/** Stored findings by their number; these may be equal, as two findings of former reports can become. */
const stored = fc
  .array(draft, { maxLength: 14 })
  .map((all) => all.map((one, index): MatchStored => ({ ...one, id: `f${index}` })));

const by = (
  all: readonly MatchDraft[],
  pairs: ReturnType<typeof match>['pairs'],
): Map<string, string> =>
  new Map(all.map((one, index) => [one.sameness, JSON.stringify(pairs[index])]));

test('the order of a report decides nothing', () => {
  fc.assert(
    fc.property(drafts, stored, fc.nat(), (some, known, seed) => {
      const shuffled = randomOf(seed).shuffled(some);
      const one = match(some, known);
      const other = match(shuffled, known);
      assert.deepEqual(by(shuffled, other.pairs), by(some, one.pairs));
      assert.deepEqual([...other.absent].sort(), [...one.absent].sort());
    }),
    RUNS,
  );
});

test('the order in which findings are read decides nothing but which of two equal ones', () => {
  fc.assert(
    fc.property(drafts, stored, fc.nat(), (some, known, seed) => {
      const likeness = new Map(known.map((one) => [one.id, one.sameness]));
      const shown = (result: ReturnType<typeof match>): unknown[] =>
        result.pairs.map((pair) => [pair.by, likeness.get(pair.storedId ?? '') ?? null]);
      const shuffled = randomOf(seed).shuffled(known);
      assert.deepEqual(shown(match(some, shuffled)), shown(match(some, known)));
    }),
    RUNS,
  );
});

test('the same report again matches every finding with itself', () => {
  fc.assert(
    fc.property(drafts, (some) => {
      const known = some.map((one, index): MatchStored => ({ ...one, id: `f${index}` }));
      const { pairs, absent } = match(some, known);
      assert.deepEqual(
        pairs.map((pair) => pair.storedId),
        known.map((one) => one.id),
      );
      assert.deepEqual(absent, []);
    }),
    RUNS,
  );
});

test('every stored finding is used once or absent', () => {
  fc.assert(
    fc.property(drafts, stored, (some, known) => {
      const { pairs, absent } = match(some, known);
      const used = pairs.flatMap((pair) => (pair.storedId === null ? [] : [pair.storedId]));
      assert.deepEqual([...used, ...absent].sort(), known.map((one) => one.id).sort());
    }),
    RUNS,
  );
});

test('only shared evidence makes a match, never a line alone', () => {
  fc.assert(
    fc.property(drafts, stored, (some, known) => {
      const byId = new Map(known.map((one) => [one.id, one]));
      match(some, known).pairs.forEach((pair, index) => {
        if (pair.storedId === null) return assert.equal(pair.by, 'new');
        assert.ok(pair.by !== 'new');
        const evidence = some[index]?.evidence[pair.by];
        assert.ok(evidence !== null && evidence === byId.get(pair.storedId)?.evidence[pair.by]);
      });
    }),
    RUNS,
  );
});

test('nothing stays unmatched on both sides with the same evidence', () => {
  fc.assert(
    fc.property(drafts, stored, (some, known) => {
      const { pairs, absent } = match(some, known);
      const left = new Set(
        known.filter((one) => absent.includes(one.id)).map((one) => one.evidence.content),
      );
      pairs.forEach((pair, index) => {
        if (pair.storedId === null) assert.ok(!left.has(some[index]?.evidence.content ?? ''));
      });
    }),
    RUNS,
  );
});

test('what was settled before an interruption can be taken away without changing the rest', () => {
  fc.assert(
    fc.property(drafts, stored, fc.infiniteStream(fc.boolean()), (some, known, coins) => {
      const whole = match(some, known);
      const settled = some.map(() => coins.next().value === true);
      const gone = new Set(whole.pairs.filter((_, index) => settled[index]).map((p) => p.storedId));
      const rest = match(
        some.filter((_, index) => !settled[index]),
        known.filter((one) => !gone.has(one.id)),
      );
      assert.deepEqual(
        rest.pairs,
        whole.pairs.filter((_, index) => !settled[index]),
      );
    }),
    RUNS,
  );
});

test('every item of a report has one outcome, and refused or not the receipt adds up', () => {
  fc.assert(
    fc.property(fc.nat(), fc.integer({ min: 1, max: 60 }), (seed, size) => {
      const random = randomOf(seed);
      const [sight] = sightsOf(random, 1, { defectsMin: 1, defectsMax: size, placesMax: 4 });
      if (sight === undefined) return;
      const document = sarifOf(random, sight);
      const { tally, groups } = survey(decodeSarif(document, {}), Buffer.alloc(32));
      const written = groups.reduce((sum, group) => sum + group.entries.length, 0);
      assert.equal(written + tally.duplicate + tally.notProblem + tally.rejected, tally.received);
      if (mustRefuse(tally)) return;
      const { findings } = receiptOf({
        uploadId: 'u',
        scanId: 's',
        format: 'sarif',
        tool: null,
        tally,
        written: { ...noBatch(), created: written },
        assets: noFrame(),
        dependencies: noFrame(),
        relationships: noFrame(),
        resolved: 0,
        held: 0,
        warnings: [],
        warningsTotal: 0,
        refused: false,
      });
      const sum = FINDING_OUTCOMES.reduce((total, outcome) => total + findings[outcome], 0);
      assert.equal(sum, findings.received);
    }),
    { numRuns: 200 },
  );
});

test('evidence comes out of its stored form as it went in', () => {
  const hex = fc
    .uint8Array({ minLength: 16, maxLength: 16 })
    .map((b) => Buffer.from(b).toString('hex'));
  const evidence: fc.Arbitrary<StoredEvidence> = fc.record({
    producer: fc.option(hex, { nil: null }),
    content: hex,
    sameness: hex,
  });
  fc.assert(
    fc.property(evidence, ({ ...one }) => {
      assert.deepEqual(unpackEvidence(packEvidence(one)), one);
      // Drivers hand out views into larger buffers.
      const packed = packEvidence(one);
      const view = Buffer.concat([Buffer.alloc(3), packed]).subarray(3);
      assert.deepEqual(unpackEvidence(view), one);
    }),
    RUNS,
  );
});

// Matching as a function: for any drafts and any stored findings, the order doesn't matter, equal
// meets equal, nothing is used twice, and removing a matched pair doesn't change the rest. Few
// different hashes and lines, so that almost everything is ambiguous.

import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { FINDING_OUTCOMES } from '@muster/contract';
import fc from 'fast-check';
import { evidenceOf } from '../../src/ingest/match/evidence.rules.ts';
import {
  CONTENT,
  EvidenceTable,
  type HashKind,
  PRODUCER,
  RAW,
  DUPLICATE_KEY,
} from '../../src/ingest/match/evidence-table.rules.ts';
import { match as matchRows, type MatchedBy } from '../../src/ingest/match/match.rules.ts';
import { tooManyRejected, receiptOf } from '../../src/ingest/finish/receipt.rules.ts';
import { noBatch } from '../../src/ingest/reconcile/batch-counts.rules.ts';
import { noListCounts } from '../../src/ingest/inventory/list-counts.rules.ts';
import { Warnings } from '../../src/ingest/json/warnings.decode.ts';
import { ItemIndex } from '../../src/ingest/index/item-index.rules.ts';
import { randomOf } from '../generate/random.ts';
import { sarifOf, sightsOf } from '../generate/reports.ts';
import { decodeSarif, onlyDraft, sarif } from '../ingest/formats/readers.ts';

/** A finding by words that stand for its hashes. */
interface MatchDraft {
  readonly evidence: { readonly producer: string | null; readonly content: string };
  readonly line: number | null;
  readonly words: string;
  /** Equal for equal items. */
  readonly duplicateKey: string;
}

/** The key as duplicateKeyOf makes it: words first, then the place, mixed with the evidence. */
function mixed(
  words: string,
  line: number | null,
  content: Buffer,
  producer: Buffer | null,
): Buffer {
  const said = Buffer.concat([hashOf(words).subarray(0, 8), Buffer.alloc(8)]);
  said.writeInt32LE(line ?? -1, 8);
  return Buffer.from(said.map((byte, at) => byte ^ (content[at] ?? 0) ^ (producer?.[at] ?? 0)));
}

interface MatchStored extends MatchDraft {
  readonly id: string;
}

const hashOf = (word: string): Buffer => hash('sha256', word, 'buffer');

function tableOf(all: readonly MatchDraft[]): EvidenceTable {
  const table = new EvidenceTable();
  for (const { evidence, words, line } of all) {
    const producer = evidence.producer === null ? null : hashOf(evidence.producer);
    const content = hashOf(evidence.content);
    table.add({ producer, content, duplicateKey: mixed(words, line, content, producer) }, line);
  }
  return table;
}

interface Result {
  readonly pairs: readonly { readonly storedId: string | null; readonly by: MatchedBy }[];
  readonly absent: readonly string[];
}

/** The matching of columns, in terms of whole findings. */
function match(some: readonly MatchDraft[], known: readonly MatchStored[]): Result {
  const pairs: { storedId: string | null; by: MatchedBy }[] = some.map(() => ({
    storedId: null,
    by: 'new',
  }));
  const absent = new Set(known.map((one) => one.id));
  matchRows(
    { evidence: tableOf(some), open: new Uint8Array(some.length).fill(1), destinationOf: () => 0 },
    {
      evidence: tableOf(known),
      open: new Uint8Array(known.length).fill(1),
      destinationOf: () => 0,
    },
    (row, found, by) => {
      const { id } = known[found] as MatchStored;
      assert.ok(absent.delete(id), 'a stored finding is used once');
      assert.equal(pairs[row]?.storedId, null, 'a draft is one finding');
      pairs[row] = { storedId: id, by };
    },
  );
  return { pairs, absent: [...absent] };
}

const RUNS = { numRuns: 500 };

const producer = fc.option(fc.constantFrom('p1', 'p2', 'p3'), { nil: null });
const content = fc.constantFrom('c1', 'c2', 'c3');
const line = fc.option(fc.integer({ min: 1, max: 5 }), { nil: null });
const words = fc.constantFrom('one', 'two');

/** As duplicateKeyOf does: evidence, line and words. */
const draft: fc.Arbitrary<MatchDraft> = fc
  .record({ producer, content, line, words })
  .map(({ producer, content, line, words }) => ({
    evidence: { producer, content },
    line,
    words,
    duplicateKey: `${producer} ${content} ${line} ${words}`,
  }));

/** A report's drafts: the item index folds equal ones, so none comes twice. */
const drafts = fc.uniqueArray(draft, { selector: (one) => one.duplicateKey, maxLength: 14 });
/**
 * Stored findings by their number; these may be equal, as two findings of former reports can
 * become.
 */
const stored = fc
  .array(draft, { maxLength: 14 })
  .map((all) => all.map((one, index): MatchStored => ({ ...one, id: `f${index}` })));

const by = (all: readonly MatchDraft[], pairs: Result['pairs']): Map<string, string> =>
  new Map(all.map((one, index) => [one.duplicateKey, JSON.stringify(pairs[index])]));

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
      const likeness = new Map(known.map((one) => [one.id, one.duplicateKey]));
      const shown = (result: Result): unknown[] =>
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
        assert.ok(pair.by === 'producer' || pair.by === 'content');
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

test('so it is with many that lines alone tell apart, however much longer one side is', () => {
  const evidence = { producer: null, content: 'c' };
  const alike = fc
    .uniqueArray(fc.integer({ min: 1, max: 400 }), { maxLength: 200, size: 'max' })
    .map((lines) => lines.map((line) => ({ evidence, line, words: 'w', duplicateKey: `${line}` })));
  const coins = fc.array(fc.boolean(), { minLength: 200, maxLength: 200 });
  fc.assert(
    fc.property(alike, alike, coins, (some, all, settled) => {
      const known = all.map((one, index): MatchStored => ({ ...one, id: `f${index}` }));
      const { pairs } = match(some, known);
      const gone = new Set(pairs.filter((_, index) => settled[index]).map((p) => p.storedId));
      const rest = match(
        some.filter((_, index) => settled[index] !== true),
        known.filter((one) => !gone.has(one.id)),
      );
      assert.deepEqual(
        rest.pairs,
        pairs.filter((_, index) => settled[index] !== true),
      );
    }),
    { numRuns: 100 },
  );
});

/**
 * For each line of a report, the stored line it is matched with; the items are equal except for
 * their lines.
 */
const moved = (before: readonly number[], after: readonly number[]): (number | undefined)[] => {
  const at = (line: number): MatchDraft => {
    const evidence = { producer: null, content: 'c' };
    return { evidence, line, words: 'one', duplicateKey: `${line}` };
  };
  const known = before.map((line) => ({ ...at(line), id: String(line) }));
  const { pairs } = match(after.map(at), known);
  return pairs.map(({ storedId }) => (storedId === null ? undefined : Number(storedId)));
};

test('equal items move together, as the lines of a file do', () => {
  assert.deepEqual(moved([10, 11, 12], [11, 12, 13]), [10, 11, 12], 'a line inserted above');
  assert.deepEqual(moved([10, 20, 30], [21, 31]), [20, 30], 'and the first one fixed');
  assert.deepEqual(moved([10, 20, 30], [10, 21, 31]), [10, 20, 30], 'inserted between');
  assert.deepEqual(moved([10, 20], [10, 15, 20]), [10, undefined, 20], 'another made');
  assert.deepEqual(moved([10, 11, 12], [13, 14]), [11, 12], 'the first one fixed, two inserted');
  assert.deepEqual(moved([10, 20, 30], [23]), [20], 'the nearest');
  const many = Array.from({ length: 400 }, (_, at) => 10 + at);
  const shifted = many.map((line) => line + 3);
  assert.deepEqual(moved(many, shifted), many, 'many of them');
});

test('words and content tell before lines do', () => {
  const one = (content: string, words: string, line: number): MatchDraft => {
    const evidence = { producer: 'the same in both files', content };
    return { evidence, line, words, duplicateKey: `${content} ${words} ${line}` };
  };
  const known = [
    { ...one('a.js', 'in a', 30), id: 'a' },
    { ...one('b.js', 'in b', 50), id: 'b' },
  ];
  const idsOf = (...some: MatchDraft[]) => match(some, known).pairs.map((pair) => pair.storedId);
  assert.deepEqual(idsOf(one('b.js', 'in b', 51)), ['b'], 'one file was fixed');
  assert.deepEqual(idsOf(one('a.js', 'in a', 60), one('b.js', 'in b', 51)), ['a', 'b']);
  assert.deepEqual(idsOf(one('edited', 'in a', 50), one('b.js', 'other', 30)), ['a', 'b']);
  assert.deepEqual(idsOf(one('c.js', 'in c', 50)), ['b'], 'nothing but the line is the same');
});

test('the same finding on very many assets repeats nothing, and is told apart at once', () => {
  const itemIndex = new ItemIndex(new Warnings());
  const draft = onlyDraft(decodeSarif(sarif([{ message: { text: 'the same on all of them' } }])));
  const evidence = evidenceOf({ ...draft, detail: () => draft.detail }, Buffer.alloc(32));
  // If each were compared with each, this many would take minutes.
  const assets = Array.from({ length: 200_000 }, (_, asset) => asset);
  for (const asset of [...assets, 7]) {
    const sent = { ...draft, asset, detail: () => draft.detail };
    itemIndex.takeFinding(sent, false, evidence, true, 0);
  }
  const repeats = itemIndex.markRepeats(assets);
  assert.equal(itemIndex.tally.duplicate, 1);
  assert.equal(repeats.indexOf(1), assets.length);
});

test('every item of a report has one outcome, and refused or not the receipt adds up', () => {
  fc.assert(
    fc.property(fc.nat(), fc.integer({ min: 1, max: 60 }), (seed, size) => {
      const random = randomOf(seed);
      const [sight] = sightsOf(random, 1, { defectsMin: 1, defectsMax: size, placesMax: 4 });
      if (sight === undefined) return;
      const document = sarifOf(random, sight);
      const itemIndex = new ItemIndex(new Warnings());
      for (const item of decodeSarif(document).items()) {
        if (item.outcome !== 'finding') itemIndex.take(item, null);
        else {
          const draft = { ...item.draft, detail: () => item.draft.detail };
          const evidence = evidenceOf(draft, Buffer.alloc(32));
          itemIndex.takeFinding(draft, draft.suppressed, evidence, true, 0);
        }
      }
      const repeats = itemIndex.markRepeats(itemIndex.groups.map((_, group) => group));
      const { tally } = itemIndex;
      const written = repeats.filter((mark) => mark === 0).length;
      assert.equal(written + tally.duplicate + tally.notProblem + tally.rejected, tally.received);
      if (tooManyRejected(tally, noListCounts()) !== null) return;
      const { findings } = receiptOf({
        uploadId: 'u',
        scanId: 's',
        format: 'sarif',
        tool: null,
        tally,
        written: { ...noBatch(), created: written },
        assets: noListCounts(),
        dependencies: noListCounts(),
        relationships: noListCounts(),
        endpoints: noListCounts(),
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
  const bytes = fc.uint8Array({ minLength: 16, maxLength: 16 }).map((b) => Buffer.from(b));
  const maybe = fc.option(bytes, { nil: null });
  const row = fc.record({ producer: maybe, content: bytes, duplicateKey: bytes, raw: maybe });
  fc.assert(
    fc.property(fc.array(row, { minLength: 1, maxLength: 5 }), (rows) => {
      const [table, read] = [new EvidenceTable(), new EvidenceTable()];
      for (const { raw: _, ...evidence } of rows) table.add(evidence, 7);
      rows.forEach((one, index) => {
        // Drivers hand out views into larger buffers.
        const packed = table.pack(index, one.raw, null);
        read.addPacked(Buffer.concat([Buffer.alloc(3), packed]).subarray(3), 7);
        const hashes: [HashKind, Buffer | null][] = [
          [PRODUCER, one.producer],
          [CONTENT, one.content],
          [DUPLICATE_KEY, one.duplicateKey],
          [RAW, one.raw],
        ];
        for (const [kind, hash] of hashes) {
          assert.equal(read.has(index, kind), hash !== null);
          assert.equal(hash !== null && read.isHash(index, kind, hash), hash !== null);
        }
        assert.deepEqual(read.pack(index, one.raw, null), packed);
        assert.ok(read.isSameIdentity(index, table, index));
        assert.equal(read.line(index), 7);
      });
    }),
    RUNS,
  );
});

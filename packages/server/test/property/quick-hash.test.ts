// The quick hash tells texts apart: equal texts have one hash, and no two random texts share one.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { quickHash } from '../../src/lib/quick-hash.ts';

const texts = fc.array(fc.string({ unit: 'binary', maxLength: 20 }), { maxLength: 4 });

test('lists of texts have the same hash exactly when they are the same', () => {
  fc.assert(
    fc.property(texts, texts, (one, other) => {
      const isSame = JSON.stringify(one) === JSON.stringify(other);
      const [first, second] = quickHash(one);
      assert.deepEqual(quickHash([...one]), [first, second]);
      const [otherFirst, otherSecond] = quickHash(other);
      assert.equal(first === otherFirst && second === otherSecond, isSame);
    }),
    {
      numRuns: 2000,
      examples: [
        [
          ['ab', 'c'],
          ['a', 'bc'],
        ],
        [['', ''], ['']],
        [['a'], ['a', '']],
      ],
    },
  );
});

test('a hundred thousand texts that differ in one digit have as many hashes, in each half nearly as many', () => {
  const hashes = Array.from({ length: 100_000 }, (_, n) =>
    quickHash([`src/file-${n}.ts`, 'eval()']),
  );
  assert.equal(new Set(hashes.map((hash) => hash.join())).size, hashes.length);
  for (const half of [0, 1]) {
    const distinct = new Set(hashes.map((hash) => hash[half])).size;
    // By chance one or two of so many are equal in 32 bits.
    assert.ok(distinct > hashes.length - 20, `${distinct} of ${hashes.length}`);
  }
});

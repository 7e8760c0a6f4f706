// Lists outside of the heap hold the same as an array would, whatever values come in whatever
// order: their segments change their width with the values.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { GrowingIds } from '../../src/lib/growing-ids.ts';
import { GrowingInts } from '../../src/lib/growing-ints.ts';

/** Integers around the bounds of one, two and four bytes. */
const int = fc.oneof(
  fc.integer({ min: -130, max: 130 }),
  fc.integer({ min: -32_770, max: 32_770 }),
  fc.integer(),
  fc.constantFrom(127, 128, -128, -129, 32_767, 32_768, -32_768, -32_769, 2 ** 31 - 1, -(2 ** 31)),
);

/** More integers than a segment has, so that some end up in a segment of their own. */
const MANY = 16_384 + 10;

test('a list of integers holds what an array would', () => {
  const write = fc.record({ index: fc.nat({ max: MANY - 1 }), value: int });
  fc.assert(
    fc.property(fc.array(int, { minLength: 1 }), fc.array(write), (some, writes) => {
      const list = new GrowingInts();
      const expected = Array.from({ length: MANY }, (_, at) => some[at % some.length] as number);
      for (const value of expected) list.push(value);
      for (const { index, value } of writes) {
        expected[index] = value;
        list.set(index, value);
      }
      assert.equal(list.length, MANY);
      assert.deepEqual(
        expected.map((_, at) => list.at(at)),
        expected,
      );
    }),
    { numRuns: 50 },
  );
});

test('of what needs more than 32 bits the last ones stay: bytes of a document up to 4 GiB', () => {
  const list = new GrowingInts();
  list.push(3);
  list.push(2 ** 32 - 1);
  list.push(2 ** 31 + 5);
  assert.deepEqual(
    [0, 1, 2].map((at) => list.at(at) >>> 0),
    [3, 2 ** 32 - 1, 2 ** 31 + 5],
  );
});

test('a list that gave its memory back is empty, and may be filled again', () => {
  const list = new GrowingInts();
  for (let value = 0; value < MANY; value += 1) list.push(value);
  list.release();
  assert.equal(list.length, 0);
  list.push(-7);
  assert.equal(list.at(0), -7);
});

test('a list of ids holds them in lower case, and refuses what is none', () => {
  fc.assert(
    fc.property(fc.array(fc.uuid()), (ids) => {
      const list = new GrowingIds();
      for (const id of ids) list.push(id.toUpperCase());
      assert.equal(list.length, ids.length);
      assert.deepEqual(
        ids.map((_, at) => list.at(at)),
        ids,
      );
    }),
  );
  assert.throws(() => new GrowingIds().push('finding 1'), TypeError);
});

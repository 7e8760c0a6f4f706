// A node's memory of its offers: which commands a runner ignores, and which it gave back.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OfferCounts } from '../../src/commands/commands.rules.ts';
import { GivenBack } from '../../src/commands/given-back.ts';

const scan = (id: string) => ({ id, type: 'scan' });
const odd = (id: string) => ({ id, type: 'odd' });

test('an answer of which nothing is claimed counts for all of it, one of which something is claimed for nothing', () => {
  const offers = new OfferCounts();
  const counts = (...ids: string[]) => ids.map((id) => offers.count('r', id));
  offers.offered('r', [scan('a'), odd('x')]);
  offers.offered('r', [scan('a'), scan('b'), odd('x')]);
  assert.deepEqual(counts('a', 'b', 'x'), [2, 1, 2]);
  offers.taken('r', 'a');
  assert.deepEqual(
    counts('a', 'b', 'x'),
    [0, 0, 1],
    'a type that it claims is none that it ignores',
  );
  offers.taken('r', 'b');
  assert.deepEqual(counts('x'), [1], 'one answer is taken back once');
  offers.offered('r', [odd('x')]);
  offers.taken('other', 'x');
  assert.deepEqual(counts('x'), [2]);
});

test('what is given back rests for longer each time, up to five minutes, for that runner only', () => {
  const given = new GivenBack();
  const rests: number[] = [];
  let nowMs = 0;
  for (let n = 0; n < 8; n += 1) {
    given.gaveBack('r', 'c', nowMs);
    given.gaveBack('r', 'c', nowMs + 1);
    rests.push(given.restMs('r', 'c', nowMs));
    nowMs += given.restMs('r', 'c', nowMs);
    assert.equal(given.restMs('r', 'c', nowMs), 0);
  }
  assert.deepEqual(
    rests,
    [5, 10, 20, 40, 80, 160, 300, 300].map((seconds) => seconds * 1000),
  );
  assert.equal(given.restMs('other', 'c', nowMs), 0);
});

test('a runner that did something with it, or left it alone for long, begins anew', () => {
  const given = new GivenBack();
  given.gaveBack('r', 'c', 0);
  given.gaveBack('r', 'c', 5000);
  given.forget('r', 'c');
  given.gaveBack('r', 'c', 15_000);
  assert.equal(given.restMs('r', 'c', 15_000), 5000);
  given.gaveBack('r', 'c', 20_000);
  given.gaveBack('r', 'c', 1_000_000);
  assert.equal(given.restMs('r', 'c', 1_000_000), 5000);
});

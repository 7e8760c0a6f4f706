// While one runner is about to claim a command, others are shown something else; when it doesn't
// claim, they hear of the command.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RecentOffers } from '../../src/commands/poll/recent-offers.ts';

const free = { tenant_id: 't', id: 'c', runner_id: null, target: null };

test('a command that was just offered is with that runner, until it is claimed or a second has passed', () => {
  const recent = new RecentOffers();
  recent.offered('a', free, 0);
  assert.deepEqual(
    [
      recent.isWithAnother('a', 'c', 1),
      recent.isWithAnother('b', 'c', 1),
      recent.isWithAnother('b', 'c', 1000),
    ],
    [false, true, false],
  );
  recent.taken('c');
  assert.equal(recent.isWithAnother('b', 'c', 1), false);
  assert.deepEqual(recent.lapsed(5000, 10), []);
});

test('an offer that nobody took up is told once, and another’s look meanwhile doesn’t prolong it', () => {
  const recent = new RecentOffers();
  recent.offered('a', free, 0);
  recent.offered('b', free, 900);
  assert.deepEqual(recent.lapsed(999, 10), []);
  assert.deepEqual(recent.lapsed(1000, 10), [free]);
  assert.deepEqual(recent.lapsed(1000, 10), []);
});

test('at most as many are told as were asked for; the rest comes next; a pinned command is nobody else’s', () => {
  const recent = new RecentOffers();
  for (const id of ['1', '2', '3']) recent.offered('a', { ...free, id }, 0);
  recent.offered('a', { ...free, id: 'pinned', runner_id: 'a' }, 0);
  assert.deepEqual(
    [recent.lapsed(2000, 2), recent.lapsed(2000, 2)].map((some) => some.map(({ id }) => id)),
    [['1', '2'], ['3']],
  );
});

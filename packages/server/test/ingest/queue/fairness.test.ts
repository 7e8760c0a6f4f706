// Whose upload is next (fairness.rules.ts): tenants by what they have in work, then in turn; the
// runners of a tenant likewise.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inTurn, Turns } from '../../../src/ingest/queue/fairness.rules.ts';
import type { UploadFlow } from '../../../src/ingest/store/upload-work.queries.ts';

const flow = (tenant: string, runner: string, more: Partial<UploadFlow> = {}): UploadFlow => ({
  tenant_id: tenant,
  runner_id: `${tenant}.${runner}`,
  in_work: 0,
  due_since: 1,
  ...more,
});

const names = (flows: readonly UploadFlow[]): string[] => flows.map(({ runner_id: id }) => id);

/** Serves whoever is next `count` times, as if their uploads never came to an end. */
function serve(flows: readonly UploadFlow[], count: number): string[] {
  const turns = new Turns();
  return Array.from({ length: count }, () => {
    const [next] = inTurn(flows, turns);
    assert.ok(next !== undefined);
    turns.served(next);
    return next.runner_id;
  });
}

test('tenants take turns, however many runners each has waiting', () => {
  const flows = [flow('a', '1'), flow('a', '2'), flow('a', '3'), flow('b', '1', { due_since: 9 })];
  const served = serve(flows, 12);
  const ofB = served.filter((id) => id === 'b.1').length;
  assert.equal(ofB, 6, served.join(' '));
  for (const runner of ['a.1', 'a.2', 'a.3'])
    assert.equal(served.filter((id) => id === runner).length, 2, served.join(' '));
});

test('the tenant with the fewest in work comes first, whoever’s turn it is', () => {
  const turns = new Turns();
  const flows = [
    flow('a', '1', { in_work: 2 }),
    flow('b', '1', { in_work: 1, due_since: 5 }),
    flow('b', '2', { in_work: 0, due_since: 7 }),
    flow('c', '1', { in_work: 0, due_since: 9 }),
  ];
  turns.served({ tenant_id: 'c', runner_id: 'c.1' });
  assert.deepEqual(names(inTurn(flows, turns)), ['c.1', 'b.2', 'b.1', 'a.1']);
});

test('whoever has nothing due is passed over, but counts as being in work', () => {
  const flows = [
    flow('a', '1', { due_since: null, in_work: 1 }),
    flow('a', '2'),
    flow('b', '1', { due_since: 5 }),
  ];
  assert.deepEqual(names(inTurn(flows, new Turns())), ['b.1', 'a.2']);
});

test('among those who never had a turn the oldest upload comes first', () => {
  const flows = [flow('a', '1', { due_since: 8 }), flow('b', '1', { due_since: 7 })];
  assert.deepEqual(names(inTurn(flows, new Turns())), ['b.1', 'a.1']);
});

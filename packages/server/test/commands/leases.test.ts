// Signs of life extend leases: a pure rule says which, and a few statements extend those of a whole
// fleet.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { renewedLeases, type SignOfLife } from '../../src/commands/commands.rules.ts';
import { renewLeasesOf } from '../../src/commands/leases.ts';
import { createCommand } from '../../src/commands/operator-commands.ts';
import type { Database } from '../../src/db/db.ts';
import { newId } from '../../src/lib/ids.ts';
import { TestClock } from '../harness.ts';
import { copiesOf, DATABASES, nodeOn, stageOn } from './stage.ts';

const LEASE_MS = 90_000;

describe('which leases a sign of life extends', () => {
  const lease = (id: string, more: object = {}) => ({
    tenant_id: 't',
    id,
    holder_id: 'r',
    lease_until: 100,
    deadline_at: 2000,
    ...more,
  });
  const sign = { tenantId: 't', runnerId: 'r', intervalMs: 0, running: null };
  const extended = (leases: ReturnType<typeof lease>[], more: Partial<SignOfLife> = {}) =>
    renewedLeases(leases, [{ ...sign, ...more }], 1000).map(({ id }) => id);

  test('all of a runner that doesn’t list, until their deadline', () => {
    const over = lease('over', { deadline_at: 1000 });
    assert.deepEqual(extended([lease('a'), lease('b'), over]), ['a', 'b']);
    assert.equal(renewedLeases([lease('a')], [sign], 1000)[0]?.lease_until, 1000 + LEASE_MS);
  });

  test('what a runner lists, in whatever letters, beyond the deadline; and nothing else', () => {
    const leases = [lease('0a', { deadline_at: 1 }), lease('0b')];
    assert.deepEqual(extended(leases, { running: ['0A', 'nonsense', ''] }), ['0a']);
    assert.deepEqual(extended(leases, { running: [] }), []);
  });

  test('nobody else’s, another tenant’s, or one that is longer already', () => {
    const others = [lease('a', { holder_id: 'other' }), lease('b', { tenant_id: 'other' })];
    const long = lease('c', { lease_until: 1000 + LEASE_MS });
    assert.deepEqual(extended([...others, long]), []);
  });
});

for (const [name, urlOf] of DATABASES) {
  describe(`the leases of a fleet on ${name}`, () => {
    test('are extended in a few statements, however many hold one', async () => {
      const stage = await stageOn(await urlOf());
      const clock = new TestClock();
      const node = nodeOn(stage, clock);
      const { database, tenantId } = stage;
      const model = await createCommand(node, tenantId, { type: 'test' }, 'test');
      const nowMs = clock.nowMs();
      const held = { status: 'running', attempt: 1, lease_until: nowMs } as const;
      const deadline = { deadline_at: nowMs + 3_600_000 };
      const fleet = Array.from({ length: 1200 }, () => newId<string>(nowMs));
      await copiesOf(stage, { ...model, ...held, ...deadline }, fleet.length, (n) => ({
        holder_id: fleet[n] ?? null,
      }));
      let writes = 0;
      const counted: Database = new Proxy(database, {
        get: (target, member) => {
          const value: unknown = Reflect.get(target, member, target);
          if (member !== 'systemLists') writes += 1;
          return typeof value === 'function' ? value.bind(target) : value;
        },
      });
      const signs = fleet.map((runnerId) => ({
        tenantId,
        runnerId,
        intervalMs: 60_000,
        running: null,
      }));
      await renewLeasesOf({ database: counted, clock }, signs);
      assert.ok(writes <= 3, `${writes} statements`);
      const rows = await database
        .lists(tenantId)
        .selectFrom('command')
        .select('lease_until')
        .where('status', '=', 'running')
        .execute();
      const short = rows.filter((row) => (row.lease_until ?? 0) < nowMs + 180_000);
      assert.deepEqual([rows.length, short.length], [fleet.length, 0]);
      await node.wake.stop();
      await stage.close();
    });
  });
}

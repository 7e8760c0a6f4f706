// A long queue. A runner's question doesn't get slower by commands that wait for others, upkeep
// ends commands that nobody can take any more piece by piece, and the number of waiting commands
// has a bound.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { CommandRow } from '../../src/commands/command.queries.ts';
import type { CommandsDeps } from '../../src/commands/commands.ts';
import { sweepCommands } from '../../src/commands/leases.ts';
import { cancelCommand, createCommand } from '../../src/commands/operator-commands.ts';
import { poll } from '../../src/commands/poll/poll.ts';
import { PendingSummary } from '../../src/commands/pending-summary.ts';
import type { Database, Db } from '../../src/db/db.ts';
import { administerRunner } from '../../src/keys/runners.ts';
import { newId, type RunnerId, type TenantId } from '../../src/lib/ids.ts';
import { Problem } from '../../src/lib/problem.ts';
import { eventually, TestClock } from '../harness.ts';
import { copiesOf, DATABASES, newRunnerId, nodeOn, type Stage, stageOn } from './stage.ts';

/** More rows than the answering thread reads. */
const MANY = 600;

/**
 * The same database, with a list of the number of rows that each SELECT for one tenant gave to the
 * answering thread.
 */
function counting(database: Database): { database: Database; given: number[] } {
  const given: number[] = [];
  const counted = (db: Db): Db =>
    db.withPlugin({
      transformQuery: ({ node }) => node,
      transformResult: async ({ result }) => {
        given.push(result.rows.length);
        return result;
      },
    });
  return {
    given,
    database: new Proxy(database, {
      get: (target, member) => {
        if (member === 'tenant') return (tenantId: string) => counted(target.tenant(tenantId));
        const value: unknown = Reflect.get(target, member, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    }),
  };
}

for (const [name, urlOf] of DATABASES) {
  describe(`a long queue on ${name}`, { concurrency: false }, () => {
    let stage: Stage;
    let node: CommandsDeps;
    let runnerId: RunnerId;
    let busy: RunnerId;
    const clock = new TestClock();
    before(async () => {
      stage = await stageOn(await urlOf());
      node = nodeOn(stage, clock);
      runnerId = await newRunnerId(stage);
      busy = await newRunnerId(stage);
    });
    after(async () => {
      await node.wake.stop();
      await stage.close();
    });

    const create = async (request: object): Promise<CommandRow> =>
      await createCommand(node, stage.tenantId, { type: 'test', ...request }, 'test');
    const offered = async (by: CommandsDeps, limit: number): Promise<string[]> => {
      const wish = { limit, ms: 0, gone: null, hasScope: true, isStillGood: async () => true };
      const holder = { tenantId: stage.tenantId, runnerId };
      return (await poll(by, holder, wish)).map(({ id }) => id);
    };
    const pending = async (): Promise<number> =>
      (await node.pendingSummary.workOf(stage.tenantId, runnerId)).pending;

    test('what waits for others, or for later, is not in the way of what is due', async () => {
      const model = await create({ runner_id: busy, priority: 'critical' });
      await copiesOf(stage, model, MANY);
      const later = { runner_id: null, scheduled_at: clock.nowMs() + 3_600_000 };
      await copiesOf(stage, model, MANY, later);
      const { id: own } = await create({ runner_id: runnerId, priority: 'low' });
      const { id: free } = await create({ priority: 'low' });
      const { database, given } = counting(stage.database);
      assert.deepEqual(await offered({ ...node, database }, 10), [own, free]);
      assert.ok(Math.max(...given) <= 250, `${Math.max(...given)} rows in the answering thread`);
      clock.advance(1000);
      assert.equal(await pending(), 2);
      await cancelCommand(node, stage.tenantId, free);
    });

    test('its own are counted at once, what is for anybody within a second', async () => {
      const { id: own } = await create({ runner_id: runnerId });
      assert.equal(await pending(), 3, 'the canceled one is still counted in a long queue');
      clock.advance(1000);
      await eventually(async () => (await pending()) === 2);
      await create({});
      assert.equal(await pending(), 2);
      clock.advance(1000);
      await eventually(async () => (await pending()) === 3);
      await cancelCommand(node, stage.tenantId, own);
      assert.equal(await pending(), 2);
    });

    test('what is outdated, or for a runner that was revoked, is ended in one round, however much', async () => {
      const model = await create({ runner_id: runnerId });
      await copiesOf(stage, model, MANY, { expires_at: clock.nowMs() });
      const lost = await copiesOf(stage, model, MANY, { runner_id: busy });
      await administerRunner(stage.database, stage.tenantId, busy, 'revoked');
      clock.advance(1000);
      const { expired } = await sweepCommands(node, 0, clock.nowMs());
      assert.equal(expired, MANY);
      const rows = await stage.database
        .lists(stage.tenantId)
        .selectFrom('command')
        .select(['id', 'status', 'reason'])
        .where('runner_id', '=', busy)
        .execute();
      const ended = new Set(rows.map(({ status, reason }) => `${status} ${reason}`));
      assert.deepEqual([...ended], ['canceled runner_revoked']);
      assert.ok(rows.length > MANY && rows.some(({ id }) => id === lost.at(-1)));
    });

    test('there is an end to what may wait, until some of it doesn’t any more', async () => {
      const tenantId = newId<TenantId>(clock.nowMs());
      const pendingSummary = new PendingSummary(stage.database, clock, () => null, node.offers, 3);
      const small = { ...node, pendingSummary };
      await stage.database
        .system()
        .insertInto('tenant')
        .values({ id: tenantId, name: 'small', created_at: 1 })
        .execute();
      const one = async () => await createCommand(small, tenantId, { type: 'test' }, 'test');
      const refused = (error: unknown) => error instanceof Problem && error.code === 'rate_limited';
      const first = await one();
      await one();
      await one();
      await assert.rejects(one, refused);
      await cancelCommand(small, tenantId, first.id);
      clock.age(5000);
      await one();
      await assert.rejects(one, refused);
    });
  });
}

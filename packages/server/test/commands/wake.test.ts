// How waiting polls and tails hear of a command: within one process, from another by a hint, and
// with every hint lost. Two nodes are two sets of stories over one database; a clock that stands
// still shows which way the news came.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from 'kysely';
import type { CommandsDeps } from '../../src/commands/commands.ts';
import { cancelCommand, createCommand } from '../../src/commands/operator-commands.ts';
import { poll } from '../../src/commands/poll/poll.ts';
import { Waiting } from '../../src/commands/poll/waiting.ts';
import { type ReadyPlace, readySince } from '../../src/commands/poll/wake.queries.ts';
import { HINTS_MAX, hintsText, readHints } from '../../src/commands/poll/wake.format.ts';
import type { RunnerId } from '../../src/lib/ids.ts';
import { migratedDatabaseUrl } from '../db/fixture.ts';
import { eventually, TestClock } from '../harness.ts';
import { copiesOf, DATABASES, newRunnerId, nodeOn, type Stage, stageOn } from './stage.ts';

const T = '01900000-0000-7000-8000-000000000001';
const ID = '01900000-0000-7000-8000-000000000002';

/** The second in which a node looks by itself never passes: only hints bring news. */
class StillClock extends TestClock {
  override async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    await super.sleep(ms === 1000 ? 2 ** 31 - 1 : ms, signal);
  }
}

const waitOn = (node: CommandsDeps, { tenantId }: Stage, runnerId: RunnerId) =>
  poll(
    node,
    { tenantId, runnerId },
    { limit: 10, ms: 600_000, gone: null, hasScope: true, isStillGood: async () => true },
  );

describe('hints as text', () => {
  test('what a node says another reads; its own words and nonsense are nothing', () => {
    const hints = [
      { kind: 'ready', tenantId: T, id: ID },
      { kind: 'runner', tenantId: T, id: ID },
      { kind: 'told', tenantId: T, id: ID },
    ] as const;
    assert.deepEqual(readHints('other', hintsText('me', hints)), hints);
    assert.equal(readHints('me', hintsText('me', hints)), null);
    for (const text of ['', 'other', 'other x', `other z${T}${ID}`, `other c${T}`])
      assert.equal(readHints('me', text), null);
  });

  test('as many as are sent at once fit into one notification', () => {
    const one = { kind: 'ready', tenantId: T, id: ID } as const;
    assert.ok(
      hintsText(
        T,
        Array.from({ length: HINTS_MAX }, () => one),
      ).length < 8000,
    );
  });
});

describe('who hears', () => {
  const command = { tenant_id: T, id: ID, runner_id: null, target: null };

  test('of many that could take a command three hear of it, those who wait longest', () => {
    const waiting = new Waiting();
    const tickets = Array.from({ length: 10 }, (_, n) => waiting.enterPoll(T, `runner ${n}`, 0));
    for (const [n, ticket] of tickets.entries()) ticket.takes = () => n !== 1;
    waiting.ready(command);
    const heard = () => tickets.flatMap(({ signal }, n) => (signal.aborted ? [n] : []));
    assert.deepEqual(heard(), [0, 2, 3]);
    waiting.ready(command);
    assert.deepEqual(heard(), [0, 2, 3, 4, 5, 6], 'the next round goes on');
  });

  test('what somebody was offered in vain is passed on to those who came last', () => {
    const waiting = new Waiting();
    const tickets = [9, 1, 2, 8, 3, 7].map((cameMs) => waiting.enterPoll(T, 'a', cameMs));
    for (const [n, ticket] of tickets.entries()) ticket.takes = () => n !== 0;
    waiting.passOn(command);
    const heard = tickets.flatMap(({ signal }, n) => (signal.aborted ? [n] : []));
    assert.deepEqual(heard, [3, 4, 5]);
  });

  test('one who is still looking hears of everything, and a pinned command only its runner', () => {
    const waiting = new Waiting();
    const looking = waiting.enterPoll(T, 'a', 0);
    waiting.ready(command);
    assert.equal(looking.signal.aborted, true);
    const [other, own] = [waiting.enterPoll(T, 'b', 0), waiting.enterPoll(T, 'c', 0)];
    waiting.ready({ ...command, runner_id: 'c' });
    assert.deepEqual([other.signal.aborted, own.signal.aborted], [false, true]);
  });

  test('who has left hears nothing, and nothing is kept of it', () => {
    const waiting = new Waiting();
    const ticket = waiting.enterPoll(T, 'a', 0);
    ticket.takes = () => true;
    waiting.leavePoll(T, 'a', ticket);
    assert.equal(waiting.hasPolls(), false);
    waiting.ready(command);
    waiting.runner('a');
    assert.equal(ticket.signal.aborted, false);
  });
});

for (const [name, urlOf] of DATABASES) {
  describe(`news on ${name}`, { concurrency: false }, () => {
    let stage: Stage;
    before(async () => {
      stage = await stageOn(await urlOf());
    });
    after(async () => await stage.close());

    test('one node needs neither a hint nor a look', async () => {
      const node = nodeOn(stage, new StillClock());
      const runnerId = await newRunnerId(stage);
      const answer = waitOn(node, stage, runnerId);
      const request = { type: 'test', runner_id: runnerId };
      const { id } = await createCommand(node, stage.tenantId, request, 'test');
      assert.deepEqual(
        (await answer).map((row) => row.id),
        [id],
      );
      await node.wake.stop();
    });

    test('with every hint lost a command still reaches one who waits on another node', async () => {
      const deaf: Stage = {
        ...stage,
        database: new Proxy(stage.database, {
          get: (target, member) =>
            member === 'listen'
              ? () => async () => {}
              : bound(target, Reflect.get(target, member, target)),
        }),
      };
      const [here, there] = [nodeOn(stage, new TestClock()), nodeOn(deaf, new TestClock())];
      const runnerId = await newRunnerId(stage);
      const answer = waitOn(there, deaf, runnerId);
      const request = { type: 'test', runner_id: runnerId };
      const { id } = await createCommand(here, stage.tenantId, request, 'test');
      assert.deepEqual(
        (await answer).map((row) => row.id),
        [id],
      );
      await Promise.all([here.wake.stop(), there.wake.stop()]);
    });

    test('a command that is one of very many for one instant reaches who waits for it', async () => {
      const node = nodeOn(stage, new TestClock());
      const [busy, runnerId] = [await newRunnerId(stage), await newRunnerId(stage)];
      const request = { type: 'test', runner_id: busy };
      const model = await createCommand(node, stage.tenantId, request, 'test');
      const at = node.clock.nowMs() + 700;
      const then = { scheduled_at: at, ready_at: at };
      await copiesOf(stage, model, 2500, then);
      const own = await copiesOf(stage, model, 1, { ...then, runner_id: runnerId });
      const rows = await waitOn(node, stage, runnerId);
      assert.deepEqual(
        rows.map(({ id }) => id),
        own,
      );
      await node.wake.stop();
    });

    test('a clock that jumps doesn’t change who is about to claim what', async () => {
      const clock = new StillClock();
      const node = nodeOn(stage, clock);
      const offered = async (): Promise<string[]> => {
        const holder = { tenantId: stage.tenantId, runnerId: await newRunnerId(stage) };
        const wish = { limit: 1, ms: 0, gone: null, hasScope: true, isStillGood: async () => true };
        return (await poll(node, holder, wish)).map(({ id }) => id);
      };
      const made: string[] = [];
      for (let n = 0; n < 2; n += 1) {
        const row = await createCommand(node, stage.tenantId, { type: 'test' }, 'test');
        made.push(row.id);
      }
      const first = await offered();
      clock.advance(3_600_000);
      assert.deepEqual([first, await offered()], [[made[0]], [made[1]]]);
      clock.age(1000);
      assert.deepEqual(await offered(), [made[0]]);
      for (const id of made) await cancelCommand(node, stage.tenantId, id);
      await node.wake.stop();
    });

    test('a key that was revoked before its poll looks for the first time is handed nothing', async () => {
      const node = nodeOn(stage, new StillClock());
      const runnerId = await newRunnerId(stage);
      const request = { type: 'test', runner_id: runnerId };
      const { id } = await createCommand(node, stage.tenantId, request, 'test');
      const holder = { tenantId: stage.tenantId, runnerId };
      const offeredTo = async (isGood: boolean): Promise<string[]> => {
        const isStillGood = async () => isGood;
        const wish = { limit: 1, ms: 60_000, gone: null, hasScope: true, isStillGood };
        return (await poll(node, holder, wish)).map((row) => row.id);
      };
      await assert.rejects(offeredTo(false), { code: 'unauthorized' });
      assert.deepEqual(await offeredTo(true), [id]);
      await cancelCommand(node, stage.tenantId, id);
      await node.wake.stop();
    });

    test('of many commands for one instant a look passes over none', async () => {
      const node = nodeOn(stage, new StillClock());
      const request = { type: 'test', runner_id: await newRunnerId(stage) };
      const model = await createCommand(node, stage.tenantId, request, 'test');
      await node.wake.stop();
      const at = model.ready_at - 3_600_000;
      const made = await copiesOf(stage, model, 25, { ready_at: at });
      const seen: string[] = [];
      let place: ReadyPlace = { ready_at: at, id: null };
      while (true) {
        const db = stage.database.systemLists();
        const rows = await readySince(db, place, at, 10);
        seen.push(...rows.map(({ id }) => id));
        const last = rows.at(-1);
        if (last === undefined) break;
        place = last;
      }
      assert.deepEqual(seen, made.toSorted());
    });

    test('stopping answers who waits, and who comes later doesn’t wait', async () => {
      const node = nodeOn(stage, new StillClock());
      const runnerId = await newRunnerId(stage);
      const answer = waitOn(node, stage, runnerId);
      await node.wake.stop();
      assert.deepEqual(await answer, []);
      assert.deepEqual(await waitOn(node, stage, runnerId), []);
    });
  });
}

/** Methods of a class with private members must be called on the object itself. */
const bound = (target: object, value: unknown): unknown =>
  typeof value === 'function' ? (value as (...given: unknown[]) => unknown).bind(target) : value;

describe('hints on postgres', { concurrency: false }, () => {
  let stage: Stage;
  before(async () => {
    stage = await stageOn(await migratedDatabaseUrl());
  });
  after(async () => await stage.close());

  /** The server processes that hold a connection which listens. */
  const listeners = async (): Promise<number[]> => {
    const { rows } = await sql<{ pid: number }>`
      select pid from pg_stat_activity
      where datname = current_database() and application_name = 'muster hints' and state = 'idle'
        and query ilike 'listen%'`.execute(stage.database.system());
    return rows.map(({ pid }) => pid);
  };

  /** News that only a hint can have brought. */
  const reaches = async (here: CommandsDeps, there: CommandsDeps): Promise<void> => {
    const runnerId = await newRunnerId(stage);
    const answer = waitOn(there, stage, runnerId);
    const request = { type: 'test', runner_id: runnerId };
    const { id } = await createCommand(here, stage.tenantId, request, 'test');
    assert.deepEqual(
      (await answer).map((row) => row.id),
      [id],
    );
  };

  test('a hint brings a command to the other node, also after the connection was lost', async () => {
    const clock = new StillClock();
    const [here, there] = [nodeOn(stage, clock), nodeOn(stage, clock)];
    const first = await eventually(async () => {
      const pids = await listeners();
      return pids.length === 2 && pids;
    });
    await reaches(here, there);
    await reaches(there, here);
    await sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'muster hints'`.execute(
      stage.database.system(),
    );
    await eventually(async () => {
      const pids = await listeners();
      return pids.length === 2 && !pids.some((pid) => first.includes(pid));
    });
    await reaches(here, there);
    await Promise.all([here.wake.stop(), there.wake.stop()]);
    await eventually(async () => (await listeners()).length === 0);
  });
});

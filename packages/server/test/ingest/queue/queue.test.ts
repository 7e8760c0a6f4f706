// The queue of uploads on both databases: floods, turns, clocks that disagree, limits on what one
// tenant has in flight.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { limits } from '@muster/contract';
import { claimNext } from '../../../src/ingest/queue/claim.ts';
import { end } from '../../../src/ingest/finish/end.ts';
import { Turns } from '../../../src/ingest/queue/fairness.rules.ts';
import { inFlight, type UploadRow } from '../../../src/ingest/store/upload.queries.ts';
import type { RunnerCaller } from '../../../src/keys/authenticate.ts';
import { createRunner } from '../../../src/keys/runners.ts';
import { present } from '../../../src/lib/assert.ts';
import { newId, type RunnerId } from '../../../src/lib/ids.ts';
import { Problem } from '../../../src/lib/problem.ts';
import { BACKENDS, TestClock } from '../../harness.ts';
import { newCaller, openStage, receive, type Stage } from '../crash/scene.ts';

let serial = 0;
/** A body that no other upload has. */
const fresh = (): Buffer => {
  serial += 1;
  return Buffer.from(String(serial));
};

/** A worker as ingest.worker.ts has it: a name, and a memory of turns. */
interface Hand {
  readonly holder: string;
  readonly turns: Turns;
}

for (const backend of BACKENDS) {
  describe(`the queue of uploads on ${backend}`, { concurrency: false }, () => {
    let stage: Stage;
    const open: UploadRow[] = [];
    before(async () => {
      stage = await openStage(backend);
    });
    after(async () => await stage.close());

    const hand = (): Hand => ({ holder: newId<string>(stage.clock.nowMs()), turns: new Turns() });
    const claim = async ({ holder, turns }: Hand): Promise<UploadRow | undefined> => {
      const { database, clock } = stage;
      const upload = await claimNext({ database, clock, holder, turns });
      if (upload !== undefined) open.push(upload);
      return upload;
    };
    const finish = async (upload: UploadRow): Promise<void> => {
      const problem = { code: 'not_ctis', detail: 'told by a test' };
      assert.equal(await end(stage, upload, 'refused', null, problem), 'refused');
      open.splice(open.indexOf(upload), 1);
    };
    const flood = async (caller: RunnerCaller, count: number): Promise<string[]> => {
      const ids: string[] = [];
      for (let n = 0; n < count; n += 1) ids.push(await receive(stage, caller, 'ctis', fresh()));
      return ids;
    };
    const colleague = async (caller: RunnerCaller): Promise<RunnerCaller> => {
      const { database, clock } = stage;
      const made = await createRunner(database, clock, caller.tenantId, { name: 'c' }, 'test');
      return { ...caller, runnerId: made.runner.id as RunnerId };
    };
    /** Ends whatever the test before left in the queue. */
    const drain = async (): Promise<void> => {
      for (const upload of open.slice()) await finish(upload);
      const worker = hand();
      for (let left = await claim(worker); left !== undefined; left = await claim(worker))
        await finish(left);
    };

    test('behind a flood by one tenant, another tenant’s upload is the next one', async () => {
      const [flooding, other] = [await newCaller(stage), await newCaller(stage)];
      const ids = await flood(flooding, limits.uploadsWaitingPerRunnerMax);
      const worker = hand();
      const first = present(await claim(worker), 'the first');
      assert.equal(first.id, ids[0], 'in order of arrival');
      const [theirs] = await flood(other, 1);
      await finish(first);
      const second = present(await claim(worker), 'the second');
      assert.equal(second.id, theirs);
      await finish(second);
      assert.equal(present(await claim(worker), 'the third').id, ids[1]);
      await drain();
    });

    test('behind a flood by one runner, another runner of its tenant is the next one', async () => {
      const flooding = await newCaller(stage);
      const other = await colleague(flooding);
      const ids = await flood(flooding, limits.uploadsWaitingPerRunnerMax);
      const worker = hand();
      await finish(present(await claim(worker), 'the first'));
      const [theirs] = await flood(other, 1);
      const second = present(await claim(worker), 'the second');
      assert.equal(second.id, theirs);
      await finish(second);
      assert.equal(present(await claim(worker), 'the third').id, ids[1]);
      await drain();
    });

    test('with several workers no tenant is starved, and each gets its share', async () => {
      const callers = await Promise.all(Array.from({ length: 3 }, () => newCaller(stage)));
      for (const [at, caller] of callers.entries()) await flood(caller, at === 0 ? 50 : 10);
      const workers = [hand(), hand(), hand()];
      const served: string[] = [];
      // Each worker in turn finishes what it has and claims again.
      const held = new Map<Hand, UploadRow>();
      for (let step = 0; step < 30; step += 1) {
        const worker = present(workers[step % 3], 'a worker');
        const done = held.get(worker);
        if (done !== undefined) await finish(done);
        const next = present(await claim(worker), 'something to do');
        held.set(worker, next);
        served.push(next.tenant_id);
      }
      for (const { tenantId } of callers) {
        const share = served.filter((id) => id === tenantId).length;
        assert.ok(share >= 9 && share <= 11, `${share} of 30: ${served.join(' ')}`);
      }
      await drain();
    });

    test('eight workers that claim at once get eight different uploads', async () => {
      const caller = await newCaller(stage);
      const ids = await flood(caller, 8);
      const claimed = await Promise.all(Array.from({ length: 8 }, () => claim(hand())));
      const got = claimed.map((upload) => present(upload, 'one for each').id);
      assert.deepEqual(new Set(got), new Set(ids));
      assert.equal(await claim(hand()), undefined, 'and there is no ninth');
      await drain();
    });

    test('what a node received whose clock runs ahead is due at once on the others', async () => {
      const caller = await newCaller(stage);
      const ahead = new TestClock();
      ahead.advance(3_600_000);
      const id = await receive({ ...stage, clock: ahead }, caller, 'ctis', fresh());
      assert.equal(present(await claim(hand()), 'the upload').id, id);
      await drain();
    });

    /** As many runners of one tenant as are needed to reach its limit. */
    const crew = async (): Promise<RunnerCaller[]> => {
      const caller = await newCaller(stage);
      const others = limits.uploadsWaitingPerTenantMax / limits.uploadsWaitingPerRunnerMax;
      const crew = [caller];
      while (crew.length <= others) crew.push(await colleague(caller));
      return crew;
    };

    test('a runner with 50 uploads in flight is told so; the others of its tenant go on', async () => {
      const caller = await newCaller(stage);
      const other = await colleague(caller);
      await flood(caller, limits.uploadsWaitingPerRunnerMax);
      await assert.rejects(flood(caller, 1), (error) => {
        assert.ok(error instanceof Problem);
        assert.equal(error.code, 'rate_limited');
        assert.match(error.message, /^50 uploads of this runner /);
        assert.equal(error.extras.retryAfterSeconds, 25);
        return true;
      });
      await flood(other, 3);
      await drain();
      await flood(caller, 1);
      await drain();
    });

    test('when 230 uploads come at once, at most 200 get in; the others are told how long to wait', async () => {
      const runners = await crew();
      const caller = present(runners[0], 'a runner');
      const handIn = async (_: unknown, n: number): Promise<unknown> => {
        try {
          await receive(stage, present(runners[n % runners.length], 'its turn'), 'ctis', fresh());
          return null;
        } catch (error) {
          return error;
        }
      };
      const outcomes = await Promise.all(Array.from({ length: 230 }, handIn));
      const refused = outcomes.filter((error) => error !== null);
      assert.ok(refused.length >= 30, String(refused.length));
      for (const error of refused) {
        assert.ok(error instanceof Problem);
        assert.equal(error.code, 'rate_limited');
        assert.match(error.message, /of this tenant /);
        const seconds = present(error.extras.retryAfterSeconds, 'Retry-After');
        assert.ok(seconds >= 100 && seconds <= 300, `half of 200 and more at 1 s: ${seconds}`);
      }
      const { uploads } = await inFlight(stage.database.tenant(caller.tenantId), caller.tenantId);
      assert.equal(uploads, 230 - refused.length, 'and nothing is left of those that were refused');
      assert.ok(uploads <= limits.uploadsWaitingPerTenantMax, String(uploads));
      await drain();
    });

    test('bodies that are still arriving count, too', async () => {
      const runners = await crew();
      const caller = present(runners.at(-1), 'the last runner');
      for (const runner of runners.slice(0, -2))
        await flood(runner, limits.uploadsWaitingPerRunnerMax);
      await flood(present(runners.at(-2), 'another'), limits.uploadsWaitingPerRunnerMax - 1);
      const db = stage.database.tenant(caller.tenantId);
      // One more upload, which has not arrived whole: its row is there from the first byte on.
      const [newest] = await db
        .selectFrom('upload')
        .selectAll()
        .orderBy('id', 'desc')
        .limit(1)
        .execute();
      const row = present(newest, 'an upload');
      const arriving = {
        ...row,
        id: newId<string>(stage.clock.nowMs()),
        state: 'receiving' as const,
      };
      await db.insertInto('upload').values(arriving).execute();
      await assert.rejects(flood(caller, 1), { code: 'rate_limited' });
      await db
        .deleteFrom('upload')
        .where('tenant_id', '=', caller.tenantId)
        .where('id', '=', arriving.id)
        .execute();
      await flood(caller, 1);
      await drain();
    });
  });
}

// Random histories of one command: runners that call out of turn, twice or too late, an operator
// who cancels, time that passes. They are compared with TRANSITIONS as the model: first the pure
// machine, then the real stories beside it.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { type RunnerEvent, TRANSITIONS } from '../../src/commands/command.machine.ts';
import type { CommandsDeps } from '../../src/commands/commands.ts';
import { OfferCounts } from '../../src/commands/commands.rules.ts';
import { Wake } from '../../src/commands/poll/wake.ts';
import { PendingSummary } from '../../src/commands/pending-summary.ts';
import { openDatabase } from '../../src/db/db.ts';
import { migrate } from '../../src/db/migrate.ts';
import { insertTenant } from '../../src/keys/installation.queries.ts';
import { createRunner } from '../../src/keys/runners.ts';
import { createLogger } from '../../src/lib/log.ts';
import { newId, type RunnerId, type TenantId } from '../../src/lib/ids.ts';
import { temporaryDirectory } from '../db/fixture.ts';
import { TestClock } from '../harness.ts';
import {
  type Act,
  isFinished,
  isHeld,
  LABELS,
  mayTake,
  PureWorld,
  RealWorld,
  RUNNERS,
  type Seen,
  type Setting,
  type World,
} from './command-worlds.ts';

const EVENTS: readonly RunnerEvent[] = ['acknowledge', 'start', 'complete', 'fail', 'release'];
const runner = fc.nat(RUNNERS - 1);

const anySetting: fc.Arbitrary<Setting> = fc.record({
  pinned: fc.option(runner, { nil: null }),
  lacking: fc.option(runner, { nil: null }),
  maxAttempts: fc.integer({ min: 1, max: 3 }),
  retryOnFail: fc.boolean(),
  expiresAfter: fc.option(fc.integer({ min: 1, max: 4 }), { nil: null, freq: 2 }),
  scheduledAfter: fc.option(fc.constant(1), { nil: null, freq: 5 }),
});
/** A command that could never be claimed can't be created. */
const setting = anySetting.filter(
  ({ expiresAfter, scheduledAfter }) => (expiresAfter ?? Infinity) > (scheduledAfter ?? 0),
);

const call: fc.Arbitrary<Act> = fc.record({
  kind: fc.constant('call' as const),
  runner,
  event: fc.constantFrom('acknowledge' as const, ...EVENTS),
  words: fc.constantFrom('one', 'other'),
});
const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 12, arbitrary: call },
  { weight: 2, arbitrary: fc.constant<Act>({ kind: 'silence' }) },
  { weight: 1, arbitrary: fc.constant<Act>({ kind: 'cancel' }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('pause' as const), runner, paused: fc.boolean() }),
  },
);
const acts = fc.array(act, { maxLength: 40, size: 'max' });

/** Judges one step by what the model allows. */
function judge(setting: Setting, earlier: Seen, act: Act, outcome: string, later: Seen): void {
  if (outcome !== 'done' || isFinished(earlier.status)) {
    assert.deepEqual(later, earlier, 'a refusal or a finished command changes nothing');
  }
  if (later.status !== earlier.status) {
    const event = act.kind === 'call' ? act.event : null;
    if (event !== null) {
      const { from, to, by } = TRANSITIONS[event];
      assert.ok(from.includes(earlier.status) && to.includes(later.status), 'an illegal move');
      assert.ok(act.kind === 'call' && may(by, setting, earlier, act.runner), `not ${by}`);
    } else {
      const { cancel, expire, lose } = TRANSITIONS;
      const events = act.kind === 'cancel' ? [cancel] : [expire, lose];
      const legal = events.some((one) => one.from.includes(earlier.status));
      // A command that is lost and expires in one silence makes two moves.
      const ends = events.flatMap((one) => one.to);
      assert.ok(legal && ends.includes(later.status), 'an illegal move');
    }
  }
  const claims = act.kind === 'call' && act.event === 'acknowledge' && !isHeld(earlier.status);
  const isClaimed = claims && outcome === 'done' && isHeld(later.status);
  assert.equal(later.attempt, earlier.attempt + (isClaimed ? 1 : 0), 'only a claim counts');
  if (isHeld(later.status)) assert.notEqual(later.holder, null);
  if (later.status === 'pending') assert.equal(later.holder, null);
  if (isHeld(earlier.status) && isHeld(later.status)) assert.equal(later.holder, earlier.holder);
}

function may(by: string, setting: Setting, { holder, status }: Seen, runner: number): boolean {
  if (by === 'eligible runner') return mayTake(setting, runner);
  if (by === 'holder') return holder === runner;
  return holder === runner || (status === 'pending' && setting.pinned === runner);
}

async function play(
  setting: Setting,
  acts: readonly Act[],
  world: World,
  also: (act: Act, outcome: string, earlier: Seen, later: Seen) => Promise<void>,
): Promise<void> {
  for (const act of acts) {
    const earlier = await world.see();
    const outcome = await world.act(act);
    const later = await world.see();
    judge(setting, earlier, act, outcome, later);
    await also(act, outcome, earlier, later);
  }
}

test('no history makes the machine take an illegal move', async () => {
  await fc.assert(
    fc.asyncProperty(setting, acts, async (setting, acts) => {
      await play(setting, acts, new PureWorld(setting), async () => {});
    }),
    { numRuns: 800 },
  );
});

test('a call that succeeded succeeds again at once and changes nothing', async () => {
  await fc.assert(
    fc.asyncProperty(setting, acts, async (setting, acts) => {
      const world = new PureWorld(setting);
      await play(setting, acts, world, async (act, outcome, _earlier, later) => {
        if (act.kind !== 'call' || outcome !== 'done') return;
        assert.equal(await world.act(act), 'done');
        assert.deepEqual(await world.see(), later);
      });
    }),
    { numRuns: 800 },
  );
});

test('the late answer of a runner that lost the command is refused', async () => {
  await fc.assert(
    fc.asyncProperty(setting, acts, async (setting, acts) => {
      const lost = new Set<number>();
      await play(setting, acts, new PureWorld(setting), async (act, outcome, earlier, later) => {
        if (act.kind === 'silence' && isHeld(earlier.status) && later.status !== 'canceled') {
          lost.add(earlier.holder as number);
        }
        if (act.kind !== 'call' || !lost.has(act.runner)) return;
        if (act.event === 'acknowledge') {
          if (outcome === 'done') lost.delete(act.runner);
        } else {
          assert.equal(outcome, 'lease_lost');
        }
      });
    }),
    { numRuns: 800 },
  );
});

test('a command is lost or failed at most max_attempts times; giving it back doesn’t count', async () => {
  await fc.assert(
    fc.asyncProperty(setting, acts, async (setting, acts) => {
      let released = 0;
      await play(setting, acts, new PureWorld(setting), async (act, _outcome, earlier, later) => {
        const gaveBack = act.kind === 'call' && act.event === 'release' && isHeld(earlier.status);
        if (gaveBack && !isHeld(later.status)) released += 1;
        assert.ok(later.attempt <= setting.maxAttempts + released, `attempt ${later.attempt}`);
        const isWornOut = later.status === 'failed' && later.reason === 'runner_lost';
        if (isWornOut) assert.equal(later.attempt - released, setting.maxAttempts);
      });
    }),
    { numRuns: 800 },
  );
});

interface Stage {
  readonly deps: CommandsDeps;
  readonly clock: TestClock;
  readonly tenantId: TenantId;
  readonly close: () => Promise<void>;
}

let stage: Stage;
before(async () => {
  const { path: directory, remove } = await temporaryDirectory();
  const database = await openDatabase({ url: null, directory });
  await migrate(database, Date.now());
  const clock = new TestClock();
  const tenantId = newId<TenantId>(clock.nowMs());
  await insertTenant(database.system(), { id: tenantId, name: 'test', created_at: 1 });
  const unwritten = () => null;
  const offers = new OfferCounts();
  const pendingSummary = new PendingSummary(database, clock, unwritten, offers);
  const wake = new Wake({ database, clock, log: createLogger('silent'), pendingSummary });
  const uploads = { sealKey: Buffer.alloc(32), hasUpload: () => {} };
  stage = {
    deps: { database, clock, pendingSummary, wake, offers, unwritten, ...uploads },
    clock,
    tenantId,
    close: async () => {
      await database.close();
      await remove();
    },
  };
});
after(() => stage.close());

async function newRunners({ lacking }: Setting): Promise<RunnerId[]> {
  const { deps, clock, tenantId } = stage;
  const runners: RunnerId[] = [];
  for (let made = 0; made < RUNNERS; made += 1) {
    const request = { name: 'r', labels: made === lacking ? {} : LABELS };
    const { runner } = await createRunner(deps.database, clock, tenantId, request, 'test');
    runners.push(runner.id as RunnerId);
  }
  return runners;
}

test('the stories on the database do what the machine says, call by call', async () => {
  await fc.assert(
    fc.asyncProperty(setting, acts, async (setting, acts) => {
      const { deps, clock, tenantId } = stage;
      const real = await RealWorld.create(
        deps,
        clock,
        tenantId,
        await newRunners(setting),
        setting,
      );
      const pure = new PureWorld(setting);
      await play(setting, acts, real, async (act, outcome, _earlier, later) => {
        assert.equal(outcome, await pure.act(act));
        assert.deepEqual(later, await pure.see());
        assert.equal(await real.openClaims(), isHeld(later.status) ? 1 : 0, 'one holder at most');
      });
    }),
    { numRuns: 60 },
  );
});

test('of runners that claim at the same moment exactly one gets the command', async () => {
  const { deps, clock, tenantId } = stage;
  const free = {
    pinned: null,
    lacking: null,
    maxAttempts: 3,
    retryOnFail: false,
    expiresAfter: null,
    scheduledAfter: null,
  };
  for (let round = 0; round < 20; round += 1) {
    const world = await RealWorld.create(deps, clock, tenantId, await newRunners(free), free);
    const claims = Array.from({ length: RUNNERS }, (_, runner) =>
      world.act({ kind: 'call', runner, event: 'acknowledge', words: '' }),
    );
    const outcomes = (await Promise.all(claims)).sort();
    assert.deepEqual(outcomes, ['command_claimed', 'command_claimed', 'done']);
    assert.equal(await world.openClaims(), 1);
  }
});

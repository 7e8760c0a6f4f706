// The promise about keys (contract §7), by random histories through the real stories: whatever is
// renewed, used, lost on the way or left lying, a runner that keeps its last good key is never
// locked out.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { limits } from '@muster/contract';
import fc from 'fast-check';
import { Authenticator, type RunnerCaller } from '../../src/keys/authenticate.ts';
import { insertTenant } from '../../src/keys/installation.queries.ts';
import { renewKey, revokeKey } from '../../src/keys/keys.ts';
import { createRunner } from '../../src/keys/runners.ts';
import { runnerKeys } from '../../src/keys/keys.queries.ts';
import { type KeyFacts, refusal } from '../../src/keys/keys.rules.ts';
import { type Database, openDatabase } from '../../src/db/db.ts';
import { migrate } from '../../src/db/migrate.ts';
import { newId, type RunnerId, type TenantId } from '../../src/lib/ids.ts';
import { createLogger } from '../../src/lib/log.ts';
import { temporaryDirectory } from '../db/fixture.ts';
import { TestClock } from '../harness.ts';

const DAY_MS = 86_400_000;

type Step =
  | { readonly kind: 'renew'; readonly answerArrives: boolean; readonly with: number }
  | { readonly kind: 'use'; readonly which: number }
  | { readonly kind: 'advance'; readonly ms: number }
  | { readonly kind: 'revoke'; readonly which: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('renew' as const),
      answerArrives: fc.boolean(),
      with: fc.nat(9),
    }),
  },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('use' as const), which: fc.nat(9) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('advance' as const),
      ms: fc.constantFrom(1000, 60_000, limits.keyGraceMs, DAY_MS, limits.keyLifeMs / 3),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('revoke' as const), which: fc.nat(9) }) },
);

let database: Database;
let dispose: () => Promise<void>;
before(async () => {
  const { path: directory, remove } = await temporaryDirectory();
  database = await openDatabase({ url: null, directory });
  await migrate(database, Date.now());
  dispose = async () => {
    await database.close();
    await remove();
  };
});
after(() => dispose());

/** A runner with all the keys that ever reached it, and the model's knowledge of them. */
class Fleet {
  readonly clock = new TestClock();
  readonly authenticator = new Authenticator(database, this.clock, createLogger('silent'));
  readonly tenantId: TenantId = newId<TenantId>(Date.now());
  runnerId = '' as RunnerId;
  /** Keys in the runner's hands, in the order of their arrival. */
  readonly held: string[] = [];
  /** The key that worked last: the one a careful runner keeps. */
  good = '';

  static async start(expires: boolean): Promise<Fleet> {
    const fleet = new Fleet();
    const { tenantId, clock } = fleet;
    await insertTenant(database.system(), { id: tenantId, name: tenantId, created_at: 1 });
    const made = await createRunner(database, clock, tenantId, { name: 'r' }, 'test');
    fleet.runnerId = made.runner.id as RunnerId;
    fleet.good = made.key.secret.expose();
    fleet.held.push(fleet.good);
    if (expires) {
      const renewed = await renewKey(
        database,
        clock,
        (await fleet.caller(fleet.good)) as RunnerCaller,
      );
      fleet.held.push(renewed.secret.expose());
      assert.ok(await fleet.use(renewed.secret.expose()));
    }
    return fleet;
  }

  async caller(key: string): Promise<RunnerCaller | null> {
    const caller = await this.authenticator.authenticate(key, 'runner', '127.0.0.1');
    return caller?.kind === 'runner' ? caller : null;
  }

  /** Presents a key; remembers it as the last good one when it was accepted. */
  async use(key: string): Promise<RunnerCaller | null> {
    const caller = await this.caller(key);
    if (caller !== null) this.good = key;
    return caller;
  }

  facts = async (key: string): Promise<(KeyFacts & { readonly keyId: string }) | null> => {
    const rows = await runnerKeys(database.tenant(this.tenantId), this.tenantId, this.runnerId);
    const row = rows.find(({ key_id }) => key.includes(key_id));
    if (row === undefined) return null;
    const { state, expires_at: expiresAt, retires_at: retiresAt, key_id: keyId } = row;
    return { state, expiresAt, retiresAt, keyId };
  };

  async live(): Promise<string[]> {
    const rows = await runnerKeys(database.tenant(this.tenantId), this.tenantId, this.runnerId);
    const nowMs = this.clock.nowMs();
    return rows
      .filter((row) => {
        const facts = { state: row.state, expiresAt: row.expires_at, retiresAt: row.retires_at };
        return refusal(facts, nowMs) === null;
      })
      .map((row) => row.key_id);
  }
}

const at = (list: readonly string[], index: number): string => list[index % list.length] as string;

/** Plays one step; true when a key was proven by it. */
async function play(fleet: Fleet, step: Step): Promise<boolean> {
  switch (step.kind) {
    case 'advance':
      fleet.clock.advance(step.ms);
      return false;
    case 'use': {
      const key = at(fleet.held, step.which);
      const was = await fleet.facts(key);
      const caller = await fleet.use(key);
      const isNew = was?.state === 'candidate' || was?.state === 'superseded';
      if (isNew && (was?.expiresAt ?? Number.MAX_SAFE_INTEGER) > fleet.clock.nowMs()) {
        assert.notEqual(caller, null, `${was?.state} was refused before any other was proven`);
      }
      return isNew && caller !== null;
    }
    case 'renew': {
      const key = at(fleet.held, step.with);
      const was = await fleet.facts(key);
      const caller = await fleet.use(key);
      if (caller === null) return false;
      const made = await renewKey(database, fleet.clock, caller);
      if (step.answerArrives) fleet.held.push(made.secret.expose());
      return was?.state === 'candidate' || was?.state === 'superseded';
    }
    case 'revoke': {
      // An operator takes away a key that isn't the good one: taking the good one would lock the
      // runner out on purpose.
      const key = at(fleet.held, step.which);
      const facts = await fleet.facts(key);
      if (key === fleet.good || facts === null) return false;
      await revokeKey(database, fleet.tenantId, facts.keyId);
      fleet.authenticator.forget(fleet.runnerId);
      assert.equal(await fleet.caller(key), null, 'a revoked key was accepted');
      return false;
    }
  }
}

test('a runner that keeps its last good key is never locked out before that key expires', async () => {
  await fc.assert(
    fc.asyncProperty(fc.boolean(), fc.array(step, { maxLength: 25 }), async (expires, steps) => {
      const fleet = await Fleet.start(expires);
      for (const step of steps) {
        await play(fleet, step);
        const facts = await fleet.facts(fleet.good);
        const ended = facts?.expiresAt !== null && (facts?.expiresAt ?? 0) <= fleet.clock.nowMs();
        // A key whose successor was proven has a quarter of an hour: then the successor is the last
        // good one.
        const succeeded =
          facts?.retiresAt !== null && (facts?.retiresAt ?? 0) <= fleet.clock.nowMs();
        if (ended || succeeded) return;
        assert.notEqual(await fleet.caller(fleet.good), null, JSON.stringify(facts));
      }
    }),
    { numRuns: 60 },
  );
});

test('after a proof at most two keys of the line live', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const fleet = await Fleet.start(false);
      for (const step of steps) {
        const proven = await play(fleet, step);
        if (proven && step.kind === 'use') assert.ok((await fleet.live()).length <= 2);
      }
    }),
    { numRuns: 60 },
  );
});

test('every candidate is accepted until one is proven, and then only that one', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 5 }), fc.nat(4), async (count, chosen) => {
      const fleet = await Fleet.start(false);
      const first = fleet.good;
      for (let made = 0; made < count; made += 1) {
        const caller = (await fleet.caller(first)) as RunnerCaller;
        fleet.held.push((await renewKey(database, fleet.clock, caller)).secret.expose());
      }
      const candidates = fleet.held.slice(1);
      assert.equal((await fleet.live()).length, count + 1, 'no candidate costs another its life');
      const winner = at(candidates, chosen);
      assert.notEqual(await fleet.use(winner), null);
      for (const key of candidates) {
        assert.equal((await fleet.caller(key)) !== null, key === winner);
      }
      assert.notEqual(await fleet.caller(first), null, 'the parent has its grace');
      fleet.clock.advance(limits.keyGraceMs + 1);
      assert.equal(await fleet.caller(first), null, 'and no more');
      assert.notEqual(await fleet.caller(winner), null);
    }),
    { numRuns: 40 },
  );
});

test('of two candidates proven at the same moment one wins, and the winner works', async () => {
  for (let round = 0; round < 20; round += 1) {
    const fleet = await Fleet.start(false);
    const caller = (await fleet.caller(fleet.good)) as RunnerCaller;
    const one = (await renewKey(database, fleet.clock, caller)).secret.expose();
    const two = (await renewKey(database, fleet.clock, caller)).secret.expose();
    const [first, second] = await Promise.all([fleet.caller(one), fleet.caller(two)]);
    assert.equal([first, second].filter((answer) => answer !== null).length, 1);
    assert.notEqual(await fleet.caller(first === null ? two : one), null);
  }
});

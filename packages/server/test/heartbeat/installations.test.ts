// Two installations with one identity (contract §3): told from restarts and late packets, and over
// when one is left; and the skew of a runner's clock, from the times that its heartbeats give.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import {
  hear,
  type Installation,
  installationOf,
} from '../../src/heartbeat/installations.rules.ts';
import { runnerView } from '../../src/keys/key.view.format.ts';
import { addRunnerKey } from '../../src/keys/operator-keys.ts';
import { BACKENDS } from '../harness.ts';
import { newRunner, openStage, ServerNode, type Stage, storedRunner } from '../stories.ts';

const WINDOW_MS = 73_000;

/** Sightings by seconds; whether a clone was noticed at each. */
function noticed(sightings: readonly (readonly [number, Record<string, unknown>])[]): boolean[] {
  let known: readonly Installation[] = [];
  return sightings.map(([second, members]) => {
    const one = installationOf(members, second * 1000);
    assert.ok(one !== null);
    const heard = hear(known, one, WINDOW_MS);
    known = heard.known;
    return heard.isCloned;
  });
}

const A = { instance_id: 'a'.repeat(32) };
const B = { instance_id: 'b'.repeat(32) };

describe('which installations are two', () => {
  test('one that is heard again after another was, within two heartbeats, is a clone of it', () => {
    assert.deepEqual(
      noticed([
        [0, A],
        [10, B],
        [30, A],
      ]),
      [false, false, true],
    );
    assert.deepEqual(
      noticed([
        [0, A],
        [10, B],
        [30, A],
        [40, B],
        [60, A],
      ]),
      [false, false, true, true, true],
    );
  });

  test('a restart, a move to another machine and a reinstallation are none: what was replaced never comes back', () => {
    const moved = [
      [0, { hostname: 'pod-1', uptime_seconds: 500 }],
      [30, { hostname: 'pod-2', uptime_seconds: 3 }],
      [60, { hostname: 'pod-2', uptime_seconds: 33 }],
    ] as const;
    assert.deepEqual(noticed(moved), [false, false, false]);
    assert.deepEqual(
      noticed([
        [0, A],
        [30, B],
        [60, B],
        [90, B],
      ]),
      [false, false, false, false],
    );
  });

  test('it doesn’t matter in which order sightings are learnt', () => {
    const sighting = fc.tuple(fc.integer({ min: 0, max: 73 }), fc.constantFrom(A, B));
    const both = fc
      .array(sighting, { maxLength: 8 })
      .chain((all) =>
        fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length })),
      );
    fc.assert(
      fc.property(both, ([all, shuffled]) => {
        const inOrder = all.toSorted(([a], [b]) => a - b);
        assert.equal(noticed(shuffled).includes(true), noticed(inOrder).includes(true));
      }),
    );
  });

  test('one that comes back after more than two heartbeats tells nothing', () => {
    assert.deepEqual(
      noticed([
        [0, A],
        [50, B],
        [100, A],
      ]),
      [false, false, false],
    );
  });

  test('copies of one disk, with the same instance_id and host name, differ by their boot', () => {
    const copy = (uptime: number) => ({ ...A, hostname: 'golden', uptime_seconds: uptime });
    assert.deepEqual(
      noticed([
        [0, copy(1000)],
        [10, copy(400)],
        [30, copy(1030)],
      ]),
      [false, false, true],
    );
  });

  test('agents of the first era, which say nothing but their uptime, are told apart by it', () => {
    const up = (uptime_seconds: number) => ({ uptime_seconds });
    assert.deepEqual(
      noticed([
        [0, up(5000)],
        [20, up(90)],
        [60, up(5060)],
      ]),
      [false, false, true],
    );
  });

  test('one installation alone is never two, however its heartbeats are delayed and whatever they leave out', () => {
    const beat = fc.record({
      delayS: fc.integer({ min: 0, max: 29 }),
      members: fc.constantFrom(
        ['instance_id'],
        ['hostname', 'uptime_seconds'],
        ['uptime_seconds'],
        ['instance_id', 'hostname', 'uptime_seconds'],
      ),
    });
    fc.assert(
      fc.property(fc.array(beat, { maxLength: 20 }), (beats) => {
        const whole = { ...A, hostname: 'host' } as Record<string, unknown>;
        const sightings = beats.map(({ delayS, members }, at) => {
          const sentS = at * 30;
          const all = { ...whole, uptime_seconds: 100 + sentS } as Record<string, unknown>;
          const told = Object.fromEntries(members.map((name) => [name, all[name]]));
          return [sentS + delayS, told] as const;
        });
        sightings.sort(([a], [b]) => a - b);
        assert.ok(!noticed(sightings).includes(true));
      }),
    );
  });
});

for (const backend of BACKENDS) {
  describe(`warnings of a runner, on ${backend}`, () => {
    let stage: Stage;
    before(async () => {
      stage = await openStage(backend);
    });
    after(async () => await stage.dispose());
    const warnings = async (runner: { readonly id: string }): Promise<string[]> =>
      runnerView(await storedRunner(stage, runner), stage.clock.nowMs()).warnings.map(
        ({ code }) => code,
      );

    test('a clone is told within two heartbeats, nobody is cut off, and it clears itself when one is left', async () => {
      const node = new ServerNode(stage.database, stage.clock);
      const runner = await newRunner(stage);
      for (let n = 0; n < 3; n += 1) {
        for (const installation of [A, B]) {
          assert.equal((await node.beat(runner.key, installation))?.status, 'ok');
          stage.clock.advance(15_000);
        }
        await node.round();
      }
      assert.deepEqual(await warnings(runner), ['cloned']);
      for (let n = 0; n < 6; n += 1) {
        stage.clock.advance(30_000);
        assert.equal((await node.beat(runner.key, A))?.status, 'ok');
        await node.round();
      }
      assert.deepEqual(await warnings(runner), []);
    });

    test('clones that a balancer sends to different nodes are noticed as well', async () => {
      const nodes = [
        new ServerNode(stage.database, stage.clock),
        new ServerNode(stage.database, stage.clock),
      ] as const;
      const runner = await newRunner(stage);
      for (let n = 0; n < 4; n += 1) {
        await nodes[0].beat(runner.key, A);
        await nodes[0].round();
        stage.clock.advance(7000);
        await nodes[1].beat(runner.key, B);
        await nodes[1].round();
        stage.clock.advance(23_000);
      }
      assert.deepEqual(await warnings(runner), ['cloned']);
    });

    for (const [title, count] of [
      ['one node', 1],
      ['two nodes behind a balancer', 2],
    ] as const) {
      test(`a restart on ${title} is no clone`, async () => {
        const nodes = Array.from(
          { length: count },
          () => new ServerNode(stage.database, stage.clock),
        );
        const runner = await newRunner(stage);
        for (const [at, installation] of [A, A, B, B, B].entries()) {
          await nodes[at % count]?.beat(runner.key, installation);
          for (const node of nodes) await node.round();
          assert.deepEqual(await warnings(runner), []);
          stage.clock.advance(30_000);
        }
      });
    }

    test('the jobs of a pipeline may share a CI key', async () => {
      const node = new ServerNode(stage.database, stage.clock);
      const runner = await newRunner(stage);
      const request = { runner_id: runner.id, scopes: ['ingest'] as const };
      const made = await addRunnerKey(stage.database, stage.clock, stage.tenantId, request, 'test');
      for (const installation of [A, B, A, B, A]) {
        await node.beat(made.key.secret.expose(), installation);
        stage.clock.advance(5000);
      }
      await node.round();
      assert.deepEqual(await warnings(runner), []);
    });

    test('the skew of a clock is the least delayed of the last samples, and a warning beyond 30 s', async () => {
      const node = new ServerNode(stage.database, stage.clock);
      const runner = await newRunner(stage);
      const sent = (offsetMs: number): object => ({
        sent_at: new Date(stage.clock.nowMs() + offsetMs).toISOString(),
      });
      for (const delay of [900, 20, 14_000, 150])
        await node.beat(runner.key, sent(-45_000 - delay));
      await node.round();
      assert.equal((await storedRunner(stage, runner)).clock_skew_ms, -45_020);
      assert.deepEqual(await warnings(runner), ['clock_skew']);
      for (let n = 0; n < 5; n += 1) await node.beat(runner.key, sent(-100 - n));
      await node.round();
      assert.equal((await storedRunner(stage, runner)).clock_skew_ms, -100);
      assert.deepEqual(await warnings(runner), [], 'the clock was set right');
    });

    test('a time without a zone, or none at all, says nothing of the clock', async () => {
      const node = new ServerNode(stage.database, stage.clock);
      const runner = await newRunner(stage);
      for (const sent_at of ['2026-11-21T06:00:00', 'now', 7])
        await node.beat(runner.key, { name: 'x', sent_at });
      await node.round();
      const stored = await storedRunner(stage, runner);
      assert.equal(stored.clock_skew_ms, null);
      assert.match(String(stored.reported), /"ignored_members":\["sent_at"\]/);
    });

    test('a report over its bound is kept without its bulk and says so, until the next that fits', async () => {
      const node = new ServerNode(stage.database, stage.clock);
      const runner = await newRunner(stage);
      const reported = async (): Promise<object> => {
        await node.round();
        return JSON.parse(String((await storedRunner(stage, runner)).reported)) as object;
      };
      const queue = { jobs: Array.from({ length: 9000 }, (_, at) => `job ${at}`) };
      await node.beat(runner.key, { name: 'x', version: '1.2', region: 'here', queue });
      const core = { name: 'x', version: '1.2' };
      assert.deepEqual(await reported(), { ...core, region: 'here', too_large: true });
      await node.beat(runner.key, { region: 'there' });
      assert.deepEqual(await reported(), { ...core, region: 'there' });
      const tools = Array.from({ length: 60 }, () => 'x'.repeat(1200));
      await node.beat(runner.key, { region: 'away', tools });
      assert.deepEqual(await reported(), { ...core, too_large: true });
    });
  });
}

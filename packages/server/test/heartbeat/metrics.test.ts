// Metric series (contract §3): a sample a minute, a row a quarter of an hour, coarser with age, and
// charts with a bounded number of points.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { limits } from '@muster/contract';
import fc from 'fast-check';
import { chartMetrics, MetricBook, thinMetrics } from '../../src/heartbeat/metrics.ts';
import {
  chartOf,
  easyStepMs,
  folded,
  joined,
  LEVELS,
  type Point,
  rowStart,
  spanMs,
} from '../../src/heartbeat/metrics.rules.ts';
import { BACKENDS } from '../harness.ts';
import { newRunner, openStage, ServerNode, type Stage, storedRunner } from '../stories.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

describe('the arithmetic of series', () => {
  const value = fc.integer({ min: 0, max: 1000 });
  const weigh = (point: Point): [number, number, number] =>
    point === null ? [0, 0, 0] : typeof point === 'number' ? [point, point, 1] : [...point];

  test('joining keeps count and maximum, and the mean up to rounding, in whatever order', () => {
    fc.assert(
      fc.property(fc.array(value, { minLength: 1, maxLength: 60 }), fc.nat(59), (values, cut) => {
        const whole = weigh(joined(values));
        const parts = weigh(joined([joined(values.slice(0, cut)), joined(values.slice(cut))]));
        const mean = values.reduce((sum, one) => sum + one, 0) / values.length;
        for (const [got, max, count] of [whole, parts]) {
          assert.equal(count, values.length);
          assert.equal(max, Math.max(...values));
          assert.ok(Math.abs(got - mean) < 0.002, `${got} ${mean}`);
        }
      }),
    );
  });

  test('a row of one level is one point of the next, at its own time', () => {
    for (const [at, level] of LEVELS.slice(0, -1).entries()) {
      const into = LEVELS[at + 1];
      assert.ok(into !== undefined && spanMs(level) <= into.stepMs);
      const startsAtMs = rowStart(level, Date.UTC(2026, 10, 21, 17, 50));
      const row = { startsAtMs, samples: { cpu_percent: [10, null, 30] } };
      const coarse = folded(row, into);
      const slot = coarse.samples.cpu_percent?.findIndex((point) => point !== null) ?? -1;
      const time = coarse.startsAtMs + slot * into.stepMs;
      assert.ok(time <= startsAtMs && startsAtMs < time + into.stepMs);
      assert.deepEqual(coarse.samples.cpu_percent?.[slot], [20, 30, 2]);
    }
  });

  test('however long the time, a chart without a step has a few hundred points at most', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 4000 * DAY_MS }), (durationMs) => {
        const stepMs = easyStepMs(durationMs, limits.chartPointsDefault);
        assert.ok(durationMs / stepMs <= limits.chartPointsDefault);
        const chart = chartOf({ fromMs: 0, toMs: durationMs, stepMs }, []);
        assert.ok(chart.at.length <= limits.chartPointsMax);
      }),
    );
  });
});

for (const backend of BACKENDS) {
  describe(`series of a runner, on ${backend}`, () => {
    let stage: Stage;
    before(async () => {
      stage = await openStage(backend);
    });
    after(async () => await stage.dispose());

    const rowsOf = async ({ id }: { readonly id: string }) =>
      await stage.database
        .tenant(stage.tenantId)
        .selectFrom('runner_metrics')
        .selectAll()
        .where('tenant_id', '=', stage.tenantId)
        .where('runner_id', '=', id)
        .orderBy('step_ms')
        .orderBy('starts_at')
        .execute();
    const chart = async (runner: { readonly id: string }, query = {}, book?: MetricBook) =>
      await chartMetrics(
        stage.database,
        stage.clock,
        book ?? new MetricBook(stage.database, stage.clock),
        await storedRunner(stage, runner),
        query,
      );
    /** Moves the clock to the begin of the next quarter of an hour. */
    const toQuarter = (): void => {
      const quarter = 15 * MINUTE_MS;
      stage.clock.advance(quarter - (stage.clock.nowMs() % quarter));
    };

    test('heartbeats write no series; a quarter of an hour is one row, written by the flush', async () => {
      const node = new ServerNode(stage.database, stage.clock);
      const runner = await newRunner(stage);
      toQuarter();
      for (let beat = 0; beat < 30; beat += 1) {
        await node.beat(runner.key, { cpu_percent: beat, active_jobs: 1 });
        await node.round();
        assert.equal((await rowsOf(runner)).length, 0, 'the quarter is still open');
        stage.clock.advance(30_000);
      }
      await node.round();
      const [row, ...more] = await rowsOf(runner);
      assert.equal(more.length, 0);
      const samples = JSON.parse(row?.samples ?? '{}') as Record<string, number[]>;
      const firstOfEachMinute = Array.from({ length: 15 }, (_, minute) => 2 * minute);
      assert.deepEqual(samples['cpu_percent'], firstOfEachMinute);
      await node.round();
      assert.equal((await rowsOf(runner)).length, 1, 'a repeat writes nothing');
    });

    test('two nodes, and one node before and after a restart, add to the same row', async () => {
      const runner = await newRunner(stage);
      toQuarter();
      for (const cpu of [10, 20, 30]) {
        const node = new ServerNode(stage.database, stage.clock);
        await node.beat(runner.key, { cpu_percent: cpu });
        stage.clock.advance(MINUTE_MS);
        await node.deps.metrics.flush(true);
      }
      const rows = await rowsOf(runner);
      assert.equal(rows.length, 1);
      const samples = JSON.parse(rows[0]?.samples ?? '{}') as Record<string, unknown[]>;
      assert.deepEqual(samples['cpu_percent']?.slice(0, 4), [10, 20, 30, null]);
    });

    test('the open quarter is in the chart; absent metrics are no series; a probe is no sample', async () => {
      const node = new ServerNode(stage.database, stage.clock);
      const runner = await newRunner(stage);
      toQuarter();
      const from = new Date(stage.clock.nowMs()).toISOString();
      await node.beat(runner.key, { cpu_percent: 40, resources: { disk_free_bytes: 1e12 } });
      await node.beat(runner.key, { name: 'connection-test', cpu_percent: 0 });
      stage.clock.advance(2 * MINUTE_MS);
      const shown = await chart(runner, { from, step: '60' }, node.deps.metrics);
      assert.equal(shown.at.length, 2);
      assert.deepEqual(shown.series, [
        { metric: 'cpu_percent', average: [40, null], max: [40, null] },
        { metric: 'disk_free_bytes', average: [1e12, null], max: [1e12, null] },
      ]);
    });

    test('with age minutes become hours, hours days, days nothing; averages and maxima stay', async () => {
      const runner = await newRunner(stage);
      stage.clock.advance(DAY_MS - (stage.clock.nowMs() % DAY_MS));
      const node = new ServerNode(stage.database, stage.clock);
      const from = new Date(stage.clock.nowMs()).toISOString();
      for (let minute = 0; minute < 120; minute += 1) {
        await node.beat(runner.key, { cpu_percent: minute < 60 ? 10 : 50 });
        stage.clock.advance(MINUTE_MS);
      }
      await node.deps.metrics.flush(true);
      const steps = async (): Promise<number[]> => (await rowsOf(runner)).map((row) => row.step_ms);
      assert.deepEqual(
        await steps(),
        Array.from({ length: 8 }, () => MINUTE_MS),
      );
      const to = new Date(stage.clock.nowMs()).toISOString();
      const fresh = await chart(runner, { from, to, step: '3600' });
      await thinMetrics(stage.database, stage.clock);
      assert.equal((await steps()).length, 8, 'too young');
      stage.clock.advance(2 * DAY_MS + HOUR_MS);
      await thinMetrics(stage.database, stage.clock);
      assert.deepEqual(await steps(), [HOUR_MS]);
      assert.deepEqual(await chart(runner, { from, to, step: '3600' }), fresh);
      stage.clock.advance(30 * DAY_MS);
      await thinMetrics(stage.database, stage.clock);
      assert.deepEqual(await steps(), [DAY_MS]);
      const [day] = (await chart(runner, { from, to, step: '86400' })).series;
      assert.deepEqual([day?.average, day?.max], [[30], [50]]);
      stage.clock.advance(431 * DAY_MS);
      await thinMetrics(stage.database, stage.clock);
      assert.deepEqual(await steps(), []);
    });

    test('a chart of too many points, an odd step, a time that is none: each is refused with its place', async () => {
      const runner = await newRunner(stage);
      const wrong: [object, string][] = [
        [{ from: '2026-01-01T00:00:00Z', to: '2026-12-01T00:00:00Z', step: '60' }, '/step'],
        [{ step: '90' }, '/step'],
        [{ step: '00' }, '/step'],
        [{ from: 'yesterday' }, '/from'],
        [{ from: '2026-12-01T00:00:00Z', to: '2026-01-01T00:00:00Z' }, '/from'],
      ];
      for (const [query, pointer] of wrong) {
        await assert.rejects(chart(runner, query), (error: { code?: string }) => {
          assert.equal(error.code, 'invalid_parameter');
          assert.ok(JSON.stringify(error).includes(pointer), JSON.stringify(error));
          return true;
        });
      }
    });
  });
}

// Metric series (contract §3): turns the numbers of a heartbeat into packed rows, folds rows into
// coarser rows as they age, and makes the points of a chart from rows of all ages. A datum is in
// one level only: when it is folded, it leaves the finer level.

import { isoTime } from '../lib/iso-time.ts';
import {
  DAY_MS,
  MINUTE_MS,
  RUNNER_METRICS,
  type RunnerMetric,
  type RunnerMetrics,
} from '@muster/contract';

export interface Level {
  /** The time that one point stands for. */
  readonly stepMs: number;
  /**
   * Points in one row. A row of one level spans one step of the next level at most, so it folds
   * into one point.
   */
  readonly slots: number;
  /** Older rows are folded into the next level; those of the last level are removed. */
  readonly keepMs: number;
}

/** About 900 rows of at most 1 KiB for each runner, whatever its age. */
export const LEVELS = [
  { stepMs: MINUTE_MS, slots: 15, keepMs: 2 * DAY_MS },
  { stepMs: 60 * MINUTE_MS, slots: 24, keepMs: 30 * DAY_MS },
  { stepMs: DAY_MS, slots: 30, keepMs: 400 * DAY_MS },
] as const satisfies readonly Level[];

/** One value; or mean, maximum and the number of values they stand for; or nothing. */
export type Point = number | readonly [mean: number, max: number, count: number] | null;
export type Samples = Partial<Record<RunnerMetric, Point[]>>;

export interface MetricRow {
  readonly startsAtMs: number;
  readonly samples: Samples;
}

export const spanMs = ({ stepMs, slots }: Level): number => stepMs * slots;

export const rowStart = (level: Level, atMs: number): number =>
  Math.floor(atMs / spanMs(level)) * spanMs(level);

const isNumber = (value: unknown): value is number =>
  typeof value === 'number' && Number.isFinite(value);

/** The numbers of a heartbeat that are kept; null: the heartbeat has none. */
export function measured(
  members: Readonly<Record<string, unknown>>,
): Partial<Record<RunnerMetric, number>> | null {
  const { resources, outbox } = members as Record<string, Record<string, unknown> | undefined>;
  const found: Readonly<Record<string, unknown>> = {
    ...members,
    disk_free_bytes: resources?.['disk_free_bytes'],
    outbox_pending: outbox?.['pending_count'],
  };
  const pairs = RUNNER_METRICS.flatMap((metric) => {
    const value = found[metric];
    return isNumber(value) ? [[metric, value] as const] : [];
  });
  return pairs.length === 0 ? null : Object.fromEntries(pairs);
}

/** Puts the values of one moment into their minute. */
export function put(
  row: MetricRow,
  atMs: number,
  values: Partial<Record<RunnerMetric, number>>,
): void {
  const [{ stepMs, slots }] = LEVELS;
  const slot = Math.floor((atMs - row.startsAtMs) / stepMs);
  for (const metric of RUNNER_METRICS) {
    const value = values[metric];
    if (value === undefined) continue;
    row.samples[metric] ??= Array.from({ length: slots }, () => null);
    row.samples[metric][slot] = value;
  }
}

const meanOf = (point: Exclude<Point, null>): number => (isNumber(point) ? point : point[0]);
const maxOf = (point: Exclude<Point, null>): number => (isNumber(point) ? point : point[1]);
const countOf = (point: Exclude<Point, null>): number => (isNumber(point) ? 1 : point[2]);

/** Joins several points into one; a mean is weighted by the number of values it stands for. */
export function joined(points: readonly Point[]): Point {
  const present = points.filter((point) => point !== null);
  const [first] = present;
  if (first === undefined) return null;
  if (present.length === 1) return first;
  const count = present.reduce<number>((sum, point) => sum + countOf(point), 0);
  const total = present.reduce<number>((sum, point) => sum + meanOf(point) * countOf(point), 0);
  // No metric is measured more finely than three decimals, and they keep rows short.
  const mean = Math.round((total / count) * 1000) / 1000;
  return [mean, Math.max(...present.map(maxOf)), count];
}

/** Merges two rows with the same start, from two nodes or from before and after a restart. */
export function merged(a: Samples, b: Samples): Samples {
  const result: Samples = {};
  for (const metric of RUNNER_METRICS) {
    const [one, two] = [a[metric] ?? [], b[metric] ?? []];
    const length = Math.max(one.length, two.length);
    if (length === 0) continue;
    result[metric] = Array.from({ length }, (_, at) => joined([one[at] ?? null, two[at] ?? null]));
  }
  return result;
}

/** Folds a whole row into one point of the coarser level's row. */
export function folded(row: MetricRow, into: Level): MetricRow {
  const startsAtMs = rowStart(into, row.startsAtMs);
  const slot = Math.floor((row.startsAtMs - startsAtMs) / into.stepMs);
  const samples: Samples = {};
  for (const metric of RUNNER_METRICS) {
    const point = joined(row.samples[metric] ?? []);
    if (point === null) continue;
    const points: Point[] = Array.from({ length: into.slots }, () => null);
    points[slot] = point;
    samples[metric] = points;
  }
  return { startsAtMs, samples };
}

export interface ChartPlan {
  readonly fromMs: number;
  readonly toMs: number;
  readonly stepMs: number;
}

/** Steps that people read easily. */
const STEPS_S = [60, 300, 900, 3600, 10_800, 21_600, 86_400, 604_800];

/** The smallest of these steps that gives at most `points` points. */
export function easyStepMs(durationMs: number, points: number): number {
  const step = STEPS_S.find((seconds) => durationMs / (seconds * 1000) <= points);
  return (step ?? Math.ceil(durationMs / points / DAY_MS) * 86_400) * 1000;
}

/** The columns of a chart. Rows of any level may stand in any order. */
export function chartOf(
  { fromMs, toMs, stepMs }: ChartPlan,
  rows: readonly { readonly level: Level; readonly row: MetricRow }[],
): RunnerMetrics {
  const startMs = Math.floor(fromMs / stepMs) * stepMs;
  const length = Math.max(Math.ceil((toMs - startMs) / stepMs), 0);
  const buckets = new Map<RunnerMetric, Point[][]>();
  for (const { level, row } of rows) {
    for (const metric of RUNNER_METRICS) {
      for (const [slot, point] of (row.samples[metric] ?? []).entries()) {
        const at = Math.floor((row.startsAtMs + slot * level.stepMs - startMs) / stepMs);
        if (point === null || at < 0 || at >= length) continue;
        const column = buckets.get(metric) ?? Array.from({ length }, () => []);
        column[at]?.push(point);
        buckets.set(metric, column);
      }
    }
  }
  return {
    from: isoTime(startMs),
    to: isoTime(toMs),
    step_seconds: stepMs / 1000,
    at: Array.from({ length }, (_, at) => isoTime(startMs + at * stepMs)),
    series: [...buckets].map(([metric, column]) => {
      const points = column.map(joined);
      return {
        metric,
        average: points.map((point) => (point === null ? null : meanOf(point))),
        max: points.map((point) => (point === null ? null : maxOf(point))),
      };
    }),
  };
}

// Metric series of runners: gathered in memory by the minute, written once for each runner and
// quarter of an hour with the flush of presence, thinned with age by upkeep, read for charts. A
// crash costs at most the open quarter.

import { DAY_MS, limits, type RunnerMetrics } from '@muster/contract';
import type { Database, Db } from '../db/db.ts';
import type { Clock } from '../lib/clock.ts';
import type { RunnerId, TenantId } from '../lib/ids.ts';
import { Problem } from '../lib/problem.ts';
import type { HeartbeatReport } from './heartbeat.decode.ts';
import {
  deleteMetricRows,
  lockMetricRows,
  readMetrics,
  saveMetricRows,
  type StoredMetrics,
  takeOldMetrics,
} from './metrics.queries.ts';
import {
  chartOf,
  type ChartPlan,
  easyStepMs,
  folded,
  LEVELS,
  type Level,
  measured,
  merged,
  type MetricRow,
  put,
  rowStart,
  type Samples,
  spanMs,
} from './metrics.rules.ts';

/**
 * Rows that one flush writes: the quarter of a whole fleet ends at once, and must not stall the
 * flush.
 */
const ROWS_PER_FLUSH = 500;
/**
 * Rows that one transaction folds, and the number of such steps in one round of upkeep for each
 * level.
 */
const ROWS_PER_STEP = 200;
const STEPS_PER_ROUND = 20;

interface Gathered {
  readonly tenantId: TenantId;
  readonly runnerId: RunnerId;
  readonly row: MetricRow;
  /** The last minute whose values the row has, in minutes since the epoch. */
  minute: number;
}

const [MINUTES] = LEVELS;

export class MetricBook {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #open = new Map<RunnerId, Gathered>();
  #ended: Gathered[] = [];

  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  /**
   * Gathers the numbers of a heartbeat. The first heartbeat of a minute that has numbers counts;
   * the others cost nothing.
   */
  sample(tenantId: TenantId, runnerId: RunnerId, report: HeartbeatReport): void {
    const nowMs = this.#clock.nowMs();
    const minute = Math.floor(nowMs / MINUTES.stepMs);
    let gathered = this.#open.get(runnerId);
    if (gathered?.minute === minute) return;
    const values = measured(report.members);
    if (values === null) return;
    const startsAtMs = rowStart(MINUTES, nowMs);
    if (gathered?.row.startsAtMs !== startsAtMs) {
      if (gathered !== undefined) this.#ended.push(gathered);
      gathered = { tenantId, runnerId, row: { startsAtMs, samples: {} }, minute };
      this.#open.set(runnerId, gathered);
    }
    gathered.minute = minute;
    put(gathered.row, nowMs, values);
  }

  /**
   * Writes a bounded number of rows whose quarter has ended. `all`: writes every row, the open ones
   * as well; used at the end.
   */
  async flush(all = false): Promise<void> {
    const presentMs = rowStart(MINUTES, this.#clock.nowMs());
    for (const [runnerId, gathered] of this.#open) {
      if (!all && gathered.row.startsAtMs === presentMs) continue;
      this.#open.delete(runnerId);
      this.#ended.push(gathered);
    }
    do {
      const batch = this.#ended.splice(0, ROWS_PER_FLUSH);
      if (batch.length === 0) return;
      try {
        const rows = batch.map(storedRow);
        await this.#database.transaction('system', async (tx) => mergeInto(tx, rows));
      } catch (error) {
        this.#ended.unshift(...batch);
        throw error;
      }
    } while (all);
  }

  /** This runner's rows that are still in memory. */
  gatheredOf(runnerId: string): MetricRow[] {
    const open = this.#open.get(runnerId as RunnerId);
    const ended = this.#ended.filter((gathered) => gathered.runnerId === runnerId);
    return [...ended, ...(open === undefined ? [] : [open])].map(({ row }) => row);
  }
}

const storedRow = ({ tenantId, runnerId, row }: Gathered): StoredMetrics => ({
  tenant_id: tenantId,
  runner_id: runnerId,
  step_ms: MINUTES.stepMs,
  starts_at: row.startsAtMs,
  samples: JSON.stringify(row.samples),
});

const keyOf = (row: StoredMetrics): string =>
  `${row.tenant_id} ${row.runner_id} ${row.step_ms} ${row.starts_at}`;

/**
 * Adds the rows to what is stored, instead of replacing it: another node, or this one before a
 * restart, wrote its part.
 */
async function mergeInto(tx: Db, rows: readonly StoredMetrics[]): Promise<void> {
  const byKey = new Map<string, StoredMetrics>();
  for (const row of rows) {
    const other = byKey.get(keyOf(row));
    byKey.set(keyOf(row), other === undefined ? row : sum(other, row));
  }
  const given = [...byKey.values()].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  const keys = given.map(({ samples: _samples, ...key }) => key);
  const stored = await lockMetricRows(tx, keys);
  const saved = stored.map((row) => sum(row, byKey.get(keyOf(row)) ?? row));
  await saveMetricRows(tx, saved);
}

const sum = (a: StoredMetrics, b: StoredMetrics): StoredMetrics => ({
  ...a,
  samples: JSON.stringify(
    merged(JSON.parse(a.samples) as Samples, JSON.parse(b.samples) as Samples),
  ),
});

/**
 * Folds rows that are too old for their level into the next level, in small steps; removes rows
 * that are too old for the last level.
 */
export async function thinMetrics(database: Database, clock: Clock): Promise<void> {
  for (const [at, level] of LEVELS.entries()) {
    const next: Level | undefined = LEVELS[at + 1];
    const beforeMs = clock.nowMs() - level.keepMs - spanMs(level);
    for (let step = 0; step < STEPS_PER_ROUND; step += 1) {
      const taken = await database.transaction('system', async (tx) => {
        const old = await takeOldMetrics(tx, level.stepMs, beforeMs, ROWS_PER_STEP);
        if (next !== undefined)
          await mergeInto(
            tx,
            old.map((row) => foldedRow(row, next)),
          );
        await deleteMetricRows(tx, old);
        return old.length;
      });
      if (taken < ROWS_PER_STEP) break;
    }
  }
}

function foldedRow(row: StoredMetrics, into: Level): StoredMetrics {
  const samples = JSON.parse(row.samples) as Samples;
  const fine = folded({ startsAtMs: row.starts_at, samples }, into);
  return {
    ...row,
    step_ms: into.stepMs,
    starts_at: fine.startsAtMs,
    samples: JSON.stringify(fine.samples),
  };
}

interface ChartQuery {
  readonly from?: string;
  readonly to?: string;
  readonly step?: string;
}

/**
 * The chart of one runner; the caller has made sure that the runner exists. Problem:
 * invalid_parameter.
 */
export async function chartMetrics(
  database: Database,
  clock: Clock,
  book: MetricBook,
  runner: { readonly tenant_id: string; readonly id: string },
  query: ChartQuery,
): Promise<RunnerMetrics> {
  const plan = planOf(query, clock.nowMs());
  const db = database.lists(runner.tenant_id);
  const rows = book.gatheredOf(runner.id).map((row) => ({ level: MINUTES as Level, row }));
  for (const level of LEVELS) {
    const fromMs = plan.fromMs - plan.stepMs - spanMs(level);
    const { tenant_id: tenantId, id } = runner;
    const stored = await readMetrics(db, tenantId, id, level.stepMs, fromMs, plan.toMs);
    for (const { starts_at: startsAtMs, samples } of stored) {
      rows.push({ level, row: { startsAtMs, samples: JSON.parse(samples) as Samples } });
    }
  }
  return chartOf(plan, rows);
}

function planOf(query: ChartQuery, nowMs: number): ChartPlan {
  const toMs = timeOf(query.to, 'to') ?? nowMs;
  const fromMs = timeOf(query.from, 'from') ?? toMs - DAY_MS;
  const refuse = (pointer: string, detail: string): never => {
    throw new Problem('invalid_parameter', detail, { pointer });
  };
  if (fromMs >= toMs) return refuse('/from', 'from must be before to.');
  const stepMs =
    query.step === undefined
      ? easyStepMs(toMs - fromMs, limits.chartPointsDefault)
      : Number(query.step) * 1000;
  if (stepMs === 0 || stepMs % MINUTES.stepMs !== 0) {
    return refuse('/step', 'step must be a multiple of 60 seconds.');
  }
  if ((toMs - fromMs) / stepMs > limits.chartPointsMax) {
    return refuse('/step', `That would be more than ${limits.chartPointsMax} points.`);
  }
  return { fromMs, toMs, stepMs };
}

function timeOf(text: string | undefined, name: string): number | null {
  if (text === undefined) return null;
  const ms = /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isFinite(ms)) return ms;
  throw new Problem('invalid_parameter', `${name} must be a time such as 2026-11-21T06:00:00Z.`, {
    pointer: `/${name}`,
  });
}

// SQL of the metric series: rows are merged under a lock, read by runner, and taken by age. A row
// is known by its tenant, runner, step and start.

import type { Selectable } from 'kysely';
import type { Db } from '../db/db.ts';
import { forUpdate, insertRows, skipLocked, updateRows } from '../db/dialect.ts';
import type { RunnerMetricsTable } from '../db/tables.ts';

export type StoredMetrics = Selectable<RunnerMetricsTable>;
type RowKey = Omit<StoredMetrics, 'samples'>;

/** Groups the rows: rows with the same tenant, step and start are read by one statement. */
const groups = <Row extends RowKey>(rows: readonly Row[]): Row[][] => [
  ...Map.groupBy(rows, (row) => `${row.tenant_id} ${row.step_ms} ${row.starts_at}`).values(),
];

/**
 * Inserts missing rows as empty ones and locks all of the rows. Returns what is stored. Inside a
 * transaction.
 */
export async function lockMetricRows(db: Db, rows: readonly RowKey[]): Promise<StoredMetrics[]> {
  const empty = rows.map((row) => ({ ...row, samples: '{}' }));
  const columns = ['tenant_id', 'runner_id', 'step_ms', 'starts_at'] as const;
  await insertRows(db, 'runner_metrics', empty, { onConflict: { columns } });
  const stored: StoredMetrics[] = [];
  for (const group of groups(rows)) {
    const [first] = group as [RowKey];
    const ids = group.map(({ runner_id }) => runner_id);
    const query = db
      .selectFrom('runner_metrics')
      .selectAll()
      .where('tenant_id', '=', first.tenant_id)
      .where('step_ms', '=', first.step_ms)
      .where('starts_at', '=', first.starts_at)
      .where('runner_id', 'in', ids)
      .orderBy('runner_id');
    stored.push(...(await forUpdate(query).execute()));
  }
  return stored;
}

export async function saveMetricRows(db: Db, rows: readonly StoredMetrics[]): Promise<void> {
  const key = ['tenant_id', 'runner_id', 'step_ms', 'starts_at'] as const;
  await updateRows(db, 'runner_metrics', key, rows);
}

/**
 * Takes the oldest rows of a level that began before `beforeMs`. Rows that another node has locked
 * are passed over.
 */
export async function takeOldMetrics(
  db: Db,
  stepMs: number,
  beforeMs: number,
  limit: number,
): Promise<StoredMetrics[]> {
  return await db
    .selectFrom('runner_metrics')
    .selectAll()
    .where('step_ms', '=', stepMs)
    .where('starts_at', '<', beforeMs)
    .orderBy('starts_at')
    .limit(limit)
    .$call(skipLocked)
    .execute();
}

export async function deleteMetricRows(db: Db, rows: readonly RowKey[]): Promise<void> {
  for (const group of groups(rows)) {
    const [first] = group as [RowKey];
    const ids = group.map(({ runner_id }) => runner_id);
    await db
      .deleteFrom('runner_metrics')
      .where('tenant_id', '=', first.tenant_id)
      .where('step_ms', '=', first.step_ms)
      .where('starts_at', '=', first.starts_at)
      .where('runner_id', 'in', ids)
      .execute();
  }
}

export async function readMetrics(
  db: Db,
  tenantId: string,
  runnerId: string,
  stepMs: number,
  fromMs: number,
  toMs: number,
): Promise<StoredMetrics[]> {
  return await db
    .selectFrom('runner_metrics')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('runner_id', '=', runnerId)
    .where('step_ms', '=', stepMs)
    .where('starts_at', '>=', fromMs)
    .where('starts_at', '<', toMs)
    .execute();
}

// The process of the bare loop: one order, one fresh target, one report. It measures in a process
// that has just started, as Muster's own turns do.

import { type BareOrder, type BareReport, makeSchema, runBare } from './bare.ts';
import { openPostgresTarget, readPostgres } from './bare-postgres.ts';
import { openSqliteTarget, readSqlite } from './bare-sqlite.ts';
import { serveOrders } from './child.ts';

serveOrders<BareOrder, BareReport>(async (order) => {
  const { backend, filled, target, sarif } = order;
  const onSqlite = backend === 'sqlite';
  const { parents, rows } = onSqlite ? readSqlite(filled) : await readPostgres(filled);
  await makeSchema(order);
  const opened = onSqlite
    ? openSqliteTarget(target, parents)
    : await openPostgresTarget(target, parents);
  try {
    return await runBare(opened, rows, sarif);
  } finally {
    await opened.close();
  }
});

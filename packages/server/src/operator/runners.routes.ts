// The fleet over HTTP: list, show, create, pause, drain, resume, revoke. After each change of an
// admin state the rest of the server is told, so that waiting polls look again.

import { endpoints } from '@muster/contract';
import type { FastifyInstance } from 'fastify';
import { answer, type Gate, route } from '../http/route.ts';
import type { Authenticator, Caller } from '../keys/authenticate.ts';
import {
  administerRunner,
  createRunner,
  listRunners,
  type RunnerRow,
  showRunner,
} from '../keys/runners.ts';
import { chartMetrics, type MetricBook } from '../heartbeat/metrics.ts';
import { apiKeyView, runnerView } from '../keys/key.view.format.ts';
import { findKeyRow } from '../keys/keys.ts';
import { cursorOf, limitOf, pageOf } from './page.ts';
import type { OperatorDeps } from './deps.ts';

export function runnerRoutes(
  app: FastifyInstance,
  gate: Gate<Caller>,
  { database, clock }: OperatorDeps,
  authenticator: Authenticator,
  series: MetricBook,
  /** Told after the admin state of a runner changed. */
  onAdministered: (tenantId: string, runnerId: string) => void,
): void {
  const view = (row: RunnerRow) => runnerView(row, clock.nowMs());
  route(app, gate, endpoints.listRunners, async ({ caller, query }) => {
    const limit = limitOf(query);
    const [after] = cursorOf(query, ['id']) ?? [null];
    const rows = await listRunners(database, caller.tenantId, query, after as string | null, limit);
    return answer(
      200,
      pageOf(rows, limit, view, (row) => [row.id]),
    );
  });
  route(app, gate, endpoints.showRunner, async ({ caller, params }) =>
    answer(200, view(await showRunner(database, caller.tenantId, params.id))),
  );
  route(app, gate, endpoints.runnerMetrics, async ({ caller, params, query }) => {
    const runner = await showRunner(database, caller.tenantId, params.id);
    return answer(200, await chartMetrics(database, clock, series, runner, query));
  });
  route(app, gate, endpoints.createRunner, async ({ caller, body }) => {
    const by = `operator:${caller.name}`;
    const { runner, key } = await createRunner(database, clock, caller.tenantId, body, by);
    const row = await findKeyRow(database, caller.tenantId, key.row.key_id);
    const reply = {
      runner: view(runner),
      api_key: key.secret.expose(),
      key: apiKeyView(row),
    };
    return answer(201, reply, { headers: { 'cache-control': 'no-store' } });
  });
  const actions = [
    [endpoints.pauseRunner, 'paused'],
    [endpoints.drainRunner, 'draining'],
    [endpoints.resumeRunner, 'active'],
    [endpoints.revokeRunner, 'revoked'],
  ] as const;
  for (const [endpoint, admin] of actions) {
    route(app, gate, endpoint, async ({ caller, params }) => {
      const runner = await administerRunner(database, caller.tenantId, params.id, admin);
      authenticator.forget(runner.id);
      onAdministered(caller.tenantId, runner.id);
      return answer(200, view(runner));
    });
  }
}

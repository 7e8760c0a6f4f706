// Findings and assets over HTTP.

import { endpoints } from '@muster/contract';
import type { FastifyInstance } from 'fastify';
import {
  assetView,
  changeFinding,
  findingView,
  listAssets,
  listFindings,
  showAsset,
  showFinding,
} from '../findings/findings.ts';
import { answer, type Gate, route } from '../http/route.ts';
import type { Caller } from '../keys/authenticate.ts';
import type { OperatorDeps } from './deps.ts';
import { cursorOf, limitOf, pageOf } from './page.ts';

export function findingRoutes(
  app: FastifyInstance,
  gate: Gate<Caller>,
  { database, clock }: OperatorDeps,
): void {
  route(app, gate, endpoints.listFindings, async ({ caller, query }) => {
    const limit = limitOf(query);
    const cursor = cursorOf(query, ['rank', 'id']);
    const after =
      cursor === null ? null : { severity: cursor[0] as number, id: cursor[1] as string };
    const rows = await listFindings(database, caller.tenantId, query, after, limit);
    return answer(
      200,
      pageOf(rows, limit, findingView, (row) => [row.severity, row.id]),
    );
  });
  route(app, gate, endpoints.showFinding, async ({ caller, params }) =>
    answer(200, await showFinding(database, caller.tenantId, params.id)),
  );
  route(app, gate, endpoints.changeFinding, async ({ caller, params, body }) => {
    const by = `operator:${caller.name}`;
    return answer(200, await changeFinding(database, clock, caller.tenantId, params.id, body, by));
  });
  route(app, gate, endpoints.listAssets, async ({ caller, query }) => {
    const limit = limitOf(query);
    const [after] = cursorOf(query, ['id']) ?? [null];
    const rows = await listAssets(database, caller.tenantId, query, after as string | null, limit);
    return answer(
      200,
      pageOf(rows, limit, assetView, (row) => [row.id]),
    );
  });
  route(app, gate, endpoints.showAsset, async ({ caller, params }) =>
    answer(200, await showAsset(database, caller.tenantId, params.id)),
  );
}

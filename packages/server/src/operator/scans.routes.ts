// Scan sessions over HTTP, the operator's side: list, show. Operators see the sessions of all
// runners of their tenant.

import { endpoints } from '@muster/contract';
import type { FastifyInstance } from 'fastify';
import { answer, type Gate, route } from '../http/route.ts';
import type { Caller } from '../keys/authenticate.ts';
import { sessionView } from '../scans/scan-session.view.format.ts';
import { listScans, showScan } from '../scans/scans.ts';
import type { OperatorDeps } from './deps.ts';
import { cursorOf, limitOf, pageOf } from './page.ts';

export function scanListRoutes(app: FastifyInstance, gate: Gate<Caller>, deps: OperatorDeps): void {
  route(app, gate, endpoints.listScans, async ({ caller, query }) => {
    const limit = limitOf(query);
    const [after] = cursorOf(query, ['id']) ?? [null];
    const rows = await listScans(deps, caller.tenantId, query, after as string | null, limit);
    return answer(
      200,
      pageOf(rows, limit, sessionView, (row) => [row.id]),
    );
  });
  route(app, gate, endpoints.showScan, async ({ caller, params }) =>
    answer(200, sessionView(await showScan(deps, caller.tenantId, params.id, null))),
  );
}

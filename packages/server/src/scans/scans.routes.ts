// Scan sessions over HTTP, the runner's side: open, end, show. A runner reaches its own sessions
// only.

import { endpoints } from '@muster/contract';
import type { FastifyInstance } from 'fastify';
import { answer, type Gate, route } from '../http/route.ts';
import type { Caller } from '../keys/authenticate.ts';
import { sessionView, startedView } from './scan-session.view.format.ts';
import { endScan, type ScansDeps, showScan, startScan } from './scans.ts';

export function scanRoutes(app: FastifyInstance, gate: Gate<Caller>, deps: ScansDeps): void {
  route(app, gate, endpoints.startScan, async ({ caller, body }) =>
    answer(201, startedView(await startScan(deps, caller, body))),
  );
  route(app, gate, endpoints.endScan, async ({ caller, params, body }) => {
    await endScan(deps, caller, params.id, body);
    return answer(200, { status: 'updated' });
  });
  route(app, gate, endpoints.showOwnScan, async ({ caller, params }) =>
    answer(200, sessionView(await showScan(deps, caller.tenantId, params.id, caller.runnerId))),
  );
}

// POST /heartbeat: hands the request to the story in heartbeat.ts and sends its reply. The handler
// only translates.

import { endpoints } from '@muster/contract';
import type { FastifyInstance } from 'fastify';
import { answer, type Gate, route } from '../http/route.ts';
import type { Caller } from '../keys/authenticate.ts';
import { heartbeat, type HeartbeatDeps } from './heartbeat.ts';

export function heartbeatRoutes(
  app: FastifyInstance,
  gate: Gate<Caller>,
  deps: HeartbeatDeps,
): void {
  route(app, gate, endpoints.heartbeat, async ({ caller, body, request }) => {
    const named = request.headers['x-openctem-sensor-features'] ?? '';
    const text = Array.isArray(named) ? named.join(',') : named;
    return answer(200, await heartbeat(deps, caller, body, text));
  });
}

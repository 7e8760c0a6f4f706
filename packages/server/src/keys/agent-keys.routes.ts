// The runner's side of keys: renewal and enrolment.

import { endpoints, limits } from '@muster/contract';
import type { FastifyInstance } from 'fastify';
import type { Database } from '../db/db.ts';
import { answer, type Gate, route } from '../http/route.ts';
import type { Clock } from '../lib/clock.ts';
import { Problem } from '../lib/problem.ts';
import { TokenBuckets } from '../lib/token-bucket.ts';
import type { Caller } from './authenticate.ts';
import { enrol, renewKey } from './keys.ts';

export interface AgentKeysDeps {
  readonly database: Database;
  readonly clock: Clock;
}

const NO_STORE = { 'cache-control': 'no-store' };
const isoOrNull = (ms: number | null): string | null =>
  ms === null ? null : new Date(ms).toISOString();

export function agentKeyRoutes(
  app: FastifyInstance,
  gate: Gate<Caller>,
  deps: AgentKeysDeps,
): void {
  const budget = new TokenBuckets(limits.renewBurst, limits.renewEveryMs);
  route(app, gate, endpoints.renewKey, async ({ caller }) => {
    const waitMs = budget.take(caller.runnerId, deps.clock.nowMs());
    if (waitMs > 0) {
      throw new Problem(
        'rate_limited',
        'Keys were renewed too often; the present one stays good.',
        {
          retryAfterSeconds: waitMs / 1000,
        },
      );
    }
    const key = await renewKey(deps.database, deps.clock, caller);
    const expiresAt = isoOrNull(key.row.expires_at);
    const body = {
      api_key: key.secret.expose(),
      api_prefix: key.prefix,
      ...(expiresAt === null ? {} : { expires_at: expiresAt }),
    };
    return answer(200, body, { headers: NO_STORE });
  });
  route(app, gate, endpoints.enroll, async ({ caller, body }) => {
    const { runnerId, key, created } = await enrol(deps.database, deps.clock, caller, body);
    const reply = {
      agent_id: runnerId,
      tenant_id: caller.tenantId,
      api_key: key.secret.expose(),
      api_prefix: key.prefix,
      expires_at: isoOrNull(key.row.expires_at),
    };
    return answer(created ? 201 : 200, reply, { headers: NO_STORE });
  });
}

// The runner's side of keys over HTTP: renewal and enrolment. Each answer shows the secret of the
// new key once; it is stored nowhere.

import { endpoints, limits } from '@muster/contract';
import type { FastifyInstance } from 'fastify';
import type { Database } from '../db/db.ts';
import { answer, type Gate, route } from '../http/route.ts';
import type { Clock } from '../lib/clock.ts';
import { isoTimeOrNull } from '../lib/iso-time.ts';
import { Problem } from '../lib/problem.ts';
import { TokenBuckets } from '../lib/token-bucket.ts';
import type { Caller } from './authenticate.ts';
import { type Enrolled, enrol } from './enrolment.ts';
import { type MadeKey, renewKey } from './keys.ts';

interface AgentKeysDeps {
  readonly database: Database;
  readonly clock: Clock;
}

const NO_STORE = { 'cache-control': 'no-store' };

/** RP §10: `expires_at` is absent when the key doesn't expire. */
function renewReply(key: MadeKey) {
  const expiresAt = isoTimeOrNull(key.row.expires_at);
  return {
    api_key: key.secret.expose(),
    api_prefix: key.prefix,
    ...(expiresAt === null ? {} : { expires_at: expiresAt }),
  };
}

const enrolReply = (tenantId: string, { runnerId, key }: Enrolled) => ({
  agent_id: runnerId,
  tenant_id: tenantId,
  api_key: key.secret.expose(),
  api_prefix: key.prefix,
  expires_at: isoTimeOrNull(key.row.expires_at),
});

export function agentKeyRoutes(
  app: FastifyInstance,
  gate: Gate<Caller>,
  deps: AgentKeysDeps,
): void {
  const budget = new TokenBuckets(limits.renewBurst, limits.renewEveryMs);
  route(app, gate, endpoints.renewKey, async ({ caller }) => {
    const waitMs = budget.take(caller.runnerId, deps.clock.monotonicMs());
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
    return answer(200, renewReply(key), { headers: NO_STORE });
  });
  route(app, gate, endpoints.enroll, async ({ caller, body }) => {
    const enrolled = await enrol(deps.database, deps.clock, caller, body);
    const reply = enrolReply(caller.tenantId, enrolled);
    return answer(enrolled.created ? 201 : 200, reply, { headers: NO_STORE });
  });
}

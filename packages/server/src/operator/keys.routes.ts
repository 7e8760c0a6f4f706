// Keys and enrolment tokens over HTTP: list, create, revoke; and who the caller is.

import { endpoints, KEY_SCOPES, limits } from '@muster/contract';
import type { FastifyInstance } from 'fastify';
import { answer, type Gate, route } from '../http/route.ts';
import type { Authenticator, Caller } from '../keys/authenticate.ts';
import { apiKeyView } from '../keys/key.view.format.ts';
import { findKeyRow, listKeys, makeKey, revokeKey } from '../keys/keys.ts';
import { nameOfTenant } from '../keys/first-run.ts';
import { showRunner } from '../keys/runners.ts';
import type { RunnerId } from '../lib/ids.ts';
import type { OperatorDeps } from './deps.ts';
import { cursorOf, limitOf, pageOf, type PageQuery } from './page.ts';

const NO_STORE = { headers: { 'cache-control': 'no-store' } };

export function keyRoutes(
  app: FastifyInstance,
  gate: Gate<Caller>,
  { database, clock }: OperatorDeps,
  authenticator: Authenticator,
): void {
  const page = async (
    tenantId: Parameters<typeof listKeys>[1],
    kinds: Parameters<typeof listKeys>[2]['kinds'],
    runnerId: string | null,
    query: PageQuery,
  ) => {
    const limit = limitOf(query);
    const cursor = cursorOf(query, ['number', 'text']);
    const after =
      cursor === null ? null : { createdAt: cursor[0] as number, keyId: cursor[1] as string };
    const rows = await listKeys(database, tenantId, { kinds, runnerId, after, limit });
    return pageOf(rows, limit, apiKeyView, (row) => [row.created_at, row.key_id]);
  };
  route(app, gate, endpoints.whoAmI, async ({ caller }) => {
    const tenant = await nameOfTenant(database, caller.tenantId);
    return answer(200, {
      name: caller.name,
      role: caller.role,
      tenant_id: caller.tenantId,
      tenant,
    });
  });
  route(app, gate, endpoints.listKeys, async ({ caller, query }) =>
    answer(
      200,
      await page(caller.tenantId, ['runner', 'operator'], query.runner_id ?? null, query),
    ),
  );
  route(app, gate, endpoints.listEnrolmentTokens, async ({ caller, query }) =>
    answer(200, await page(caller.tenantId, ['enrolment'], null, query)),
  );
  route(app, gate, endpoints.createKey, async ({ caller, body }) => {
    const runner = await showRunner(database, caller.tenantId, body.runner_id);
    const nowMs = clock.nowMs();
    const key = await database.transaction(caller.tenantId, async (tx) =>
      makeKey(
        tx,
        {
          tenantId: caller.tenantId,
          kind: 'runner',
          name: body.name ?? 'added by operator',
          runnerId: runner.id as RunnerId,
          scopes:
            body.scopes === undefined
              ? KEY_SCOPES
              : [...new Set([...body.scopes, 'heartbeat' as const])],
          state: 'proven',
          expiresAt: body.expires_in === undefined ? null : nowMs + body.expires_in * 1000,
          createdBy: `operator:${caller.name}`,
        },
        nowMs,
      ),
    );
    const row = await findKeyRow(database, caller.tenantId, key.row.key_id);
    return answer(201, { api_key: key.secret.expose(), key: apiKeyView(row) }, NO_STORE);
  });
  route(app, gate, endpoints.createEnrolmentToken, async ({ caller, body }) => {
    const nowMs = clock.nowMs();
    const lifeMs =
      body.expires_in === undefined ? limits.enrolmentTokenLifeMs : body.expires_in * 1000;
    const key = await database.transaction(caller.tenantId, async (tx) =>
      makeKey(
        tx,
        {
          tenantId: caller.tenantId,
          kind: 'enrolment',
          name: body.name ?? 'enrolment token',
          labels: body.labels ?? {},
          state: 'proven',
          usesLeft: body.uses ?? 1,
          expiresAt: nowMs + lifeMs,
          createdBy: `operator:${caller.name}`,
        },
        nowMs,
      ),
    );
    const row = await findKeyRow(database, caller.tenantId, key.row.key_id);
    return answer(201, { api_key: key.secret.expose(), key: apiKeyView(row) }, NO_STORE);
  });
  route(app, gate, endpoints.revokeKey, async ({ caller, params }) => {
    const row = await revokeKey(database, caller.tenantId, params.id);
    authenticator.forget(null);
    return answer(200, apiKeyView(row));
  });
}

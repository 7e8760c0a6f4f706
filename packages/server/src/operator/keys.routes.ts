// Keys and enrolment tokens over HTTP: list, create, roll, change, revoke; and who the caller is. A
// secret stands only in the answer to the call that made it.

import { endpoints } from '@muster/contract';
import type { FastifyInstance } from 'fastify';
import { answer, type Gate, route } from '../http/route.ts';
import type { Authenticator, Caller } from '../keys/authenticate.ts';
import { apiKeyView } from '../keys/key.view.format.ts';
import { addEnrolmentToken, addRunnerKey } from '../keys/operator-keys.ts';
import { changeKey, listKeys, revokeKey, rollKey } from '../keys/keys.ts';
import { nameOfTenant } from '../keys/first-run.ts';
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
    const by = `operator:${caller.name}`;
    const { key, row } = await addRunnerKey(database, clock, caller.tenantId, body, by);
    return answer(201, { api_key: key.secret.expose(), key: apiKeyView(row) }, NO_STORE);
  });
  route(app, gate, endpoints.createEnrolmentToken, async ({ caller, body }) => {
    const by = `operator:${caller.name}`;
    const { key, row } = await addEnrolmentToken(database, clock, caller.tenantId, body, by);
    return answer(201, { api_key: key.secret.expose(), key: apiKeyView(row) }, NO_STORE);
  });
  route(app, gate, endpoints.rollKey, async ({ caller, params, body }) => {
    const by = `operator:${caller.name}`;
    const { tenantId } = caller;
    const made = await rollKey(database, clock, tenantId, params.id, body.expires_in, by);
    const reply = { api_key: made.key.secret.expose(), key: apiKeyView(made.row) };
    return answer(201, reply, NO_STORE);
  });
  route(app, gate, endpoints.changeKey, async ({ caller, params, body }) => {
    const row = await changeKey(database, clock, caller.tenantId, params.id, body);
    authenticator.forget(null);
    return answer(200, apiKeyView(row));
  });
  route(app, gate, endpoints.revokeKey, async ({ caller, params }) => {
    const row = await revokeKey(database, caller.tenantId, params.id);
    authenticator.forget(null);
    return answer(200, apiKeyView(row));
  });
}

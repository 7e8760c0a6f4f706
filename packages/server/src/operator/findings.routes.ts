// Findings and assets over HTTP, the operator's side. The handlers translate requests and rows; the
// stories of findings/ decide.

import { endpoints } from '@muster/contract';
import type { FastifyInstance } from 'fastify';
import {
  assetView,
  changeFinding,
  findingView,
  listAssets,
  listFindings,
  showFinding,
} from '../findings/findings.ts';
import {
  componentView,
  endpointView,
  listComponents,
  listEndpoints,
  listRelationships,
  relationshipView,
  showAsset,
} from '../findings/inventory.ts';
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

/** The routes that show what is known of one asset beside its findings. */
export function inventoryRoutes(
  app: FastifyInstance,
  gate: Gate<Caller>,
  { database }: OperatorDeps,
): void {
  route(app, gate, endpoints.listAssetComponents, async ({ caller, params, query }) => {
    const limit = limitOf(query);
    const [after] = cursorOf(query, ['text']) ?? [null];
    const { tenantId } = caller;
    const rows = await listComponents(database, tenantId, params.id, after as string | null, limit);
    return answer(
      200,
      pageOf(rows, limit, componentView, (row) => [row.identity]),
    );
  });
  route(app, gate, endpoints.listAssetEndpoints, async ({ caller, params, query }) => {
    const limit = limitOf(query);
    const [after] = cursorOf(query, ['text']) ?? [null];
    const { tenantId } = caller;
    const rows = await listEndpoints(database, tenantId, params.id, after as string | null, limit);
    return answer(
      200,
      pageOf(rows, limit, endpointView, (row) => [row.identity]),
    );
  });
  route(app, gate, endpoints.listAssetRelationships, async ({ caller, params, query }) => {
    const limit = limitOf(query);
    const cursor = cursorOf(query, ['text', 'id']);
    const after = cursor && { type: cursor[0] as string, otherId: cursor[1] as string };
    const way = query.direction ?? 'out';
    const rows = await listRelationships(database, caller.tenantId, params.id, way, after, limit);
    const other = way === 'out' ? 'to_asset_id' : 'from_asset_id';
    return answer(
      200,
      pageOf(rows, limit, relationshipView, (row) => [row.type, row[other]]),
    );
  });
}

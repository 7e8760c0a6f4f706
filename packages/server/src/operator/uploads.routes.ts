// Uploads over HTTP, the operator's side: list, show with the receipt, show rejected items. No
// route returns the report itself.

import { endpoints } from '@muster/contract';
import type { FastifyInstance } from 'fastify';
import { answer, type Gate, route } from '../http/route.ts';
import { rejectionView, uploadView } from '../uploads/upload.view.format.ts';
import { listRejections, listUploads, showUpload } from '../uploads/uploads.ts';
import type { Caller } from '../keys/authenticate.ts';
import type { OperatorDeps } from './deps.ts';
import { cursorOf, limitOf, pageOf } from './page.ts';

export function uploadRoutes(
  app: FastifyInstance,
  gate: Gate<Caller>,
  { database }: OperatorDeps,
): void {
  route(app, gate, endpoints.listUploads, async ({ caller, query }) => {
    const limit = limitOf(query);
    const [after] = cursorOf(query, ['id']) ?? [null];
    const rows = await listUploads(database, caller.tenantId, query, after as string | null, limit);
    return answer(
      200,
      pageOf(rows, limit, uploadView, (row) => [row.id]),
    );
  });
  route(app, gate, endpoints.showUpload, async ({ caller, params }) =>
    answer(200, uploadView(await showUpload(database, caller.tenantId, params.id))),
  );
  route(app, gate, endpoints.listUploadRejections, async ({ caller, params, query }) => {
    const limit = limitOf(query);
    const [after = -1] = cursorOf(query, ['number']) ?? [];
    const seq = Number(after);
    const rows = await listRejections(database, caller.tenantId, params.id, seq, limit);
    return answer(
      200,
      pageOf(rows, limit, rejectionView, (row) => [row.seq]),
    );
  });
}

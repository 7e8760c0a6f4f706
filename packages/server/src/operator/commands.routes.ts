// Commands over HTTP, the operator's side: list, show with attempts, create, cancel.

import { endpoints } from '@muster/contract';
import type { FastifyInstance } from 'fastify';
import { attemptView, operatorCommand } from '../commands/command.view.format.ts';
import { type CommandsDeps } from '../commands/commands.ts';
import {
  cancelCommand,
  createCommand,
  listCommands,
  showCommand,
} from '../commands/operator-commands.ts';
import { answer, type Gate, route } from '../http/route.ts';
import type { Caller } from '../keys/authenticate.ts';
import { cursorOf, limitOf, pageOf } from './page.ts';

export function commandRoutes(app: FastifyInstance, gate: Gate<Caller>, deps: CommandsDeps): void {
  route(app, gate, endpoints.listCommands, async ({ caller, query }) => {
    const limit = limitOf(query);
    const [after] = cursorOf(query, ['id']) ?? [null];
    const rows = await listCommands(deps, caller.tenantId, query, after as string | null, limit);
    return answer(
      200,
      pageOf(rows, limit, operatorCommand, (row) => [row.id]),
    );
  });
  route(app, gate, endpoints.showCommand, async ({ caller, params }) => {
    const { command, attempts } = await showCommand(deps, caller.tenantId, params.id);
    return answer(200, { ...operatorCommand(command), attempts: attempts.map(attemptView) });
  });
  route(app, gate, endpoints.createCommand, async ({ caller, body }) => {
    const row = await createCommand(deps, caller.tenantId, body, `operator:${caller.name}`);
    return answer(201, operatorCommand(row));
  });
  route(app, gate, endpoints.cancelCommand, async ({ caller, params }) =>
    answer(200, operatorCommand(await cancelCommand(deps, caller.tenantId, params.id))),
  );
}

// Commands over HTTP, the operator's side: list, show with attempts and uploads, why a command
// waits, its log, create, cancel.

import { endpoints, limits } from '@muster/contract';
import type { FastifyInstance } from 'fastify';
import { attemptView, operatorCommand, uploadOfCommand } from '../commands/command.view.format.ts';
import { readLog } from '../commands/log/command-log.ts';
import { type CommandsDeps } from '../commands/commands.ts';
import {
  cancelCommand,
  createCommand,
  listCommands,
  showCommand,
} from '../commands/operator-commands.ts';
import { whyWaiting } from '../commands/why-waiting.ts';
import { answer, type Gate, route } from '../http/route.ts';
import { waitOf, whileConnected } from '../http/wait.ts';
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
    const { command, attempts, uploads } = await showCommand(deps, caller.tenantId, params.id);
    const more = { attempts: attempts.map(attemptView), uploads: uploads.map(uploadOfCommand) };
    return answer(200, { ...operatorCommand(command), ...more });
  });
  route(app, gate, endpoints.commandWaiting, async ({ caller, params, query }) => {
    const limit = limitOf(query);
    const [after] = cursorOf(query, ['id']) ?? [null];
    const page = { after: after as string | null, limit };
    const { items, ...rest } = await whyWaiting(deps, caller.tenantId, params.id, page);
    const paged = pageOf(
      items,
      limit,
      (item) => item,
      (item) => [item.runner_id],
    );
    return answer(200, { ...rest, ...paged });
  });
  route(app, gate, endpoints.commandLog, async ({ caller, params, query, request }) => {
    const { ms } = waitOf(query.wait, request, limits.pollWaitSecondsMax);
    const offset = Number(query.offset ?? 0);
    const log = await whileConnected(request, (gone) =>
      readLog(deps, caller.tenantId, params.id, offset, { ms, gone }),
    );
    return answer(200, log);
  });
  route(app, gate, endpoints.createCommand, async ({ caller, body }) => {
    const row = await createCommand(deps, caller.tenantId, body, `operator:${caller.name}`);
    return answer(201, operatorCommand(row));
  });
  route(app, gate, endpoints.cancelCommand, async ({ caller, params }) =>
    answer(200, operatorCommand(await cancelCommand(deps, caller.tenantId, params.id))),
  );
}

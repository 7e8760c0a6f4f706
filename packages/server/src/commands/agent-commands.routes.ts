// The runner's side of commands: poll, acknowledge, start, complete, fail, release, progress, log
// lines. Each handler turns a request into one call of a story and its result into a response.

import { endpoints, limits } from '@muster/contract';
import type { FastifyInstance } from 'fastify';
import { answer, type Gate, presentedKey, route } from '../http/route.ts';
import { waitOf, whileConnected } from '../http/wait.ts';
import type { Caller } from '../keys/authenticate.ts';
import type { RunnerEvent } from './command.machine.ts';
import { runnerCommand } from './command.view.format.ts';
import { appendLog } from './log/command-log.ts';
import { type CommandsDeps, transition, type TransitionInput } from './commands.ts';
import { poll } from './poll/poll.ts';
import { reportProgress } from './progress.ts';

/**
 * The limit of a poll. A value that is out of range or unreadable becomes the nearest bound or the
 * default (RP §5.1).
 */
function pollLimit(text: string | undefined): number {
  const limit = Number(text ?? limits.pollLimitDefault);
  if (!Number.isFinite(limit) || limit <= 0) return limits.pollLimitDefault;
  return Math.min(Math.floor(limit), limits.pollLimitMax);
}

/**
 * Reads the body of a transition leniently: members of the wrong type count as absent (RP §5.3).
 */
function inputOf(body: unknown): TransitionInput {
  const object = typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {};
  const { result, error_message: message, attempt } = object;
  return {
    ...(result === undefined ? {} : { result }),
    ...(typeof message === 'string' ? { errorMessage: message } : {}),
    ...(typeof attempt === 'number' && Number.isSafeInteger(attempt) ? { attempt } : {}),
  };
}

export function agentCommandRoutes(
  app: FastifyInstance,
  gate: Gate<Caller>,
  deps: CommandsDeps,
): void {
  route(app, gate, endpoints.pollCommands, async ({ caller, query, request }) => {
    const { ms, headers } = waitOf(query.wait, request, limits.pollWaitSecondsMax);
    const limit = pollLimit(query.limit);
    const key = presentedKey(request) ?? '';
    const hasScope = caller.scopes.includes('commands');
    const isStillGood = async (): Promise<boolean> =>
      (await gate.authenticate(key, 'runner', request.ip)) !== null;
    const rows = await whileConnected(request, (gone) =>
      poll(deps, caller, { limit, ms, gone, hasScope, isStillGood }),
    );
    return answer(200, rows.map(runnerCommand), { headers });
  });
  const transitions = [
    [endpoints.acknowledgeCommand, 'acknowledge'],
    [endpoints.startCommand, 'start'],
    [endpoints.completeCommand, 'complete'],
    [endpoints.failCommand, 'fail'],
    [endpoints.releaseCommand, 'release'],
  ] as const satisfies readonly (readonly [unknown, RunnerEvent])[];
  for (const [endpoint, event] of transitions) {
    route(app, gate, endpoint, async ({ caller, params, body }) => {
      const row = await transition(deps, caller, params.id, event, inputOf(body));
      return answer(200, runnerCommand(row));
    });
  }
  route(app, gate, endpoints.reportProgress, async ({ caller, params, body }) =>
    answer(200, runnerCommand(await reportProgress(deps, caller, params.id, body))),
  );
  route(app, gate, endpoints.appendLog, async ({ caller, params, body }) =>
    answer(200, await appendLog(deps, caller, params.id, body)),
  );
}

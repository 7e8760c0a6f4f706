// The runner's side of commands: poll, acknowledge, start, complete, fail, release.

import { endpoints, limits } from '@muster/contract';
import type { FastifyInstance } from 'fastify';
import { answer, type Gate, route } from '../http/route.ts';
import type { Caller } from '../keys/authenticate.ts';
import type { RunnerEvent } from './command.machine.ts';
import { runnerCommand } from './command.view.format.ts';
import { type CommandsDeps, poll, transition, type TransitionInput } from './commands.ts';

/** Out of range or unreadable: the nearest bound or the default (RP §5.1). */
export function pollLimit(text: string | undefined): number {
  const limit = Number(text ?? limits.pollLimitDefault);
  if (!Number.isFinite(limit) || limit <= 0) return limits.pollLimitDefault;
  return Math.min(Math.floor(limit), limits.pollLimitMax);
}

/** What a transition's body says, leniently: members of the wrong type count as absent (RP §5.3). */
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
  route(app, gate, endpoints.pollCommands, async ({ caller, query }) => {
    if (caller.paused || !caller.scopes.includes('commands')) return answer(200, []);
    const rows = await poll(deps, caller, pollLimit(query.limit));
    return answer(200, rows.map(runnerCommand));
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
}

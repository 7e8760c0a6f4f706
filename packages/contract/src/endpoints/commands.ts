// Commands as operators call them, under /api/v1 with an operator token: created, listed, followed,
// canceled.

import Type from 'typebox';
import { bodyErrors, endpoint } from '../endpoint.ts';
import {
  Command,
  CommandLog,
  CommandWaiting,
  CommandWithAttempts,
  NewCommand,
} from '../schemas/command.ts';
import { Id, Page, PageQuery } from '../schemas/shapes.ts';
import { CommandStatus } from '../schemas/vocabulary.ts';

const ById = Type.Object({ id: Type.String() });
const everyone = ['unauthorized', 'rate_limited'] as const;
const readOne = [...everyone, 'not_found'] as const;
const viewer = { kind: 'operator', role: 'viewer' } as const;
const analyst = { kind: 'operator', role: 'analyst' } as const;

export const listCommands = endpoint({
  id: 'listCommands',
  method: 'GET',
  path: '/api/v1/commands',
  auth: viewer,
  summary: 'Commands, newest first',
  query: Type.Object({
    ...PageQuery,
    status: Type.Optional(CommandStatus),
    type: Type.Optional(Type.String({ maxLength: 64, description: 'the type' })),
    runner_id: Type.Optional(Id),
  }),
  bodyKind: 'none',
  replies: { 200: Page(Command) },
  errors: [...everyone, 'invalid_parameter'],
});

export const showCommand = endpoint({
  id: 'showCommand',
  method: 'GET',
  path: '/api/v1/commands/{id}',
  auth: viewer,
  summary: 'One command with its attempts and uploads',
  params: ById,
  bodyKind: 'none',
  replies: { 200: CommandWithAttempts },
  errors: readOne,
});

export const createCommand = endpoint({
  id: 'createCommand',
  method: 'POST',
  path: '/api/v1/commands',
  auth: analyst,
  summary: 'Create a command',
  description:
    'For one runner (`runner_id`), or for whichever claims it first; with `target` only runners count that have all of the ' +
    'labels, tools and capabilities. Payloads of the known types (`scan`, `collect`, `health_check`, `validate`, ' +
    '`config_update`, `cancel`) have a shape; other types pass as they are. A scan goes only to runners with its scanner, ' +
    'as far as they say which they have. When 100 000 wait, another is `rate_limited`.',
  bodyKind: 'json',
  body: NewCommand,
  replies: { 201: Command },
  errors: [...readOne, 'forbidden', ...bodyErrors, 'invalid_body'],
});

export const cancelCommand = endpoint({
  id: 'cancelCommand',
  method: 'POST',
  path: '/api/v1/commands/{id}/cancel',
  auth: analyst,
  summary: 'Cancel a command',
  description: 'Pending: at once. Held by a runner: it is asked to stop with its next heartbeat.',
  params: ById,
  bodyKind: 'none',
  replies: { 200: Command },
  errors: [...readOne, 'forbidden', 'invalid_transition'],
});

export const commandWaiting = endpoint({
  id: 'commandWaiting',
  method: 'GET',
  path: '/api/v1/commands/{id}/waiting',
  auth: viewer,
  summary: 'Why nobody has it yet, runner by runner',
  description:
    'Newest runners first. Whether a runner was offered it before is known only to the server that did.',
  params: ById,
  query: Type.Object({ ...PageQuery }),
  bodyKind: 'none',
  replies: { 200: CommandWaiting },
  errors: [...readOne, 'invalid_parameter'],
});

export const commandLog = endpoint({
  id: 'commandLog',
  method: 'GET',
  path: '/api/v1/commands/{id}/logs',
  auth: viewer,
  summary: 'The log of a command, from a line on',
  description:
    'With `wait` the answer comes when there are lines after `offset`, or the command has ended.',
  params: ById,
  query: Type.Object({
    offset: Type.Optional(Type.String({ pattern: '^[0-9]{1,9}$', description: 'the first line' })),
    wait: Type.Optional(
      Type.String({ pattern: '^[0-9]{1,3}$', description: 'seconds, at most 60' }),
    ),
  }),
  bodyKind: 'none',
  replies: { 200: CommandLog },
  errors: [...readOne, 'invalid_parameter'],
});

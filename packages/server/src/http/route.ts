// Binds an endpoint of the contract to its handler. A request is authenticated before any of its
// body is read, validated against the schema that is also printed as OpenAPI, and answered with a
// status that the contract names.

import {
  type Auth,
  type BodyOf,
  type Endpoint,
  limits,
  type ParamsOf,
  type QueryOf,
  type Role,
  ROLES,
} from '@muster/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Problem } from '../lib/problem.ts';
import type { TokenBuckets } from '../lib/token-bucket.ts';

/** The facts about a caller that the HTTP layer needs; the slices hand it in (app.ts). */
export interface Identity {
  readonly kind: 'runner' | 'operator' | 'enrolment';
  readonly scopes?: readonly string[];
  readonly role?: Role;
}

export interface Gate<Caller extends Identity> {
  /** Returns null for a refused key; the reason is logged where it is known. */
  authenticate(key: string, kind: Identity['kind'], from: string): Promise<Caller | null>;
  /** Called for every authenticated caller: a sign of life. */
  seen(caller: Caller): Promise<void>;
  /** Told when a good key lacks the scope that the endpoint needs. */
  outOfScope(caller: Caller, from: string): void;
  /** Refused credentials per peer address. */
  readonly failures: TokenBuckets;
  monotonicMs(): number;
}

type CallerFor<A extends Auth, Caller extends Identity> = A extends { kind: infer Kind }
  ? Kind extends 'none'
    ? null
    : Extract<Caller, { kind: Kind }>
  : never;

interface Call<E extends Endpoint, Caller extends Identity> {
  readonly caller: CallerFor<E['auth'], Caller>;
  readonly params: ParamsOf<E>;
  readonly query: Partial<QueryOf<E>>;
  /**
   * The parsed body: validated for `json`, as it came for `lenient`, undefined for `stream` and
   * `none`.
   */
  readonly body: E['bodyKind'] extends 'json' ? BodyOf<E> : unknown;
  readonly request: FastifyRequest;
}

export interface Answer<E extends Endpoint> {
  readonly status: keyof E['replies'] & number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Called with true when the whole answer was written, with false when it could not be. */
  readonly written?: (whole: boolean) => void;
}

/** An answer whose status keeps its literal type, so that it is checked against the contract. */
export const answer = <const Status extends number>(
  status: Status,
  body: unknown,
  extras: Pick<Answer<Endpoint>, 'headers' | 'written'> = {},
) => ({ status, body, ...extras });

type Handler<E extends Endpoint, Caller extends Identity> = (
  call: Call<E, Caller>,
) => Promise<Answer<E>>;

declare module 'fastify' {
  interface FastifyRequest {
    caller: Identity | null;
    /** The Content-Type as sent; the server itself reads JSON whatever it says. */
    sentType: string;
    written: ((whole: boolean) => void) | null;
  }
  interface FastifyContextConfig {
    endpoint?: Endpoint;
  }
}

/** `Authorization: Bearer <key>`, else `X-API-Key`; never the query (contract §2). */
export function presentedKey(request: FastifyRequest): string | null {
  const { authorization } = request.headers;
  if (authorization?.startsWith('Bearer ') === true) {
    const key = authorization.slice('Bearer '.length).trim();
    if (key !== '') return key;
  }
  const header = request.headers['x-api-key'];
  return typeof header === 'string' && header.trim() !== '' ? header.trim() : null;
}

/**
 * Authenticates the caller. Every key that isn't good gets the same 401; the reason is in the log
 * only.
 */
async function authenticate<Caller extends Identity>(
  gate: Gate<Caller>,
  auth: Exclude<Auth, { kind: 'none' }>,
  request: FastifyRequest,
): Promise<Caller> {
  const key = presentedKey(request);
  const caller = key === null ? null : await gate.authenticate(key, auth.kind, request.ip);
  const inScope =
    auth.kind !== 'runner' || caller === null || caller.scopes?.includes(auth.scope) === true;
  if (caller !== null && !inScope) {
    gate.outOfScope(caller, request.ip);
    await gate.seen(caller);
    if (auth.without === 'not_found') throw new Problem('not_found');
  }
  if (caller === null || !inScope) throw counted(gate, request, new Problem('unauthorized'));
  if (auth.kind === 'operator') {
    const held = ROLES.indexOf(caller.role ?? 'viewer');
    if (held < ROLES.indexOf(auth.role)) {
      throw new Problem('forbidden', `This needs an operator token with the role ${auth.role}.`);
    }
  }
  await gate.seen(caller);
  return caller;
}

/**
 * Counts a 401 against the address it came from, also one that a story throws, such as for a
 * used-up token.
 */
function counted<Caller extends Identity>(
  gate: Gate<Caller>,
  request: FastifyRequest,
  error: unknown,
): unknown {
  if (!(error instanceof Problem) || error.code !== 'unauthorized') return error;
  const waitMs = gate.failures.take(request.ip, gate.monotonicMs());
  if (waitMs === 0) return error;
  return new Problem('rate_limited', 'Too many refused credentials from this address.', {
    retryAfterSeconds: waitMs / 1000,
  });
}

/** `/commands/{id}` → `/commands/:id`. */
const fastifyPath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1');

/** Registers one endpoint. */
export function route<E extends Endpoint, Caller extends Identity>(
  app: FastifyInstance,
  gate: Gate<Caller>,
  endpoint: E,
  handler: Handler<E, Caller>,
): void {
  const { auth } = endpoint;
  const schema: Record<string, unknown> = {};
  if (endpoint.params !== undefined) schema['params'] = endpoint.params;
  if (endpoint.query !== undefined) schema['querystring'] = endpoint.query;
  if (endpoint.bodyKind === 'json' && endpoint.body !== undefined) {
    // Ajv would register the `$id`, which several endpoints may share.
    const { $id: _id, ...body } = endpoint.body as { $id?: string };
    schema['body'] = body;
  }
  app.route({
    method: endpoint.method,
    url: fastifyPath(endpoint.path),
    schema,
    config: { endpoint },
    bodyLimit: endpoint.bodyBytesMax ?? limits.bodyBytesMax,
    onRequest: async (request) => {
      if (auth.kind !== 'none') request.caller = await authenticate(gate, auth, request);
    },
    handler: async (request, reply) => {
      refuseNul(request);
      const answer = await handler({
        caller: request.caller as CallerFor<E['auth'], Caller>,
        params: request.params as ParamsOf<E>,
        query: request.query as Partial<QueryOf<E>>,
        body: request.body as Call<E, Caller>['body'],
        request,
      }).catch((error: unknown) => {
        throw counted(gate, request, error);
      });
      request.written = answer.written ?? null;
      return send(reply, endpoint, answer);
    },
  });
}

/**
 * Refuses `%00` in a path or query: no stored text has NUL, and a query with it fails on
 * PostgreSQL.
 */
function refuseNul(request: FastifyRequest): void {
  for (const values of [request.params, request.query] as Record<string, unknown>[]) {
    for (const [name, value] of Object.entries(values)) {
      if (typeof value === 'string' && value.includes('\u0000')) {
        throw new Problem('invalid_parameter', `${name} must not have a NUL character.`, {
          pointer: `/${name}`,
        });
      }
    }
  }
}

function send<E extends Endpoint>(
  reply: FastifyReply,
  endpoint: E,
  answer: Answer<E>,
): FastifyReply {
  if (answer.headers !== undefined) void reply.headers(answer.headers);
  void reply.code(answer.status);
  if (endpoint.replyType !== undefined) return reply.type(endpoint.replyType).send(answer.body);
  // A string by JSON.stringify: faster than a compiled serialiser for small answers, and no member
  // is left out.
  return reply.type('application/json; charset=utf-8').send(JSON.stringify(answer.body));
}

// The Fastify instance and the rules for every request: ids, bodies, errors, 404 and 405, request
// logs. The slices' routes register the endpoints (app.ts); this file knows none of them.

import { readFileSync } from 'node:fs';
import { type Endpoint, endpointList, limits } from '@muster/contract';
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
  LogController,
} from 'fastify';
import type { Logger } from '../lib/log.ts';
import { Problem } from '../lib/problem.ts';
import { answered, parseJson, readWhole } from './body.ts';
import { noteExchange, refuseClient } from './client-errors.ts';
import { handleError, handleFrameworkError } from './problems.ts';
import { isTime } from './time-format.ts';
import { buildValidators } from './validators.ts';

interface ServerOptions {
  readonly log: Logger;
  readonly trustedProxies: readonly string[];
  readonly tls: { readonly certFile: string; readonly keyFile: string } | null;
  readonly newRequestId: () => string;
  /** After every answer: route (or null), status, seconds. */
  readonly onAnswer: (endpointId: string | null, status: number, seconds: number) => void;
}

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

export function createServer(options: ServerOptions): FastifyInstance {
  const app = Fastify({ ...settingsOf(options), ...listenerOptions(options.tls) });
  app.decorateRequest('caller', null);
  app.decorateRequest('sentType', '');
  app.decorateRequest('written', null);
  acceptBodies(app);
  app.setErrorHandler(handleError);
  app.setNotFoundHandler((request, reply) => {
    if (!request.url.startsWith('/api/v2/')) throw notFound(request);
    // A client that probes for v2 takes a problem document for a refusal, and a plain 404 for "not
    // here" (RP §12).
    const body = {
      error: 'not_found',
      code: 'not_found',
      message: 'Version 2 is not served here.',
    };
    void reply.code(404).type('application/json').send(JSON.stringify(body));
  });
  addHooks(app, options);
  return app;
}

/** The settings with and without TLS. */
function settingsOf(options: ServerOptions): FastifyServerOptions {
  return {
    loggerInstance: options.log,
    logController: new LogController({ disableRequestLogging: true }),
    // One logger for all requests: making a child for each request costs a tenth of a heartbeat,
    // and each log entry about a request names the request's id itself.
    childLoggerFactory: (log) => log,
    trustProxy: options.trustedProxies.length === 0 ? false : [...options.trustedProxies],
    genReqId: (request) => {
      const given = request.headers['x-request-id'];
      return typeof given === 'string' && REQUEST_ID.test(given) ? given : options.newRequestId();
    },
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 512 },
    // No total time limit for a body (boundedBody watches the rate), but headers must come in time.
    requestTimeout: 0,
    // A request that still comes in while the server stops is served as long as everything is
    // there; readyz says 503.
    return503OnClosing: false,
    keepAliveTimeout: 75_000,
    schemaController: { compilersFactory: { buildValidator: buildValidators } },
    ajv: {
      customOptions: {
        coerceTypes: false,
        removeAdditional: false,
        useDefaults: false,
        allErrors: false,
      },
      // After the formats that Fastify itself adds, so that this format replaces its looser
      // namesake.
      onCreate: (ajv) => ajv.addFormat('date-time', isTime),
    },
    frameworkErrors: handleFrameworkError,
    clientErrorHandler: (error, socket) => refuseClient(error, socket, options.newRequestId),
  };
}

/**
 * Longer than any honest client needs for its headers; a silent connection holds a descriptor for
 * this time.
 */
const HEADERS_MS = 30_000;

/**
 * The same time limits with and without TLS: Fastify gives `http` to plain servers only. Its types
 * tell the two kinds of servers apart; no code here does.
 */
function listenerOptions(tls: ServerOptions['tls']): FastifyServerOptions {
  const http = { headersTimeout: HEADERS_MS };
  if (tls === null) return { http } as FastifyServerOptions;
  const cert = readFileSync(tls.certFile);
  const key = readFileSync(tls.keyFile);
  const https = { ...http, cert, key, handshakeTimeout: HEADERS_MS };
  return { https } as FastifyServerOptions;
}

/**
 * Reads JSON whatever the Content-Type says: the parser goes by the endpoint, not by the header.
 */
function acceptBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', async (request: FastifyRequest, payload: FastifyRequest['raw']) => {
    const { endpoint } = request.routeOptions.config;
    if (endpoint === undefined || endpoint.bodyKind === 'stream') return undefined;
    const bytes = await readWhole(
      payload,
      request.headers,
      endpoint.bodyBytesMax ?? limits.bodyBytesMax,
    );
    return endpoint.bodyKind === 'none' ? undefined : parseJson(bytes, endpoint.malformedBody);
  });
}

function addHooks(app: FastifyInstance, options: ServerOptions): void {
  app.addHook('onRequest', (request, reply, done) => {
    noteExchange(request.raw, reply.raw);
    request.sentType = (request.headers['content-type'] ?? '').toLowerCase();
    // Fastify refuses media types that it can't read; here the header decides nothing.
    request.raw.headers['content-type'] = 'application/octet-stream';
    void reply.header('x-request-id', request.id);
    void reply.header('x-content-type-options', 'nosniff');
    done();
  });
  app.addHook('onResponse', (request, reply, done) => {
    const id = request.routeOptions.config?.endpoint?.id ?? null;
    const { statusCode: status } = reply;
    options.onAnswer(id, status, reply.elapsedTime / 1000);
    const level = status >= 500 ? 'warn' : status >= 400 ? 'info' : 'debug';
    // Heartbeats are most of all answers: an entry that no level writes isn't put together.
    if (options.log.isLevelEnabled(level))
      options.log[level](entryOf(request, id, reply), 'answered');
    done();
  });
  app.addHook('onSend', (request, reply, payload, done) => {
    if (request.written !== null) {
      const { written } = request;
      void answered(reply.raw).then(written);
    }
    done(null, payload);
  });
}

const entryOf = (request: FastifyRequest, endpoint: string | null, reply: FastifyReply) => ({
  request_id: request.id,
  method: request.method,
  endpoint,
  status: reply.statusCode,
  ms: Math.round(reply.elapsedTime),
  ip: request.ip,
  trace: traceOf(request),
});

/** The trace id of a W3C `traceparent`, so that logs can be joined with the caller's. */
function traceOf(request: FastifyRequest): string | undefined {
  const header = request.headers['traceparent'];
  const match = typeof header === 'string' ? /^[0-9a-f]{2}-([0-9a-f]{32})-/.exec(header) : null;
  return match?.[1];
}

const PATTERNS: readonly { endpoint: Endpoint; pattern: RegExp }[] = endpointList.map(
  (endpoint) => ({
    endpoint,
    pattern: new RegExp(
      `^${endpoint.path.replaceAll(/\{\w+\}/g, '[^/]+').replaceAll('.', '\\.')}/?$`,
    ),
  }),
);

/** 405 with `Allow` where the path exists with another method, otherwise 404. */
function notFound(request: FastifyRequest): Problem {
  const path = request.url.split('?', 1)[0] ?? '';
  const methods = PATTERNS.filter(({ pattern }) => pattern.test(path)).map(
    ({ endpoint }) => endpoint.method,
  );
  if (methods.length === 0) return new Problem('not_found', 'There is no such path.');
  return new Problem('method_not_allowed', undefined, {
    headers: { allow: [...new Set(methods)].join(', ') },
  });
}

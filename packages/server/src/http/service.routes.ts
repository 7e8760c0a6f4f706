// The routes of the installation itself: health, metrics, the API description and its page, the
// console.

import { endpoints, printOpenApi } from '@muster/contract';
import type { FastifyInstance } from 'fastify';
import { Problem } from '../lib/problem.ts';
import type { ConsoleFiles } from './console-files.ts';
import { docsPage } from './docs-page.format.ts';
import { answer, type Gate, type Identity, route } from './route.ts';

interface ServiceDeps {
  readonly version: string;
  readonly databaseKind: string;
  /** Null when the process can serve; otherwise the reason why not. */
  readonly unready: () => Promise<string | null>;
  /** Whether uploads are refused for lack of space; everything else goes on. */
  readonly isStorageLow: () => boolean;
  readonly metricsText: () => Promise<string>;
  readonly metrics: 'loopback' | 'open' | 'off';
  readonly console: ConsoleFiles | null;
}

/** No asset from outside, no inline script, no frame of another site. */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
  "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const PAGE_HEADERS = {
  'content-security-policy': PAGE_POLICY,
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
};

const LOOPBACK = /^(127\.|::1$|::ffff:127\.)/;

export function serviceRoutes<Caller extends Identity>(
  app: FastifyInstance,
  gate: Gate<Caller>,
  deps: ServiceDeps,
): void {
  route(app, gate, endpoints.healthz, async () =>
    answer(200, { status: 'ok', version: deps.version }),
  );
  route(app, gate, endpoints.readyz, async () => {
    const missing = await deps.unready();
    if (missing !== null) throw new Problem('unavailable', missing);
    const storage = deps.isStorageLow() ? 'low' : 'ok';
    return answer(200, { status: 'ok', database: deps.databaseKind, storage });
  });
  route(app, gate, endpoints.metrics, async ({ request }) => {
    // The peer of the connection, not a forwarded address: a proxy must not open this by accident.
    const local =
      LOOPBACK.test(request.socket.remoteAddress ?? '') &&
      request.headers['x-forwarded-for'] === undefined;
    if (deps.metrics === 'off' || (deps.metrics === 'loopback' && !local)) {
      throw new Problem('not_found', 'There is no such path.');
    }
    return answer(200, await deps.metricsText());
  });
  // Made when they are first asked for: the start doesn't wait for them.
  const description = once(() => printOpenApi(deps.version));
  const page = once(() => docsPage(description()));
  route(app, gate, endpoints.openapi, async () => answer(200, description()));
  route(app, gate, endpoints.docs, async () => answer(200, page().html, { headers: PAGE_HEADERS }));
  app.get('/docs.css', (_request, reply) =>
    reply.type('text/css; charset=utf-8').header('cache-control', 'no-cache').send(page().css),
  );
  if (deps.console !== null) consoleRoutes(app, deps.console);
}

/** Calls `make` the first time only, and keeps its result. */
function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null;
  return () => (made ??= { value: make() }).value;
}

function consoleRoutes(app: FastifyInstance, files: ConsoleFiles): void {
  for (const [path, file] of files) {
    app.get(path, (_request, reply) =>
      reply
        .type(file.type)
        .headers(file.isPage ? PAGE_HEADERS : {})
        .header('cache-control', file.isPage ? 'no-cache' : 'public, max-age=31536000, immutable')
        .send(file.bytes),
    );
  }
}

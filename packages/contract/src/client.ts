// The typed client: one call for every endpoint, used by runner, CLI, console and tests. It adds no
// retries and no policy; its caller decides what to do with an error.

import type { BodyOf, Endpoint, ParamsOf, QueryOf, ReplyOf } from './endpoint.ts';

export interface ClientOptions {
  /** Origin and optional path prefix, without a trailing slash. */
  readonly baseUrl: string;
  /** Runner key, operator token or enrolment token. */
  readonly key?: string;
  readonly fetch?: typeof fetch;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The types that `fetch` takes as a body. */
export type RequestBody = NonNullable<RequestInit['body']>;

export interface CallInput<E extends Endpoint> {
  readonly params?: ParamsOf<E>;
  readonly query?: Partial<QueryOf<E>>;
  /** JSON for `json` and `lenient` endpoints. */
  readonly body?: BodyOf<E>;
  /** Bytes for `stream` endpoints, with their own headers (`Content-Encoding` …). */
  readonly raw?: RequestBody;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export interface CallReply<E extends Endpoint> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: ReplyOf<E>;
}

/** An answer that isn't a success: the problem document, as far as the answer had one. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly problem: Readonly<Record<string, unknown>>;
  /** Seconds, from `Retry-After`, when the server named a time. */
  readonly retryAfterSeconds: number | null;
  constructor(
    status: number,
    problem: Readonly<Record<string, unknown>>,
    retryAfterSeconds: number | null,
  ) {
    const detail = typeof problem['detail'] === 'string' ? problem['detail'] : `HTTP ${status}`;
    super(detail);
    this.name = 'ApiError';
    this.status = status;
    this.code = typeof problem['code'] === 'string' ? problem['code'] : `http_${status}`;
    this.problem = problem;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** The path of an endpoint with its parameters filled in and its query appended. */
export function pathOf(
  endpoint: Endpoint,
  params: Readonly<Record<string, unknown>> = {},
  query: Readonly<Record<string, unknown>> = {},
): string {
  const path = endpoint.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name];
    if (typeof value !== 'string')
      throw new TypeError(`${endpoint.id} needs the parameter ${name}`);
    return encodeURIComponent(value);
  });
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined)
      search.set(name, typeof value === 'string' ? value : JSON.stringify(value));
  }
  const text = search.toString();
  return text === '' ? path : `${path}?${text}`;
}

/**
 * Calls an endpoint. Resolves with the answer of any status that the endpoint declares as a reply;
 * every other answer rejects with ApiError. Network faults reject as `fetch` does.
 */
export async function call<E extends Endpoint>(
  endpoint: E,
  input: CallInput<E>,
  options: ClientOptions,
): Promise<CallReply<E>> {
  const headers: Record<string, string> = { ...options.headers, ...input.headers };
  if (options.key !== undefined) headers['authorization'] = `Bearer ${options.key}`;
  let body: RequestBody | null = input.raw ?? null;
  if (input.body !== undefined && input.raw === undefined) {
    headers['content-type'] ??= 'application/json';
    body = JSON.stringify(input.body);
  }
  const init: RequestInit & { duplex?: 'half' } = {
    method: endpoint.method,
    headers,
    redirect: 'error',
  };
  if (body !== null) {
    init.body = body;
    // A stream as a body needs this (WHATWG fetch); for other bodies it changes nothing.
    init.duplex = 'half';
  }
  if (input.signal !== undefined) init.signal = input.signal;
  const url = options.baseUrl + pathOf(endpoint, input.params ?? {}, input.query ?? {});
  const response = await (options.fetch ?? fetch)(url, init);
  const reply = parse(await response.text(), response.headers.get('content-type') ?? '');
  if (Object.hasOwn(endpoint.replies, response.status)) {
    return { status: response.status, headers: response.headers, body: reply as ReplyOf<E> };
  }
  const problem = typeof reply === 'object' && reply !== null ? reply : {};
  const retryAfter = Number(response.headers.get('retry-after') ?? 'none');
  throw new ApiError(
    response.status,
    problem as Record<string, unknown>,
    Number.isFinite(retryAfter) ? retryAfter : null,
  );
}

function parse(text: string, contentType: string): unknown {
  if (!contentType.includes('json')) return text;
  try {
    return JSON.parse(text);
  } catch {
    // A proxy's page under a JSON type: the caller gets the text, and the status decides.
    return text;
  }
}

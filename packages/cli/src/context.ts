// The tools of a running command: the server behind `operator` and `runner`, and the printer. Made
// once for each run of the program.

import {
  ApiError,
  call,
  type CallInput,
  type CallReply,
  type ClientOptions,
  type Endpoint,
  type ReplyOf,
} from '@muster/contract';
import type { GlobalValues } from './command.ts';
import { CredentialError, UnreachableError, UsageError } from './errors.ts';
import type { Io } from './lib/io.ts';
import { Printer } from './print/printer.ts';

const DEFAULT_URL = 'http://127.0.0.1:7878';

export interface Context {
  readonly io: Io;
  readonly print: Printer;
  /** Calls with the operator token; resolves with the body. */
  operator<E extends Endpoint>(endpoint: E, input: CallInput<E>): Promise<ReplyOf<E>>;
  /** Calls with the runner key. */
  runner<E extends Endpoint>(endpoint: E, input: CallInput<E>): Promise<CallReply<E>>;
}

export function makeContext(io: Io, options: GlobalValues): Context {
  const url = (): string => baseUrlOf(options.url ?? DEFAULT_URL);
  const client = (key: string): ClientOptions => ({
    baseUrl: url(),
    key,
    fetch: wholeFetch(io.fetch, url()),
    headers: { accept: 'application/json' },
  });
  return {
    io,
    print: new Printer(io, options),
    operator: async (endpoint, input) => {
      const reply = await asked(endpoint, input, client(operatorToken(options.token)));
      return reply.body;
    },
    runner: async (endpoint, input) => asked(endpoint, input, client(runnerKey(options.key))),
  };
}

function baseUrlOf(given: string): string {
  const url = URL.parse(given);
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '') {
    throw new UsageError(`--url: "${given}" is not an address such as ${DEFAULT_URL}.`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new UsageError('--url: leave user and password out; Muster takes a token or a key.');
  }
  return (url.origin + url.pathname).replace(/\/+$/, '');
}

function operatorToken(token: string | undefined): string {
  if (token === undefined) {
    throw new CredentialError(
      'An operator token is needed. Set MUSTER_TOKEN or give --token; the first start of the server printed one, and ' +
        '`muster admin operator-token` makes another.',
    );
  }
  return checked(token, 'mst_op_', '--token (or MUSTER_TOKEN)', 'an operator token');
}

function runnerKey(key: string | undefined): string {
  if (key === undefined) {
    throw new CredentialError(
      'A runner key is needed. Set MUSTER_KEY or give --key; the first start of the server printed one, and ' +
        '`muster runners create NAME` makes a runner with another.',
    );
  }
  return checked(key, 'mst_rnr_', '--key (or MUSTER_KEY)', 'a runner key');
}

/** Complains when a secret of another kind was given; the message doesn't repeat the secret. */
function checked(secret: string, prefix: string, where: string, wanted: string): string {
  const text = secret.trim();
  const kinds = {
    mst_op_: 'an operator token',
    mst_rnr_: 'a runner key',
    mst_enr_: 'an enrolment token',
  };
  const kind = Object.entries(kinds).find(([start]) => text.startsWith(start));
  if (kind !== undefined && kind[0] !== prefix) {
    throw new CredentialError(`${where} holds ${kind[1]}; ${wanted} (${prefix}…) is needed there.`);
  }
  if (!/^[!-~]+$/.test(text)) throw new CredentialError(`${where} does not hold ${wanted}.`);
  return text;
}

/** `call`, with answers that no Muster server gives told apart from the others. */
async function asked<E extends Endpoint>(
  endpoint: E,
  input: CallInput<E>,
  options: ClientOptions,
): Promise<CallReply<E>> {
  try {
    const reply = await call(endpoint, input, options);
    if (typeof reply.body === 'object' && reply.body !== null) return reply;
    throw new UnreachableError(options.baseUrl, 'something answers there, but not as Muster does');
  } catch (error) {
    if (error instanceof ApiError && typeof error.problem['code'] !== 'string') {
      const reason = `something answers there with HTTP ${error.status}, but not as Muster does`;
      throw new UnreachableError(options.baseUrl, reason, error);
    }
    throw error;
  }
}

/**
 * A fetch that has the whole answer when it resolves: every fault of the network is an
 * UnreachableError.
 */
function wholeFetch(inner: typeof fetch, baseUrl: string): typeof fetch {
  return async (input, init) => {
    try {
      const response = await inner(input, init);
      const body = await response.text();
      const { status, headers } = response;
      return new Response(body === '' ? null : body, { status, headers });
    } catch (error) {
      throw new UnreachableError(baseUrl, reasonOf(error), error);
    }
  };
}

/**
 * fetch hides the reason in `cause`; where Node dialled several addresses, the reasons are in
 * `errors` of that.
 */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause !== undefined) return reasonOf(error.cause);
  const first: unknown = error instanceof AggregateError ? error.errors[0] : undefined;
  return first === undefined ? error.message || error.name : reasonOf(first);
}

// Handles bytes that the HTTP parser can't turn into a request: garbage, headers that are too large
// or never come. Where nothing else was answered yet, the answer is a whole problem document; in
// any case the descriptor is given back. A fault in the middle of a body goes to the reader of that
// body, and is answered as that request.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Problem } from '../lib/problem.ts';
import { breakBody, connectionEnded } from './arrival.ts';
import { rawProblem } from './problems.ts';

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

const latest = new WeakMap<Socket, Exchange>();

/**
 * Remembers the exchange under way on a connection; the next request on the connection replaces it.
 */
export function noteExchange(request: IncomingMessage, response: ServerResponse): void {
  latest.set(request.socket, { request, response });
}

/**
 * How long a refused peer may take to read the refusal. Doubling it doubles the descriptors that
 * idle sockets can hold.
 */
const LINGER_MS = 5000;

/** Handles the server's `clientError`. */
export function refuseClient(
  error: Error & { readonly code?: string },
  socket: Socket,
  newRequestId: () => string,
): void {
  const exchange = latest.get(socket);
  const answering = exchange !== undefined && !exchange.response.writableEnded;
  if (answering && !exchange.request.complete && socket.writable) {
    // The answer closes the connection, because nothing after the fault can be understood.
    exchange.response.shouldKeepAlive = false;
    breakBody(exchange.request, faultOfBody(error.code));
    return;
  }
  if (!socket.writable || error.code === 'ECONNRESET' || answering) {
    socket.destroy();
    return;
  }
  socket.setTimeout(LINGER_MS, () => socket.destroy());
  socket.end(rawProblem(statusOf(error.code), newRequestId()), () => socket.destroy());
}

function faultOfBody(code: string | undefined): Problem {
  if (code === undefined || !code.startsWith('HPE_') || code === 'HPE_INVALID_EOF_STATE')
    return connectionEnded();
  return new Problem('incomplete_body', 'The chunks of the body can not be read.');
}

function statusOf(code: string | undefined): 400 | 408 | 431 {
  if (code === 'HPE_HEADER_OVERFLOW') return 431;
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400;
}

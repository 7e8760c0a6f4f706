// HTTP as bytes, for tests that must see exactly what a client sees: no redirect followed, no
// header added, no body decoded. `send` makes one request; `problemOf` compares an answer with the
// registry of errors.

import assert from 'node:assert/strict';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { errors, type ErrorCode } from '@muster/contract';

export type Fields = Record<string, unknown>;

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface Sending {
  readonly method?: string;
  readonly path: string;
  readonly key?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Bytes go with their length; a list of pieces goes chunked, without a length; an object goes as
   * JSON.
   */
  readonly body?: string | Buffer | readonly Buffer[] | Fields | undefined;
  /** Headers only: the answer must come without the body. */
  readonly headersOnly?: boolean;
  /** A connection for this request alone. */
  readonly alone?: boolean;
}

const isPieces = (body: unknown): body is readonly Buffer[] =>
  Array.isArray(body) && body.every((piece) => Buffer.isBuffer(piece));

function bytesOf(body: Exclude<Sending['body'], undefined>): Buffer | readonly Buffer[] {
  if (Buffer.isBuffer(body) || isPieces(body)) return body;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

/** Each connection is used again after an answer to a whole request. */
const CONNECTIONS = new Agent({ keepAlive: true });

/** One request, one answer. The body's end is not awaited when the server answers before it. */
export async function send(url: string, sending: Sending): Promise<Answer> {
  const body = sending.body === undefined ? null : bytesOf(sending.body);
  const headers: Record<string, string> = { ...sending.headers };
  if (sending.key !== undefined) headers['authorization'] = `Bearer ${sending.key}`;
  if (Buffer.isBuffer(body)) headers['content-length'] ??= String(body.length);
  const method = sending.method ?? (body === null ? 'GET' : 'POST');
  return await new Promise<Answer>((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const call = request({
      host: hostname,
      port,
      path: sending.path,
      method,
      headers,
      agent: sending.alone === true ? false : CONNECTIONS,
    });
    let answered = false;
    call.on('response', (response) => {
      answered = true;
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(pieces).toString();
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
        if (!call.writableFinished) call.destroy();
      });
    });
    call.on('error', (error) => (answered ? undefined : reject(error)));
    if (sending.headersOnly === true) return call.flushHeaders();
    if (body === null) return void call.end();
    if (Buffer.isBuffer(body)) return void call.end(body);
    for (const piece of body) call.write(piece);
    call.end();
  });
}

/**
 * Sends raw text on a connection and returns everything that comes back until the server closes it.
 */
export async function exchange(
  url: string,
  talk: (socket: Socket) => void | Promise<void>,
): Promise<string> {
  const { hostname, port } = new URL(url);
  return await new Promise<string>((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    let heard = '';
    socket.on('data', (piece: Buffer) => {
      heard += piece.toString();
    });
    socket.on('connect', () => void Promise.resolve(talk(socket)).catch(reject));
    socket.on('error', reject);
    socket.on('end', () => {
      socket.end();
      resolve(heard);
    });
  });
}

/** The JSON object of an answer. */
export function fieldsOf(answer: Answer): Fields {
  const value: unknown = JSON.parse(answer.text);
  assert.ok(typeof value === 'object' && value !== null && !Array.isArray(value), answer.text);
  return value as Fields;
}

/** The JSON array of an answer. */
export function listOf(answer: Answer): Fields[] {
  const value: unknown = JSON.parse(answer.text);
  assert.ok(Array.isArray(value), `not a bare array: ${answer.text}`);
  return value as Fields[];
}

/** Asserts the status and gives the object. */
export function ok(answer: Answer, status = 200): Fields {
  assert.equal(answer.status, status, `${answer.status}: ${answer.text}`);
  return fieldsOf(answer);
}

const MEMBERS = ['type', 'title', 'detail', 'instance', 'code', 'error', 'message', 'request_id'];

/**
 * Asserts that the answer is the problem document of this code with everything that contract §2
 * promises.
 */
export function problemOf(answer: Answer, code: ErrorCode): Fields {
  assert.equal(
    answer.status,
    errors[code].status,
    `${code} expected, got ${answer.status}: ${answer.text.slice(0, 2000)}`,
  );
  assert.match(answer.headers['content-type'] ?? '', /^application\/problem\+json\b/, answer.text);
  const problem = fieldsOf(answer);
  for (const name of MEMBERS) {
    assert.equal(typeof problem[name], 'string', `${code}: the member ${name} is missing`);
    assert.notEqual(problem[name], '', `${code}: the member ${name} is empty`);
  }
  assert.equal(problem['code'], code);
  assert.equal(problem['error'], code);
  assert.equal(problem['message'], problem['detail']);
  assert.equal(problem['title'], errors[code].title);
  assert.equal(problem['status'], errors[code].status);
  assert.equal(answer.headers['x-request-id'], problem['request_id']);
  if (answer.status === 429 || answer.status === 503) {
    assert.match(answer.headers['retry-after'] ?? '', /^[1-9][0-9]*$/, 'Retry-After in seconds');
  }
  if (answer.status === 405) assert.ok(answer.headers['allow'], 'Allow');
  if (answer.status === 415) assert.match(answer.headers['accept-encoding'] ?? '', /zstd/);
  if (answer.status === 401) assert.equal(answer.headers['www-authenticate'], 'Bearer');
  else assert.equal(answer.headers['www-authenticate'], undefined);
  return problem;
}

/**
 * Asserts that the problem names a place (contract §2: `pointer` or `errors` where there is one).
 */
export function placeOf(problem: Fields): void {
  const located = typeof problem['pointer'] === 'string' || Array.isArray(problem['errors']);
  assert.ok(located, `no place in ${JSON.stringify(problem)}`);
}

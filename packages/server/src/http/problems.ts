// The only mapper from a thrown error to the answer that the caller gets: RFC 9457, with `code`,
// `request_id` and, where there is one, the place of the fault. Three kinds (ARCHITECTURE.md,
// Errors): Problem, Unavailable, Defect.

import { STATUS_CODES } from 'node:http';
import { type ErrorCode, errors, RETRY_AFTER_SECONDS } from '@muster/contract';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { isStorageFull, isUnavailable } from '../db/db-errors.ts';
import { Problem, type ProblemPlace } from '../lib/problem.ts';

/** A problem document and the headers that go with it. */
interface ProblemAnswer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: Record<string, unknown>;
}

function problemAnswer(problem: Problem, requestId: string, path: string): ProblemAnswer {
  const { code, extras } = problem;
  const { status, title } = errors[code];
  const headers: Record<string, string> = {
    'content-type': 'application/problem+json; charset=utf-8',
    ...extras.headers,
  };
  const retryAfter = extras.retryAfterSeconds ?? RETRY_AFTER_SECONDS[code];
  if (retryAfter !== undefined) headers['retry-after'] = String(Math.ceil(retryAfter));
  if (code === 'unauthorized') headers['www-authenticate'] = 'Bearer';
  const body: Record<string, unknown> = {
    type: `/docs#error-${code}`,
    title,
    status,
    detail: problem.message,
    instance: path,
    code,
    error: code,
    message: problem.message,
    request_id: requestId,
  };
  if (extras.pointer !== undefined) body['pointer'] = extras.pointer;
  if (extras.errors !== undefined) body['errors'] = extras.errors;
  if (extras.state !== undefined) body['state'] = extras.state;
  if (extras.nextOffset !== undefined) body['next_offset'] = extras.nextOffset;
  if (extras.uploadId !== undefined) body['upload_id'] = extras.uploadId;
  if (extras.receipt !== undefined) body['receipt'] = extras.receipt;
  return { status, headers, body };
}

/** Classifies a thrown error. Unknown errors are Defects: 500 without detail. */
export function classify(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (isStorageFull(error)) {
    return new Problem('storage_full', 'The database has no space left on its disk.');
  }
  if (isUnavailable(error))
    return new Problem('unavailable', 'The database can not answer just now.');
  const fastify = error as Partial<FastifyError>;
  if (fastify.validation !== undefined) return invalid(fastify);
  switch (fastify.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new Problem('body_too_large');
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new Problem('incomplete_body', 'The body is not as long as Content-Length says.');
    case 'FST_ERR_BAD_URL':
      return new Problem('invalid_parameter', 'The path has a percent sign that escapes nothing.', {
        pointer: '',
      });
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new Problem('not_found', 'There is nothing with an id of that length.');
    default:
      return new Problem('internal');
  }
}

/** An error of `if` only says that a later rule doesn't hold; the fault itself stands before it. */
const isOwnFault = ({ keyword }: { keyword: string }): boolean => keyword !== 'if';

/** Turns Ajv's errors into places. In a query or path the place is the parameter's name. */
function invalid(error: Partial<FastifyError>): Problem {
  const inBody = error.validationContext === 'body';
  const places: ProblemPlace[] = (error.validation ?? [])
    .filter(isOwnFault)
    .slice(0, 20)
    .map((fault) => {
      const params = fault.params as { missingProperty?: string; additionalProperty?: string };
      const member = params.missingProperty ?? params.additionalProperty;
      const pointer = member === undefined ? fault.instancePath : `${fault.instancePath}/${member}`;
      return { pointer, code: fault.keyword, detail: fault.message ?? 'not valid' };
    });
  const first = places[0];
  const code: ErrorCode = inBody ? 'invalid_body' : 'invalid_parameter';
  const detail =
    first === undefined ? undefined : `${first.pointer || 'The body'} ${first.detail}.`;
  return new Problem(code, detail, {
    errors: places,
    ...(first === undefined ? {} : { pointer: first.pointer }),
  });
}

/** Fastify's error handler: logs by kind, answers once. */
export function handleError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const problem = classify(error);
  const level = errors[problem.code].log;
  if (problem.code === 'internal') {
    request.log.error({ err: error, request_id: request.id }, 'a defect');
  } else {
    const cause = problem.extras.cause ?? (error === problem ? undefined : String(error));
    request.log[level](
      { code: problem.code, detail: problem.message, cause, request_id: request.id },
      'refused',
    );
  }
  const answer = problemAnswer(problem, request.id, request.url.split('?', 1)[0] ?? '');
  // The rest of a refused body is not worth reading, and without that the connection can't be used
  // again.
  if (!request.raw.complete) void reply.header('connection', 'close');
  void reply.code(answer.status).headers(answer.headers).send(JSON.stringify(answer.body));
}

/**
 * The codes of the parser's refusals. 431 has no code of its own: the headers are the parameters of
 * a request.
 */
const RAW = {
  400: ['invalid_parameter', 'What was sent is no HTTP request.'],
  408: ['slow_body', 'The headers did not arrive in time.'],
  431: ['invalid_parameter', 'The headers are too large.'],
} as const satisfies Readonly<Record<number, readonly [ErrorCode, string]>>;

/**
 * The whole answer, as it goes over the wire, for bytes that the HTTP parser refuses before there
 * is a request.
 */
export function rawProblem(status: keyof typeof RAW, requestId: string): string {
  const [code, detail] = RAW[status];
  const title = STATUS_CODES[status] ?? '';
  // There is no path that could be named: the asterisk stands for the server as a whole (RFC 9110
  // §7.1).
  const { headers, body } = problemAnswer(new Problem(code, detail), requestId, '*');
  const text = JSON.stringify({ ...body, title, status });
  const lines = Object.entries({
    ...headers,
    'content-length': String(Buffer.byteLength(text)),
    'x-request-id': requestId,
    connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${title}\r\n${lines.join('')}\r\n${text}`;
}

/**
 * Answers for what Fastify's router refuses before there is a route: a path that can't be decoded,
 * an id longer than any of ours.
 */
export function handleFrameworkError(
  error: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  void reply.header('x-request-id', request.id);
  void reply.header('x-content-type-options', 'nosniff');
  handleError(error, request, reply);
}

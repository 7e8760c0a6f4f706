// The parts that the tests of the command line share: a run of `main` with its output caught, and
// the other side of the wire as a small HTTP server that keeps the requests it got.

import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { zstdDecompressSync } from 'node:zlib';
import { type ErrorCode, errors, type Receipt } from '@muster/contract';
import { type Io, main } from '../src/index.ts';

export const TOKEN = `mst_op_${'t'.repeat(50)}`;
export const KEY = `mst_rnr_${'k'.repeat(50)}`;
export const ID = '0199c3f2-6b1e-7c5a-9d7e-3f1b2a4c5d6e';
export const OTHER_ID = '0199c3f2-6b1e-7c5a-9d7e-3f1b2a4c5d6f';

export interface Ran {
  readonly exit: number;
  readonly out: string;
  readonly err: string;
  /** The waits between tries in milliseconds, in order. Nothing really waits. */
  readonly pauses: readonly number[];
}

export interface RunOptions {
  readonly url?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string | Uint8Array;
  /** Columns of the terminal that stdout and stderr are; absent: they are no terminal. */
  readonly terminal?: number;
  readonly fetch?: typeof fetch;
}

/** Runs one command line in this process. */
export async function run(argv: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const written = { out: '', err: '' };
  const pauses: number[] = [];
  const columns = options.terminal ?? null;
  const sink = (name: 'out' | 'err') => ({
    write: (text: string): void => {
      written[name] += text;
    },
    isTty: columns !== null,
    columns,
  });
  const url = options.url === undefined ? {} : { MUSTER_URL: options.url };
  const io: Io = {
    env: { MUSTER_TOKEN: TOKEN, MUSTER_KEY: KEY, ...url, ...options.env },
    out: sink('out'),
    err: sink('err'),
    input: Readable.from([Buffer.from(options.input ?? '')]),
    fetch: options.fetch ?? fetch,
    nowMs: () => Date.now(),
    newId: () => randomUUID(),
    pause: (ms) => {
      pauses.push(ms);
      return Promise.resolve();
    },
  };
  const exit = await main(argv, io);
  return { exit, ...written, pauses };
}

/** A request as it arrived. */
export interface Seen {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingMessage['headers'];
  /** As sent. */
  readonly wire: Buffer;
  /** Decompressed. */
  readonly body: string;
}

export type Answer = {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
};

export interface FakeServer {
  readonly url: string;
  readonly seen: Seen[];
}

/**
 * Answers every request with the answer of `handle`; `'hang up'` closes the connection without an
 * answer.
 */
export async function serve(
  t: TestContext,
  handle: (seen: Seen, count: number) => Answer | 'hang up',
): Promise<FakeServer> {
  const seen: Seen[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const wire = await buffer(request);
    const isPacked = request.headers['content-encoding'] === 'zstd';
    const entry: Seen = {
      method: request.method ?? '',
      url: new URL(request.url ?? '/', 'http://server'),
      headers: request.headers,
      wire,
      body: (isPacked ? zstdDecompressSync(wire) : wire).toString('utf8'),
    };
    seen.push(entry);
    const said = handle(entry, seen.length);
    if (said === 'hang up') {
      request.socket.destroy();
      return;
    }
    const type = said.status < 400 ? 'application/json' : 'application/problem+json';
    response.writeHead(said.status, { 'content-type': type, ...said.headers });
    response.end(typeof said.body === 'string' ? said.body : JSON.stringify(said.body ?? {}));
  };
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

/** The problem that a server answers with. */
export const problem = (
  code: ErrorCode,
  detail: string,
  more: Record<string, unknown> = {},
  headers: Record<string, string> = {},
): Answer => {
  const { status, title } = errors[code];
  const body = { title, status, detail, code, request_id: 'req-1', ...more };
  return { status, body, headers };
};

const NONE = { received: 0, created: 0, updated: 0, duplicate: 0, rejected: 0 };

export function receipt(
  findings: Partial<Receipt['findings']>,
  more: Partial<Receipt> = {},
): Receipt {
  const outcomes = {
    created: 0,
    changed: 0,
    unchanged: 0,
    reopened: 0,
    duplicate: 0,
    not_problem: 0,
    rejected: 0,
    ...findings,
  };
  const received = Object.values(outcomes).reduce((sum, count) => sum + count, 0);
  return {
    upload_id: ID,
    scan_id: ID,
    outcome: outcomes.rejected > 0 ? 'partial' : 'complete',
    format: 'sarif',
    tool: 'Larkspur Scan',
    findings: { ...outcomes, received },
    assets: NONE,
    dependencies: NONE,
    relationships: NONE,
    endpoints: NONE,
    resolved: 0,
    suppressed: 0,
    held: 0,
    rejections: [],
    rejections_by_code: {},
    warnings: [],
    warnings_total: 0,
    findings_created: 0,
    findings_updated: 0,
    findings_skipped: 0,
    assets_created: 0,
    assets_updated: 0,
    ...more,
  };
}

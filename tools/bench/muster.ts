// The real server for the benchmarks: its own process through the real entrance, on an empty folder
// or a fresh database of a durable PostgreSQL; runners with their own keys; uploads over HTTP.

import { createReadStream } from 'node:fs';
import { request } from 'node:http';
import { pipeline } from 'node:stream/promises';
import {
  type Backend,
  emptyPlace,
  type Place,
  type SpawnedServer,
  spawnServer,
} from '../../packages/server/test/harness.ts';

export interface Muster extends SpawnedServer {
  readonly port: number;
}

/** Starts the server at `place`. `nodeOptions` goes to its process (profiling). */
export async function startMuster(place: Place, nodeOptions = ''): Promise<Muster> {
  const env = nodeOptions === '' ? {} : { NODE_OPTIONS: nodeOptions };
  const server = await spawnServer(place, env);
  return { ...server, port: Number(new URL(server.url).port) };
}

/** Makes an empty place, starts a server on it, runs `body`, and removes everything again. */
export async function withMuster<T>(
  backend: Backend,
  body: (server: Muster, place: Place) => Promise<T>,
): Promise<T> {
  const place = await emptyPlace(backend);
  try {
    const server = await startMuster(place);
    try {
      return await body(server, place);
    } finally {
      await server.stop('SIGTERM');
    }
  } finally {
    await place.remove();
  }
}

async function operatorCall(server: Muster, path: string, body: object | null): Promise<unknown> {
  const answer = await fetch(`${server.url}/api/v1${path}`, {
    method: body === null ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${server.operatorToken}` },
    ...(body === null ? {} : { body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return await answer.json();
}

/** Creates runners; returns their keys. */
export async function createRunners(server: Muster, count: number): Promise<string[]> {
  const keys: string[] = [];
  for (let at = 0; at < count; at += 1) {
    const made = await operatorCall(server, '/runners', { name: `bench-${at}` });
    keys.push((made as { api_key: string }).api_key);
  }
  return keys;
}

/** Does the same for thousands of runners, several at once. */
export async function createRunnersAtOnce(
  server: Muster,
  count: number,
): Promise<{ id: string; key: string }[]> {
  const made: { id: string; key: string }[] = [];
  for (let at = 0; at < count; at += 16) {
    const some = Array.from({ length: Math.min(16, count - at) }, (_, n) =>
      operatorCall(server, '/runners', { name: `bench-${at + n}` }),
    );
    for (const one of await Promise.all(some)) {
      const { api_key: key, runner } = one as { api_key: string; runner: { id: string } };
      made.push({ id: runner.id, key });
    }
  }
  return made;
}

/**
 * The number of runners that the stored fleet shows as online with metrics: proof that heartbeats
 * were stored.
 */
export async function countStored(server: Muster): Promise<number> {
  let count = 0;
  for (let next: string | null = ''; next !== null; ) {
    const page = (await operatorCall(
      server,
      `/runners?presence=online&limit=250${next === '' ? '' : `&after=${encodeURIComponent(next)}`}`,
      null,
    )) as { items: readonly { last_seen_at: unknown }[]; next: string | null };
    count += page.items.filter((runner) => runner.last_seen_at !== null).length;
    next = page.next ?? null;
  }
  return count;
}

export interface UploadResult {
  /** From the opening of the file to the receipt. */
  readonly seconds: number;
  readonly created: number;
  readonly unchanged: number;
}

const INGEST = '/api/v1/agent/ingest';

/**
 * Hands the SARIF file in, as the first runner, and waits for its receipt. `query` gives the facts
 * that the report lacks.
 */
export async function upload(server: Muster, path: string, query = ''): Promise<UploadResult> {
  const startedAt = performance.now();
  const first = await send(server, `${INGEST}/sarif${query}`, path);
  let receipt = first.body;
  if (first.status === 202) receipt = await receiptLater(server, String(receipt['job_id']));
  else if (first.status !== 201) throw new Error(`${first.status} ${JSON.stringify(receipt)}`);
  const seconds = (performance.now() - startedAt) / 1000;
  const findings = receipt['findings'] as { created: number; unchanged: number };
  return { seconds, created: findings.created, unchanged: findings.unchanged };
}

type Json = Readonly<Record<string, unknown>>;

/** POST with the file as body, or GET without one. */
async function send(
  server: Muster,
  path: string,
  file: string | null,
): Promise<{ status: number; body: Json }> {
  const call = request(`${server.url}${path}`, {
    method: file === null ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${server.runnerKey}`,
      'content-type': 'application/sarif+json',
    },
  });
  const answered = new Promise<{ status: number; body: Json }>((resolve, reject) => {
    call.on('error', reject);
    call.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) as Json }),
      );
    });
  });
  if (file === null) call.end();
  else await pipeline(createReadStream(file, { highWaterMark: 1 << 20 }), call);
  return await answered;
}

/** Waits of a minute: a million results take two or three on a quiet machine. */
const WAITS_MAX = 15;

async function receiptLater(server: Muster, jobId: string): Promise<Json> {
  for (let tries = 0; tries < WAITS_MAX; tries += 1) {
    const { body } = await send(server, `${INGEST}/jobs/${jobId}?wait=60`, null);
    if (body['status'] === 'completed') return body['result'] as Json;
    if (body['status'] === 'failed') throw new Error(JSON.stringify(body['error']));
  }
  throw new Error(`the upload was not processed within ${WAITS_MAX} minutes`);
}

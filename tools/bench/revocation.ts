// Row 6: three servers on one PostgreSQL; a key is revoked through one, and the time runs until all
// refuse it. The key is in use at all three during that time, so that each remembers it when it is
// revoked. Aim: contract §7, one second.

import { emptyPlace } from '../../packages/server/test/harness.ts';
import { ADMIN_URL_VARIABLE, startPostgres } from '../postgres.ts';
import { type Row, percentile } from './figures.ts';
import { type Muster, startMuster } from './muster.ts';

const SERVERS = 3;
const REPETITIONS = 20;
const AIM_MS = 1000;

/**
 * Revokes a key as soon as every server has accepted it; resolves with the time until every server
 * refused it.
 */
async function revokeOnce(servers: readonly Muster[]): Promise<number> {
  const [through] = servers as [Muster];
  const made = (await operate(through, '/runners', { name: 'revoked by the bench' })) as {
    api_key: string;
    key: { key_id: string };
  };
  for (const server of servers) {
    const status = await beat(server, made.api_key);
    if (status !== 200) throw new Error(`a new key got ${status}`);
  }
  const startedAt = performance.now();
  const refused = servers.map(async (server) => {
    // One call at a time for each server: only the answer of a call tells what the server believes.
    // Refusals are limited per address, so a late one may be 429.
    while ((await beat(server, made.api_key)) === 200);
    return performance.now() - startedAt;
  });
  await operate(through, `/keys/${made.key.key_id}/revoke`, {});
  return Math.max(...(await Promise.all(refused)));
}

async function operate(server: Muster, path: string, body: object): Promise<unknown> {
  const answer = await fetch(`${server.url}/api/v1${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.operatorToken}` },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return await answer.json();
}

async function beat(server: Muster, key: string): Promise<number> {
  const answer = await fetch(`${server.url}/api/v1/agent/heartbeat`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
  });
  await answer.arrayBuffer();
  return answer.status;
}

/** See the head of this file. */
export async function revocationRow(): Promise<Row> {
  const postgres = await startPostgres({ durable: true });
  try {
    process.env[ADMIN_URL_VARIABLE] = postgres.adminUrl;
    return await measure();
  } finally {
    await postgres.stop();
  }
}

async function measure(): Promise<Row> {
  const place = await emptyPlace('postgres');
  const servers: Muster[] = [];
  try {
    for (let at = 0; at < SERVERS; at += 1) servers.push(await startMuster(place));
    const values: number[] = [];
    for (let n = 0; n < REPETITIONS; n += 1) values.push(await revokeOnce(servers));
    const judged = { name: 'until all refuse', unit: 'ms', values };
    const most = percentile(values, 1);
    return {
      id: '6',
      what: `a revoked key is refused by all of ${SERVERS} servers`,
      series: [judged],
      judged,
      rule: `the longest of ${REPETITIONS} at most ${AIM_MS} ms`,
      verdict: most <= AIM_MS ? 'aim met' : 'MISSED',
      notes: [],
    };
  } finally {
    await Promise.all(servers.map(async (server) => await server.stop('SIGTERM')));
    await place.remove();
  }
}

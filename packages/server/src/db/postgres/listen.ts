// LISTEN on a connection of its own, outside the pool: a pooled connection would be given back, and
// the texts it heard with it. A lost connection is made again and listens again; texts sent in
// between are lost, as hints may be. Poolers that hand out connections by transaction keep LISTEN
// from working: then nothing is ever heard, and nothing breaks. Called by postgres.ts.

import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from 'pg';
import type { DatabaseEvent } from '../db.ts';

export const HINT_CHANNEL = 'muster';

/**
 * The wait before the next try: short enough to matter, long enough for a server that is
 * restarting.
 */
const RECONNECT_MS = 1000;

/**
 * Calls `hear` with each text on the channel. Returns the function that ends it; failures are told
 * to `onEvent` and tried again.
 */
export function listenTo(
  url: string,
  hear: (text: string) => void,
  onEvent: (event: DatabaseEvent) => void,
): () => Promise<void> {
  const ending = new AbortController();
  const listening = listen(url, hear, onEvent, ending.signal);
  return async () => {
    ending.abort();
    await listening;
  };
}

async function listen(
  url: string,
  hear: (text: string) => void,
  onEvent: (event: DatabaseEvent) => void,
  ending: AbortSignal,
): Promise<void> {
  const { default: pg } = await import('pg');
  while (!ending.aborted) {
    const client = new pg.Client({
      connectionString: url,
      application_name: 'muster hints',
      keepAlive: true,
    });
    try {
      await listenOnce(client, hear, ending);
    } catch (error) {
      if (ending.aborted) return;
      onEvent({ kind: 'connection_lost', error: error as Error });
      await pause(RECONNECT_MS, undefined, { signal: ending }).catch(() => {});
    }
  }
}

/** Resolves at the end that was asked for, rejects when the connection is lost. */
async function listenOnce(
  client: Client,
  hear: (text: string) => void,
  ending: AbortSignal,
): Promise<void> {
  const lost = new AbortController();
  client.on('error', (error) => lost.abort(error));
  client.on('end', () => lost.abort(new Error('the connection of hints was closed')));
  client.on('notification', ({ payload }) => hear(payload ?? ''));
  try {
    await client.connect();
    await client.query(`listen ${HINT_CHANNEL}`);
    const either = AbortSignal.any([lost.signal, ending]);
    if (!either.aborted) await once(either, 'abort');
  } finally {
    await client.end();
  }
  if (!ending.aborted) throw lost.signal.reason;
}

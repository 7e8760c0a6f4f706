// On PostgreSQL every date is taken from the database's time (docs/adr/0014), also by a machine
// whose own clock is an hour off: by the server from its start on, its ingest threads, and `muster
// admin`.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from 'kysely';
import { administrate } from '../../src/admin.ts';
import type { RunningApp } from '../../src/app.ts';
import { type Config, readConfig } from '../../src/config.ts';
import { type Database, openDatabase } from '../../src/db/db.ts';
import { databaseNowMs } from '../../src/db/dialect.ts';
import { createLogger } from '../../src/lib/log.ts';
import { start } from '../../src/main.ts';
import { emptyPlace, type Place, TestClock } from '../harness.ts';
import { ctis, ctisFinding } from './reports.ts';
import { ok, send } from './wire.ts';

const HOUR_MS = 3_600_000;
const AHEAD_PROBE = new URL('./wrong-clock.probe.ts', import.meta.url).href;

describe('a machine whose clock is an hour off', () => {
  let place: Place;
  let config: Config;
  let database: Database;
  let app: RunningApp;
  let startedMs: number;
  const own = new TestClock();

  const theirMs = async (): Promise<number> => (await databaseNowMs(database.system())) ?? 0;
  /** The latest of these times, all of one database that began empty. */
  const latest = async (table: string, column: string): Promise<number> => {
    const { rows } = await sql<{ at: number }>`select max(${sql.ref(column)}) as at
      from ${sql.table(table)}`.execute(database.system());
    return rows[0]?.at ?? 0;
  };
  const isNow = async (sinceMs: number, atMs: number): Promise<void> => {
    // The error is half of the time that the question took, and never half an hour.
    const offMs = Math.max(sinceMs - atMs, atMs - (await theirMs()));
    assert.ok(offMs < HOUR_MS / 2, `${offMs} ms off`);
  };
  const call = async (path: string, body: object) => {
    const key = app.firstRun?.runnerKey.expose() ?? '';
    const headers = { 'content-type': 'application/json' };
    return await send(app.url, { path: `/api/v1/agent${path}`, key, headers, body: { ...body } });
  };

  before(async () => {
    place = await emptyPlace('postgres');
    config = readConfig({ ...place.env, MUSTER_STOP_SECONDS: '1' });
    const url = config.databaseUrl?.expose() ?? null;
    database = await openDatabase({ url, directory: config.dataDirectory });
    startedMs = await theirMs();
    own.advance(HOUR_MS);
    const ports = { loadOf: () => 1, ingestProbe: AHEAD_PROBE };
    app = await start(config, own, createLogger('silent'), ports);
  });
  after(async () => {
    await app.stop();
    await database.close();
    await place.remove();
  });

  test('starts with the right one: what it writes before anything else is dated by it', async () => {
    await isNow(startedMs, await latest('api_key', 'created_at'));
  });

  test('measures again as part of its upkeep', async () => {
    // This moves no time of day: time passes here and nowhere else.
    own.age(HOUR_MS);
    await app.round();
    const sinceMs = await theirMs();
    ok(await call('/heartbeat', {}));
    await app.round();
    await isNow(sinceMs, await latest('runner', 'last_seen_at'));
  });

  test('dates uploads right in its ingest threads, too', async () => {
    const sinceMs = await theirMs();
    ok(await call('/ingest', ctis([ctisFinding()], { repository: 'github.com/acme/a' })), 201);
    await isNow(sinceMs, await latest('upload', 'started_at'));
  });

  test('dates what an administrator makes beside it', async () => {
    const sinceMs = await theirMs();
    await administrate(config, own, { what: 'operator-token', tenant: 'default' });
    await isNow(sinceMs, await latest('api_key', 'created_at'));
  });
});

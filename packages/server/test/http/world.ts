// A server with two tenants, and the calls that operators and runners make before a rule can be
// tried. The second tenant is made by the server's own functions on the database before the server
// starts: no endpoint makes tenants yet.

import assert from 'node:assert/strict';
import { crc32 } from 'node:zlib';
import { limits, type Role } from '@muster/contract';
import type { Ports } from '../../src/app.ts';
import type { Database } from '../../src/db/db.ts';
import { migrate } from '../../src/db/migrate.ts';
import {
  firstRun,
  makeEnrolmentToken,
  makeOperatorToken,
  tenantByName,
} from '../../src/keys/first-run.ts';
import { insertTenant } from '../../src/keys/installation.queries.ts';
import { createRunner } from '../../src/keys/runners.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { newId, type TenantId } from '../../src/lib/ids.ts';
import { type Backend, startServer, type TestServer } from '../harness.ts';
import { type Answer, type Fields, ok, send } from './wire.ts';

export interface Runner {
  readonly id: string;
  readonly key: string;
}

export interface Tenant {
  readonly id: string;
  readonly admin: string;
  readonly analyst: string;
  readonly viewer: string;
  readonly enrolment: string;
  readonly runner: Runner;
}

export interface World {
  readonly server: TestServer;
  readonly url: string;
  readonly own: Tenant;
  readonly other: Tenant;
  stop(): Promise<void>;
}

async function makeTenant(database: Database, tenantId: TenantId): Promise<Tenant> {
  const token = async (role: Role): Promise<string> =>
    (await makeOperatorToken(database, systemClock, tenantId, `test ${role}`, role)).expose();
  const enrolment = await makeEnrolmentToken(database, systemClock, tenantId, 'test', 1000);
  const { runner, key } = await createRunner(
    database,
    systemClock,
    tenantId,
    { name: 'test runner' },
    'test',
  );
  return {
    id: tenantId,
    admin: await token('admin'),
    analyst: await token('analyst'),
    viewer: await token('viewer'),
    enrolment: enrolment.expose(),
    runner: { id: runner.id, key: key.secret.expose() },
  };
}

/** A running server with the tenants `default` (own) and `other`. */
export async function startWorld(
  backend: Backend = 'sqlite',
  env: Record<string, string> = {},
  ports: Partial<Ports> = {},
): Promise<World> {
  const tenants = new Map<'own' | 'other', Tenant>();
  const server = await startServer({
    backend,
    env: { MUSTER_STOP_SECONDS: '1', ...env },
    ports,
    prepare: async (database) => {
      const nowMs = systemClock.nowMs();
      await migrate(database, nowMs);
      await firstRun(database, systemClock);
      const ownId = await tenantByName(database, 'default');
      assert.ok(ownId !== null);
      const otherId = newId<TenantId>(nowMs);
      await insertTenant(database.system(), { id: otherId, name: 'other', created_at: nowMs });
      tenants.set('own', await makeTenant(database, ownId));
      tenants.set('other', await makeTenant(database, otherId));
    },
  });
  const [own, other] = [tenants.get('own'), tenants.get('other')];
  assert.ok(own !== undefined && other !== undefined);
  return { server, url: server.url, own, other, stop: () => server.stop() };
}

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/**
 * A well-formed key, from contract §2 alone: prefix + 12 + 32 + six base62 digits of the CRC-32
 * before them.
 */
export function keyText(prefix: string, keyId: string, secret: string): string {
  const text = prefix + keyId + secret;
  let rest = crc32(text);
  let digits = '';
  while (digits.length < 6) {
    digits = BASE62.charAt(rest % 62) + digits;
    rest = Math.floor(rest / 62);
  }
  return text + digits;
}

/** The same key id with another secret, and a right checksum. */
export function otherSecret(key: string): string {
  const prefix = key.slice(0, key.length - 50);
  return keyText(prefix, key.slice(prefix.length, prefix.length + 12), 'x'.repeat(32));
}

/** POST with an operator's token; asserts the status. */
export async function operate(
  world: Pick<World, 'url'>,
  token: string,
  path: string,
  body: Fields | undefined,
  status: number,
): Promise<Fields> {
  return ok(await send(world.url, { method: 'POST', path, key: token, body }), status);
}

/** GET with an operator's token. */
export async function look(
  world: Pick<World, 'url'>,
  token: string,
  path: string,
): Promise<Fields> {
  return ok(await send(world.url, { path, key: token }));
}

export async function newRunner(world: World, name = 'another runner'): Promise<Runner> {
  const reply = await operate(world, world.own.admin, '/api/v1/runners', { name }, 201);
  const { id } = reply['runner'] as { id: string };
  return { id, key: String(reply['api_key']) };
}

export async function newKey(world: World, runnerId: string, more: Fields = {}): Promise<string> {
  const body = { runner_id: runnerId, ...more };
  return String((await operate(world, world.own.admin, '/api/v1/keys', body, 201))['api_key']);
}

export const keyIdOf = (key: string): string => key.slice(key.length - 50, key.length - 38);

export async function revokeKey(world: World, key: string): Promise<void> {
  await operate(world, world.own.admin, `/api/v1/keys/${keyIdOf(key)}/revoke`, undefined, 200);
}

export async function newCommand(world: World, more: Fields = {}): Promise<string> {
  const body = { type: 'scan', payload: { scanner: 'semgrep', target: '.' }, ...more };
  return String((await operate(world, world.own.analyst, '/api/v1/commands', body, 201))['id']);
}

export const showCommand = async (world: World, id: string): Promise<Fields> =>
  await look(world, world.own.viewer, `/api/v1/commands/${id}`);

export const showRunner = async (world: World, id: string): Promise<Fields> =>
  await look(world, world.own.viewer, `/api/v1/runners/${id}`);

/** POST on a runner's route. */
export async function runnerCall(
  world: World,
  key: string,
  path: string,
  body?: Fields | string,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return await send(world.url, {
    method: 'POST',
    path: `/api/v1/agent${path}`,
    key,
    headers: { 'content-type': 'application/json', ...headers },
    body: body ?? '',
  });
}

/** acknowledge, start, complete, fail or release. */
export const move = async (
  world: World,
  key: string,
  id: string,
  verb: string,
  body?: Fields | string,
): Promise<Answer> => await runnerCall(world, key, `/commands/${id}/${verb}`, body);

export const poll = async (world: World, key: string, query = ''): Promise<Answer> =>
  await send(world.url, { path: `/api/v1/agent/commands${query}`, key });

/**
 * After this the bucket of refused credentials is full again (contract §2: limited per peer
 * address).
 */
export function forgiveFailures(world: World): void {
  world.server.clock.age(limits.authFailureBurst * limits.authFailureEveryMs);
}

/**
 * The number of times upkeep has written presence: the one sign from outside that a round of upkeep
 * has passed.
 */
export async function flushes(world: World): Promise<number> {
  const { text } = await send(world.url, { path: '/metrics' });
  return Number(/^muster_presence_flushes_total\{result="ok"\} (\d+)$/m.exec(text)?.[1] ?? 0);
}

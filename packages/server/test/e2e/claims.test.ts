// Three server processes share one PostgreSQL, and fifty runners at each of them wait for the same
// commands: every command is claimed once, wherever it was created and whoever heard of it first
// (contract §4).

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openDatabase } from '../../src/db/db.ts';
import { tenantByName } from '../../src/keys/first-run.ts';
import { createRunner } from '../../src/keys/runners.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { emptyPlace, type Place, type SpawnedServer, spawnServer } from '../harness.ts';
import { type Answer, type Fields, listOf, ok, problemOf, send } from '../http/wire.ts';

const NODES = 3;
const RUNNERS_PER_NODE = 50;
const COMMANDS = 30;

describe('claims raced by three processes', () => {
  let place: Place;
  const servers: SpawnedServer[] = [];
  const keys: string[] = [];
  before(async () => {
    place = await emptyPlace('postgres');
    for (let n = 0; n < NODES; n += 1)
      servers.push(await spawnServer(place, { MUSTER_INGEST_WORKERS: '1' }));
    const database = await openDatabase({
      url: place.env['MUSTER_DATABASE_URL'] ?? '',
      directory: '',
    });
    const tenantId = await tenantByName(database, 'default');
    assert.ok(tenantId !== null);
    for (let n = 0; n < NODES * RUNNERS_PER_NODE; n += 1) {
      const request = { name: `runner ${n}` };
      const { key } = await createRunner(database, systemClock, tenantId, request, 'test');
      keys.push(key.secret.expose());
    }
    await database.close();
  });
  after(async () => {
    await Promise.all(servers.map(({ stop }) => stop('SIGTERM')));
    await place.remove();
  });

  const at = (n: number): string => (servers[n % NODES] as SpawnedServer).url;
  const operate = async (n: number, path: string, body?: Fields): Promise<Answer> =>
    await send(at(n), { path: `/api/v1${path}`, key: servers[0]?.operatorToken, body });

  test('each command is claimed exactly once, and every other claim is refused', async () => {
    const won = new Map<string, number>();
    const work = async (runner: number): Promise<void> => {
      const call = async (path: string, method: string): Promise<Answer> =>
        await send(at(runner), { method, path: `/api/v1/agent${path}`, key: keys[runner] });
      while (won.size < COMMANDS) {
        for (const offer of listOf(await call('/commands?wait=2&limit=2', 'GET'))) {
          const id = String(offer['id']);
          const answer = await call(`/commands/${id}/acknowledge`, 'POST');
          if (answer.status === 200) {
            assert.equal(won.has(id), false, 'claimed twice');
            won.set(id, runner);
          } else {
            problemOf(answer, 'command_claimed');
          }
        }
      }
    };
    const fleet = keys.map((_, runner) => work(runner));
    for (let n = 0; n < COMMANDS; n += 1) ok(await operate(n, '/commands', { type: 'race' }), 201);
    await Promise.all(fleet);
    assert.equal(won.size, COMMANDS);
    const { items } = ok(await operate(1, '/commands?type=race&limit=250'));
    for (const command of items as Fields[]) {
      assert.equal(command['status'], 'acknowledged');
      assert.equal(command['attempt'], 1);
    }
    assert.equal((items as Fields[]).length, COMMANDS);
  });

  test('when the whole fleet claims one command at the same moment, one has it and all others are told', async () => {
    for (let n = 0; n < NODES; n += 1) {
      const { id } = ok(await operate(n, '/commands', { type: 'rush' }), 201);
      const path = `/api/v1/agent/commands/${String(id)}/acknowledge`;
      const answers = await Promise.all(
        keys.map((key, runner) => send(at(runner), { method: 'POST', path, key })),
      );
      const [won, lost] = [200, 409].map((code) => answers.filter(({ status }) => status === code));
      assert.deepEqual([won?.length, lost?.length], [1, keys.length - 1]);
      for (const answer of lost ?? []) problemOf(answer, 'command_claimed');
      const shown = ok(await operate(n, `/commands/${String(id)}`));
      assert.equal((shown['attempts'] as Fields[]).length, 1);
    }
  });
});

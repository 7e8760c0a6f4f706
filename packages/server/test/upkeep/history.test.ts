// The things that go by age, and those that stay (docs/operating.md): commands with their logs,
// scan sessions, keys that nobody used.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { limits } from '@muster/contract';
import { BACKENDS } from '../harness.ts';
import { ctis, ctisFinding } from '../http/reports.ts';
import { type Fields, ok, problemOf, send } from '../http/wire.ts';
import {
  keyIdOf,
  look,
  move,
  newCommand,
  newRunner,
  type Runner,
  runnerCall,
  showCommand,
  startWorld,
  type World,
} from '../http/world.ts';

const DAY_MS = 86_400_000;
const KEEP_DAYS = 10;

for (const backend of BACKENDS) {
  describe(`what goes by age, on ${backend}`, { concurrency: false }, () => {
    let world: World;
    let runner: Runner;
    before(async () => {
      world = await startWorld(backend, { MUSTER_HISTORY_KEEP_DAYS: String(KEEP_DAYS) });
      runner = await newRunner(world);
    });
    after(async () => await world.stop());
    const age = async (ms: number): Promise<void> => {
      world.server.clock.advance(ms);
      await world.server.round();
    };
    const ended = async (withUpload: boolean): Promise<string> => {
      const id = await newCommand(world, { runner_id: runner.id });
      ok(await move(world, runner.key, id, 'acknowledge'));
      ok(await move(world, runner.key, id, 'logs', { offset: 0, lines: ['one', 'two'] }));
      if (withUpload) {
        const report = ctis([ctisFinding()], { repository: `github.com/acme/${id}` });
        const headers = { 'x-openctem-command-id': id };
        ok(await runnerCall(world, runner.key, '/ingest', report, headers), 201);
      }
      ok(await move(world, runner.key, id, 'complete', {}));
      return id;
    };
    const missing = async (id: string): Promise<Fields> =>
      problemOf(
        await send(world.url, { path: `/api/v1/commands/${id}`, key: world.own.viewer }),
        'not_found',
      );

    test('an ended command goes; one that waits does not', async () => {
      const [id, waits] = [await ended(false), await newCommand(world)];
      await age((KEEP_DAYS - 1) * DAY_MS);
      assert.equal((await showCommand(world, id))['status'], 'completed');
      await age(2 * DAY_MS);
      await missing(id);
      assert.equal((await showCommand(world, waits))['status'], 'pending');
    });

    test('a command that an upload was handed in for stays with its attempts; its log goes, and says so', async () => {
      const id = await ended(true);
      await age((KEEP_DAYS + 1) * DAY_MS);
      await age(60_000);
      const shown = await showCommand(world, id);
      assert.equal((shown['attempts'] as unknown[]).length, 1);
      assert.equal((shown['uploads'] as unknown[]).length, 1);
      const log = await look(world, world.own.viewer, `/api/v1/commands/${id}/logs`);
      assert.deepEqual([log['lines'], log['dropped_lines'], log['is_complete']], [[], 2, true]);
    });

    test('a scan session goes after its end, also one that timed out', async () => {
      const body = { scanner_name: 's', asset_type: 'repository', asset_value: 'a/b' };
      const { scan_id: id } = ok(await runnerCall(world, runner.key, '/scans', body), 201);
      await age(2 * DAY_MS);
      const path = `/api/v1/scans/${String(id)}`;
      assert.equal((await look(world, world.own.viewer, path))['status'], 'timeout');
      await age((KEEP_DAYS + 1) * DAY_MS);
      problemOf(await send(world.url, { path, key: world.own.viewer }), 'not_found');
    });

    test('a successor that nobody used goes once it has ended; keys that were used stay', async () => {
      const own = await newRunner(world);
      const renew = async (): Promise<string> =>
        String(ok(await runnerCall(world, own.key, '/renew'))['api_key']);
      const [unused, used] = [await renew(), await renew()];
      ok(await runnerCall(world, used, '/heartbeat'));
      const listed = async (): Promise<string[]> => {
        const page = await look(world, world.own.admin, `/api/v1/keys?runner_id=${own.id}`);
        return (page['items'] as Fields[]).map((key) => String(key['key_id'])).sort();
      };
      const all = [own.key, unused, used].map(keyIdOf).sort();
      await age((KEEP_DAYS - 1) * DAY_MS);
      assert.deepEqual(await listed(), all);
      await age(2 * DAY_MS);
      assert.deepEqual(await listed(), [own.key, used].map(keyIdOf).sort());
      await age(limits.keyLifeMs);
      assert.deepEqual(await listed(), [own.key, used].map(keyIdOf).sort());
    });

    test('a session of the longest names can be opened, and is found again', async () => {
      const texts = Array.from({ length: 2000 }, (_, at) =>
        String.fromCodePoint(0x4e00 + ((at * 7919) % 20_000)),
      );
      const long = texts.join('');
      const body = {
        scanner_name: long.slice(0, 250),
        asset_type: 'repository',
        asset_value: long,
        branch: long.slice(0, 250),
      };
      const first = ok(await runnerCall(world, runner.key, '/scans', body), 201);
      assert.deepEqual(ok(await runnerCall(world, runner.key, '/scans', body), 201), first);
    });
  });
}

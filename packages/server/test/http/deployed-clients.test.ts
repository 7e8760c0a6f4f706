// Deployed agents of both eras against the server, over lines that lose the answer of every call,
// once or as often as the client repeats it. Whatever is repeated, each command ends once and each
// finding is there once.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { BACKENDS } from '../harness.ts';
import { K1, K2 } from './deployed-clients.ts';
import { lossyLine, type LossyLine } from './lossy-line.ts';
import { ctis, ctisFinding, many } from './reports.ts';
import { type Fields, ok } from './wire.ts';
import {
  look,
  move,
  newCommand,
  newRunner,
  operate,
  type Runner,
  showCommand,
  showRunner,
  startWorld,
  type World,
} from './world.ts';

/** Longer than any lease here. */
const LEASE_OVER_MS = 200_000;
const FINDINGS = 3;

/**
 * The answer of every call is lost once; or three times, after which the client's last try gets
 * through.
 */
const LOSSES = [1, 3];

for (const backend of BACKENDS) {
  let world: World;
  let runner: Runner;
  const lines: LossyLine[] = [];
  before(async () => {
    world = await startWorld(backend);
  });
  after(async () => {
    for (const line of lines) await line.close();
    await world.stop();
  });

  const pause = async (ms: number): Promise<void> => world.server.clock.advance(ms);
  /** Findings whose paths name their command. */
  const execute = ({ id, payload }: Fields): Fields | string =>
    (payload as Fields)['target'] === 'broken'
      ? 'scanner not found: none'
      : ctis(
          many(FINDINGS, (item) => ctisFinding({ ...item, path: `${String(id)}/${item.path}` })),
          { repository: 'github.com/acme/deployed' },
        );
  const portsOf = async (who: Runner, losses: number) => {
    const line = await lossyLine(world.url, losses);
    lines.push(line);
    return { line, ports: { url: line.url, key: who.key, pause, execute } };
  };
  const scan = async (target: string, more: Fields = {}): Promise<string> =>
    await newCommand(world, { payload: { scanner: 'semgrep', target }, ...more });

  /** The command is completed in one attempt, with its findings, each of them once. */
  const assertDone = async (id: string): Promise<void> => {
    const command = await showCommand(world, id);
    assert.equal(command['status'], 'completed');
    assert.equal((command['result'] as Fields)['findings_count'], FINDINGS);
    const attempts = command['attempts'] as Fields[];
    assert.deepEqual(
      attempts.map(({ outcome }) => outcome),
      ['completed'],
    );
    const place = `/api/v1/findings?path=${id}/`;
    const { items } = await look(world, world.own.viewer, place);
    assert.equal((items as Fields[]).length, FINDINGS);
  };

  for (const losses of LOSSES) {
    describe(`answers lost ${losses} times, on ${backend}`, { concurrency: false }, () => {
      before(async () => {
        runner = await newRunner(world);
      });

      for (const starts of [true, false]) {
        test(`an agent of the first era ${starts ? 'that starts' : 'that never starts'} ends each command once`, async () => {
          runner = await newRunner(world);
          const pin = { runner_id: runner.id };
          for (let n = 0; n < 12; n += 1)
            await newCommand(world, { type: 'unheard_of', payload: {}, priority: 'high', ...pin });
          const scans = [await scan('a', pin), await scan('b', pin), await scan('c', pin)];
          const broken = await scan('broken', pin);
          const { line, ports } = await portsOf(runner, losses);
          const client = new K1(ports, starts);
          await client.probe();
          const probed = await showRunner(world, runner.id);
          assert.equal(probed['reported'], null, 'a probe says nothing of the agent');
          await client.beat();
          for (let turn = 0; turn < 6; turn += 1) await client.turn();
          await client.goodbye();
          for (const id of scans) await assertDone(id);
          const failed = await showCommand(world, broken);
          assert.equal(failed['status'], 'failed');
          assert.equal(failed['error_message'], 'scanner not found: none');
          assert.deepEqual(client.executed.toSorted(), [...scans, broken].toSorted());
          const words = starts
            ? ['acknowledge 200 acknowledged', 'start 200 running']
            : ['acknowledge 200 acknowledged'];
          const all = new Set([...words, 'complete 200 completed', 'fail 200 failed']);
          assert.deepEqual(new Set(client.story), all);
          const { items } = await look(
            world,
            world.own.viewer,
            `/api/v1/commands?runner_id=${runner.id}&status=pending&limit=50`,
          );
          assert.equal((items as Fields[]).length, 12, 'what it does not know is left alone');
          assert.ok((line.lost.get('POST /api/v1/agent/ingest') ?? 0) >= losses * scans.length);
          assert.equal((await showRunner(world, runner.id))['presence'], 'stopped');
        });
      }

      test('two agents of the first era after the same commands: each command has one of them', async () => {
        const [one, two] = [await newRunner(world), await newRunner(world)];
        const ids = [await scan('a'), await scan('b'), await scan('c'), await scan('d')];
        const clients = [
          new K1((await portsOf(one, losses)).ports, true),
          new K1((await portsOf(two, losses)).ports, true),
        ];
        await Promise.all(clients.map((client) => client.turn()));
        await Promise.all(clients.map((client) => client.turn()));
        for (const id of ids) await assertDone(id);
        const executed = clients.flatMap((client) => client.executed);
        assert.deepEqual(executed.toSorted(), ids.toSorted());
      });

      test('an agent of the second era falls back, renews, and ends each command once', async () => {
        runner = await newRunner(world);
        const pin = { runner_id: runner.id };
        const ids = [await scan('a', pin), await scan('b', pin), await scan('c', pin)];
        const { ports } = await portsOf(runner, losses);
        const client = new K2(ports, 2);
        await client.hello();
        await client.renew();
        const hints = await client.beat();
        assert.equal(hints['pending_jobs'], 2, 'what it could claim now');
        assert.equal(typeof hints['next_heartbeat_seconds'], 'number');
        const claimed = await client.claim();
        assert.equal(claimed.length, 2, 'as many as it has slots');
        for (const command of claimed) await client.work(command);
        for (const command of await client.claim()) await client.work(command);
        await client.goodbye();
        for (const id of ids) await assertDone(id);
        assert.deepEqual(client.executed.toSorted(), ids);
        const { uploads } = await showCommand(world, ids[0] ?? '');
        assert.ok((uploads as Fields[]).length > 0, 'the report is shown with its command');
      });

      test('an agent of the second era cancels, gives back, and runs nothing that it may not start', async () => {
        runner = await newRunner(world);
        const other = await newRunner(world);
        const client = new K2((await portsOf(runner, losses)).ports, 3);
        await client.hello();
        await client.renew();
        await client.beat();
        const [canceled, released] = [
          await scan('a', { runner_id: runner.id }),
          await scan('b', { runner_id: runner.id }),
        ];
        const late = await scan('c', { priority: 'low' });
        const [first = {}, second = {}, third = {}] = await client.claim();
        assert.deepEqual([first['id'], second['id'], third['id']], [canceled, released, late]);
        await client.release(second);
        await client.work(first, async () => {
          const path = `/api/v1/commands/${canceled}/cancel`;
          await operate(world, world.own.analyst, path, undefined, 200);
        });
        await world.server.pass(LEASE_OVER_MS);
        ok(await move(world, other.key, late, 'acknowledge'));
        ok(await move(world, other.key, late, 'complete', { result: 'the other' }));
        await client.work(third);
        assert.deepEqual(client.executed, []);
        assert.equal((await showCommand(world, canceled))['status'], 'canceled');
        assert.equal((await showCommand(world, released))['status'], 'pending');
        assert.equal((await showCommand(world, late))['result'], 'the other');
        assert.deepEqual(client.story.slice(-4), [
          'release 200 pending',
          'start 200 running',
          'fail 200 canceled',
          'start 409 lease_lost',
        ]);
      });
    });
  }
}

// Finished work reaches the server once, through outages of the server, restarts of the runner,
// lost answers and full disks.

import assert from 'node:assert/strict';
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { call, endpoints } from '@muster/contract';
import { emptyPlace, eventually, startServer } from '../../server/test/harness.ts';
import { startRunner } from '../src/index.ts';
import { Spool } from '../src/spool.ts';
import { gate, Hurried, Network, Rig, unavailable } from './rig.ts';

const SARIF = Buffer.from(
  JSON.stringify({
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: 'acme-scan' } },
        results: [{ ruleId: 'R1', message: { text: 'a defect' } }],
      },
    ],
  }),
);
const ABOUT = {
  format: 'sarif',
  context: { repository_url: 'https://github.com/acme/shop' },
} as const;

const spooled = async (rig: Rig): Promise<string[]> =>
  await readdir(path.join(rig.folder, 'spool'));

const uploadsOf = async (rig: Rig) =>
  (await call(endpoints.listUploads, {}, rig.operator)).body.items;

test('a result is sent until it is answered, and its command stays listed and leased meanwhile', async (t) => {
  const rig = await Rig.start(t);
  let isDown = true;
  rig.network.fate = ({ path: at }) => (isDown && at.endsWith('/complete') ? unavailable() : null);
  let executions = 0;
  const runner = await rig.runner({
    handlers: { health_check: async () => (executions += 1) },
  });
  const id = await rig.command();
  await eventually(async () => rig.network.to('/complete').length >= 6);
  // Far longer than a lease, in steps within which a heartbeat has to come.
  for (let step = 0; step < 8; step += 1) {
    await rig.server.pass(30_000);
    await rig.network.next('/heartbeat');
    const beat = await rig.network.next('/heartbeat');
    assert.deepEqual(beat.body['running'], [id]);
  }
  isDown = false;
  const done = await rig.until(id, 'completed');
  assert.equal(done.attempt, 1);
  assert.equal(done.result, 1);
  assert.equal(executions, 1);
  await runner.stop();
});

test('a result outlives a restart of the server, however long it takes', async (t) => {
  const place = await emptyPlace('sqlite');
  const first = await startServer({ place });
  const network = new Network();
  const working = gate();
  let executions = 0;
  const runner = await startRunner({
    baseUrl: first.url,
    key: first.runnerKey,
    name: 'sdk',
    version: '0.1.0',
    handlers: {
      health_check: async () => {
        executions += 1;
        await working.opened;
      },
    },
    fetch: network.fetch,
    timing: new Hurried(),
  });
  const operator = { baseUrl: first.url, key: first.operatorToken };
  const { body } = await call(
    endpoints.createCommand,
    { body: { type: 'health_check' } },
    operator,
  );
  await eventually(async () => executions === 1);
  await first.stop();
  working.open();
  await eventually(async () => network.to('/complete').length >= 8);
  const second = await startServer({ place, env: { MUSTER_PORT: new URL(first.url).port } });
  t.after(async () => {
    await runner.stop(AbortSignal.abort());
    await second.stop();
    await place.remove();
  });
  const done = await eventually(async () => {
    const shown = await call(endpoints.showCommand, { params: { id: body.id } }, operator);
    return shown.body.status === 'completed' && shown.body;
  });
  assert.equal(done.attempt, 1);
  assert.equal(executions, 1);
});

test('a result that the server knows better about is dropped, and the runner goes on', async (t) => {
  const rig = await Rig.start(t);
  const working = gate();
  const runner = await rig.runner({
    handlers: { health_check: () => working.opened, other: async () => 'fine' },
    stateDirectory: rig.folder,
  });
  const id = await rig.command();
  await rig.until(id, 'running');
  // The same runner finishes it elsewhere: the other result is answered 409.
  const own = { baseUrl: rig.server.url, key: rig.key };
  await call(endpoints.completeCommand, { params: { id }, body: { result: 'other' } }, own);
  working.open();
  const next = await rig.command('other');
  await rig.until(next, 'completed');
  assert.equal((await rig.show(id)).result, 'other');
  assert.equal(rig.network.to(`${id}/complete`).length, 1);
  await runner.stop();
  assert.deepEqual(await spooled(rig), []);
});

test('a result that the server refuses as it is fails its command with the reason', async (t) => {
  const rig = await Rig.start(t);
  const runner = await rig.runner({
    handlers: { health_check: async () => 'x'.repeat(3 * 1024 * 1024) },
  });
  const failed = await rig.until(await rig.command(), 'failed');
  assert.match(failed.error_message ?? '', /^The server refused the result: /);
  await runner.stop();
});

test('a result that is no JSON fails its command instead of being sent for ever', async (t) => {
  const rig = await Rig.start(t);
  const runner = await rig.runner({ handlers: { health_check: async () => 1n } });
  const failed = await rig.until(await rig.command(), 'failed');
  assert.match(failed.error_message ?? '', /BigInt/);
  await runner.stop();
});

test('a result outlives its process: the next one names the command and hands it over', async (t) => {
  const rig = await Rig.start(t);
  rig.network.fate = ({ path: at }) => (at.endsWith('/complete') ? 'refused' : null);
  let executions = 0;
  const options = {
    handlers: { health_check: async () => ({ executions: (executions += 1) }) },
    stateDirectory: rig.folder,
  };
  const first = await rig.runner(options);
  const id = await rig.command();
  await eventually(async () => rig.network.to('/complete').length > 0);
  const [file = ''] = await spooled(rig);
  assert.equal((await stat(path.join(rig.folder, 'spool', file))).mode & 0o777, 0o600);
  await first.stop(AbortSignal.abort());
  assert.equal((await rig.show(id)).status, 'running');
  rig.network.fate = () => null;
  const beforeRestart = rig.network.sent.length;
  const second = await rig.runner(options);
  const done = await rig.until(id, 'completed');
  assert.deepEqual(rig.network.sent[beforeRestart]?.body['running'], [id]);
  assert.deepEqual(done.result, { executions: 1 });
  assert.equal(done.attempt, 1);
  await second.stop();
  assert.equal(executions, 1);
  assert.deepEqual(await spooled(rig), []);
});

test('a report outlives its process, and its repeat is no second upload', async (t) => {
  const rig = await Rig.start(t);
  rig.network.fate = ({ path: at }) => (at.endsWith('/ingest/sarif') ? 'lost' : null);
  const first = await rig.runner({
    handlers: { scan: async (_, { report }) => (await report(SARIF, ABOUT)).findings.created },
    stateDirectory: rig.folder,
  });
  await rig.command('scan', { payload: { scanner: 'acme-scan' } });
  await eventually(async () => rig.network.to('/ingest/sarif').length > 2);
  await first.stop(AbortSignal.abort());
  assert.equal((await spooled(rig)).length, 1);
  rig.network.fate = () => null;
  const second = await rig.runner({ stateDirectory: rig.folder });
  await eventually(async () => (await spooled(rig)).length === 0);
  await second.stop();
  const uploads = await uploadsOf(rig);
  assert.equal(uploads.length, 1);
});

test('a full disk keeps no result from the server', async (t) => {
  const rig = await Rig.start(t);
  const runner = await rig.runner({
    handlers: { health_check: async () => 'done' },
    stateDirectory: rig.folder,
  });
  // Nothing can be written there any more, whoever tries.
  await rm(path.join(rig.folder, 'spool'), { recursive: true });
  await writeFile(path.join(rig.folder, 'spool'), '');
  const done = await rig.until(await rig.command(), 'completed');
  assert.equal(done.result, 'done');
  assert.deepEqual(rig.faults, ['the spool']);
  await runner.stop();
});

const RESULT = { kind: 'result', commandId: 'c', attempt: 1, says: { result: null } } as const;
const UPLOAD = { kind: 'upload', format: 'ctis', query: {}, headers: {} } as const;

test('the spool is bounded, in files and in bytes', async (t) => {
  const rig = await Rig.start(t);
  const spool = await Spool.open(path.join(rig.folder, 's'), { files: 3, bytes: 1000 });
  const name = await spool.put(RESULT, new Uint8Array(), 5);
  await assert.rejects(spool.put(UPLOAD, new Uint8Array(900), 5), /full/);
  await spool.put(RESULT, new Uint8Array(), 5);
  await spool.put(RESULT, new Uint8Array(), 4);
  await assert.rejects(spool.put(RESULT, new Uint8Array(), 5), /full/);
  await spool.remove(name);
  await spool.put(RESULT, new Uint8Array(), 5);
});

test('the spool of a process that died half-way has whole files only, the oldest first', async (t) => {
  const rig = await Rig.start(t);
  const folder = path.join(rig.folder, 's');
  const first = await Spool.open(folder);
  const late = await first.put(UPLOAD, Buffer.from('\n{"bytes"}\n'), 20);
  const early = await first.put(RESULT, new Uint8Array(), 10);
  await writeFile(path.join(folder, 'x.result.spooled.unfinished'), '{"kind":"res');
  const second = await Spool.open(folder);
  assert.deepEqual(second.names, [early, late]);
  assert.equal((await second.read(late)).body.toString(), '\n{"bytes"}\n');
  assert.deepEqual([...(await second.results()).keys()], [early]);
  assert.deepEqual((await readdir(folder)).toSorted(), [early, late]);
});

test('what can not be read in the spool is told, left there, and holds nothing up', async (t) => {
  const rig = await Rig.start(t);
  const spool = await Spool.open(path.join(rig.folder, 'spool'));
  const odd = path.join(rig.folder, 'spool', '0-odd.result.spooled');
  await writeFile(odd, 'no JSON');
  await spool.put({ ...RESULT, commandId: 'not-there' }, new Uint8Array(), 1);
  const runner = await rig.runner({ stateDirectory: rig.folder });
  await eventually(async () => (await spooled(rig)).length === 1);
  assert.equal(await readFile(odd, 'utf8'), 'no JSON');
  assert.ok(rig.faults.includes('what was left in the spool'));
  await runner.stop();
});

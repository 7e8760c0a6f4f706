// Keys of a runner: renewed when advised and not more often, stored before they are used, and never
// a reason to stop working (contract §7, RP §4.3 and §10).

import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { call, endpoints } from '@muster/contract';
import { eventually } from '../../server/test/harness.ts';
import { enrol, startRunner } from '../src/index.ts';
import { KeyRing } from '../src/keys.ts';
import { Rig } from './rig.ts';

const HALF_LIFE_MS = 46 * 86_400_000;

/** A runner with a key that expires; the server advises its renewal. */
async function enrolled(rig: Rig): Promise<string> {
  const { baseUrl } = rig.operator;
  const { body } = await call(
    endpoints.enroll,
    { body: { name: 'renewing' } },
    { baseUrl, key: rig.server.enrolmentToken },
  );
  await call(endpoints.heartbeat, {}, { baseUrl, key: body.api_key });
  rig.server.clock.advance(HALF_LIFE_MS);
  return body.api_key;
}

const works = { handlers: { health_check: async () => 'done' } };

test('a runner that can not store its new key goes on working, with the old key, and renews once', async (t) => {
  const rig = await Rig.start(t, { alone: true });
  const key = await enrolled(rig);
  let saves = 0;
  const from = rig.timing.nowMs();
  const saveKey = async (): Promise<void> => {
    saves += 1;
    throw new Error('no space left on device');
  };
  const runner = await rig.runner({ ...works, key, saveKey });
  for (let n = 0; n < 3; n += 1) await rig.until(await rig.command(), 'completed');
  await eventually(async () => saves >= 3);
  await runner.stop();
  assert.equal(rig.network.to('/renew').length, 1, 'what waits to be stored is not renewed again');
  const minutes = (rig.timing.nowMs() - from) / 60_000;
  assert.ok(saves <= minutes + 1, `${saves} tries in ${minutes} minutes`);
  assert.deepEqual(new Set(rig.network.sent.map((sent) => sent.key)), new Set([key]));
});

test('a refused renewal is tried again once a minute, beside the work', async (t) => {
  const rig = await Rig.start(t, { alone: true });
  const key = await enrolled(rig);
  const from = rig.timing.nowMs();
  rig.network.fate = ({ path: at }) => (at.endsWith('/renew') ? 'refused' : null);
  const runner = await rig.runner({ ...works, key, saveKey: async () => {} });
  await rig.until(await rig.command(), 'completed');
  await eventually(async () => rig.network.to('/renew').length >= 3);
  const minutes = (rig.timing.nowMs() - from) / 60_000;
  assert.ok(rig.network.to('/renew').length <= minutes + 1);
  await runner.stop();
});

test('a key that could not be stored takes over when the old one is refused, and is stored later', async (t) => {
  const rig = await Rig.start(t, { alone: true });
  const key = await enrolled(rig);
  const saved: string[] = [];
  let isFull = true;
  const saveKey = async (next: string): Promise<void> => {
    if (isFull) throw new Error('no space left on device');
    saved.push(next);
  };
  const runner = await rig.runner({ ...works, key, saveKey });
  await eventually(async () => rig.faults.includes('key renewal'));
  // The old key has come to its end.
  rig.server.clock.advance(HALF_LIFE_MS);
  const id = await rig.command();
  await rig.until(id, 'completed');
  isFull = false;
  const newest = await eventually(async () => saved[0]);
  assert.notEqual(newest, key);
  assert.equal(rig.network.sent.at(-1)?.key, newest);
  await runner.stop();
});

test('a renewed key replaces the stored one whole, and the old one stays when it can not', async (t) => {
  const rig = await Rig.start(t, { alone: true });
  const key = await enrolled(rig);
  const file = path.join(rig.folder, 'key');
  await writeFile(file, `${key}\n`, { mode: 0o600 });
  // The place where the new key would be written first is taken.
  await mkdir(`${file}.unfinished/taken`, { recursive: true });
  const { server } = rig;
  const runner = await rig.runner({ ...works, key: server.runnerKey, stateDirectory: rig.folder });
  await eventually(async () => rig.faults.includes('key renewal'));
  await rig.until(await rig.command(), 'completed');
  assert.equal(await readFile(file, 'utf8'), `${key}\n`);
  await rm(`${file}.unfinished`, { recursive: true });
  await eventually(async () => (await readFile(file, 'utf8')) !== `${key}\n`);
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  await runner.stop();
  const stored = (await readFile(file, 'utf8')).trim();
  assert.equal(rig.network.sent.at(-1)?.key, stored);
  assert.equal(rig.network.to('/renew').length, 1);
});

test('a stored key that is dead makes way for the one that was given', async (t) => {
  const rig = await Rig.start(t, { alone: true });
  const key = await enrolled(rig);
  await writeFile(path.join(rig.folder, 'key'), key);
  const [, , keyId = ''] = /^(mst_rnr_)([0-9A-Za-z]{12})/.exec(key) ?? [];
  await call(endpoints.revokeKey, { params: { id: keyId } }, rig.operator);
  const runner = await rig.runner({ ...works, stateDirectory: rig.folder });
  await rig.until(await rig.command(), 'completed');
  await runner.stop();
});

test('without a place to store keys none is renewed: a restart would find the old one dead', async () => {
  const ring = new KeyRing('a', null, null);
  await ring.tend(true, 0, () => Promise.reject(new Error('must not be asked')));
  assert.equal(ring.current, 'a');
});

test('a runner whose only key is refused does not start', async (t) => {
  const rig = await Rig.start(t, { alone: true });
  const refused = rig.runner({ key: `${rig.key.slice(0, -1)}?` });
  await assert.rejects(refused, { status: 401 });
});

test('an enrolment whose answer was lost finds the same runner again, also after a restart', async (t) => {
  const rig = await Rig.start(t, { alone: true });
  const options = {
    baseUrl: rig.server.url,
    token: rig.server.enrolmentToken,
    name: 'enrolling',
    stateDirectory: rig.folder,
    fetch: rig.network.fetch,
    retry: { attempts: 2, timing: rig.timing },
  };
  rig.network.fate = () => 'lost';
  await assert.rejects(enrol(options), TypeError);
  rig.network.fate = () => null;
  await enrol(options);
  assert.equal(new Set(rig.network.sent.map(({ body }) => body['enrollment_id'])).size, 1);
  const calls = rig.network.sent.length;
  await enrol(options);
  assert.equal(rig.network.sent.length, calls, 'it has its key');
  const { body } = await call(endpoints.listRunners, {}, rig.operator);
  assert.equal(body.items.filter(({ name }) => name === 'enrolling').length, 1);
  const runner = await startRunner({
    baseUrl: rig.server.url,
    timing: rig.timing,
    name: 'enrolling',
    version: '1',
    handlers: {},
    stateDirectory: rig.folder,
  });
  await runner.stop();
  assert.deepEqual((await readdir(rig.folder)).toSorted(), [
    'enrollment-id',
    'instance-id',
    'key',
    'spool',
  ]);
});

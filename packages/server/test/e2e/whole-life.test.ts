// The whole life of an installation, on the real process and both databases: from the empty folder
// to the second start. The steps stand in their order and build on each other.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError, call, endpoints, type RunnerCommand } from '@muster/contract';
import { largeSarif } from '../generate/reports.ts';
import {
  type Backend,
  BACKENDS,
  emptyPlace,
  eventually,
  type Place,
  type SpawnedServer,
  spawnServer,
} from '../harness.ts';
import { CTIS, REPOSITORY, SARIF } from './reports.ts';
import {
  allFindings,
  allUploads,
  finished,
  type Party,
  receiptOf,
  send,
  sendAgain,
  sendHalf,
} from './wire.ts';

const FINDINGS = 5;
/** Enough results for the upload to be still in work when the signal comes. */
const LARGE = 2000;
const QUERY = { repository_url: REPOSITORY, branch: 'main' };

interface Life {
  readonly place: Place;
  server: SpawnedServer;
  runnerId: string;
  /** In the order in which the runner got them. */
  readonly runnerKeys: string[];
  operatorToken: string;
}

const operator = (life: Life): Party => ({ url: life.server.url, key: life.operatorToken });
const runner = (life: Life, key?: string): Party => ({
  url: life.server.url,
  key: key ?? (life.runnerKeys.at(-1) as string),
});
const as = ({ url, key }: Party) => ({ baseUrl: url, key });

type Step = readonly [title: string, step: (life: Life) => Promise<void>];

const STEPS: readonly Step[] = [
  ['the first start prints an operator token, an enrolment token and a runner key', firstStart],
  ['an enrolment token makes a runner, whose heartbeat the operator sees', enrolAndBeat],
  ['a SARIF and a CTIS report become findings', upload],
  ['the same reports again change nothing', uploadAgain],
  ['a command goes from creation to completion', completeCommand],
  ['a renewed key takes over only when it is used', renew],
  ['SIGTERM lets requests in flight come to their answer', stop],
  ['the second start prints no secret, and everything is still there', startAgain],
];

async function firstStart({ server }: Life): Promise<void> {
  assert.match(server.operatorToken, /^mst_op_/);
  assert.match(server.enrolmentToken, /^mst_enr_/);
  assert.match(server.runnerKey, /^mst_rnr_/);
  const ready = await fetch(`${server.url}/readyz`);
  assert.equal(ready.status, 200, await ready.text());
}

async function enrolAndBeat(life: Life): Promise<void> {
  const token = { baseUrl: life.server.url, key: life.server.enrolmentToken };
  const body = { name: 'ci-1', enrollment_id: 'machine-0001' };
  const { status, body: enrolled } = await call(endpoints.enroll, { body }, token);
  assert.equal(status, 201);
  life.runnerId = enrolled.agent_id;
  life.runnerKeys.push(enrolled.api_key);
  const beat = { version: '1.0', status: 'running', cpu_percent: 12.5 };
  const { body: reply } = await call(endpoints.heartbeat, { body: beat }, as(runner(life)));
  assert.equal(reply.agent_id, life.runnerId);
  const params = { id: life.runnerId };
  await eventually(async () => {
    const { body: seen } = await call(endpoints.showRunner, { params }, as(operator(life)));
    return seen.presence === 'online';
  });
}

async function upload(life: Life): Promise<void> {
  const sarif = receiptOf(await send(runner(life), 'sarif', SARIF, QUERY));
  assert.equal(sarif.findings.created, 3);
  const ctis = receiptOf(await send(runner(life), 'ctis', CTIS));
  assert.equal(ctis.findings.created, 2, JSON.stringify(ctis));
  assert.equal(ctis.scan_id, 'nightly-7');
  assert.equal(ctis.dependencies.created, 1);
  assert.deepEqual([sarif.assets.created, ctis.assets.updated], [1, 1], 'one repository');
  const findings = await allFindings(operator(life));
  assert.equal(findings.length, FINDINGS);
  assert.equal(new Set(findings.map((finding) => finding.asset_id)).size, 1);
  assert.ok(findings.every((finding) => finding.status === 'open' && !finding.unfinished));
}

async function uploadAgain(life: Life): Promise<void> {
  const before = await allFindings(operator(life));
  const sarif = receiptOf(await sendAgain(runner(life), 'sarif', SARIF, QUERY));
  assert.deepEqual([sarif.findings.unchanged, sarif.findings.received], [3, 3]);
  const ctis = receiptOf(await sendAgain(runner(life), 'ctis', CTIS));
  assert.deepEqual([ctis.findings.unchanged, ctis.findings.received], [2, 2]);
  const after = await allFindings(operator(life));
  const still = ({ id, status, status_at, title }: (typeof after)[number]) =>
    JSON.stringify({ id, status, status_at, title });
  assert.deepEqual(after.map(still).sort(), before.map(still).sort());
}

async function completeCommand(life: Life): Promise<void> {
  const me = as(runner(life));
  const body = { type: 'scan', payload: { scanner: 'semgrep' }, runner_id: life.runnerId };
  const { body: made } = await call(endpoints.createCommand, { body }, as(operator(life)));
  const { body: polled } = await call(endpoints.pollCommands, {}, me);
  const [command] = polled as RunnerCommand[];
  assert.equal(command?.id, made.id);
  const params = { id: made.id };
  await call(endpoints.acknowledgeCommand, { params }, me);
  await call(endpoints.startCommand, { params }, me);
  const done = { params, body: { result: { findings_count: 3 } } };
  await call(endpoints.completeCommand, done, me);
  await call(endpoints.completeCommand, done, me);
  const { body: shown } = await call(endpoints.showCommand, { params }, as(operator(life)));
  assert.equal(shown.status, 'completed');
  assert.deepEqual(shown.result, { findings_count: 3 });
  assert.deepEqual((await call(endpoints.pollCommands, {}, me)).body, []);
}

const beats = async (party: Party): Promise<boolean> => {
  try {
    return (await call(endpoints.heartbeat, { body: {} }, as(party))).status === 200;
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return false;
    throw error;
  }
};

async function renew(life: Life): Promise<void> {
  const old = runner(life);
  const { body: lost } = await call(endpoints.renewKey, {}, as(old));
  const { body: renewed } = await call(endpoints.renewKey, {}, as(old));
  assert.ok(await beats(old), 'the old key is good before the new one is used');
  life.runnerKeys.push(renewed.api_key);
  assert.ok(await beats(runner(life)), 'the new key proves itself by its first use');
  assert.ok(await beats(old), 'the old key has its grace');
  assert.equal(await beats(runner(life, lost.api_key)), false, 'the lost one is retired');
}

async function stop(life: Life): Promise<void> {
  const half = await sendHalf(runner(life), operator(life), largeSarif(20, 'Late'));
  const waiting = send(runner(life), 'sarif', largeSarif(LARGE, 'Large'), QUERY);
  await eventually(async () =>
    (await allUploads(operator(life))).some((known) => known.items_total === LARGE),
  );
  const ended = life.server.stop('SIGTERM');
  const [large, late] = await Promise.all([waiting, half.finish()]);
  assert.ok(large.status === 201 || large.status === 202, JSON.stringify(large.problem));
  assert.ok(late.status === 201 || late.status === 202, JSON.stringify(late.body));
  assert.equal(await ended, 0);
}

async function startAgain(life: Life): Promise<void> {
  life.server = await spawnServer(life.place);
  assert.doesNotMatch(life.server.output(), /mst_(?:op|enr|rnr)_/);
  for (const key of life.runnerKeys) assert.ok(await beats(runner(life, key)));
  const uploads = await allUploads(operator(life));
  assert.equal(uploads.length, 6, 'what was accepted while it stopped is there');
  for (const { id } of uploads) await finished(runner(life), id);
  const findings = await allFindings(operator(life));
  assert.equal(findings.length, FINDINGS + LARGE + 20);
  const again = receiptOf(await sendAgain(runner(life), 'sarif', SARIF, QUERY));
  assert.equal(again.findings.unchanged, 3);
  assert.equal(await life.server.stop('SIGINT'), 0);
}

function tellLife(backend: Backend): void {
  test(`an installation on ${backend} lives through its first days`, async (t) => {
    const place = await emptyPlace(backend);
    const server = await spawnServer(place);
    const { operatorToken } = server;
    const life: Life = { place, server, runnerId: '', runnerKeys: [], operatorToken };
    try {
      for (const [title, step] of STEPS) {
        let failed: unknown = null;
        await t.test(title, async () => {
          try {
            await step(life);
          } catch (error) {
            failed = error;
            throw error;
          }
        });
        // The later steps build on this one.
        if (failed !== null) break;
      }
    } finally {
      await life.server.stop('SIGKILL');
      await place.remove();
    }
  });
}

for (const backend of BACKENDS) tellLife(backend);

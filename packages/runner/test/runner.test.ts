// The SDK against the real server: it beats, takes commands, renews its key, and hands in a report.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { call, endpoints } from '@muster/contract';
import { eventually, startServer } from '../../server/test/harness.ts';
import { sendReport, startRunner } from '../src/index.ts';
import { Hurried } from './rig.ts';

const SARIF = Buffer.from(
  JSON.stringify({
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: 'acme-scan', rules: [{ id: 'R1' }] } },
        results: [
          {
            ruleId: 'R1',
            message: { text: 'a defect' },
            locations: [
              {
                physicalLocation: {
                  artifactLocation: { uri: 'src/a.c' },
                  region: { startLine: 3 },
                },
              },
            ],
          },
        ],
      },
    ],
  }),
);

test('a runner takes a command of a type it knows, sees it through and leaves others alone', async () => {
  const server = await startServer();
  const operator = { baseUrl: server.url, key: server.operatorToken };
  const create = (type: string) => call(endpoints.createCommand, { body: { type } }, operator);
  const strange = await create('strange');
  const wanted = await create('health_check');
  const runner = await startRunner({
    baseUrl: server.url,
    key: server.runnerKey,
    name: 'sdk',
    version: '0.1.0',
    handlers: { health_check: async (command) => ({ saw: command.type }) },
    timing: new Hurried(),
  });
  const done = await eventually(async () => {
    const { body } = await call(
      endpoints.showCommand,
      { params: { id: wanted.body.id } },
      operator,
    );
    return body.status === 'completed' ? body : null;
  });
  assert.deepEqual(done.result, { saw: 'health_check' });
  await runner.stop();
  const left = await call(endpoints.showCommand, { params: { id: strange.body.id } }, operator);
  assert.equal(left.body.status, 'pending');
  const fleet = await call(endpoints.listRunners, {}, operator);
  assert.equal(fleet.body.items[0]?.presence, 'stopped');
  await server.stop();
});

test('a handler that throws fails its command with the message', async () => {
  const server = await startServer();
  const operator = { baseUrl: server.url, key: server.operatorToken };
  const { body: command } = await call(
    endpoints.createCommand,
    { body: { type: 'scan', payload: { scanner: 'none' } } },
    operator,
  );
  const runner = await startRunner({
    baseUrl: server.url,
    key: server.runnerKey,
    name: 'sdk',
    version: '0.1.0',
    handlers: { scan: () => Promise.reject(new Error('no such scanner')) },
    timing: new Hurried(),
  });
  const failed = await eventually(async () => {
    const { body } = await call(endpoints.showCommand, { params: { id: command.id } }, operator);
    return body.status === 'failed' ? body : null;
  });
  assert.equal(failed.error_message, 'no such scanner');
  await runner.stop();
  await server.stop();
});

test('a runner saves a renewed key before it uses it', async () => {
  const server = await startServer();
  const enrolled = await call(
    endpoints.enroll,
    { body: { name: 'renewing' } },
    { baseUrl: server.url, key: server.enrolmentToken },
  );
  const saved: string[] = [];
  server.clock.advance(46 * 86_400_000);
  const runner = await startRunner({
    baseUrl: server.url,
    key: enrolled.body.api_key,
    name: 'renewing',
    version: '0.1.0',
    handlers: {},
    saveKey: async (key) => {
      saved.push(key);
    },
    timing: new Hurried(),
  });
  const key = await eventually(async () => saved[0]);
  await runner.stop();
  const { status } = await call(endpoints.heartbeat, {}, { baseUrl: server.url, key });
  assert.equal(status, 200);
  await server.stop();
});

test('a report is compressed, digested and answered with its receipt', async () => {
  const server = await startServer();
  const receipt = await sendReport(SARIF, {
    baseUrl: server.url,
    key: server.runnerKey,
    format: 'sarif',
    context: { repository_url: 'https://github.com/acme/shop' },
  });
  assert.equal(receipt.findings.created, 1);
  await server.stop();
});

// The real entrance, as a process: hand-over to the pinned runtime, signals, exit codes, the server
// package by name.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { EXIT } from '../src/exit-codes.ts';
import { KEY, receipt, serve } from './harness.ts';

const PACKAGE = dirname(dirname(fileURLToPath(import.meta.url)));
const BIN = join(PACKAGE, 'bin/muster.mjs');
/** Makes this Node look like one without type stripping: the entrance hands over. */
const OLD = ['--no-strip-types'];

interface Started {
  readonly process: ChildProcess;
  readonly out: Promise<string>;
  readonly err: Promise<string>;
  readonly end: Promise<[number | null, NodeJS.Signals | null]>;
}

function start(bin: string, argv: readonly string[], flags: readonly string[] = []): Started {
  const env = { PATH: process.env['PATH'], MUSTER_KEY: KEY };
  const child = spawn(process.execPath, [...flags, bin, ...argv], { env });
  return {
    process: child,
    out: text(child.stdout),
    err: text(child.stderr),
    end: once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>,
  };
}

/**
 * A copy of the command line with its installed packages; `server`: the source of @muster/server,
 * if any.
 */
function install(t: TestContext, server: string | null): string {
  const root = mkdtempSync(join(tmpdir(), 'muster-bin-test-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  cpSync(PACKAGE, join(root, 'cli'), { recursive: true });
  mkdirSync(join(root, 'node_modules/@muster'), { recursive: true });
  symlinkSync(join(PACKAGE, '../contract'), join(root, 'node_modules/@muster/contract'));
  mkdirSync(join(root, 'node_modules/node/bin'), { recursive: true });
  symlinkSync(process.execPath, join(root, 'node_modules/node/bin/node'));
  if (server !== null) {
    const folder = join(root, 'node_modules/@muster/server');
    mkdirSync(folder);
    const manifest = { name: '@muster/server', type: 'module', exports: './main.js' };
    writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
    writeFileSync(join(folder, 'main.js'), server);
  }
  return join(root, 'cli/bin/muster.mjs');
}

const SERVER = `
export const configReference = () => '  MUSTER_PORT  port to listen on';
export const admin = async (asked) => ({ secret: 'mst_op_made', text: JSON.stringify(asked) });
export const serve = () => new Promise((resolve) => {
  const alive = setInterval(() => {}, 1000);
  for (const signal of ['SIGTERM', 'SIGINT']) {
    process.once(signal, () => {
      clearInterval(alive);
      console.log('stopped by ' + signal);
      resolve(7);
    });
  }
  console.log('started');
});
`;

test('The entrance runs a command and ends with its exit code', async () => {
  const help = start(BIN, ['help']);
  assert.deepEqual(await help.end, [EXIT.ok, null]);
  assert.match(await help.out, /upload FILE…/);
  const wrong = start(BIN, ['frobnicate']);
  assert.deepEqual(await wrong.end, [EXIT.usage, null]);
  assert.match(await wrong.err, /^muster: There is no command/);
});

test('An upload through the real entrance reaches the server and prints its receipt', async (t) => {
  const { url, seen } = await serve(t, () => ({ status: 201, body: receipt({ created: 5 }) }));
  const example = join(PACKAGE, '../../examples/first.sarif');
  const { end, out, err } = start(BIN, ['upload', '--url', url, example]);
  assert.deepEqual([await end, await err], [[EXIT.ok, null], '']);
  assert.match(await out, /created +5/);
  assert.equal(seen[0]?.url.pathname, '/api/v1/agent/ingest/sarif');
});

test('A Node that can not run the sources hands over to the pinned one, exit code included', async (t) => {
  const bin = install(t, null);
  const { end, err } = start(bin, ['findings', 'lst'], OLD);
  assert.deepEqual(await end, [EXIT.usage, null]);
  assert.match(await err, /Did you mean findings list\?/);
});

test('Without a pinned runtime an unfit Node is told what to do', async (t) => {
  const bin = install(t, null);
  rmSync(join(dirname(bin), '../../node_modules/node'), { recursive: true });
  const { end, err } = start(bin, ['help'], OLD);
  assert.deepEqual(await end, [EXIT.usage, null]);
  assert.match(await err, /needs Node 24 or newer.*npm ci/);
});

/** Resolves when the child has printed that it runs. */
async function started(run: Started): Promise<void> {
  const { stdout } = run.process;
  assert.ok(stdout);
  await once(stdout, 'data');
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`${signal} reaches the server behind the hand-over, whose exit code is the answer`, async (t) => {
    const run = start(install(t, SERVER), ['serve'], OLD);
    await started(run);
    run.process.kill(signal);
    assert.deepEqual(await run.end, [7, null]);
    assert.match(await run.out, new RegExp(`stopped by ${signal}`));
  });
}

test('A hand-over that is killed hard leaves no orphan behind', async (t) => {
  const run = start(install(t, SERVER), ['serve'], OLD);
  await started(run);
  run.process.kill('SIGKILL');
  await run.end;
  // The pipe ends only when the last process that holds it has ended.
  assert.match(await run.out, /stopped by SIGTERM/);
});

test('serve --help shows the configuration as the server package describes it', async (t) => {
  const { end, out } = start(install(t, SERVER), ['serve', '--help']);
  assert.deepEqual(await end, [EXIT.ok, null]);
  assert.match(await out, /MUSTER_PORT {2}port to listen on/);
});

test('admin asks the server package and prints the secret alone on stdout', async (t) => {
  const argv = ['admin', 'operator-token', '--name', 'alice', '--role', 'viewer'];
  const { end, out, err } = start(install(t, SERVER), argv);
  assert.deepEqual(await end, [EXIT.ok, null]);
  assert.equal(await out, 'mst_op_made\n');
  const asked = { what: 'operator-token', tenant: 'default', name: 'alice', role: 'viewer' };
  assert.ok((await err).includes(JSON.stringify(asked)));
});

test('Where the server package is missing or does not fit, it says so', async (t) => {
  const missing = start(install(t, null), ['serve']);
  assert.deepEqual(await missing.end, [EXIT.refused, null]);
  assert.match(await missing.err, /npm install @muster\/server/);
  const other = start(install(t, 'export const serve = 1;'), ['serve']);
  assert.deepEqual(await other.end, [EXIT.refused, null]);
  assert.match(await other.err, /same version/);
});

test('A reader that has seen enough ends the command quietly', async (t) => {
  const items = Array.from({ length: 250 }, (_, at) => ({ id: `${at}`.padEnd(2000, 'x') }));
  const { url } = await serve(t, () => ({ status: 200, body: { items, next: null } }));
  const argv = ['runners', 'list', '--json', '--url', url, '--token', 'mst_op_x'];
  const run = start(BIN, argv);
  // Nobody reads the output to its end: that is the point.
  run.out.catch(() => undefined);
  run.process.stdout?.destroy();
  assert.deepEqual(await run.end, [EXIT.ok, null]);
  assert.equal(await run.err, '');
});

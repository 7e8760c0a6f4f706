// `npm run soak`: the tests for which `npm test` has no time. A hundred real `kill -9` at moments
// chosen by seed, each in the middle of an upload and beside commands and heartbeats, against a
// twin that is never killed: every receipt and every finding must be the same, and everything
// acknowledged must still hold. Then 10 000 seeds of the simulator. Talks to loopback only and ends
// by itself: about six minutes for the kills, an hour for the seeds.
//   npm run soak -- [--kills 100] [--seeds 10000] [--backend sqlite|postgres] [--seed 1]

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Receipt } from '../../packages/contract/src/index.ts';
import {
  close,
  killAndStart,
  open,
  operator,
  runner,
  type Scene,
} from '../../packages/server/test/e2e/killing.ts';
import { allFindings, finished, type Party, send } from '../../packages/server/test/e2e/wire.ts';
import { type Random, randomOf } from '../../packages/server/test/generate/random.ts';
import { sarifOf, sightsOf } from '../../packages/server/test/generate/reports.ts';
import { ADMIN_URL_VARIABLE, startPostgres } from '../postgres.ts';

const { values: options } = parseArgs({
  options: {
    kills: { type: 'string', default: '100' },
    seeds: { type: 'string', default: '10000' },
    backend: { type: 'string', default: 'sqlite' },
    seed: { type: 'string', default: '1' },
  },
});
const backend = options.backend === 'postgres' ? 'postgres' : 'sqlite';
const kills = Number(options.kills);

/** Several batches each, so that a kill leaves a report half written. */
const SIZE = { defectsMin: 600, defectsMax: 1500, placesMax: 1 };

const say = (text: string): void => void process.stdout.write(`${text}\n`);
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Hands a report in until there is a receipt: with one key it is one upload, however often it is
 * sent.
 */
async function handIn(party: () => Party, report: unknown, key: string): Promise<Receipt> {
  while (true) {
    try {
      const sent = await send(party(), 'sarif', report, {}, { 'idempotency-key': key });
      if (sent.receipt !== null) return sent.receipt;
      if (sent.jobId !== null) return await finished(party(), sent.jobId);
      throw new assert.AssertionError({ message: JSON.stringify(sent.problem) });
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      // The connection broke, or nobody listens yet.
      await pause(50);
    }
  }
}

async function say200(party: Party, method: string, path: string, body?: unknown) {
  const answer = await fetch(`${party.url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${party.key}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${await answer.clone().text()}`);
  return (await answer.json()) as Record<string, unknown>;
}

/** A command that was claimed and acknowledged to its runner; returns its id. */
async function claimed(scene: Scene): Promise<string> {
  const made = await say200(operator(scene), 'POST', '/commands', { type: 'soak' });
  const id = String(made['id']);
  await say200(runner(scene), 'POST', `/agent/commands/${id}/acknowledge`);
  return id;
}

/** The counts of a receipt; ids and times differ between the twins. */
const counted = ({ findings, assets, resolved, held, suppressed, outcome }: Receipt): unknown => ({
  findings,
  assets,
  resolved,
  held,
  suppressed,
  outcome,
});

/** Every finding, printed without ids and times. */
async function inventory(scene: Scene): Promise<string[]> {
  const findings = await allFindings(operator(scene));
  assert.ok(findings.every(({ unfinished }) => !unfinished));
  return findings
    .map(({ asset, tool, category, rule_id, path, start_line, status, resolution, severity }) =>
      JSON.stringify([
        asset,
        tool,
        category,
        rule_id,
        path,
        start_line,
        status,
        resolution,
        severity,
      ]),
    )
    .sort();
}

/**
 * Hands one report to both; the second server dies somewhere between the report's first byte and
 * its receipt.
 */
async function round(twin: Scene, victim: Scene, report: unknown, key: string, random: Random) {
  const begunMs = performance.now();
  const expected = await handIn(() => runner(twin), report, key);
  const tookMs = performance.now() - begunMs;
  const command = await claimed(victim);
  const receipt = handIn(() => runner(victim), report, key);
  const dead = (async () => {
    await pause(random.below(Math.ceil(1.2 * tookMs)));
    await killAndStart(victim);
  })();
  const [got] = await Promise.all([receipt, dead]);
  assert.deepEqual(counted(got), counted(expected), key);
  const shown = await say200(operator(victim), 'GET', `/commands/${command}`);
  assert.equal(shown['status'], 'acknowledged', `${key}: a claim that was answered is kept`);
  await say200(runner(victim), 'POST', `/agent/commands/${command}/complete`, { result: {} });
  await say200(runner(victim), 'POST', '/agent/heartbeat', {});
}

async function killing(): Promise<void> {
  const random = randomOf(Number(options.seed));
  const twin = await open(backend);
  const victim = await open(backend);
  try {
    for (let done = 0; done < kills; ) {
      const sights = sightsOf(random, Math.min(10, kills - done), SIZE);
      for (const sight of sights) {
        done += 1;
        await round(twin, victim, sarifOf(random, sight), `soak-${done}`, random);
        if (process.stderr.isTTY) process.stderr.write(`\r${done}/${kills} kills`);
      }
      assert.deepEqual(await inventory(victim), await inventory(twin), `after ${done} kills`);
    }
  } finally {
    await close(victim);
    await close(twin);
  }
}

async function simulating(): Promise<number> {
  const file = fileURLToPath(new URL('../../packages/server/test/sim/main.ts', import.meta.url));
  const words = [file, '--seeds', options.seeds, '--backend', backend];
  const child = spawn(process.execPath, words, { stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}

const postgres = backend === 'postgres' ? await startPostgres({ durable: true }) : null;
if (postgres !== null) process.env[ADMIN_URL_VARIABLE] = postgres.adminUrl;
try {
  const begunMs = performance.now();
  if (kills > 0) {
    await killing();
    const seconds = ((performance.now() - begunMs) / 1000).toFixed(0);
    say(
      `${kills} kills on ${backend}, seed ${options.seed}: nothing lost, nothing doubled, ${seconds} s`,
    );
  }
} finally {
  await postgres?.stop();
}
if (Number(options.seeds) > 0) process.exitCode = await simulating();

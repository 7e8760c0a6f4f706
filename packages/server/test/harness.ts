// The real server for tests: `startServer` in this process (fast; the test moves the clock),
// `spawnServer` as a process of its own through the real entrance (for kills, signals, restarts).
// Both on an empty folder, or on PostgreSQL with a fresh database. Nothing is mocked.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { testDatabaseUrl } from '../../../tools/postgres.ts';
import { type Ports, type RunningApp, startApp } from '../src/app.ts';
import { openConfigured } from '../src/configured-database.ts';
import { readConfig } from '../src/config.ts';
import type { Database } from '../src/db/db.ts';
import { type Clock, systemClock } from '../src/lib/clock.ts';
import { createLogger } from '../src/lib/log.ts';
import { migratedDatabaseUrl } from './db/fixture.ts';

export type Backend = 'sqlite' | 'postgres';
export const BACKENDS: readonly Backend[] = ['sqlite', 'postgres'];

/** Any 32 bytes; PostgreSQL installations need one from outside. */
const TEST_MASTER_KEY = '7'.repeat(64);

export interface TestServer {
  readonly url: string;
  readonly operatorToken: string;
  readonly enrolmentToken: string;
  readonly runnerKey: string;
  readonly clock: TestClock;
  /** One round of upkeep, now. */
  round(): Promise<void>;
  /** Moves the clock by `ms` in steps smaller than a stall, with a round of upkeep after each. */
  pass(ms: number): Promise<void>;
  stop(): Promise<void>;
}

/**
 * The system clock with an offset that the test moves; sleeps stay real, so that threads and timers
 * agree.
 */
export class TestClock implements Clock {
  #offsetMs = 0;
  #agedMs = 0;
  advance(ms: number): void {
    this.#offsetMs += ms;
  }
  nowMs(): number {
    return systemClock.nowMs() + this.#offsetMs;
  }
  /**
   * Moves only the monotonic time, which measures durations: the time of day stays that of threads
   * and other nodes.
   */
  age(ms: number): void {
    this.#agedMs += ms;
  }
  monotonicMs(): number {
    return systemClock.monotonicMs() + this.#agedMs;
  }
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return systemClock.sleep(ms, signal);
  }
}

/** Two of these and a real round of upkeep are still no stall (presence.ts). */
const STEP_MS = 4900;

export interface Place {
  readonly env: Readonly<Record<string, string>>;
  remove(): Promise<void>;
}

/**
 * An empty data folder, and on PostgreSQL an empty database: what the first start of an
 * installation finds.
 */
export async function emptyPlace(backend: Backend): Promise<Place> {
  return await placeOn(backend === 'postgres' ? await testDatabaseUrl() : '');
}

/**
 * The same, with the schema in the database of PostgreSQL: a start on it is several times as fast.
 */
export async function migratedPlace(backend: Backend): Promise<Place> {
  return await placeOn(backend === 'postgres' ? await migratedDatabaseUrl() : '');
}

async function placeOn(url: string): Promise<Place> {
  const directory = await mkdtemp(join(tmpdir(), 'muster-test-'));
  return {
    env: {
      MUSTER_DATA: join(directory, 'data'),
      MUSTER_PORT: '0',
      MUSTER_LOG_LEVEL: 'silent',
      ...(url === '' ? {} : { MUSTER_DATABASE_URL: url, MUSTER_MASTER_KEY: TEST_MASTER_KEY }),
    },
    remove: () => rm(directory, { recursive: true, force: true }),
  };
}

/**
 * A server in this process. Give a `place` to start again on the same data; the caller then removes
 * it. `prepare` is called with the opened database before the server is started on it.
 */
export async function startServer(
  options: {
    readonly backend?: Backend;
    readonly place?: Place;
    readonly env?: Record<string, string>;
    readonly ports?: Partial<Ports>;
    readonly prepare?: (database: Database) => Promise<void>;
  } = {},
): Promise<TestServer> {
  const own = options.place === undefined;
  const place = options.place ?? (await migratedPlace(options.backend ?? 'sqlite'));
  const config = readConfig({ ...place.env, ...options.env });
  const clock = new TestClock();
  const log = createLogger(config.logLevel);
  const database = await openConfigured(config, log);
  await options.prepare?.(database);
  // A busy machine slows no test's runners down, and tests without uploads need no thread for them.
  const ports = { loadOf: () => 1, ingestStartMs: 3_600_000, ...options.ports };
  const app: RunningApp = await startApp(config, clock, log, database, ports);
  return {
    url: app.url,
    operatorToken: app.firstRun?.operatorToken.expose() ?? '',
    enrolmentToken: app.firstRun?.enrolmentToken.expose() ?? '',
    runnerKey: app.firstRun?.runnerKey.expose() ?? '',
    clock,
    round: () => app.round(),
    pass: async (ms) => {
      for (let left = ms; left > 0; left -= STEP_MS) {
        clock.advance(Math.min(left, STEP_MS));
        await app.round();
      }
    },
    stop: async () => {
      await app.stop();
      if (own) await place.remove();
    },
  };
}

export interface SpawnedServer {
  readonly url: string;
  readonly pid: number;
  readonly output: () => string;
  readonly operatorToken: string;
  readonly enrolmentToken: string;
  readonly runnerKey: string;
  /** Sends the signal and waits for the end; resolves with the exit code (null after a kill). */
  stop(signal: 'SIGTERM' | 'SIGINT' | 'SIGKILL'): Promise<number | null>;
}

const ENTRANCE = fileURLToPath(new URL('../../cli/bin/muster.mjs', import.meta.url));

/**
 * `muster serve` as a process of its own. Rejects with its output when it ends before it listens.
 */
export async function spawnServer(
  place: Place,
  env: Readonly<Record<string, string>> = {},
): Promise<SpawnedServer> {
  const child: ChildProcess = spawn(process.execPath, [ENTRANCE, 'serve'], {
    env: { ...withoutMuster(process.env), ...place.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit');
  let output = '';
  const url = await new Promise<string>((resolve, reject) => {
    const hear = (chunk: Buffer): void => {
      output += chunk.toString();
      const match = /Muster listens on (\S+)\n[^]*\n\n?$/.exec(output);
      if (match?.[1] !== undefined) resolve(match[1]);
    };
    child.stdout?.on('data', hear);
    child.stderr?.on('data', hear);
    child.on('error', reject);
    child.on('exit', (code) => reject(new Error(`the server ended with ${code}:\n${output}`)));
  });
  const secret = (prefix: string): string =>
    new RegExp(`${prefix}[0-9A-Za-z]{50}`).exec(output)?.[0] ?? '';
  return {
    url,
    pid: child.pid ?? 0,
    output: () => output,
    operatorToken: secret('mst_op_'),
    enrolmentToken: secret('mst_enr_'),
    runnerKey: secret('mst_rnr_'),
    stop: async (signal) => {
      child.kill(signal);
      const [code] = (await exited) as [number | null];
      return code;
    },
  };
}

function withoutMuster(env: NodeJS.ProcessEnv): Record<string, string> {
  const entries = Object.entries(env).filter(([name]) => !name.startsWith('MUSTER_'));
  return Object.fromEntries(entries) as Record<string, string>;
}

/**
 * Asks again until `probe` gives a value, bounded by the run's own hang guard. For conditions,
 * never for time. Asks less often the longer it takes: the awaited work needs the same two
 * processors.
 */
export async function eventually<T>(
  probe: () => Promise<T | null | undefined | false>,
): Promise<T> {
  for (let pauseMs = 10; ; pauseMs = Math.min(1.3 * pauseMs, 100)) {
    const found = await probe();
    if (found !== null && found !== undefined && found !== false) return found;
    await systemClock.sleep(pauseMs);
  }
}

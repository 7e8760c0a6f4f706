// The parts that the tests of the SDK share: the real server, a network that a test can disturb
// call by call, and a time that passes as fast as it is slept through.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, type TestContext } from 'node:test';
import { call, endpoints } from '@muster/contract';
import { systemClock } from '../../server/src/lib/clock.ts';
import { eventually, startServer, type TestServer } from '../../server/test/harness.ts';
import { type RunnerOptions, type RunningRunner, startRunner, type Timing } from '../src/index.ts';

/** Sleeps are short, and the time of day goes on as if they had been long. */
export class Hurried implements Timing {
  #nowMs = systemClock.nowMs();
  /** Pauses of at least this length last until they are aborted. */
  longestMs = Number.POSITIVE_INFINITY;
  nowMs = (): number => this.#nowMs;
  random = (): number => 0.5;
  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (ms >= this.longestMs && signal !== undefined) return await aborted(signal);
    this.#nowMs += ms;
    await systemClock.sleep(Math.min(ms, 15), signal);
  }
}

const aborted = async (signal: AbortSignal): Promise<void> => {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
};

/**
 * `refused`: the call does not get through; `lost`: the call is done, and its answer doesn't
 * arrive.
 */
export type Fate = 'refused' | 'lost' | Response | null;

export interface Sent {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly key: string;
}

export class Network {
  readonly sent: Sent[] = [];
  /** Judges each call before it goes. */
  fate: (call: Sent) => Fate = () => null;

  readonly fetch: typeof fetch = async (target, init) => {
    const { pathname } = new URL(target instanceof Request ? target.url : target);
    const text = typeof init?.body === 'string' ? init.body : '{}';
    const key = new Headers(init?.headers).get('authorization')?.slice('Bearer '.length) ?? '';
    const sent = { path: pathname, body: JSON.parse(text) as Sent['body'], key };
    this.sent.push(sent);
    const fate = this.fate(sent);
    if (fate instanceof Response) return fate;
    if (fate === 'refused') throw new TypeError('fetch failed');
    const answer = await fetch(target, init);
    if (fate !== 'lost') return answer;
    await answer.arrayBuffer();
    throw new TypeError('fetch failed');
  };

  /** The calls whose path ends with this text. */
  to = (end: string): Sent[] => this.sent.filter(({ path: at }) => at.endsWith(end));

  /** Resolves with the next call whose path ends with this text. */
  async next(end: string): Promise<Sent> {
    const before = this.to(end).length;
    return await eventually(async () => this.to(end)[before]);
  }
}

/**
 * One server for the tests of a file; each test has a runner of its own, and its commands are
 * pinned to that runner.
 */
let shared: Promise<TestServer> | null = null;
after(async () => await (await shared)?.stop());

export class Rig {
  readonly server: TestServer;
  readonly folder: string;
  readonly runnerId: string;
  readonly key: string;
  readonly isAlone: boolean;
  readonly network = new Network();
  readonly timing = new Hurried();
  readonly faults: string[] = [];
  readonly #runners: RunningRunner[] = [];

  private constructor(
    server: TestServer,
    isAlone: boolean,
    folder: string,
    runnerId: string,
    key: string,
  ) {
    this.server = server;
    this.isAlone = isAlone;
    this.folder = folder;
    this.runnerId = runnerId;
    this.key = key;
  }

  /**
   * Everything that the rig starts ends with the test, also when the test fails. `alone`: a server
   * of its own, for tests that move its clock by more than others can bear.
   */
  static async start(t: TestContext, { alone = false } = {}): Promise<Rig> {
    const folder = await mkdtemp(path.join(tmpdir(), 'muster-runner-'));
    if (!alone) shared ??= startServer();
    const server = alone ? await startServer() : await (shared as Promise<TestServer>);
    const operator = { baseUrl: server.url, key: server.operatorToken };
    const made = (await call(endpoints.createRunner, { body: { name: 'sdk' } }, operator)).body;
    const rig = new Rig(server, alone, folder, made.runner.id, made.api_key);
    t.after(async () => {
      rig.network.fate = () => null;
      await Promise.all(rig.#runners.map((runner) => runner.stop(AbortSignal.abort())));
      if (alone) await server.stop();
      await rm(folder, { recursive: true, force: true });
    });
    return rig;
  }

  get operator() {
    return { baseUrl: this.server.url, key: this.server.operatorToken };
  }

  /** A runner of this server; by default without a state folder. */
  async runner(more: Partial<RunnerOptions> = {}): Promise<RunningRunner> {
    const runner = await startRunner({
      baseUrl: this.server.url,
      key: this.key,
      name: 'sdk',
      version: '0.1.0',
      handlers: {},
      fetch: this.network.fetch,
      timing: this.timing,
      onFault: (what) => this.faults.push(what),
      ...more,
    });
    this.#runners.push(runner);
    return runner;
  }

  async command(type = 'health_check', more = {}): Promise<string> {
    const { body } = await call(
      endpoints.createCommand,
      { body: { type, ...this.#pinned(more), ...more } },
      this.operator,
    );
    return body.id;
  }

  /**
   * Pins the command to the test's own runner where others share the server, unless the test says
   * otherwise.
   */
  #pinned = (more: object): { runner_id?: string } =>
    this.isAlone || 'target' in more ? {} : { runner_id: this.runnerId };

  async show(id: string) {
    return (await call(endpoints.showCommand, { params: { id } }, this.operator)).body;
  }

  /** Waits until the command has this status. */
  async until(id: string, status: string) {
    return await eventually(async () => {
      const command = await this.show(id);
      return command.status === status ? command : null;
    });
  }
}

/** A promise that the test resolves. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}

/** Work whose begin a test sees, and whose end it decides. */
export function work(result?: string) {
  const [begun, ended] = [gate(), gate()];
  const handler = async (): Promise<string | undefined> => {
    begun.open();
    await ended.opened;
    return result;
  };
  return { handler, begun: begun.opened, end: () => ended.open() };
}

/** An answer that a proxy or an overloaded server gives. */
export const unavailable = (): Response => new Response('down', { status: 503 });

// A runner: sends heartbeats at the server's pace, and beside them a poll that waits on the server,
// so that a command arrives within milliseconds. It works on several commands at once, hands their
// results over until they are answered, and renews its key when asked. This file wires the parts;
// each of them has a file of its own.

import { endpoints, type HeartbeatReply, type RunnerCommand } from '@muster/contract';
import { Connection } from './connection.ts';
import { type Announced, Heart } from './heart.ts';
import { type CommandHandler, Jobs } from './jobs.ts';
import { KeyRing } from './keys.ts';
import { systemTiming, type Timing } from './lib/timing.ts';
import { Outbox } from './outbox.ts';
import { isKeyRefused, pauseMs } from './retry.ts';
import { State } from './state.ts';

export interface RunnerOptions extends Announced {
  /** Origin and optional path prefix of the server, without a trailing slash. */
  readonly baseUrl: string;
  /**
   * The runner's key. Without it the state folder must have one (`enrol`); with both, the good one
   * is used.
   */
  readonly key?: string;
  /** Handlers by command type; commands of other types are left for other runners. */
  readonly handlers: Readonly<Record<string, CommandHandler>>;
  /** Commands in work at once; default 1. */
  readonly maxConcurrentJobs?: number;
  /**
   * A folder of this runner alone: keeps its key and everything that the server has not answered
   * yet. Without it, the results of a process that ends are lost, and its commands are done again.
   */
  readonly stateDirectory?: string;
  /**
   * Stores a renewed key durably, instead of the folder; the key is used only afterwards. With
   * neither, keys aren't renewed.
   */
  readonly saveKey?: (key: string) => Promise<void>;
  /** Told of every fault; the runner goes on. */
  readonly onFault?: (what: string, error: unknown) => void;
  readonly fetch?: typeof fetch;
  readonly timing?: Timing;
}

export interface RunningRunner {
  /**
   * Takes no more commands, waits for those in work, hands their results over, and says goodbye.
   * When `giveUp` aborts, handlers are told to end, unfinished commands are given back, and entries
   * in the spool stay there. Never rejects.
   */
  stop(giveUp?: AbortSignal): Promise<void>;
}

/** The longest that the server lets a poll wait. */
const POLL_WAIT_SECONDS = 60;
/** How much later than the wait an answer may come. */
const POLL_SLACK_MS = 30_000;
/** The smallest number of offers to ask for: some may be of a type that has no handler here. */
const POLL_LIMIT_MIN = 10;
/**
 * The pause after an answer with nothing to do: a server that doesn't let polls wait must not be
 * asked without end.
 */
const USELESS_POLL_MS = 1000;
/** The time that handlers may take to end when they must. */
const GIVE_UP_MS = 5000;

/**
 * Starts the heartbeats and the work. Rejects when the key is refused at the start, or the state
 * folder can't be used.
 */
export async function startRunner(options: RunnerOptions): Promise<RunningRunner> {
  const state =
    options.stateDirectory === undefined ? null : await State.open(options.stateDirectory);
  const stored = (await state?.key()) ?? null;
  const key = stored ?? options.key;
  if (key === undefined) throw new Error('There is no key: give one, or enrol first.');
  const save = options.saveKey ?? (state === null ? null : state.saveKey.bind(state));
  const runner = new Runner(options, new KeyRing(key, options.key ?? null, save), {
    spool: (await state?.spool()) ?? null,
    instanceId: (await state?.instanceId()) ?? null,
  });
  await runner.start();
  return { stop: (giveUp) => runner.stop(giveUp) };
}

class Runner {
  readonly #timing: Timing;
  readonly #onFault: (what: string, error: unknown) => void;
  readonly #stopping = new AbortController();
  readonly #giveUp = new AbortController();
  readonly #ended = new AbortController();
  readonly #keys: KeyRing;
  readonly #connection: Connection;
  readonly #outbox: Outbox;
  readonly #jobs: Jobs;
  readonly #heart: Heart;
  #isPaused = false;
  #isDraining = false;
  #beating: Promise<void> = Promise.resolve();
  #polling: Promise<void> = Promise.resolve();
  #replaying: Promise<void> = Promise.resolve();
  #tending: Promise<void> | null = null;
  #stopped: Promise<void> | null = null;

  constructor(
    options: RunnerOptions,
    keys: KeyRing,
    kept: {
      readonly spool: Awaited<ReturnType<State['spool']>> | null;
      readonly instanceId: string | null;
    },
  ) {
    const { baseUrl, fetch, handlers, maxConcurrentJobs: slots = 1 } = options;
    const timing = (this.#timing = options.timing ?? systemTiming);
    const onFault = (this.#onFault = (what, error) => options.onFault?.(what, error));
    this.#keys = keys;
    const connection = new Connection({ baseUrl, ...(fetch === undefined ? {} : { fetch }) }, keys);
    this.#connection = connection;
    const [stopping, giveUp] = [this.#stopping.signal, this.#giveUp.signal];
    const { spool, instanceId } = kept;
    const parts = { connection, timing, onFault, stopping, giveUp, slots };
    const outbox = (this.#outbox = new Outbox({ ...parts, spool }));
    const jobs = (this.#jobs = new Jobs({ ...parts, outbox, handlers }));
    this.#heart = new Heart({
      ...parts,
      instanceId,
      announced: options,
      running: () => [...new Set([...jobs.ids, ...outbox.commandIds])],
      obey: (reply) => this.#obey(reply),
    });
  }

  /** A server that can't be reached now is no reason to end; a refused key is one (RP §11.3). */
  async start(): Promise<void> {
    await this.#outbox.open();
    try {
      await this.#heart.beat('running');
    } catch (error) {
      if (isKeyRefused(error)) throw error;
      this.#onFault('heartbeat', error);
    }
    this.#beating = this.#heart.run(this.#ended.signal);
    this.#replaying = this.#outbox.replay();
    this.#polling = this.#poll();
  }

  async stop(giveUp?: AbortSignal): Promise<void> {
    const hasten = (): void => this.#giveUp.abort();
    if (giveUp?.aborted === true) hasten();
    giveUp?.addEventListener('abort', hasten, { once: true });
    try {
      await (this.#stopped ??= this.#windDown());
    } finally {
      giveUp?.removeEventListener('abort', hasten);
    }
  }

  async #windDown(): Promise<void> {
    this.#stopping.abort();
    await this.#polling;
    await this.#untilGivenUp(Promise.all([this.#jobs.idle(), this.#replaying]));
    this.#ended.abort();
    await Promise.all([this.#beating, this.#tending]);
    await this.#heart.sayStopped();
  }

  /** A handler that ignores its signal can't hold up the end for ever. */
  async #untilGivenUp(work: Promise<unknown>): Promise<void> {
    const over = new AbortController();
    const { signal } = this.#giveUp;
    const patience = async (): Promise<void> => {
      if (!signal.aborted) {
        await new Promise<void>((resolve) => {
          signal.addEventListener('abort', () => resolve(), { once: true, signal: over.signal });
          over.signal.addEventListener('abort', () => resolve(), { once: true });
        });
      }
      await this.#timing.sleep(GIVE_UP_MS, over.signal);
    };
    await Promise.race([work, patience()]);
    over.abort();
  }

  #obey(reply: HeartbeatReply): void {
    const does = (action: NonNullable<HeartbeatReply['actions']>[number]): boolean =>
      reply.actions?.includes(action) === true;
    this.#jobs.cancel(reply.cancel_command_ids ?? []);
    // RP §4.3: the first answer without it lifts a pause; only a restart ends draining.
    this.#isDraining ||= does('drain');
    this.#isPaused = does('pause');
    this.#jobs.freed.ring();
    this.#tend(does('rotate_key'));
  }

  /**
   * Runs beside everything else: neither a refused renewal nor a full disk keeps a runner from its
   * work.
   */
  #tend(isAdvised: boolean): void {
    const renew = async (): Promise<string> =>
      (await this.#connection.call(endpoints.renewKey, {})).body.api_key;
    this.#tending ??= this.#keys
      .tend(isAdvised, this.#timing.nowMs(), renew)
      .catch((error: unknown) => this.#onFault('key renewal', error))
      .finally(() => {
        this.#tending = null;
      });
  }

  async #poll(): Promise<void> {
    const { signal } = this.#stopping;
    let failures = 0;
    while (!signal.aborted) {
      if (this.#isPaused || this.#isDraining || this.#jobs.free <= 0) {
        await this.#jobs.freed.wait(signal);
        continue;
      }
      try {
        const took = await this.#pollOnce(signal);
        failures = 0;
        if (took > 0) continue;
        await this.#timing.sleep(USELESS_POLL_MS * (0.5 + this.#timing.random() / 2), signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#onFault('poll', error);
        failures += 1;
        await this.#timing.sleep(pauseMs(error, failures, this.#timing), signal);
      }
    }
  }

  /** Polls once. Returns the number of commands taken. */
  async #pollOnce(signal: AbortSignal): Promise<number> {
    const limit = Math.min(Math.max(this.#jobs.free, POLL_LIMIT_MIN), 100);
    const query = { limit: String(limit), wait: String(POLL_WAIT_SECONDS) };
    const { body } = await this.#connection.call(
      endpoints.pollCommands,
      { query, signal },
      POLL_WAIT_SECONDS * 1000 + POLL_SLACK_MS,
    );
    let took = 0;
    for (const offer of Array.isArray(body) ? (body as RunnerCommand[]) : []) {
      if (signal.aborted || this.#jobs.free <= 0) break;
      if (await this.#jobs.take(offer)) took += 1;
    }
    return took;
  }
}

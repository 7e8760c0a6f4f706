// A runner: beats at the pace that the server advises, polls when the doorbell rings (and now and then without it),
// claims one command at a time, and renews its key when asked. A new key is handed to `saveKey` before it is used, so a
// crash in between costs nothing: the old key stays good until the new one was used.

import {
  ApiError,
  call,
  type ClientOptions,
  endpoints,
  type HeartbeatReply,
  type RunnerCommand,
} from '@muster/contract';
import { retrying, type RetryOptions } from './retry.ts';

/** Does the work of one command. Its result becomes the command's; an Error's message its failure. */
export type CommandHandler = (command: RunnerCommand, signal: AbortSignal) => Promise<unknown>;

export interface RunnerEvents {
  readonly onFault?: (what: string, error: unknown) => void;
}

export interface RunnerOptions extends RunnerEvents {
  readonly baseUrl: string;
  readonly key: string;
  readonly name: string;
  readonly version: string;
  /** By command type; other types are left for other runners. */
  readonly handlers: Readonly<Record<string, CommandHandler>>;
  /** Stores a renewed key durably; only then it is used. */
  readonly saveKey: (key: string) => Promise<void>;
  readonly sleep: RetryOptions['sleep'];
  readonly random: RetryOptions['random'];
  readonly fetch?: typeof fetch;
  /** Milliseconds since the epoch; with it heartbeats say when they were sent, and the server measures the clock. */
  readonly nowMs?: () => number;
}

export interface RunningRunner {
  /** Says goodbye (`stopped`) after the command in work has ended. */
  stop(): Promise<void>;
}

const HEARTBEAT_MS = 60_000;

/** Starts beating and working. Rejects when the key is refused at the start. */
export async function startRunner(options: RunnerOptions): Promise<RunningRunner> {
  const runner = new Runner(options);
  await runner.beat('running');
  const loop = runner.run();
  return {
    stop: async () => {
      runner.stopping.abort();
      await loop;
      await runner.beat('stopped');
    },
  };
}

class Runner {
  readonly stopping = new AbortController();
  readonly #options: RunnerOptions;
  #key: string;
  #pauseMs = HEARTBEAT_MS;
  #running: { id: string; abort: AbortController } | null = null;
  #work: Promise<void> = Promise.resolve();

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#key = options.key;
  }

  async run(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      try {
        const reply = await this.beat('running');
        await this.#obey(reply);
      } catch (error) {
        this.#options.onFault?.('heartbeat', error);
      }
      await this.#options.sleep(this.#pauseMs, signal);
    }
    await this.#work;
  }

  async beat(status: 'running' | 'stopped'): Promise<HeartbeatReply> {
    const { name, version, nowMs } = this.#options;
    const clock = nowMs === undefined ? {} : { sent_at: new Date(nowMs()).toISOString() };
    const running = this.#running === null ? [] : [this.#running.id];
    const { body } = await this.#call(() =>
      call(
        endpoints.heartbeat,
        {
          body: { name, version, status, running, queue: { running: running.length }, ...clock },
          headers: { 'x-openctem-sensor-features': 'doorbell' },
        },
        this.#client(),
      ),
    );
    return body;
  }

  async #obey(reply: HeartbeatReply): Promise<void> {
    this.#pauseMs = (reply.next_heartbeat_seconds ?? HEARTBEAT_MS / 1000) * 1000;
    const running = this.#running;
    if (running !== null && reply.cancel_command_ids?.includes(running.id) === true)
      running.abort.abort();
    if (reply.actions?.includes('rotate_key') === true) await this.#renew();
    const paused =
      reply.actions?.includes('pause') === true || reply.actions?.includes('drain') === true;
    if (!paused && (reply.pending_jobs ?? 0) > 0 && this.#running === null) await this.#take();
  }

  async #renew(): Promise<void> {
    const { body } = await call(endpoints.renewKey, {}, this.#client());
    await this.#options.saveKey(body.api_key);
    this.#key = body.api_key;
  }

  /** Claims the first command that it has a handler for, and works on it beside the heartbeats. */
  async #take(): Promise<void> {
    const poll = () => call(endpoints.pollCommands, { query: { limit: '100' } }, this.#client());
    const { body: offers } = await this.#call(poll);
    for (const offer of offers) {
      const handler = Object.hasOwn(this.#options.handlers, offer.type)
        ? this.#options.handlers[offer.type]
        : undefined;
      if (handler === undefined) continue;
      const claimed = await this.#claim(offer.id);
      if (claimed === null) continue;
      this.#work = this.#perform(claimed, handler).catch((error: unknown) => {
        this.#options.onFault?.(`command ${claimed.id}`, error);
      });
      return;
    }
  }

  /** Null: another runner was quicker, or it is gone. */
  async #claim(id: string): Promise<RunnerCommand | null> {
    try {
      const claim = () => call(endpoints.acknowledgeCommand, { params: { id } }, this.#client());
      return (await this.#call(claim)).body;
    } catch (error) {
      if (error instanceof ApiError && (error.status === 409 || error.status === 404)) return null;
      throw error;
    }
  }

  async #perform(command: RunnerCommand, handler: CommandHandler): Promise<void> {
    const { id, attempt } = command;
    const abort = new AbortController();
    this.#running = { id, abort };
    try {
      const input = { params: { id }, body: { attempt } };
      await this.#call(() => call(endpoints.startCommand, input, this.#client()));
      const outcome = await settle(handler(command, abort.signal));
      await this.#call(() =>
        'result' in outcome
          ? call(
              endpoints.completeCommand,
              { params: { id }, body: { attempt, result: outcome.result } },
              this.#client(),
            )
          : call(
              endpoints.failCommand,
              { params: { id }, body: { attempt, error_message: outcome.message } },
              this.#client(),
            ),
      );
    } finally {
      this.#running = null;
    }
  }

  async #call<T>(make: () => Promise<T>): Promise<T> {
    const { sleep, random } = this.#options;
    return await retrying(make, { attempts: 4, baseMs: 2000, maxMs: 30_000, sleep, random });
  }

  #client(): ClientOptions {
    const { baseUrl, fetch } = this.#options;
    return { baseUrl, key: this.#key, ...(fetch === undefined ? {} : { fetch }) };
  }
}

async function settle(work: Promise<unknown>): Promise<{ result: unknown } | { message: string }> {
  try {
    return { result: (await work) ?? null };
  } catch (error) {
    return { message: error instanceof Error ? error.message : String(error) };
  }
}

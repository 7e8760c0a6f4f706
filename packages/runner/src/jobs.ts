// Commands in the hands of this runner, several at once up to its slots: claimed, started, worked
// on, and their outcomes handed over. A command is listed as running from its claim until the
// server has its outcome, so its lease holds.

import { ApiError, endpoints, type Receipt, type RunnerCommand } from '@muster/contract';
import type { Connection } from './connection.ts';
import { JobOutput } from './job-output.ts';
import { Bell } from './lib/bell.ts';
import type { Timing } from './lib/timing.ts';
import type { Outbox } from './outbox.ts';
import { type ReportAbout, uploadOf } from './report.ts';
import { retrying } from './retry.ts';
import type { ResultEntry } from './spool.ts';

/** The context that a handler gets beside its command. */
export interface JobContext {
  /** Aborts when an operator cancels the command, its lease is lost, or the runner must end now. */
  readonly signal: AbortSignal;
  /**
   * Reports the progress of the work: 0 to 100, or null; the latest counts. Sent when there is
   * time; never fails.
   */
  progress(percent: number | null, message?: string): void;
  /** Adds lines to the command's log. Sent when there is time; never fails. No secrets. */
  log(text: string): void;
  /**
   * Hands in a report that was made for this command, until the server answers. Resolves with the
   * receipt; rejects with ApiError when the report was refused. Await it before the result.
   */
  report(report: Uint8Array, about: ReportAbout): Promise<Receipt>;
}

/**
 * Does the work of one command. The handler's result, JSON, becomes the command's result; an
 * Error's message becomes its failure; `Declined` gives the command back.
 */
export type CommandHandler = (command: RunnerCommand, context: JobContext) => Promise<unknown>;

/**
 * Thrown by a handler that can't do this command here: it goes back to the queue, for other
 * runners.
 */
export class Declined extends Error {
  override readonly name = 'Declined';
}

interface JobsDeps {
  readonly connection: Connection;
  readonly outbox: Outbox;
  readonly timing: Timing;
  readonly handlers: Readonly<Record<string, CommandHandler>>;
  readonly slots: number;
  readonly onFault: (what: string, error: unknown) => void;
  /** Aborts when nothing more may be begun. */
  readonly stopping: AbortSignal;
  /** Aborts when running work must end. */
  readonly giveUp: AbortSignal;
}

/** Declined commands that are remembered, so that they aren't claimed again in a circle. */
const DECLINED_MAX = 1000;

export class Jobs {
  readonly #deps: JobsDeps;
  readonly #jobs = new Map<string, AbortController>();
  readonly #work = new Set<Promise<void>>();
  readonly #declined = new Set<string>();
  /** Rings when a slot gets free. */
  readonly freed = new Bell();

  constructor(deps: JobsDeps) {
    this.#deps = deps;
  }

  get ids(): readonly string[] {
    return [...this.#jobs.keys()];
  }

  get free(): number {
    return this.#deps.slots - this.#jobs.size;
  }

  cancel(ids: readonly string[]): void {
    for (const id of ids) this.#jobs.get(id)?.abort();
  }

  /** Resolves when no command is in work. */
  async idle(): Promise<void> {
    while (this.#work.size > 0) await Promise.all(this.#work);
  }

  /**
   * Claims the command and begins the work. False: the command is none for this runner, or another
   * runner was quicker.
   */
  async take(offer: RunnerCommand): Promise<boolean> {
    const { handlers } = this.#deps;
    const handler = Object.hasOwn(handlers, offer.type) ? handlers[offer.type] : undefined;
    if (handler === undefined || this.#declined.has(offer.id)) return false;
    // A command whose earlier outcome is still on its way to the server is no new work.
    if (this.#jobs.has(offer.id)) return false;
    const abort = new AbortController();
    this.#jobs.set(offer.id, abort);
    const command = await this.#claim(offer).catch((error: unknown) => {
      this.#ended(offer.id);
      throw error;
    });
    if (command === null) {
      this.#ended(offer.id);
      return false;
    }
    const work = this.#perform(command, handler, abort)
      .catch((error: unknown) => this.#deps.onFault(`command ${command.id}`, error))
      .finally(() => {
        this.#work.delete(work);
        this.#ended(command.id);
      });
    this.#work.add(work);
    return true;
  }

  #ended(id: string): void {
    this.#jobs.delete(id);
    this.freed.ring();
  }

  /** Null: another runner was quicker, or the command is gone. */
  async #claim({ id, attempt }: RunnerCommand): Promise<RunnerCommand | null> {
    const { connection, timing } = this.#deps;
    const input = { params: { id }, body: { attempt: attempt + 1 } };
    const claim = () => connection.call(endpoints.acknowledgeCommand, input);
    try {
      return (await retrying(claim, { timing })).body;
    } catch (error) {
      if (error instanceof ApiError && (error.status === 409 || error.status === 404)) return null;
      throw error;
    }
  }

  async #perform(
    command: RunnerCommand,
    handler: CommandHandler,
    abort: AbortController,
  ): Promise<void> {
    const { outbox, stopping, giveUp } = this.#deps;
    if (stopping.aborted || !(await this.#start(command))) return await this.#release(command);
    const output = new JobOutput(command, { ...this.#deps, onCancel: () => abort.abort() });
    const signal = AbortSignal.any([abort.signal, giveUp]);
    const context: JobContext = {
      signal,
      progress: (percent, message) => output.progress(percent, message),
      log: (text) => output.log(text),
      report: async (report, about) => {
        const { entry, body } = await uploadOf(report, about, command.id);
        return await outbox.report(entry, body);
      },
    };
    const outcome = await settle(() => handler(command, context));
    await output.end();
    if (outcome === 'declined') this.#remember(command.id);
    // Work that was broken off because the runner ends is no failure of the command.
    const isBrokenOff = giveUp.aborted && outcome !== 'declined' && 'error_message' in outcome;
    if (outcome === 'declined' || isBrokenOff) return await this.#release(command);
    const { id: commandId, attempt } = command;
    await outbox.result({ kind: 'result', commandId, attempt, says: outcome });
  }

  /**
   * False: the command must not be worked on (RP §5.6). Rejects when the server refuses; then the
   * command isn't ours either.
   */
  async #start({ id, attempt }: RunnerCommand): Promise<boolean> {
    const { connection, timing, stopping } = this.#deps;
    const input = { params: { id }, body: { attempt } };
    const start = () => connection.call(endpoints.startCommand, input);
    const attempts = Number.POSITIVE_INFINITY;
    try {
      await retrying(start, { attempts, outlastsRefusedKeys: true, signal: stopping, timing });
    } catch (error) {
      if (!stopping.aborted) throw error;
    }
    return !stopping.aborted;
  }

  /** Best effort: a command that isn't given back returns by itself when its lease ends. */
  async #release({ id, attempt }: RunnerCommand): Promise<void> {
    const { connection, timing, giveUp } = this.#deps;
    const input = { params: { id }, body: { attempt } };
    const release = () => connection.call(endpoints.releaseCommand, input);
    await retrying(release, { timing, signal: giveUp });
  }

  #remember(id: string): void {
    const [oldest] = this.#declined;
    if (this.#declined.size >= DECLINED_MAX && oldest !== undefined) this.#declined.delete(oldest);
    this.#declined.add(id);
  }
}

type Outcome = ResultEntry['says'] | 'declined';

/** A result that is no JSON is a failure here, instead of an error in each attempt to send it. */
async function settle(work: () => Promise<unknown>): Promise<Outcome> {
  try {
    const result = (await work()) ?? null;
    return { result: JSON.parse(JSON.stringify(result)) as unknown };
  } catch (error) {
    if (error instanceof Declined) return 'declined';
    return { error_message: error instanceof Error ? error.message : String(error) };
  }
}

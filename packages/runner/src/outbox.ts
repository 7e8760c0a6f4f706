// Holds everything that a runner has to hand over: results of commands and reports. Each is kept in
// the spool, if there is one, and sent until the server has answered for good; an outage or a
// restart of either side loses nothing and doubles nothing.

import { ApiError, endpoints, type Receipt } from '@muster/contract';
import type { Connection } from './connection.ts';
import type { Timing } from './lib/timing.ts';
import { handIn } from './report.ts';
import { isKeyRefused, isTransient, pauseMs, retrying, type RetryOptions } from './retry.ts';
import type { Entry, ResultEntry, Spool, UploadEntry } from './spool.ts';

interface OutboxDeps {
  readonly connection: Connection;
  /** Null: nothing outlives the process. */
  readonly spool: Spool | null;
  readonly timing: Timing;
  readonly onFault: (what: string, error: unknown) => void;
  /** Aborts when entries that are safe in the spool may be left there. */
  readonly stopping: AbortSignal;
  /** Aborts when every entry may be left. */
  readonly giveUp: AbortSignal;
}

const NOTHING = new Uint8Array();

/** Whether the same call may be answered otherwise later. Then its content is kept. */
const mayPassLater = (error: unknown): boolean => isTransient(error) || isKeyRefused(error);

export class Outbox {
  readonly #deps: OutboxDeps;
  /**
   * The results that an earlier process left: name in the spool → its command, for the heartbeat's
   * list.
   */
  #left: Map<string, ResultEntry> = new Map();

  constructor(deps: OutboxDeps) {
    this.#deps = deps;
  }

  /** The commands whose results an earlier process left here. */
  get commandIds(): readonly string[] {
    return [...this.#left.values()].map(({ commandId }) => commandId);
  }

  /** Finds the entries that an earlier process left, so that the first heartbeat can name them. */
  async open(): Promise<void> {
    this.#left = new Map(await this.#deps.spool?.results());
  }

  /**
   * Hands over the entries that an earlier process left. A failed one goes to the end, so that
   * nothing blocks the rest.
   */
  async replay(): Promise<void> {
    const { spool, timing, stopping, onFault } = this.#deps;
    const queue = [...(spool?.names ?? [])];
    for (let failures = 0; !stopping.aborted; ) {
      const name = queue.shift();
      if (spool === null || name === undefined) return;
      try {
        await this.#again(spool, name);
        failures = 0;
      } catch (error) {
        onFault('what was left in the spool', error);
        if (!mayPassLater(error)) continue;
        queue.push(name);
        failures += 1;
        await timing.sleep(pauseMs(error, failures, timing), stopping);
      }
    }
  }

  async #again(spool: Spool, name: string): Promise<void> {
    const { entry, body } = await spool.read(name);
    try {
      if (entry.kind === 'upload') await this.#handIn(entry, body, { attempts: 1 });
      else await this.#say(entry, { attempts: 1 });
    } catch (error) {
      if (!mayPassLater(error)) await this.#drop(name);
      throw error;
    }
    await this.#drop(name);
  }

  /**
   * Resolves when the server has answered for good, or when the result is left in the spool. Never
   * rejects.
   */
  async result(entry: ResultEntry): Promise<void> {
    const name = await this.#keep(entry, NOTHING);
    try {
      await this.#say(entry, this.#patience(name));
      await this.#drop(name);
    } catch (error) {
      this.#deps.onFault(`the result of command ${entry.commandId}`, error);
    }
  }

  /** Resolves with the receipt. Rejects with ApiError when the report was refused. */
  async report(entry: UploadEntry, body: Buffer<ArrayBuffer>): Promise<Receipt> {
    const name = await this.#keep(entry, body);
    try {
      const receipt = await this.#handIn(entry, body, this.#patience(name));
      await this.#drop(name);
      return receipt;
    } catch (error) {
      if (!mayPassLater(error)) await this.#drop(name);
      throw error;
    }
  }

  /** Retries until the server answers; an entry on disk may be left when the runner stops. */
  #patience(name: string | null): RetryOptions {
    const { timing, stopping, giveUp: signal } = this.#deps;
    const leave = name === null ? {} : { leave: stopping };
    return {
      attempts: Number.POSITIVE_INFINITY,
      outlastsRefusedKeys: true,
      signal,
      timing,
      ...leave,
    };
  }

  async #handIn(
    entry: UploadEntry,
    body: Buffer<ArrayBuffer>,
    retry: RetryOptions,
  ): Promise<Receipt> {
    return await handIn(
      entry,
      body,
      (endpoint, input) => this.#deps.connection.call(endpoint, input, null),
      retry,
    );
  }

  /** Rejects only with errors that may pass later: every other answer is the server's last word. */
  async #say(entry: ResultEntry, retry: RetryOptions): Promise<void> {
    try {
      await retrying(() => this.#send(entry), retry);
    } catch (error) {
      if (!(error instanceof ApiError) || mayPassLater(error)) throw error;
      this.#deps.onFault(`the result of command ${entry.commandId}`, error);
      const isOver = error.status === 404 || error.status === 409;
      if (isOver || 'error_message' in entry.says) return;
      // A result that the server can't take (too large, say) must not make another runner do the
      // work again.
      const says = { error_message: `The server refused the result: ${error.message}` };
      await this.#say({ ...entry, says }, retry);
    }
  }

  async #send({ commandId: id, attempt, says }: ResultEntry): Promise<void> {
    const { connection } = this.#deps;
    if ('result' in says) {
      await connection.call(endpoints.completeCommand, {
        params: { id },
        body: { attempt, ...says },
      });
    } else {
      await connection.call(endpoints.failCommand, { params: { id }, body: { attempt, ...says } });
    }
  }

  /** Null: the entry is in memory only. A full disk must not keep a result from the server. */
  async #keep(entry: Entry, body: Uint8Array): Promise<string | null> {
    const { spool, timing, onFault } = this.#deps;
    try {
      return spool === null ? null : await spool.put(entry, body, timing.nowMs());
    } catch (error) {
      onFault('the spool', error);
      return null;
    }
  }

  async #drop(name: string | null): Promise<void> {
    if (name === null) return;
    this.#left.delete(name);
    try {
      await this.#deps.spool?.remove(name);
    } catch (error) {
      // The entry will be handed over once more at the next start, which changes nothing.
      this.#deps.onFault('the spool', error);
    }
  }
}

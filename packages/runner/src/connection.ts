// Makes a runner's calls with whichever of its keys is good. Each call is tried once: the caller
// decides what is repeated, and for how long.

import {
  call,
  type CallInput,
  type CallReply,
  type ClientOptions,
  type Endpoint,
} from '@muster/contract';
import type { KeyRing } from './keys.ts';
import { deadline } from './lib/timing.ts';
import { isKeyRefused } from './retry.ts';

/** RP §2.7: clients wait this long for an answer. */
const ANSWER_MS = 30_000;

export class Connection {
  readonly #client: Omit<ClientOptions, 'key'>;
  readonly #keys: KeyRing;

  constructor(client: Omit<ClientOptions, 'key'>, keys: KeyRing) {
    this.#client = client;
    this.#keys = keys;
  }

  /**
   * `answerMs`: for calls that the server answers late on purpose; null: for uploads, which have no
   * bound of time.
   */
  async call<E extends Endpoint>(
    endpoint: E,
    input: CallInput<E>,
    answerMs: number | null = ANSWER_MS,
  ): Promise<CallReply<E>> {
    const once = async (key: string): Promise<CallReply<E>> => {
      const signals = [
        ...(input.signal === undefined ? [] : [input.signal]),
        ...(answerMs === null ? [] : [deadline(answerMs)]),
      ];
      const signal = signals.length === 0 ? {} : { signal: AbortSignal.any(signals) };
      return await call(endpoint, { ...input, ...signal }, { ...this.#client, key });
    };
    const key = this.#keys.current;
    try {
      return await once(key);
    } catch (error) {
      if (!isKeyRefused(error) || !this.#keys.turnFrom(key)) throw error;
      return await once(this.#keys.current);
    }
  }
}

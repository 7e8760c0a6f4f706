// How a database ends: requests made before close() are finished, later ones are refused. Both
// drivers count the connections that Kysely holds (enter, leave); close waits until there are none.
// Called by sqlite.ts and postgres.ts.

import { setImmediate } from 'node:timers/promises';
import { DatabaseClosedError } from './db-errors.ts';

/** See the head of this file: one for each open database. */
export class Lifetime {
  #held = 0;
  #refusing = false;
  #closed: Promise<void> | null = null;
  #onIdle: (() => void) | null = null;

  /** Throws DatabaseClosedError once close() was called: for the start of a transaction. */
  assertOpen(): void {
    if (this.#closed !== null) throw new DatabaseClosedError('it was closed');
  }

  /**
   * Takes a connection; throws DatabaseClosedError when no more are given. Each one ends with
   * `leave`.
   */
  enter(): void {
    if (this.#refusing) throw new DatabaseClosedError('it was closed');
    this.#held++;
  }

  /** Gives a connection back. */
  leave(): void {
    this.#held--;
    if (this.#held === 0) this.#onIdle?.();
  }

  /** Waits for every connection that is held, then runs `end`; idempotent. */
  close(end: () => Promise<void>): Promise<void> {
    this.#closed ??= this.#end(end);
    return this.#closed;
  }

  async #end(end: () => Promise<void>): Promise<void> {
    // Between a call and its connection Kysely lets some promises pass: calls made before this one
    // still get theirs.
    await setImmediate();
    this.#refusing = true;
    if (this.#held > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
    }
    await end();
  }
}

// A world with its own time: fibers (async functions) that sleep in virtual milliseconds, and a
// queue that wakes them one at a time. Invariant: between two events nothing runs, so one seed
// gives one history, however slow the database is. Fibers wait for nothing but the world's sleep
// and the database; real timers and real chance have no influence.

import { hash } from 'node:crypto';
import type { Clock } from '../../src/lib/clock.ts';
import { type Random, randomOf } from '../generate/random.ts';

/** Later than all of PostgreSQL's and SQLite's own times, because ids carry it. */
export const START_MS = 1_800_000_000_000;

/** Thrown into every fiber that still sleeps when the world is given up. */
export class Abandoned extends Error {}

/** A wait for an answer that may come, or not. */
export interface Ticket<T> {
  /** The value that came within `ms`; null: none did. */
  wait(ms: number): Promise<T | null>;
  give(what: T): void;
}

interface Event {
  readonly at: number;
  readonly number: number;
  go(): void;
  abandon(): void;
}

/** Fierce worlds are the expensive ones, too. */
const FIERCE_SHARE = 0.05;

export class World {
  readonly random: Random;
  /** Some worlds are fierce: much happens at once, twice, and in the middle of something else. */
  readonly isFierce: boolean;
  /** How much faster than usual runners work. */
  readonly haste: number;
  /** Actors end at their next step. */
  isEnding = false;
  /** From now on the network, the servers and the runners work as they should. */
  isCalm = false;
  /** The rest of the work is done, and then time goes by: nobody without work needs to hurry. */
  isQuiet = false;
  readonly trace: string[] = [];
  steps = 0;
  #nowMs = START_MS;
  #numbers = 0;
  #serials = 0;
  readonly #queue: Event[] = [];
  #yielded: () => void = () => {};
  #failure: { readonly error: unknown } | null = null;
  #isAbandoned = false;

  constructor(seed: number, fierce = false) {
    this.random = randomOf(seed);
    this.isFierce = this.random.chance(FIERCE_SHARE) || fierce;
    this.haste = this.isFierce ? 6 : 1;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  note(text: string): void {
    const seconds = ((this.#nowMs - START_MS) / 1000).toFixed(3);
    this.trace.push(`${seconds.padStart(9)}  ${text}`);
  }

  /** One seed, one digest: what the determinism test compares. */
  digest(): string {
    return hash('sha256', this.trace.join('\n'));
  }

  /** 1, 2, 3, …: tells apart things that look the same. */
  serial(): number {
    this.#serials += 1;
    return this.#serials;
  }

  between(low: number, high: number): number {
    return low + this.random.below(high - low + 1);
  }

  /** Starts a fiber after `ms`. An error that it doesn't handle ends the world. */
  spawn(body: () => Promise<void>, ms = 0): void {
    const go = (): void => {
      body()
        .catch((error: unknown) => {
          if (!(error instanceof Abandoned)) this.#failure ??= { error };
        })
        .finally(() => this.#yielded());
    };
    this.#push(ms, go, () => this.#yielded());
  }

  async sleep(ms: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    if (this.#isAbandoned) throw new Abandoned();
    this.#push(ms, resolve, () => reject(new Abandoned()));
    this.#yielded();
    await promise;
  }

  ticket<T>(): Ticket<T> {
    let got: { readonly what: T } | null = null;
    let isOver = false;
    let wake: (() => void) | null = null;
    return {
      wait: async (ms) => {
        if (got !== null) return got.what;
        if (this.#isAbandoned) throw new Abandoned();
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        const once = (): void => {
          // The timeout of a fiber that was woken before finds nobody: its event is over at once.
          if (isOver) return this.#yielded();
          isOver = true;
          resolve();
        };
        const giveUp = (): void => {
          if (isOver) return this.#yielded();
          isOver = true;
          reject(new Abandoned());
        };
        wake = () => this.#push(0, once, giveUp);
        this.#push(ms, once, giveUp);
        this.#yielded();
        await promise;
        return (got as { readonly what: T } | null)?.what ?? null;
      },
      give: (what) => {
        if (got !== null || isOver) return;
        got = { what };
        wake?.();
      },
    };
  }

  /**
   * Runs event by event until `isDone`, or until nothing is left to happen. `after` is called after
   * each event.
   */
  async run(isDone: () => boolean, after: () => Promise<void>): Promise<void> {
    while (!isDone()) {
      const event = this.#queue.shift();
      if (event === undefined) return;
      this.#nowMs = event.at;
      await this.#step(event.go);
      this.steps += 1;
      if (this.#failure !== null) throw this.#failure.error;
      await after();
    }
  }

  /** Unwinds every fiber, so that nothing holds on to the database. */
  async abandon(): Promise<void> {
    this.#isAbandoned = true;
    while (this.#queue.length > 0) await this.#step((this.#queue.shift() as Event).abandon);
  }

  async #step(act: () => void): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#yielded = resolve;
    act();
    await promise;
  }

  /** Kept in order of time, and of creation within a millisecond. */
  #push(ms: number, go: () => void, abandon: () => void): void {
    const at = this.#nowMs + Math.max(0, Math.round(ms));
    const event = { at, number: this.#numbers++, go, abandon };
    let low = 0;
    let high = this.#queue.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#queue[middle] as Event).at <= at) low = middle + 1;
      else high = middle;
    }
    this.#queue.splice(low, 0, event);
  }
}

/** The clock of one server: the world's time, and the server's offset from it. */
export class NodeClock implements Clock {
  offsetMs = 0;
  readonly #world: World;
  constructor(world: World) {
    this.#world = world;
  }
  nowMs(): number {
    return this.#world.nowMs + this.offsetMs;
  }
  monotonicMs(): number {
    return this.#world.nowMs - START_MS;
  }
  /**
   * Only the loop that merges hints to other nodes sleeps by itself; without it every hint is lost
   * (contract §4).
   */
  sleep(): Promise<void> {
    return new Promise(() => {});
  }
}

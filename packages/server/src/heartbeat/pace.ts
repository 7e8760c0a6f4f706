// The server's pace: decides when each runner is asked back. This node books each advised heartbeat
// in its second and gives out the quietest second, so that a fleet is spread evenly instead of
// marching in step. Losing the bookings costs evenness only.

import { limits } from '@muster/contract';
import type { Clock } from '../lib/clock.ts';
import type { RunnerId } from '../lib/ids.ts';
import { chance } from '../lib/random.ts';
import { paceWindow, quietestSecond } from './presence.rules.ts';

export class Pace {
  readonly #clock: Clock;
  readonly #load: () => number;
  readonly #draw: () => number;
  /** For each runner, the second, since the epoch, at which its heartbeat is expected. */
  readonly #due = new Map<RunnerId, number>();
  readonly #booked = new Map<number, number>();
  #sweptAt = 0;

  /**
   * `load`: the factor by which paces slow down now, 1 at ease (loadFactor in presence.rules.ts).
   * `draw`: chance, from 0 to below 1.
   */
  constructor(clock: Clock, load: () => number, draw: () => number = chance) {
    this.#clock = clock;
    this.#load = load;
    this.#draw = draw;
  }

  /** Seconds until this runner's next heartbeat. */
  next(runnerId: RunnerId, workWaiting: boolean): number {
    const now = Math.floor(this.#clock.nowMs() / 1000);
    this.#sweep(now);
    const before = this.#due.get(runnerId);
    if (before !== undefined) this.#book(before, -1);
    const window = paceWindow(workWaiting, before !== undefined, this.#load());
    const expected = (second: number): number => this.#booked.get(now + second) ?? 0;
    const seconds = quietestSecond(window, expected, this.#draw());
    this.#due.set(runnerId, now + seconds);
    this.#book(now + seconds, 1);
    return seconds;
  }

  #book(second: number, by: number): void {
    const count = (this.#booked.get(second) ?? 0) + by;
    if (count > 0) this.#booked.set(second, count);
    else this.#booked.delete(second);
  }

  /** Once a minute: a runner that didn't come back within the slowest pace is unknown again. */
  #sweep(now: number): void {
    if (Math.abs(now - this.#sweptAt) < 60) return;
    this.#sweptAt = now;
    for (const [runnerId, second] of this.#due) {
      if (Math.abs(now - second) <= limits.heartbeatMaxMs / 1000) continue;
      this.#due.delete(runnerId);
      this.#book(second, -1);
    }
  }
}

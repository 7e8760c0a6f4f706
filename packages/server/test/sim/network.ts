// The network between runners and servers: requests and answers are lost, late, doubled and out of
// order, each by itself. A request may take effect while its answer is lost; a double may arrive
// minutes later.

import type { Answer, Request, ServerNode } from './node.ts';
import type { Ticket, World } from './world.ts';

/** The kinds of faults, as shares of all requests or answers; drawn once per seed. */
export interface Weather {
  readonly lost: number;
  readonly doubled: number;
  /** Late by up to LATE_MS. */
  readonly late: number;
}

/**
 * Longer than a lease and than the grace of a retry, so that a late request meets another world.
 */
const LATE_MS = 240_000;

/** The delay of a double: long enough for a command to be given back and claimed anew. */
const DOUBLE_MS = 40_000;

/** Deployed clients give up at 30 s. */
const PATIENCE_MS = 30_000;

export class Network {
  readonly #world: World;
  readonly #nodes: readonly ServerNode[];
  readonly #weather: Weather;

  constructor(world: World, nodes: readonly ServerNode[], weather: Weather) {
    this.#world = world;
    this.#nodes = nodes;
    this.#weather = weather;
  }

  /** One try of a client. `gone` also when no answer came in time. */
  async send(label: string, request: Request): Promise<Answer> {
    const ticket = this.#world.ticket<Answer>();
    const copies = this.#happens(this.#weather.doubled) ? 2 : 1;
    for (let copy = 0; copy < copies; copy += 1) {
      if (this.#happens(this.#weather.lost)) this.#world.note(`${label}: lost on the way`);
      else this.#world.spawn(() => this.#carry(label, request, ticket), this.#travelMs(copy));
    }
    return (await ticket.wait(PATIENCE_MS)) ?? { kind: 'gone' };
  }

  async #carry(label: string, request: Request, ticket: Ticket<Answer>): Promise<void> {
    const up = this.#nodes.filter((node) => node.isUp);
    const node = up.length === 0 ? null : this.#world.random.pick(up);
    const answer: Answer = node === null ? { kind: 'gone' } : await node.serve(request);
    const what = answer.kind === 'refused' ? answer.code : answer.kind;
    this.#world.note(`${label} at ${node?.name ?? 'nobody'}: ${what}`);
    if (this.#happens(this.#weather.lost)) return this.#world.note(`${label}: answer lost`);
    await this.#world.sleep(this.#travelMs(0));
    ticket.give(answer);
  }

  #travelMs(copy: number): number {
    const { random, isCalm } = this.#world;
    // A double comes at once, or when its sender is at the next thing: a sender that repeats had
    // waited for an answer.
    if (copy > 0 && random.chance(0.5)) return random.below(DOUBLE_MS);
    if (!isCalm && random.chance(this.#weather.late)) {
      return random.below(random.chance(0.5) ? LATE_MS : LATE_MS / 10);
    }
    return 5 + random.below(200);
  }

  #happens(share: number): boolean {
    return !this.#world.isCalm && this.#world.random.chance(share);
  }
}

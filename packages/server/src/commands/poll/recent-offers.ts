// Remembers, in memory, to whom a command for anybody was just offered. This reserves nothing:
// others may still claim the command. But while one runner is about to claim, the others are better
// offered something else; otherwise a whole fleet asks for the oldest command and only one gets it.
// Losing this memory costs refused claims only. Times are monotonic.

import type { ReadyCommand } from './waiting.ts';

interface Offer {
  readonly command: ReadyCommand;
  readonly runnerId: string;
  readonly untilMs: number;
}

/**
 * Longer than a claim takes over a slow line; a runner that doesn't claim delays the others by this
 * time.
 */
const OFFER_MS = 1000;

/** About 5 MB; beyond this number the oldest offer is forgotten. */
const OFFERS_MAX = 10_000;

export class RecentOffers {
  /** In the order of time. */
  readonly #offers = new Map<string, Offer>();

  /** Records an offer. A pinned command is left out: there is nobody else to offer it to. */
  offered(runnerId: string, command: ReadyCommand, nowMs: number): void {
    if (command.runner_id !== null || this.isWithAnother(runnerId, command.id, nowMs)) return;
    this.#offers.delete(command.id);
    this.#offers.set(command.id, { command, runnerId, untilMs: nowMs + OFFER_MS });
    if (this.#offers.size > OFFERS_MAX) {
      const oldest = this.#offers.keys().next().value;
      if (oldest !== undefined) this.#offers.delete(oldest);
    }
  }

  /** Whether another runner was just offered the command. */
  isWithAnother(runnerId: string, commandId: string, nowMs: number): boolean {
    const offer = this.#offers.get(commandId);
    return offer !== undefined && offer.runnerId !== runnerId && nowMs < offer.untilMs;
  }

  /** The command was claimed, or has ended. */
  taken(commandId: string): void {
    this.#offers.delete(commandId);
  }

  /**
   * Commands that were offered and, as far as this node knows, not claimed: other runners should
   * hear of them. Each command is returned once.
   */
  lapsed(nowMs: number, max: number): ReadyCommand[] {
    const commands: ReadyCommand[] = [];
    for (const [id, { command, untilMs }] of this.#offers) {
      if (nowMs < untilMs || commands.length === max) break;
      commands.push(command);
      this.#offers.delete(id);
    }
    return commands;
  }
}

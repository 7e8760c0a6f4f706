// Knows who waits on this node: polls for a command, tails for lines of a log. In memory only. A
// ticket is entered before its owner looks at the database, so that no change in between is missed;
// a ticket is heard once.

import { type Aimed, parseTarget, type Target } from '../eligibility.rules.ts';

/** A command that may be claimed, with the members that matter to those who wait. */
export interface ReadyCommand extends Aimed {
  readonly tenant_id: string;
  readonly id: string;
}

/** Whether the runner that waits could take this command. */
export type Takes = (commandId: string, target: Target | null) => boolean;

export class Ticket {
  readonly #heard = new AbortController();
  /**
   * When the ticket's owner arrived, monotonic: the later, the likelier the owner is still there.
   */
  readonly cameMs: number;
  /** Null while the owner is still looking at the database: then anything may be news to it. */
  takes: Takes | null = null;

  constructor(cameMs: number) {
    this.cameMs = cameMs;
  }

  /** Aborts when there is something to look at. */
  get signal(): AbortSignal {
    return this.#heard.signal;
  }

  hear(): void {
    this.#heard.abort();
  }
}

/**
 * So many waiting runners hear of a command that any of them may claim. One would be enough if it
 * always claimed. The whole fleet would query the database at once for a command that only one of
 * them gets. The others hear of it in the next rounds (wake.ts).
 */
const HEARD_PER_COMMAND = 3;

/** Tickets by what they wait for, in the order in which they came. */
class Book {
  readonly #tickets = new Map<string, Set<Ticket>>();

  enter(key: string, ticket: Ticket): void {
    const tickets = this.#tickets.get(key) ?? new Set();
    this.#tickets.set(key, tickets.add(ticket));
  }

  leave(key: string, ticket: Ticket): void {
    const tickets = this.#tickets.get(key);
    tickets?.delete(ticket);
    if (tickets?.size === 0) this.#tickets.delete(key);
  }

  of(key: string): Iterable<Ticket> {
    return this.#tickets.get(key) ?? [];
  }

  /** The keys that are waited for; each has at least one ticket. */
  get keys(): ReadonlyMap<string, unknown> {
    return this.#tickets;
  }

  all(): Ticket[] {
    return [...this.#tickets.values()].flatMap((tickets) => [...tickets]);
  }
}

export class Waiting {
  readonly #byTenant = new Book();
  readonly #byRunner = new Book();
  readonly #byCommand = new Book();

  /** A poll begins to wait. Ends with `leavePoll`. */
  enterPoll(tenantId: string, runnerId: string, cameMs: number): Ticket {
    const ticket = new Ticket(cameMs);
    this.#byTenant.enter(tenantId, ticket);
    this.#byRunner.enter(runnerId, ticket);
    return ticket;
  }

  leavePoll(tenantId: string, runnerId: string, ticket: Ticket): void {
    this.#byTenant.leave(tenantId, ticket);
    this.#byRunner.leave(runnerId, ticket);
  }

  /** A reader begins to tail a command. Ends with `leaveTail`. */
  enterTail(commandId: string): Ticket {
    const ticket = new Ticket(0);
    this.#byCommand.enter(commandId, ticket);
    return ticket;
  }

  leaveTail(commandId: string, ticket: Ticket): void {
    this.#byCommand.leave(commandId, ticket);
  }

  /**
   * A command may be claimed. Tells its pinned runner, or some of those that could take it, longest
   * waiting first.
   */
  ready(command: ReadyCommand): void {
    if (command.runner_id !== null) return this.runner(command.runner_id);
    const target = parseTarget(command.target);
    let heard = 0;
    for (const ticket of this.#byTenant.of(command.tenant_id)) {
      if (heard === HEARD_PER_COMMAND) return;
      if (ticket.signal.aborted) continue;
      if (ticket.takes === null) ticket.hear();
      else if (ticket.takes(command.id, target)) {
        ticket.hear();
        heard += 1;
      }
    }
  }

  /**
   * The command was offered to a runner that didn't claim it. Tells those that came last: where
   * connections are half open, the longest waiting have gone, and would otherwise be asked first,
   * one after the other.
   */
  passOn(command: ReadyCommand): void {
    const target = parseTarget(command.target);
    const last: Ticket[] = [];
    for (const ticket of this.#byTenant.of(command.tenant_id)) {
      if (ticket.signal.aborted || ticket.takes?.(command.id, target) === false) continue;
      last.push(ticket);
      last.sort((a, b) => b.cameMs - a.cameMs).splice(HEARD_PER_COMMAND);
    }
    for (const ticket of last) ticket.hear();
  }

  runner(runnerId: string): void {
    for (const ticket of this.#byRunner.of(runnerId)) ticket.hear();
  }

  told(commandId: string): void {
    for (const ticket of this.#byCommand.of(commandId)) ticket.hear();
  }

  everybody(): void {
    for (const ticket of [...this.#byTenant.all(), ...this.#byCommand.all()]) ticket.hear();
  }

  /** Whether a poll waits; with `tenantId`, a poll of this tenant. */
  hasPolls(tenantId?: string): boolean {
    const { keys } = this.#byTenant;
    return tenantId === undefined ? keys.size > 0 : keys.has(tenantId);
  }

  /** The commands that are tailed on this node. */
  tailed(): string[] {
    return [...this.#byCommand.keys.keys()];
  }
}

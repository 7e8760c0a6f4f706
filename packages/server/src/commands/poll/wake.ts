// Brings a command to a runner that waits for it: at once in this process, by a hint from the other
// processes that share the database, and in any case by one look a second for all who wait here.
// Hints hold ids only; they are merged and sent after the commit. Losing every hint costs latency,
// never a command (contract §4). app.ts makes the Wake, and the stories tell it what changed.

import type { Database } from '../../db/db.ts';
import type { Clock } from '../../lib/clock.ts';
import { newId } from '../../lib/ids.ts';
import type { Logger } from '../../lib/log.ts';
import { GivenBack } from '../given-back.ts';
import { RecentOffers } from './recent-offers.ts';
import { type Takes, type Ticket, type ReadyCommand, Waiting } from './waiting.ts';
import { type Hint, HINTS_MAX, hintsText, readHints } from './wake.format.ts';
import { readyAmong, type ReadyPlace, readySince } from './wake.queries.ts';
import type { PendingSummary } from '../pending-summary.ts';

interface WakeDeps {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Logger;
  readonly pendingSummary: PendingSummary;
}

/**
 * At most 50 messages a second to the other nodes: NOTIFY makes the commits of a database wait for
 * each other.
 */
const POST_MS = 20;

/**
 * Hints that wait to be sent; hints beyond this number are lost, and the next look finds their
 * commands.
 */
const OUTBOX_MAX = 10_000;

/** The time between two looks for all who wait: the most that a lost hint costs. */
const LOOK_MS = 1000;

/**
 * A look goes back this far before the last one: the clocks of nodes differ, and a transaction
 * becomes visible after the time that its row says. So each command is shown to more of those who
 * wait until one of them takes it.
 */
const MARGIN_MS = 5000;

/** Commands that one look shows; the next look goes on from there. */
const LOOK_ROWS = 1000;

/** Offers without a claim that one round passes on to others: three looks each. */
const LAPSED_MAX = 100;

export class Wake {
  readonly #deps: WakeDeps;
  readonly #waiting = new Waiting();
  /** Who is about to claim which command. */
  readonly recent = new RecentOffers();
  /** Who gave back which command, and shouldn't be offered it yet. */
  readonly givenBack = new GivenBack();
  readonly #outbox = new Map<string, Hint>();
  readonly #ending = new AbortController();
  readonly #node: string;
  #since: ReadyPlace;
  #posting: Promise<void> | null = null;
  #looking: Promise<void> = Promise.resolve();
  #silence: () => Promise<void> = async () => {};

  constructor(deps: WakeDeps) {
    this.#deps = deps;
    this.#node = newId<string>(deps.clock.nowMs());
    this.#since = { ready_at: deps.clock.nowMs() - MARGIN_MS, id: null };
  }

  /** Begins to listen to the other nodes, and begins to look. */
  start(): void {
    this.#silence = this.#deps.database.listen((text) => void this.#overhear(text));
    this.#looking = this.#lookOn();
  }

  /** Answers everybody who waits; from then on nobody waits any more. */
  async stop(): Promise<void> {
    this.#ending.abort();
    this.#waiting.everybody();
    await this.#silence();
    await this.#looking;
    await this.#posting;
  }

  get isEnding(): boolean {
    return this.#ending.signal.aborted;
  }

  /** After the commit: this command may be claimed. */
  ready(command: ReadyCommand): void {
    this.#waiting.ready(command);
    this.#post({ kind: 'ready', tenantId: command.tenant_id, id: command.id });
  }

  /** After the commit: this runner was paused or revoked, or has a free slot. */
  runner(tenantId: string, runnerId: string): void {
    this.#waiting.runner(runnerId);
    this.#post({ kind: 'runner', tenantId, id: runnerId });
  }

  /** After the commit: this command moved, or has more to show to its tails. */
  told(tenantId: string, commandId: string): void {
    this.#waiting.told(commandId);
    this.#post({ kind: 'told', tenantId, id: commandId });
  }

  /**
   * Runs `look` until it finds something, the time is over, the caller has gone, or the server
   * stops; then `look` runs a last time. In between, no connection is held and the database is not
   * asked. `look` also says which commands would be news to the caller.
   */
  async poll<Found>(
    who: { readonly tenantId: string; readonly runnerId: string },
    wait: Wait,
    look: () => Promise<Look<Found>>,
  ): Promise<Found> {
    const cameMs = this.#deps.clock.monotonicMs();
    const enter = (): Ticket => this.#waiting.enterPoll(who.tenantId, who.runnerId, cameMs);
    const leave = (ticket: Ticket): void =>
      this.#waiting.leavePoll(who.tenantId, who.runnerId, ticket);
    return await this.#until(wait, enter, leave, look);
  }

  /** The same for a caller that tails a command. */
  async tail<Found>(
    commandId: string,
    wait: Wait,
    look: () => Promise<Look<Found>>,
  ): Promise<Found> {
    const enter = (): Ticket => this.#waiting.enterTail(commandId);
    const leave = (ticket: Ticket): void => this.#waiting.leaveTail(commandId, ticket);
    return await this.#until(wait, enter, leave, look);
  }

  async #until<Found>(
    { ms, gone }: Wait,
    enter: () => Ticket,
    leave: (ticket: Ticket) => void,
    look: () => Promise<Look<Found>>,
  ): Promise<Found> {
    const { clock } = this.#deps;
    const until = clock.monotonicMs() + ms;
    while (true) {
      const ticket = enter();
      const hangUp = (): void => ticket.hear();
      gone?.addEventListener('abort', hangUp, { once: true });
      try {
        const { found, takes, againMs = Infinity } = await look();
        const left = until - clock.monotonicMs();
        if (takes === null || left <= 0 || this.isEnding || gone?.aborted === true) return found;
        ticket.takes = takes;
        await clock.sleep(Math.min(left, againMs), ticket.signal);
      } finally {
        gone?.removeEventListener('abort', hangUp);
        leave(ticket);
      }
    }
  }

  #post(hint: Hint): void {
    if (this.#outbox.size < OUTBOX_MAX) this.#outbox.set(hint.kind + hint.id, hint);
    this.#posting ??= this.#postAll();
  }

  /** Sends the first hint at once; hints that follow within POST_MS go together. */
  async #postAll(): Promise<void> {
    const { database, clock, log } = this.#deps;
    while (this.#outbox.size > 0) {
      const batch = [...this.#outbox].slice(0, HINTS_MAX);
      for (const [key] of batch) this.#outbox.delete(key);
      try {
        const hints = batch.map(([, hint]) => hint);
        await database.notify(hintsText(this.#node, hints));
      } catch (error) {
        // The reason doesn't matter, because a hint is never needed: the other nodes look by
        // themselves.
        log.debug({ err: error }, 'hints to other nodes were lost');
      }
      await clock.sleep(POST_MS, this.#ending.signal);
    }
    this.#posting = null;
  }

  /**
   * Handles another node's message. The commands are read again: a hint has ids only, and may be
   * late.
   */
  async #overhear(text: string): Promise<void> {
    const { database, pendingSummary, clock, log } = this.#deps;
    const hints = readHints(this.#node, text) ?? [];
    const ready = hints.filter(({ kind }) => kind === 'ready');
    for (const { tenantId } of ready) pendingSummary.changed(tenantId);
    for (const { kind, id } of hints) {
      if (kind === 'runner') this.#waiting.runner(id);
      if (kind === 'told') {
        this.recent.taken(id);
        this.#waiting.told(id);
      }
    }
    const wanted = ready.filter(({ tenantId }) => this.#waiting.hasPolls(tenantId));
    if (wanted.length === 0 || this.isEnding) return;
    try {
      const rows = await readyAmong(database.systemLists(), wanted, clock.nowMs());
      for (const row of rows) this.#waiting.ready(row);
    } catch (error) {
      log.debug({ err: error }, 'a hint could not be followed');
    }
  }

  async #lookOn(): Promise<void> {
    const { clock, log } = this.#deps;
    while (!this.isEnding) {
      await clock.sleep(LOOK_MS, this.#ending.signal);
      if (this.isEnding) return;
      try {
        await this.#look();
      } catch (error) {
        log.warn({ err: error }, 'waiting polls could not be served; trying again');
      }
    }
  }

  async #look(): Promise<void> {
    const { database, clock } = this.#deps;
    for (const commandId of this.#waiting.tailed()) this.#waiting.told(commandId);
    const nowMs = clock.nowMs();
    for (const command of this.recent.lapsed(clock.monotonicMs(), LAPSED_MAX))
      this.#waiting.passOn(command);
    const rows = this.#waiting.hasPolls()
      ? await readySince(database.systemLists(), this.#since, nowMs, LOOK_ROWS)
      : [];
    for (const row of rows) this.#waiting.ready(row);
    const last = rows.length < LOOK_ROWS ? undefined : rows.at(-1);
    this.#since = last ?? { ready_at: nowMs - MARGIN_MS, id: null };
  }
}

export interface Wait {
  readonly ms: number;
  /** Aborts when the caller has gone: then there is nobody to answer. */
  readonly gone: AbortSignal | null;
}

export interface Look<Found> {
  readonly found: Found;
  /** Which commands are worth another look; null: `found` is the answer. */
  readonly takes: Takes | null;
  /** After this time another look is worthwhile, whatever happens. */
  readonly againMs?: number;
}

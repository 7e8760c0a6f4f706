// One command, three runners, an operator and time, twice: as the pure machine (`decide` and a few
// lines that apply it) and as the real stories on SQLite. Histories are played on both, and both
// must show the same.

import { hash } from 'node:crypto';
import type { CommandStatus, ErrorCode } from '@muster/contract';
import {
  type CommandState,
  type Decision,
  decide,
  decideLoss,
  type OwnAttempt,
  type RunnerEvent,
} from '../../src/commands/command.machine.ts';
import { type CommandsDeps, transition } from '../../src/commands/commands.ts';
import { cancelCommand, createCommand, showCommand } from '../../src/commands/operator-commands.ts';
import { sweepCommands } from '../../src/commands/leases.ts';
import { administerRunner } from '../../src/keys/runners.ts';
import type { RunnerId, TenantId } from '../../src/lib/ids.ts';
import { Problem } from '../../src/lib/problem.ts';
import type { TestClock } from '../harness.ts';

export interface Setting {
  /** The index of the runner to which the command is pinned. */
  readonly pinned: number | null;
  /**
   * The index of the runner that lacks what the command asks for; has no effect on a pinned
   * command.
   */
  readonly lacking: number | null;
  readonly maxAttempts: number;
  readonly retryOnFail: boolean;
  /** In numbers of silences. */
  readonly expiresAfter: number | null;
  readonly scheduledAfter: number | null;
}

export type Act =
  | {
      readonly kind: 'call';
      readonly runner: number;
      readonly event: RunnerEvent;
      readonly words: string;
    }
  | { readonly kind: 'pause'; readonly runner: number; readonly paused: boolean }
  | { readonly kind: 'cancel' }
  /** Nobody calls for longer than a lease; then upkeep looks. */
  | { readonly kind: 'silence' };

/** The command as it stands, runners by their number. */
export interface Seen {
  readonly status: CommandStatus;
  readonly holder: number | null;
  readonly attempt: number;
  readonly cancelRequested: boolean;
  readonly reason: string | null;
}

export interface World {
  see(): Promise<Seen>;
  act(act: Act): Promise<'done' | ErrorCode>;
}

export const RUNNERS = 3;
/** Longer than a lease: three times the default interval. */
export const SILENCE_MS = 200_000;

export const isHeld = (status: CommandStatus): boolean =>
  status === 'acknowledged' || status === 'running';
export const isFinished = (status: CommandStatus): boolean =>
  status !== 'pending' && !isHeld(status);

/** Labels of the runners that have what the command asks for. */
export const LABELS = { pool: 'fast' };

export const mayTake = ({ pinned, lacking }: Setting, runner: number): boolean =>
  pinned === null ? lacking !== runner : pinned === runner;

const nameOf = (runner: number): string => `runner ${runner}`;

interface Claim extends OwnAttempt {
  readonly runner: string;
}

/** The machine by itself: decisions applied to a state in memory. */
export class PureWorld implements World {
  #state: CommandState;
  #reason: string | null = null;
  #claims: Claim[] = [];
  #paused = new Set<number>();
  #nowMs = 1_000_000;
  readonly #setting: Setting;

  constructor(setting: Setting) {
    this.#setting = setting;
    const after = (silences: number | null): number | null =>
      silences === null ? null : this.#nowMs + silences * SILENCE_MS;
    this.#state = {
      status: 'pending',
      runnerId: setting.pinned === null ? null : nameOf(setting.pinned),
      holderId: null,
      attempt: 0,
      released: 0,
      maxAttempts: setting.maxAttempts,
      retryOnFail: setting.retryOnFail,
      scheduledAt: after(setting.scheduledAfter),
      expiresAt: after(setting.expiresAfter),
      cancelRequested: false,
    };
  }

  see = async (): Promise<Seen> => {
    const { status, holderId, attempt, cancelRequested } = this.#state;
    const holder = holderId === null ? null : Number(holderId.slice('runner '.length));
    return { status, holder, attempt, cancelRequested, reason: this.#reason };
  };

  act = async (act: Act): Promise<'done' | ErrorCode> => {
    switch (act.kind) {
      case 'pause':
        if (act.paused) this.#paused.add(act.runner);
        else this.#paused.delete(act.runner);
        return 'done';
      case 'cancel':
        return this.#cancel();
      case 'silence':
        return this.#silence();
      case 'call':
        return this.#call(act);
    }
  };

  #cancel(): 'done' | ErrorCode {
    const { status, cancelRequested } = this.#state;
    if (status === 'canceled' || cancelRequested) return 'done';
    if (isFinished(status)) return 'invalid_transition';
    const next = isHeld(status) ? status : 'canceled';
    this.#state = { ...this.#state, status: next, cancelRequested: true };
    return 'done';
  }

  #silence(): 'done' {
    this.#nowMs += SILENCE_MS;
    if (isHeld(this.#state.status)) {
      const { to, reason } = decideLoss(this.#state);
      const outcome = to === 'canceled' ? 'canceled' : 'lost';
      this.#end(this.#state.attempt, outcome, null);
      const holderId = to === 'pending' ? null : this.#state.holderId;
      this.#state = { ...this.#state, status: to, holderId };
      this.#reason = reason;
    }
    const { status, expiresAt } = this.#state;
    if (status === 'pending' && expiresAt !== null && expiresAt <= this.#nowMs) {
      this.#state = { ...this.#state, status: 'expired' };
    }
    return 'done';
  }

  #call(act: Extract<Act, { kind: 'call' }>): 'done' | ErrorCode {
    const { event, words, runner } = act;
    const says = event === 'complete' || event === 'fail';
    const answer = says ? hash('sha256', `${event} ${words}`, 'hex') : null;
    const runnerId = nameOf(runner);
    const own = this.#claims.filter((claim) => claim.runner === runnerId).at(-1) ?? null;
    const paused = this.#paused.has(runner);
    const eligible = mayTake(this.#setting, runner);
    const call = { event, runnerId, paused, eligible, answer, attempt: null };
    const decision = decide(this.#state, own, call, this.#nowMs);
    if (decision.kind === 'refuse') return decision.code;
    if (decision.kind === 'apply') this.#apply(decision, event, runnerId, answer);
    return 'done';
  }

  #apply(
    decision: Extract<Decision, { kind: 'apply' }>,
    event: RunnerEvent,
    runner: string,
    answer: string | null,
  ): void {
    const { attempt, to, outcome } = decision;
    const unclaimed = this.#state.status === 'pending';
    if (event === 'acknowledge') {
      this.#claims.push({ runner, attempt, startedAt: null, outcome: null, answer: null });
    } else if (event === 'start') {
      this.#claims = this.#claims.map((claim) =>
        claim.attempt === attempt ? { ...claim, startedAt: this.#nowMs } : claim,
      );
    } else if (unclaimed) {
      this.#claims.push({
        runner,
        attempt: attempt + 1,
        startedAt: null,
        outcome: 'failed',
        answer,
      });
    } else {
      this.#end(attempt, outcome, answer);
    }
    const free = to === 'pending' || (event === 'fail' && unclaimed);
    const released = this.#state.released + (outcome === 'released' ? 1 : 0);
    const holderId = free ? null : runner;
    this.#state = { ...this.#state, status: to, attempt, released, holderId };
    this.#reason = decision.reason;
  }

  #end(attempt: number, outcome: OwnAttempt['outcome'], answer: string | null): void {
    this.#claims = this.#claims.map((claim) =>
      claim.attempt === attempt ? { ...claim, outcome, answer } : claim,
    );
  }
}

/** The same command as a row, moved by the stories. */
export class RealWorld implements World {
  readonly #deps: CommandsDeps;
  readonly #clock: TestClock;
  readonly #tenantId: TenantId;
  readonly #runners: readonly RunnerId[];
  readonly #id: string;

  private constructor(
    deps: CommandsDeps,
    clock: TestClock,
    tenantId: TenantId,
    runners: readonly RunnerId[],
    id: string,
  ) {
    this.#deps = deps;
    this.#clock = clock;
    this.#tenantId = tenantId;
    this.#runners = runners;
    this.#id = id;
  }

  static async create(
    deps: CommandsDeps,
    clock: TestClock,
    tenantId: TenantId,
    runners: readonly RunnerId[],
    setting: Setting,
  ): Promise<RealWorld> {
    const { pinned, lacking, expiresAfter, scheduledAfter } = setting;
    const target = pinned === null && lacking !== null ? { target: { labels: LABELS } } : {};
    const at = (silences: number): number => clock.nowMs() + silences * SILENCE_MS;
    const row = await createCommand(
      deps,
      tenantId,
      {
        type: 'test',
        max_attempts: setting.maxAttempts,
        retry_on_fail: setting.retryOnFail,
        ...target,
        ...(pinned === null ? {} : { runner_id: runners[pinned] as string }),
        // A little earlier, so that the duration of a test never decides.
        ...(expiresAfter === null ? {} : { expires_in: (expiresAfter * SILENCE_MS) / 1000 - 20 }),
        ...(scheduledAfter === null
          ? {}
          : { scheduled_at: new Date(at(scheduledAfter) - 20_000).toISOString() }),
      },
      'test',
    );
    return new RealWorld(deps, clock, tenantId, runners, row.id);
  }

  see = async (): Promise<Seen> => {
    const { command } = await showCommand(this.#deps, this.#tenantId, this.#id);
    const holder = this.#runners.indexOf(command.holder_id as RunnerId);
    return {
      status: command.status,
      holder: holder < 0 ? null : holder,
      attempt: command.attempt,
      cancelRequested: command.cancel_requested_at !== null,
      reason: command.reason,
    };
  };

  /** Claims that have no end yet: more than one would be two holders. */
  openClaims = async (): Promise<number> => {
    const { attempts } = await showCommand(this.#deps, this.#tenantId, this.#id);
    return attempts.filter((attempt) => attempt.ended_at === null).length;
  };

  act = async (act: Act): Promise<'done' | ErrorCode> => {
    try {
      await this.#do(act);
      return 'done';
    } catch (error) {
      if (error instanceof Problem) return error.code;
      throw error;
    }
  };

  async #do(act: Act): Promise<void> {
    const deps = this.#deps;
    if (act.kind === 'silence') {
      this.#clock.advance(SILENCE_MS);
      await sweepCommands(deps, 0, deps.clock.nowMs());
    } else if (act.kind === 'cancel') {
      await cancelCommand(deps, this.#tenantId, this.#id);
    } else if (act.kind === 'pause') {
      const runner = this.#runners[act.runner] as RunnerId;
      const to = act.paused ? 'paused' : 'active';
      await administerRunner(deps.database, this.#tenantId, runner, to);
    } else {
      const holder = {
        tenantId: this.#tenantId,
        runnerId: this.#runners[act.runner] as RunnerId,
        keyId: 'k',
        scopes: ['commands'] as const,
      };
      const input = { result: act.words, errorMessage: act.words };
      await transition(deps, holder, this.#id, act.event, input);
    }
  }
}

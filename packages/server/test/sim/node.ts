// One server of the simulated world: the real stories on the shared database, wired as app.ts wires
// them. It can die at every commit and wherever it pauses; its memory is gone then, and it comes
// back as a new process. The only file here that knows how the server's parts fit together.

import type { KyselyPlugin } from 'kysely';
import type { NewCommand } from '@muster/contract';
import { type RunnerEvent } from '../../src/commands/command.machine.ts';
import {
  type CommandsDeps,
  transition,
  type TransitionInput,
} from '../../src/commands/commands.ts';
import { OfferCounts } from '../../src/commands/commands.rules.ts';
import { renewLeasesOf, sweepCommands } from '../../src/commands/leases.ts';
import { cancelCommand, createCommand } from '../../src/commands/operator-commands.ts';
import { poll } from '../../src/commands/poll/poll.ts';
import { Wake } from '../../src/commands/poll/wake.ts';
import { PendingSummary } from '../../src/commands/pending-summary.ts';
import type { Database } from '../../src/db/db.ts';
import { heartbeat, type HeartbeatDeps } from '../../src/heartbeat/heartbeat.ts';
import { MetricBook } from '../../src/heartbeat/metrics.ts';
import { Pace } from '../../src/heartbeat/pace.ts';
import { PresenceBook } from '../../src/heartbeat/presence.ts';
import { Authenticator, type RunnerCaller } from '../../src/keys/authenticate.ts';
import { parseKey } from '../../src/keys/key.format.ts';
import { enrol } from '../../src/keys/enrolment.ts';
import { changeKey, renewKey, revokeKey, rollKey } from '../../src/keys/keys.ts';
import { addRunnerKey } from '../../src/keys/operator-keys.ts';
import { administerRunner } from '../../src/keys/runners.ts';
import type { Clock } from '../../src/lib/clock.ts';
import type { RunnerId, TenantId } from '../../src/lib/ids.ts';
import { createLogger } from '../../src/lib/log.ts';
import { Problem } from '../../src/lib/problem.ts';
import type { Ledger, Life, Words } from './ledger.ts';
import { shakyDatabase } from './shaky-database.ts';
import { NodeClock, type World } from './world.ts';

/** The server died under the request. */
class Crash extends Error {}

export type Request = { readonly key: string } & (
  | { readonly call: 'heartbeat'; readonly body: object; readonly features: string }
  | { readonly call: 'poll' | 'renew' }
  | { readonly call: 'enrol'; readonly machine: string; readonly enrollmentId: string }
  | {
      readonly call: RunnerEvent;
      readonly commandId: string;
      readonly input: TransitionInput;
      readonly words: Words | null;
    }
);

/** `gone`: the connection broke, and nobody knows whether the request took effect. */
export type Answer =
  | { readonly kind: 'done'; readonly body: unknown }
  | { readonly kind: 'refused'; readonly code: string }
  | { readonly kind: 'gone' };

/** The stories that sabotage may replace, to show that the checks can fail. */
export interface Parts {
  readonly transition: typeof transition;
  readonly renew: typeof renewKey;
  readonly roll: typeof rollKey;
  readonly enrol: typeof enrol;
  readonly sweep: typeof sweepCommands;
  readonly authenticatorClock: (clock: Clock) => Clock;
  readonly presenceDatabase: (database: Database) => Database;
  readonly plugins: readonly KyselyPlugin[];
}

export const REAL: Parts = {
  transition,
  renew: renewKey,
  roll: rollKey,
  enrol,
  sweep: sweepCommands,
  authenticatorClock: (clock) => clock,
  presenceDatabase: (database) => database,
  plugins: [],
};

const LOG = createLogger('silent');

/** The longest pause between two transactions, or within one; in the world's milliseconds. */
const PAUSE_MS = 400;
const PAUSE_SHARE = 0.15;
const FIERCE_PAUSE_SHARE = 0.4;

interface Process {
  readonly life: Life;
  readonly deps: CommandsDeps;
  readonly presence: PresenceBook;
  readonly authenticator: Authenticator;
  readonly heartbeat: HeartbeatDeps;
}

export class ServerNode {
  readonly name: string;
  readonly clock: NodeClock;
  readonly #world: World;
  readonly #ledger: Ledger;
  readonly #database: Database;
  readonly #parts: Parts;
  readonly #tenantId: TenantId;
  readonly #pauseShare: number;
  #process: Process | null = null;
  /** Commits, begun and ended, until it dies; null: it is not to die. */
  #pointsLeft: number | null = null;

  constructor(
    name: string,
    world: World,
    ledger: Ledger,
    database: Database,
    parts: Parts,
    tenantId: TenantId,
  ) {
    this.name = name;
    this.clock = new NodeClock(world);
    this.#pauseShare = world.isFierce ? FIERCE_PAUSE_SHARE : PAUSE_SHARE;
    this.#world = world;
    this.#ledger = ledger;
    this.#database = database;
    this.#parts = parts;
    this.#tenantId = tenantId;
  }

  get isUp(): boolean {
    return this.#process !== null;
  }

  start(): void {
    const life: Life = { isOver: false, flushedAt: -Infinity };
    const database = shakyDatabase(this.#database, {
      pause: () => this.#pause(life),
      point: () => this.#point(life),
      wrote: (table) => this.#ledger.wrote(table),
      plugins: this.#parts.plugins,
    });
    const presence = new PresenceBook(this.#parts.presenceDatabase(database), this.clock, () => 1);
    const unwritten = (runnerId: string) => presence.unwritten(runnerId);
    const offers = new OfferCounts();
    const pendingSummary = new PendingSummary(database, this.clock, unwritten, offers);
    const wake = new Wake({ database, clock: this.clock, log: LOG, pendingSummary });
    const uploads = { sealKey: Buffer.alloc(32), hasUpload: () => {} };
    const deps = {
      database,
      clock: this.clock,
      pendingSummary,
      wake,
      offers,
      unwritten,
      ...uploads,
    };
    const clock = this.#parts.authenticatorClock(this.clock);
    const authenticator = new Authenticator(database, clock, LOG);
    const heartbeat = {
      presence,
      pendingSummary,
      pace: new Pace(
        this.clock,
        () => 1,
        () => this.#world.random.below(1000) / 1000,
      ),
      metrics: new MetricBook(database, this.clock),
      configVersion: '0',
    };
    this.#process = { life, deps, presence, authenticator, heartbeat };
    this.#world.note(`${this.name} started`);
  }

  /** Dies at the `points`-th beginning or end of a commit from now. */
  dieAfter(points: number): void {
    this.#pointsLeft = points;
  }

  die(): void {
    if (this.#process === null) return;
    this.#process.life.isOver = true;
    this.#process = null;
    this.#pointsLeft = null;
    this.#world.note(`${this.name} died`);
  }

  /** The runner's answer: always an answer, or a broken connection. */
  async serve(request: Request): Promise<Answer> {
    return await this.#guarded(async (process) => {
      const { nowMs: presentedAt } = this.#world;
      const keyId = parseKey(request.key)?.keyId ?? '';
      if (request.call === 'enrol') return await this.#enrol(process, request, keyId);
      const caller = await process.authenticator.authenticate(request.key, 'runner', 'sim');
      if (caller?.kind !== 'runner') {
        this.#ledger.events.refused.push({ keyId, nodeMs: this.clock.nowMs() });
        throw new Problem('unauthorized');
      }
      this.#ledger.events.accepted.push({ keyId, presentedAt });
      await this.#pause(process.life);
      await process.presence.seen(caller.tenantId, caller.runnerId, false);
      this.#ledger.sign(caller.runnerId, process.life);
      await this.#pause(process.life);
      return await this.#answer(process, caller, request);
    });
  }

  async #enrol(
    { life, deps, authenticator }: Process,
    { key, machine, enrollmentId }: Extract<Request, { call: 'enrol' }>,
    tokenId: string,
  ): Promise<unknown> {
    const { nowMs: presentedAt } = this.#world;
    try {
      const caller = await authenticator.authenticate(key, 'enrolment', 'sim');
      if (caller?.kind !== 'enrolment') throw new Problem('unauthorized');
      this.#ledger.events.accepted.push({ keyId: tokenId, presentedAt });
      await this.#pause(life);
      const request = { name: machine, enrollment_id: enrollmentId };
      const made = await this.#parts.enrol(deps.database, this.clock, caller, request);
      const { runnerId } = made;
      this.#ledger.events.enrolled.push({ machine, runnerId, keyId: made.key.row.key_id });
      return { runnerId, key: made.key.secret.expose() };
    } catch (error) {
      const isRefusal = error instanceof Problem && error.code === 'unauthorized';
      const nodeMs = this.clock.nowMs();
      if (isRefusal) this.#ledger.events.turnedAway.push({ machine, tokenId, nodeMs });
      throw error;
    }
  }

  async #answer(
    process: Process,
    caller: RunnerCaller,
    request: Exclude<Request, { call: 'enrol' }>,
  ): Promise<unknown> {
    const { deps } = process;
    const { runnerId } = caller;
    switch (request.call) {
      case 'heartbeat': {
        const { body, features } = request;
        return await heartbeat(process.heartbeat, caller, body, features);
      }
      case 'poll': {
        if (caller.paused) return [];
        const isStillGood = async (): Promise<boolean> => true;
        const rows = await poll(deps, caller, {
          limit: 5,
          ms: 0,
          gone: null,
          hasScope: true,
          isStillGood,
        });
        return rows.map(({ id }) => id);
      }
      case 'renew': {
        const { secret } = await this.#parts.renew(deps.database, this.clock, caller);
        return secret.expose();
      }
      default:
        return await this.#move(deps, runnerId, request);
    }
  }

  async #move(
    deps: CommandsDeps,
    runnerId: RunnerId,
    { commandId, call, input, words }: Extract<Request, { commandId: string }>,
  ): Promise<number> {
    const scopes = ['commands', 'ingest'] as const;
    const holder = { tenantId: this.#tenantId, runnerId, keyId: 'simulated', scopes };
    if (call === 'release')
      this.#ledger.releases.push({ commandId, runnerId, fence: input.attempt });
    const { attempt } = await this.#parts.transition(deps, holder, commandId, call, input);
    const { claims, completions } = this.#ledger.events;
    if (call === 'acknowledge') claims.push({ commandId, attempt, runnerId });
    if (call === 'complete' && words !== null)
      completions.push({ commandId, serial: words.serial });
    return attempt;
  }

  /** The round of upkeep of app.ts: flush, leases, watch, sweep. */
  async round(): Promise<void> {
    await this.#guarded(async ({ life, deps, presence, authenticator }) => {
      const begunAt = this.#world.nowMs;
      const heardUntilMs = this.clock.nowMs();
      const signs = await presence.flush(authenticator.takeLastUsed());
      life.flushedAt = begunAt - 1;
      if (signs.length > 0) this.#ledger.wrote('runner');
      await renewLeasesOf(deps, signs);
      await presence.watch();
      await this.#parts.sweep(deps, presence.listeningSinceMs, heardUntilMs);
      this.#ledger.judged();
    });
  }

  create(request: NewCommand): Promise<Answer> {
    return this.#guarded(async ({ deps }) => {
      const row = await createCommand(deps, this.#tenantId, request, 'sim');
      return row.id;
    });
  }

  cancel(commandId: string): Promise<Answer> {
    return this.#guarded(async ({ deps }) => {
      await cancelCommand(deps, this.#tenantId, commandId);
    });
  }

  administer(runnerId: string, to: 'active' | 'paused' | 'revoked'): Promise<Answer> {
    return this.#guarded(async ({ deps, authenticator }) => {
      if (to === 'revoked') this.#ledger.asked.add(runnerId);
      await administerRunner(deps.database, this.#tenantId, runnerId, to);
      if (to === 'revoked') this.#ledger.wrote('api_key');
      authenticator.forget(runnerId);
      deps.wake.runner(this.#tenantId, runnerId);
    });
  }

  /** A further key, made by the operator. */
  addKey(runnerId: string): Promise<Answer> {
    return this.#guarded(async ({ deps }) => {
      const request = { runner_id: runnerId };
      const { key } = await addRunnerKey(deps.database, this.clock, this.#tenantId, request, 'sim');
      return key.secret.expose();
    });
  }

  revokeKey(keyId: string): Promise<Answer> {
    return this.#endKey(keyId, (database) => revokeKey(database, this.#tenantId, keyId));
  }

  expireKey(keyId: string, seconds: number): Promise<Answer> {
    const request = { expires_in: seconds };
    return this.#endKey(keyId, (database) =>
      changeKey(database, this.clock, this.#tenantId, keyId, request),
    );
  }

  #endKey(keyId: string, end: (database: Database) => Promise<unknown>): Promise<Answer> {
    return this.#guarded(async ({ deps, authenticator }) => {
      this.#ledger.asked.add(keyId);
      await end(deps.database);
      authenticator.forget(null);
    });
  }

  /** A successor of a key, made by the operator. */
  rollKey(keyId: string, seconds: number | null | undefined): Promise<Answer> {
    return this.#guarded(async ({ deps: { database } }) => {
      const { roll } = this.#parts;
      const { key } = await roll(database, this.clock, this.#tenantId, keyId, seconds, 'sim');
      return key.secret.expose();
    });
  }

  async #guarded(body: (process: Process) => Promise<unknown>): Promise<Answer> {
    const process = this.#process;
    if (process === null) return { kind: 'gone' };
    try {
      const done = await body(process);
      if (process.life.isOver) return { kind: 'gone' };
      return { kind: 'done', body: done };
    } catch (error) {
      if (error instanceof Crash) return { kind: 'gone' };
      // Any other error is a 5xx that no client deserved: it ends the world.
      if (!(error instanceof Problem)) throw error;
      return { kind: 'refused', code: error.code };
    }
  }

  /** Other fibers may run here. */
  async #pause(life: Life): Promise<void> {
    if (life.isOver) throw new Crash();
    const { random } = this.#world;
    if (!random.chance(this.#pauseShare)) return;
    await this.#world.sleep(random.below(PAUSE_MS));
    if (life.isOver) throw new Crash();
  }

  #point(life: Life): void {
    if (life.isOver) throw new Crash();
    if (this.#pointsLeft === null) return;
    this.#pointsLeft -= 1;
    if (this.#pointsLeft > 0) return;
    this.die();
    throw new Crash();
  }
}

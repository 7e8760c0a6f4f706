// A migrated database with one tenant, and a clock that only the test moves: for tests of stories
// without HTTP, on both databases. `Troubled` is the same database with the troubles that a real
// one has: away, slow, failing half way.

import { createLogger } from '../src/lib/log.ts';
import { Authenticator, type RunnerCaller } from '../src/keys/authenticate.ts';
import { CallerGate } from '../src/keys/authenticated.ts';
import { OfferCounts } from '../src/commands/commands.rules.ts';
import { PendingSummary } from '../src/commands/pending-summary.ts';
import { type Database, type Db, openDatabase } from '../src/db/db.ts';
import { migrate } from '../src/db/migrate.ts';
import { heartbeat, type HeartbeatDeps } from '../src/heartbeat/heartbeat.ts';
import { MetricBook } from '../src/heartbeat/metrics.ts';
import { Pace } from '../src/heartbeat/pace.ts';
import { PresenceBook } from '../src/heartbeat/presence.ts';
import { loadFactor } from '../src/heartbeat/presence.rules.ts';
import { createRunner, findRunner, type RunnerRow } from '../src/keys/runners.ts';
import { insertTenant } from '../src/keys/installation.queries.ts';
import type { Clock } from '../src/lib/clock.ts';
import { newId, type TenantId } from '../src/lib/ids.ts';
import { type Backend, migratedPlace } from './harness.ts';

/** Time that passes only when told to. */
export class SimulatedClock implements Clock {
  #nowMs = 1_790_000_000_000;
  advance(ms: number): void {
    this.#nowMs += ms;
  }
  nowMs(): number {
    return this.#nowMs;
  }
  monotonicMs(): number {
    return this.#nowMs;
  }
  sleep(): Promise<void> {
    return Promise.resolve();
  }
}

export interface Stage {
  readonly database: Database;
  readonly clock: SimulatedClock;
  readonly tenantId: TenantId;
  dispose(): Promise<void>;
}

export async function openStage(backend: Backend): Promise<Stage> {
  const place = await migratedPlace(backend);
  const url = place.env['MUSTER_DATABASE_URL'] ?? null;
  const directory = String(place.env['MUSTER_DATA']);
  const database = await openDatabase({ url, directory });
  const clock = new SimulatedClock();
  await migrate(database, clock.nowMs());
  const tenantId = newId<TenantId>(clock.nowMs());
  await insertTenant(database.system(), { id: tenantId, name: 'stage', created_at: 1 });
  const dispose = async (): Promise<void> => {
    await database.close();
    await place.remove();
  };
  return { database, clock, tenantId, dispose };
}

/** The same database as its users meet it on a bad day. */
export class Troubled implements Database {
  readonly #real: Database;
  isAway = false;
  /** Called inside each transaction: a slow database moves the clock. */
  onTransaction: () => void = () => {};
  /** The instance that a transaction gets instead of `tx`. */
  wrap: (tx: Db) => Db = (tx) => tx;
  /** Called after each commit: a fault here comes too late for the caller to be told. */
  onCommitted: () => void = () => {};

  constructor(real: Database) {
    this.#real = real;
  }
  get kind(): Database['kind'] {
    return this.#real.kind;
  }
  tenant(tenantId: string): Db {
    this.#mustBeThere();
    return this.#real.tenant(tenantId);
  }
  lists(tenantId: string): Db {
    this.#mustBeThere();
    return this.#real.lists(tenantId);
  }
  system(): Db {
    this.#mustBeThere();
    return this.#real.system();
  }
  systemLists(): Db {
    this.#mustBeThere();
    return this.#real.systemLists();
  }
  async transaction<T>(scope: string, body: (tx: Db) => Promise<T>): Promise<T> {
    this.#mustBeThere();
    const result = await this.#real.transaction(scope, async (tx) => {
      this.onTransaction();
      return await body(this.wrap(tx));
    });
    this.onCommitted();
    return result;
  }
  async together(scope: string, body: (tx: Db) => Promise<unknown>): Promise<void> {
    this.#mustBeThere();
    await this.#real.together(scope, (tx) => body(this.wrap(tx)));
    this.onCommitted();
  }
  async notify(text: string): Promise<void> {
    this.#mustBeThere();
    await this.#real.notify(text);
  }
  listen(hear: (text: string) => void): () => Promise<void> {
    return this.#real.listen(hear);
  }
  workerData(): ReturnType<Database['workerData']> {
    return this.#real.workerData();
  }
  close(): Promise<void> {
    return this.#real.close();
  }
  #mustBeThere(): void {
    if (this.isAway) throw new Error('the database is away');
  }
}

/**
 * One node of the server with presence and keys: wired as in app.ts, without HTTP and without a
 * scheduler.
 */
export class ServerNode {
  readonly presence: PresenceBook;
  readonly authenticator: Authenticator;
  readonly gate: CallerGate;
  readonly deps: HeartbeatDeps;

  constructor(database: Database, clock: Clock, lagMs: () => number = () => 0) {
    const presence = new PresenceBook(database, clock, (flushMs) => loadFactor(flushMs, lagMs()));
    this.presence = presence;
    this.authenticator = new Authenticator(database, clock, createLogger('silent'));
    this.gate = new CallerGate(this.authenticator, presence, clock);
    this.deps = {
      presence,
      pendingSummary: new PendingSummary(
        database,
        clock,
        (runnerId) => presence.unwritten(runnerId),
        new OfferCounts(),
      ),
      pace: new Pace(clock, () => presence.load),
      metrics: new MetricBook(database, clock),
      configVersion: '0'.repeat(16),
    };
  }

  /** Null: refused. */
  async call(key: string, from = '192.0.2.1'): Promise<RunnerCaller | null> {
    const caller = await this.gate.authenticate(key, 'runner', from);
    if (caller?.kind !== 'runner') return null;
    await this.gate.seen(caller);
    return caller;
  }

  async beat(key: string, body: object = {}, features = 'doorbell') {
    const caller = await this.call(key);
    return caller === null ? null : await heartbeat(this.deps, caller, body, features);
  }

  /** One round of upkeep. */
  async round(): Promise<void> {
    await this.presence.flush(this.authenticator.takeLastUsed());
    await this.presence.watch();
    await this.deps.metrics.flush();
  }
}

export async function newRunner({ database, clock, tenantId }: Stage, name = 'runner') {
  const { runner, key } = await createRunner(database, clock, tenantId, { name }, 'test');
  return { id: runner.id, key: key.secret.expose() };
}

export async function storedRunner(
  { database, tenantId }: Stage,
  { id }: { readonly id: string },
): Promise<RunnerRow> {
  const row = await findRunner(database.tenant(tenantId), tenantId, id);
  if (row === undefined) throw new Error(`there is no runner ${id}`);
  return row;
}

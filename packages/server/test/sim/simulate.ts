// One seed: a tenant of its own on a shared database, servers, runners, an operator and misfortune.
// Faults come first, then calm: then every command must end, and every runner must be let in, get a
// new key and be shown online.

import { setImmediate } from 'node:timers/promises';
import { limits } from '@muster/contract';
import { insertTenant } from '../../src/keys/installation.queries.ts';
import { addEnrolmentToken } from '../../src/keys/operator-keys.ts';
import { createRunner } from '../../src/keys/runners.ts';
import { type Database, openDatabase } from '../../src/db/db.ts';
import { migrate } from '../../src/db/migrate.ts';
import { newId, type TenantId } from '../../src/lib/ids.ts';
import { migratedDatabaseUrl } from '../db/fixture.ts';
import type { Backend } from '../harness.ts';
import { enrolAndWork } from './enrolment-actor.ts';
import { INVARIANTS, isEnded } from './invariants.ts';
import { tendKeys } from './key-operator-actor.ts';
import { Ledger } from './ledger.ts';
import { openNearSqlite } from './near-sqlite.ts';
import { Network } from './network.ts';
import { type Parts, REAL, ServerNode } from './node.ts';
import { LABELS, operate, settleClocks, type Stage, strike, upNode } from './operator-actor.ts';
import { RunnerActor } from './runner-actor.ts';
import { NodeClock, START_MS, World } from './world.ts';

export interface Result {
  readonly seed: number;
  readonly steps: number;
  readonly digest: string;
  /** The broken rule, with the contract's sentence; null: all was well. */
  readonly broken: string | null;
  /** The name of the invariant that was broken. */
  readonly invariant: string | null;
  readonly trace: readonly string[];
}

/**
 * How long faults last, in the world's time: longer than a lease is the rule, far longer the
 * exception.
 */
const STORMS_MS = [60_000, 100_000, 140_000, 140_000, 400_000];

const FIERCE_STORM_MS = 300_000;

/** A lease that was given before a clock went back by an hour lasts an hour longer. */
const CALM_MS = 3 * 3_600_000;

/** Rare enough to be cheap, and still no stall (presence.ts). */
const QUIET_ROUND_MS = 14_000;

/** Longer than any act of the operator takes. */
const BEGUN_MS = 30_000;

class Broken extends Error {
  readonly invariant: string;
  constructor(invariant: string, says: string, seen: string) {
    super(`${says}\n  ${seen}`);
    this.invariant = invariant;
  }
}

export interface Place {
  readonly database: Database;
  close(): Promise<void>;
}

/** One database for many seeds, one after the other: upkeep looks across tenants. */
export async function openPlace(backend: Backend): Promise<Place> {
  const database = backend === 'sqlite' ? openNearSqlite() : await openTwoPools();
  await migrate(database, START_MS);
  return { database, close: () => database.close() };
}

/**
 * PostgreSQL with one pool for statements in the name of a tenant and one for the others: a
 * connection that changes from one to the other must say so, which would double the statements.
 */
async function openTwoPools(): Promise<Database> {
  const url = await migratedDatabaseUrl();
  // Transactions that pause hold their connections.
  const config = { url, directory: '', poolMax: 40 };
  const [tenants, system] = [await openDatabase(config), await openDatabase(config)];
  const of = (scope: string): Database => (scope === 'system' ? system : tenants);
  return {
    kind: 'postgres',
    tenant: (id) => tenants.tenant(id),
    lists: (id) => tenants.lists(id),
    system: () => system.system(),
    systemLists: () => system.systemLists(),
    transaction: (scope, body) => of(scope).transaction(scope, body),
    together: (scope, body) => of(scope).together(scope, body),
    notify: (text) => system.notify(text),
    listen: (hear) => system.listen(hear),
    workerData: () => system.workerData(),
    close: async () => void (await Promise.all([tenants.close(), system.close()])),
  };
}

/**
 * Plays one seed to its end, or to the first broken rule; `fierce`: in a fierce world, whatever the
 * seed says.
 */
export async function simulate(
  database: Database,
  seed: number,
  parts: Parts = REAL,
  fierce = false,
): Promise<Result> {
  const world = new World(seed, fierce);
  const tenantId = newId<TenantId>(START_MS);
  await insertTenant(database.system(), { id: tenantId, name: tenantId, created_at: START_MS });
  const ledger = new Ledger(database, tenantId, world);
  const stage = await populate(database, world, ledger, tenantId, parts);
  let broken: Broken | null = null;
  try {
    await play(stage);
  } catch (error) {
    broken = asBroken(error);
  } finally {
    await world.abandon();
    await forget(database, tenantId);
    // In memory nothing ever waits: without a turn of its own no signal and no timer would be heard
    // until the last seed.
    await setImmediate();
  }
  return {
    seed,
    steps: world.steps,
    digest: world.digest(),
    broken: broken === null ? null : broken.message,
    invariant: broken === null ? null : broken.invariant,
    trace: world.trace,
  };
}

/** A 5xx is as much of a failure as a broken rule. */
const asBroken = (error: unknown): Broken =>
  error instanceof Broken
    ? error
    : new Broken(
        'no 5xx',
        'No call fails by a fault of the server.',
        String((error as Error).stack),
      );

async function populate(
  database: Database,
  world: World,
  ledger: Ledger,
  tenantId: TenantId,
  parts: Parts,
): Promise<Stage> {
  const { random } = world;
  // SQLite has one process; PostgreSQL is shared.
  const servers = database.kind === 'sqlite' ? 1 : world.between(2, 3);
  const nodes = Array.from({ length: servers }, (_, at) => {
    return new ServerNode(`node ${at}`, world, ledger, database, parts, tenantId);
  });
  const weather = {
    lost: random.pick([0, 0.02, 0.1, 0.25]),
    doubled: world.isFierce ? 0.5 : random.pick([0, 0.1, 0.4]),
    late: random.pick([0, 0.05, 0.2]),
  };
  const network = new Network(world, nodes, weather);
  const runners: RunnerActor[] = [];
  const stage = { world, ledger, nodes, runners, enrolling: new Set<string>() };
  const clock = new NodeClock(world);
  const count = world.between(2, 3);
  const machines = random.below(count);
  for (let at = 0; at < count - machines; at += 1) {
    const request = { name: `runner ${at}`, labels: at % 2 === 0 ? LABELS : {} };
    const { runner, key } = await createRunner(database, clock, tenantId, request, 'sim');
    const era = random.chance(0.5) ? 'deployed' : 'sdk';
    const secret = key.secret.expose();
    const actor = new RunnerActor(request.name, runner.id, secret, era, world, network);
    world.note(`${actor.name} is ${era}`);
    runners.push(actor);
    ledger.keyrings.push(actor);
  }
  if (machines === 0) return stage;
  // Sometimes for more uses than there are machines: a machine that asks twice must not get twice,
  // though there would be enough.
  const uses = machines + random.pick([0, 3]);
  const request = { uses, labels: LABELS };
  const { key } = await addEnrolmentToken(database, clock, tenantId, request, 'sim');
  const token = key.secret.expose();
  ledger.tokens.set(key.row.key_id, uses);
  for (let at = 0; at < machines; at += 1) {
    const era = random.chance(0.5) ? 'deployed' : 'sdk';
    const machine = { name: `machine ${at}`, token, enrollmentId: `${at}`.repeat(8), era } as const;
    world.spawn(() => enrolAndWork(stage, network, machine), random.below(20_000));
  }
  return stage;
}

async function play(stage: Stage): Promise<void> {
  const { world, ledger, nodes, runners } = stage;
  for (const node of nodes) {
    node.start();
    world.spawn(() => upkeep(world, node), world.random.below(5000));
  }
  for (const runner of runners) runner.start();
  world.spawn(() => operate(stage));
  world.spawn(() => tendKeys(stage));
  world.spawn(() => strike(stage));
  const look = () => check(stage);
  const calmAt = START_MS + (world.isFierce ? FIERCE_STORM_MS : world.random.pick(STORMS_MS));
  await world.run(() => world.nowMs > calmAt, look);
  calm(stage);
  let isTidy = false;
  world.spawn(async () => {
    await tidyUp(stage);
    isTidy = true;
    world.isQuiet = true;
  });
  const until = world.nowMs + CALM_MS;
  const isDone = (): boolean =>
    world.nowMs > until || (isTidy && !stillOpen(stage) && stage.enrolling.size === 0);
  await world.run(isDone, look);
  const open = [...ledger.rows.commands.values()].filter((row) => !isEnded(row));
  if (open.length > 0) {
    const seen = open.map(({ id, status }) => `${id} is ${status}`).join(', ');
    throw new Broken('every command ends', 'Every command ends (contract §4).', seen);
  }
  await welcomed(stage);
}

const stillOpen = ({ ledger }: Stage): boolean =>
  ledger.rows.commands.values().some((row) => !isEnded(row));

async function upkeep(world: World, node: ServerNode): Promise<void> {
  while (true) {
    await world.sleep(world.isQuiet ? QUIET_ROUND_MS : limits.presenceFlushMs);
    await node.round();
  }
}

/** Every server is up, with one time; nothing is lost any more. */
function calm({ world, nodes, ledger }: Stage): void {
  world.note('calm');
  world.isCalm = true;
  // The time on which the servers' clocks agree need not be the right one.
  const offsetMs = Math.max(...nodes.map((node) => node.clock.offsetMs));
  for (const node of nodes) {
    node.dieAfter(Infinity);
    node.clock.offsetMs = offsetMs;
    if (!node.isUp) node.start();
  }
  settleClocks(nodes, ledger, world);
}

/** The operator's part of the end: paused runners go on. */
async function tidyUp(stage: Stage): Promise<void> {
  const { world, ledger, runners } = stage;
  // Every act that the operator had begun is over by then.
  await world.sleep(BEGUN_MS);
  for (const { runnerId } of runners) {
    if (ledger.rows.runners.get(runnerId)?.admin !== 'paused') continue;
    await upNode(stage)?.administer(runnerId, 'active');
  }
}

async function check({ ledger, nodes, world }: Stage): Promise<void> {
  const latestMs = world.nowMs + Math.max(...nodes.map((node) => node.clock.offsetMs));
  const moment = await ledger.look(latestMs);
  if (moment === null) return;
  for (const { name, says, broken } of INVARIANTS) {
    const seen = broken(moment);
    if (seen !== null) throw new Broken(name, says, seen);
  }
}

/**
 * A runner that kept its last good key is let in, gets a new one, and is shown online; a machine
 * that still asks was not let in.
 */
async function welcomed(stage: Stage): Promise<void> {
  const { world, ledger, enrolling } = stage;
  let unwelcome: string | null = null;
  world.isEnding = true;
  // A runner that lost its keys and was then turned away has none to be let in with.
  const isExpected = (runner: RunnerActor): boolean =>
    ledger.rows.runners.get(runner.runnerId)?.admin !== 'revoked' && runner.keyIds().length > 0;
  world.spawn(async () => {
    const expected = stage.runners.filter(isExpected);
    for (const runner of expected) {
      if (!(await runner.renew())) unwelcome ??= `${runner.name} gets no new key`;
    }
    await world.sleep(11_000);
    for (const { name, runnerId } of expected) {
      const { presence } = ledger.rows.runners.get(runnerId) ?? {};
      if (presence === 'online') continue;
      unwelcome ??= `${name} is shown ${presence} after a sign of life`;
    }
    for (const name of enrolling) unwelcome ??= `${name} waits for an answer to its enrolment`;
    unwelcome ??= '';
  });
  await world.run(
    () => unwelcome !== null,
    async () => void (await ledger.look(world.nowMs)),
  );
  if (unwelcome !== '') {
    throw new Broken(
      'welcome',
      'A runner that keeps its last good key is never locked out.',
      String(unwelcome),
    );
  }
}

async function forget(database: Database, tenantId: string): Promise<void> {
  await database.transaction(tenantId, async (tx) => {
    await tx.deleteFrom('command_attempt').where('tenant_id', '=', tenantId).execute();
    await tx.deleteFrom('command').where('tenant_id', '=', tenantId).execute();
    await tx.deleteFrom('runner').where('tenant_id', '=', tenantId).execute();
  });
}

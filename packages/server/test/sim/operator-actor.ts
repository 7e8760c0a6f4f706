// Those who disturb the runners of the simulated world: an operator who creates, cancels, pauses,
// revokes and rolls keys, and misfortune, which kills servers, moves their clocks by an hour and
// puts runners to sleep.

import { limits, type NewCommand, PRIORITIES } from '@muster/contract';
import { isEnded } from './invariants.ts';
import type { Ledger } from './ledger.ts';
import type { ServerNode } from './node.ts';
import { keyIdOf, type RunnerActor } from './runner-actor.ts';
import type { World } from './world.ts';

export const HOUR_MS = 3_600_000;

/** A pool that only some runners belong to. */
export const LABELS = { pool: 'fast' };

/**
 * Servers notice a jump of their clock at their next round; the presence shown before stays for one
 * more.
 */
const RECOVERY_MS = limits.offlineAfterMsMin + 6 * limits.presenceFlushMs;

export interface Stage {
  readonly world: World;
  readonly ledger: Ledger;
  readonly nodes: readonly ServerNode[];
  /** The runners that an operator made, then those that enrolled. */
  readonly runners: RunnerActor[];
  /** Machines that ask to be let in, and have no answer yet. */
  readonly enrolling: Set<string>;
}

/** Acts every few seconds until the world calms down. */
export async function operate(stage: Stage): Promise<void> {
  const { world } = stage;
  while (!world.isCalm) {
    await world.sleep(world.between(2000, 14_000) / Math.sqrt(world.haste));
    const node = upNode(stage);
    if (node === null || world.isCalm) continue;
    const isHasty = world.haste > 1 && world.random.chance(0.7);
    const what = isHasty ? 0 : world.random.below(100);
    if (what < 55) await create(stage, node);
    else if (what < 72) await cancelOne(stage, node);
    else if (what < 88) await pauseOne(stage, node);
    else if (what < 96) await rollKeys(stage, node);
    else await revokeOne(stage, node);
  }
}

export const upNode = ({ world, nodes }: Stage): ServerNode | null => {
  const up = nodes.filter((node) => node.isUp);
  return up.length === 0 ? null : world.random.pick(up);
};

async function create({ world, runners }: Stage, node: ServerNode): Promise<void> {
  const { random } = world;
  const pinned = random.chance(0.25) ? random.pick(runners).runnerId : null;
  const request: NewCommand = {
    type: 'sim',
    priority: random.pick(PRIORITIES),
    max_attempts: world.between(1, 3),
    retry_on_fail: random.chance(0.5),
    timeout: random.pick([60, 240]),
    ...(random.chance(0.2) ? { expires_in: world.between(20, 300) } : {}),
    ...(random.chance(0.1)
      ? { scheduled_at: new Date(node.clock.nowMs() + random.below(60_000)).toISOString() }
      : {}),
    ...(pinned !== null
      ? { runner_id: pinned }
      : random.chance(0.3)
        ? { target: { labels: LABELS } }
        : {}),
  };
  const answer = await node.create(request);
  world.note(`operator creates a command at ${node.name}: ${answer.kind}`);
}

async function cancelOne({ world, ledger }: Stage, node: ServerNode): Promise<void> {
  const ids = [...ledger.rows.commands.values()].filter((row) => !isEnded(row)).map(({ id }) => id);
  if (ids.length === 0) return;
  const answer = await node.cancel(world.random.pick(ids));
  world.note(`operator cancels a command at ${node.name}: ${answer.kind}`);
}

async function pauseOne({ world, runners }: Stage, node: ServerNode): Promise<void> {
  const runner = world.random.pick(runners);
  const to = world.random.chance(0.4) ? 'paused' : 'active';
  const answer = await node.administer(runner.runnerId, to);
  world.note(`operator sets ${runner.name} ${to} at ${node.name}: ${answer.kind}`);
}

/** A new key by hand; when the runner has it, one of its old ones is revoked. */
async function rollKeys({ world, runners }: Stage, node: ServerNode): Promise<void> {
  const runner = world.random.pick(runners);
  const answer = await node.addKey(runner.runnerId);
  world.note(`operator adds a key for ${runner.name} at ${node.name}: ${answer.kind}`);
  if (answer.kind !== 'done') return;
  const [old] = runner.keyIds();
  runner.given(answer.body as string);
  await world.sleep(world.random.below(20_000));
  if (old === undefined || old === keyIdOf(answer.body as string)) return;
  // A runner that never got to use a better key keeps the ones it has.
  if (!node.isUp || runner.keyIds().length < 2) return;
  const revoked = await node.revokeKey(old);
  world.note(`operator revokes an old key of ${runner.name} at ${node.name}: ${revoked.kind}`);
}

/** Revokes a runner. One runner stays, so that work can be done. */
async function revokeOne({ world, runners }: Stage, node: ServerNode): Promise<void> {
  const [, ...others] = runners;
  if (others.length === 0) return;
  const runner = world.random.pick(others);
  const answer = await node.administer(runner.runnerId, 'revoked');
  world.note(`operator revokes ${runner.name} at ${node.name}: ${answer.kind}`);
}

/** Strikes every so often until the world calms down. */
export async function strike(stage: Stage): Promise<void> {
  const { world, runners } = stage;
  const isJumpy = world.random.chance(0.4);
  while (!world.isCalm) {
    await world.sleep(world.between(4000, 40_000));
    if (world.isCalm) return;
    const what = world.random.below(100);
    if (what < 45) await kill(stage);
    else if (what < 80) {
      const runner = world.random.pick(runners);
      const ms = world.between(10_000, 240_000);
      world.note(`${runner.name} sleeps for ${ms} ms`);
      runner.sleepFor(ms);
    } else if (isJumpy) jump(stage);
  }
}

async function kill(stage: Stage): Promise<void> {
  const { world } = stage;
  const node = upNode(stage);
  if (node === null) return;
  if (world.random.chance(0.3)) node.die();
  else {
    const points = world.between(1, 12);
    world.note(`${node.name} will die in ${points} points`);
    node.dieAfter(points);
    await world.sleep(4000);
    if (world.isCalm) return;
    node.die();
  }
  await world.sleep(world.random.below(world.random.chance(0.2) ? 150_000 : 4000));
  if (!node.isUp) node.start();
}

/** Moves clocks by an hour, there or back: of all servers together, or of one alone. */
function jump({ world, nodes, ledger }: Stage): void {
  const { random } = world;
  const by = random.pick([HOUR_MS, -HOUR_MS]);
  const isAlone = nodes.length > 1 && random.chance(0.5);
  const jumping = isAlone ? [random.pick(nodes)] : nodes;
  for (const node of jumping) {
    // Never further off than an hour: the next jump brings it back.
    const off = node.clock.offsetMs;
    node.clock.offsetMs = Math.abs(off + by) > HOUR_MS ? off - by : off + by;
    world.note(`the clock of ${node.name} is ${node.clock.offsetMs / 1000} s off`);
  }
  settleClocks(nodes, ledger, world);
}

/**
 * Presence depends on one time: while servers disagree about it, and shortly after, presence isn't
 * checked.
 */
export function settleClocks(nodes: readonly ServerNode[], ledger: Ledger, world: World): void {
  const offsets = new Set(nodes.map((node) => node.clock.offsetMs));
  if (offsets.size > 1) ledger.disagreeUntil = Infinity;
  else if (ledger.disagreeUntil === Infinity) ledger.disagreeUntil = world.nowMs + RECOVERY_MS;
}

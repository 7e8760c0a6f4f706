// An operator who tends keys: rolls them, lets old ones expire once a better one was used, and
// withdraws enrolment tokens. Answers to the operator are lost as others are: then a key exists
// that nobody has.

import { refusalOf } from './key-invariants.ts';
import type { KeyFacts } from './ledger.ts';
import type { ServerNode } from './node.ts';
import { type Stage, upNode } from './operator-actor.ts';
import type { RunnerActor } from './runner-actor.ts';

/** Longer than a seed lasts, whatever the clocks do. */
const DAY_MS = 86_400_000;

/** Acts every so often until the world calms down. */
export async function tendKeys(stage: Stage): Promise<void> {
  const { world } = stage;
  while (!world.isCalm) {
    await world.sleep(world.between(5000, 30_000) / Math.sqrt(world.haste));
    const node = upNode(stage);
    if (node === null || world.isCalm || stage.runners.length === 0) continue;
    const runner = world.random.pick(stage.runners);
    const what = world.random.below(100);
    if (what < 60) await roll(stage, node, runner);
    else if (what < 95) await letExpire(stage, node, runner);
    else await withdrawToken(stage, node);
  }
}

/** Rolls any of a runner's keys, mostly its newest; the runner gets the new one soon, or never. */
async function roll(
  { world, ledger }: Stage,
  node: ServerNode,
  runner: RunnerActor,
): Promise<void> {
  const { random } = world;
  const all = [...ledger.rows.keys.values()].filter((key) => key.runner_id === runner.runnerId);
  const newest = runner.keyIds().at(-1);
  if (all.length === 0) return;
  const keyId = newest !== undefined && random.chance(0.7) ? newest : random.pick(all).key_id;
  const answer = await node.rollKey(keyId, random.pick([undefined, null, DAY_MS / 1000]));
  world.note(`operator rolls a key of ${runner.name} at ${node.name}: ${answer.kind}`);
  if (answer.kind !== 'done') return;
  await world.sleep(random.below(20_000));
  // A machine that lost its disk enrols by itself: nobody brings it a key that may have ended in
  // the meantime.
  if (random.chance(0.8) && runner.keyIds().length > 0) runner.given(answer.body as string);
}

/** The oldest key that a runner still has beside one that was used and has no end. */
async function letExpire(
  { world, ledger }: Stage,
  node: ServerNode,
  runner: RunnerActor,
): Promise<void> {
  const [old, ...others] = runner.keyIds();
  const isBetter = (id: string): boolean => {
    const key = ledger.rows.keys.get(id);
    const isGood = key !== undefined && refusalOf(key, node.clock.nowMs()) === null;
    return isGood && key.state === 'proven' && key.retires_at === null && isLasting(key, node);
  };
  const key = old === undefined ? undefined : ledger.rows.keys.get(old);
  // Once for each key: some servers would believe a second change a second before others.
  if (key === undefined || !isLasting(key, node) || !others.some(isBetter)) return;
  const answer = await node.expireKey(key.key_id, world.random.pick([1, 30, 600]));
  world.note(`operator lets a key of ${runner.name} expire at ${node.name}: ${answer.kind}`);
}

const isLasting = ({ expires_at: at }: KeyFacts, { clock }: ServerNode): boolean =>
  at === null || at > clock.nowMs() + DAY_MS / 2;

async function withdrawToken({ world, ledger }: Stage, node: ServerNode): Promise<void> {
  const [token] = ledger.tokens.keys();
  if (token === undefined) return;
  const answer = await node.revokeKey(token);
  world.note(`operator withdraws the enrolment token at ${node.name}: ${answer.kind}`);
}

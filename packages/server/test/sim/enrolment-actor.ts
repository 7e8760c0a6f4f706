// Machines of the simulated world that become runners by themselves: they enrol with a token and an
// `enrollment_id`, and again until an answer comes; sometimes they lose the answer before it was
// written down, and enrol once more.

import type { Network } from './network.ts';
import { type Stage, upNode } from './operator-actor.ts';
import { type Era, RunnerActor } from './runner-actor.ts';

/** The parameters with which a machine is started. */
export interface Machine {
  readonly name: string;
  readonly token: string;
  readonly enrollmentId: string;
  readonly era: Era;
}

interface Enrolled {
  readonly runnerId: string;
  readonly key: string;
}

/** Becomes a runner, and again when its disk is lost; ends when it is refused. */
export async function enrolAndWork(
  stage: Stage,
  network: Network,
  machine: Machine,
): Promise<void> {
  const { world, ledger, runners } = stage;
  let runner: RunnerActor | null = null;
  while (!world.isEnding) {
    stage.enrolling.add(machine.name);
    const enrolled = await enrol(stage, network, machine);
    if (enrolled === null) return await writeOff(stage, machine, runner);
    // The process dies before the key is written down: it will ask again.
    if (!world.isCalm && world.random.chance(0.2)) continue;
    stage.enrolling.delete(machine.name);
    if (runner === null) {
      const { name, era } = machine;
      runner = new RunnerActor(name, enrolled.runnerId, enrolled.key, era, world, network);
      runners.push(runner);
      ledger.keyrings.push(runner);
      runner.start();
    } else runner.given(enrolled.key);
    do await world.sleep(world.between(10_000, 100_000));
    while (!world.isCalm && !(world.random.chance(0.5) && runner.forget()));
    if (world.isCalm) return;
    world.note(`${machine.name} loses its disk`);
  }
}

/**
 * A machine that is turned away for good: an operator revokes its runner, so that nothing waits for
 * it.
 */
async function writeOff(
  stage: Stage,
  { name }: Machine,
  runner: RunnerActor | null,
): Promise<void> {
  const { world, enrolling } = stage;
  let isDone = runner === null;
  while (runner !== null && !isDone) {
    const answer = await upNode(stage)?.administer(runner.runnerId, 'revoked');
    isDone = answer?.kind === 'done';
    await world.sleep(1000);
  }
  enrolling.delete(name);
}

/** Asks until there is an answer; null: the machine was refused. */
async function enrol(
  { world }: Stage,
  network: Network,
  { name, token, enrollmentId }: Machine,
): Promise<Enrolled | null> {
  while (true) {
    const request = { call: 'enrol', key: token, machine: name, enrollmentId } as const;
    const answer = await network.send(`${name} enrol`, request);
    if (answer.kind === 'done') return answer.body as Enrolled;
    if (answer.kind === 'refused') return null;
    await world.sleep(world.between(1000, 8000));
  }
}

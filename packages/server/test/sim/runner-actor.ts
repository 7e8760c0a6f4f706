// A runner of the simulated world. Two eras: deployed agents (no `attempt`, no start, three tries,
// then the work is dropped) and our SDK (sends `attempt`, lists its running commands, starts,
// repeats a result until it has an answer, heeds cancels). Both keep every key they were given
// since the last one that was answered well, and try the newest first.

import { present } from '../../src/lib/assert.ts';
import type { RunnerEvent } from '../../src/commands/command.machine.ts';
import { parseKey } from '../../src/keys/key.format.ts';
import type { Keyring, Words } from './ledger.ts';
import type { Network } from './network.ts';
import type { Answer, Request } from './node.ts';
import type { World } from './world.ts';

export type Era = 'deployed' | 'sdk';

/** The number of tries of a call with a broken connection. */
const TRIES: Readonly<Record<Era, number>> = { deployed: 3, sdk: 8 };

type Unsigned = Request extends infer One
  ? One extends unknown
    ? Omit<One, 'key'>
    : never
  : never;

interface HeldKey {
  readonly text: string;
  /**
   * Kept beside the key: the invariants ask after each step, and parsing a key means hashing it.
   */
  readonly id: string;
}

const held = (text: string): HeldKey => ({ text, id: keyIdOf(text) });

interface Work {
  readonly commandId: string;
  readonly attempt: number;
}

export class RunnerActor implements Keyring {
  readonly runnerId: string;
  readonly name: string;
  readonly era: Era;
  /** Whether the runner was refused since its last good answer. */
  isRefused = false;
  readonly #world: World;
  readonly #network: Network;
  readonly #keys: HeldKey[];
  readonly #canceled = new Set<string>();
  #work: Work | null = null;
  #asleepUntil = 0;
  #isBusy = false;
  #lastGood: HeldKey | null = null;

  constructor(
    name: string,
    runnerId: string,
    key: string,
    era: Era,
    world: World,
    network: Network,
  ) {
    this.name = name;
    this.runnerId = runnerId;
    this.era = era;
    this.#keys = [held(key)];
    this.#world = world;
    this.#network = network;
  }

  keyIds = (): readonly string[] => this.#keys.map(({ id }) => id);

  /**
   * Loses its disk, and its keys with it. False: not now, because it has a key that it tried and
   * had no answer to. A late request with that key would end the next one; whoever may try a key
   * must keep it (contract §7).
   */
  forget(): boolean {
    if (this.#keys.length !== 1 || this.#keys[0] !== this.#lastGood) return false;
    this.#keys.length = 0;
    return true;
  }

  /** The runner gets a key: from an operator, or by enrolling once more. */
  given(key: string): void {
    this.#keys.push(held(key));
  }

  /** The machine sleeps for a while, says nothing, and then goes on where it was. */
  sleepFor(ms: number): void {
    this.#asleepUntil = this.#world.nowMs + ms;
  }

  start(): void {
    this.#world.spawn(() => this.#beat(), this.#world.random.below(5000));
    this.#world.spawn(() => this.#toil(), this.#world.random.below(9000));
  }

  async #beat(): Promise<void> {
    while (!this.#world.isEnding) {
      await this.#awake();
      const isSdk = this.era === 'sdk';
      const running = this.#work === null ? [] : [this.#work.commandId];
      const body = isSdk ? { name: this.name, status: 'running', running } : {};
      const features = isSdk ? 'doorbell' : '';
      const answer = await this.#call({ call: 'heartbeat', body, features }, 1);
      if (answer.kind === 'done') this.#heed(answer.body as HeartbeatBody);
      if (this.#world.random.chance(this.#world.isCalm ? 0 : 0.08)) await this.renew();
      await this.#pause(this.#paceMs());
    }
  }

  #heed(reply: HeartbeatBody): void {
    for (const id of reply.cancel_command_ids ?? []) this.#canceled.add(id);
    this.#isBusy = reply.pending_jobs !== undefined;
  }

  /** The advised pace, without its jitter, which doesn't belong to this world. */
  #paceMs(): number {
    const isSlow = this.era === 'deployed' || this.#world.isQuiet;
    const baseMs = isSlow ? 60_000 : this.#isBusy ? 5000 : 30_000;
    return baseMs + this.#world.random.below(baseMs / 10);
  }

  async #toil(): Promise<void> {
    while (!this.#world.isEnding) {
      await this.#awake();
      const offers = await this.#call({ call: 'poll' }, 1);
      const ids = offers.kind === 'done' ? (offers.body as string[]) : [];
      // Mostly the first, as clients do: so they compete for it.
      const few = this.#world.random.chance(0.7) ? ids.slice(0, 1) : ids;
      if (few.length > 0) await this.#take(this.#world.random.pick(few));
      const isIdle = this.#world.isQuiet && ids.length === 0;
      await this.#pause(isIdle ? 60_000 : this.#world.between(2000, 15_000) / this.#world.haste);
    }
  }

  async #take(commandId: string): Promise<void> {
    const { random, isCalm } = this.#world;
    if (!isCalm && random.chance(0.03))
      return void (await this.#say('fail', { commandId, attempt: null }));
    const claimed = await this.#transition('acknowledge', commandId, {}, null);
    if (claimed.kind !== 'done') return;
    const work = { commandId, attempt: claimed.body as number };
    this.#work = work;
    if (this.era === 'sdk')
      await this.#transition('start', commandId, { attempt: work.attempt }, null);
    await this.#pause(this.#workMs());
    await this.#awake();
    await this.#finish(work);
    this.#work = null;
  }

  #workMs(): number {
    const { random, isCalm, haste } = this.#world;
    if (!isCalm && random.chance(0.1)) return random.below(200_000);
    return 500 + random.below(20_000) / haste;
  }

  async #finish(work: Work): Promise<void> {
    const { random, isCalm } = this.#world;
    if (!isCalm && random.chance(0.06)) return;
    const { commandId, attempt } = work;
    const fence = this.era === 'sdk' ? { attempt } : {};
    const mayRelease = this.era === 'sdk' && !isCalm;
    if (this.#canceled.has(commandId) || (mayRelease && random.chance(0.3))) {
      await this.#transition('release', commandId, fence, null);
      // The command isn't offered to this runner for a while, but the runner may change its mind.
      if (mayRelease && random.chance(0.5)) await this.#take(commandId);
    } else {
      await this.#say(random.chance(0.3) ? 'fail' : 'complete', work);
    }
  }

  async #say(
    event: 'complete' | 'fail',
    { commandId, attempt }: Omit<Work, 'attempt'> & { attempt: number | null },
  ): Promise<Answer> {
    const isFenced = this.era === 'sdk' && attempt !== null;
    const words: Words = {
      runnerId: this.runnerId,
      attempt,
      isFenced,
      serial: this.#world.serial(),
    };
    const says = event === 'complete' ? { result: words } : { errorMessage: JSON.stringify(words) };
    const fence = isFenced ? { attempt: present(attempt, 'a fence') } : {};
    return await this.#transition(event, commandId, { ...says, ...fence }, words);
  }

  async #transition(
    call: RunnerEvent,
    commandId: string,
    input: Extract<Request, { commandId: string }>['input'],
    words: Words | null,
  ): Promise<Answer> {
    return await this.#call({ call, commandId, input, words }, TRIES[this.era]);
  }

  /** A new key, which it uses from the next call on. */
  async renew(): Promise<boolean> {
    const answer = await this.#call({ call: 'renew' }, 1);
    if (answer.kind !== 'done') return false;
    this.given(answer.body as string);
    return true;
  }

  async #call(request: Unsigned, tries: number): Promise<Answer> {
    let answer: Answer = { kind: 'gone' };
    for (let tried = 0; tried < tries && answer.kind === 'gone'; tried += 1) {
      if (tried > 0) await this.#pause(1000 * 2 ** tried);
      answer = await this.#tryKeys(request);
    }
    return answer;
  }

  /** Tries the newest key first; after a refusal goes back to the one before. */
  async #tryKeys(request: Unsigned): Promise<Answer> {
    let answer: Answer = { kind: 'gone' };
    const refused: HeldKey[] = [];
    for (const key of this.#keys.toReversed()) {
      const label = `${this.name} ${request.call} #${this.#keys.indexOf(key)}/${this.#keys.length}`;
      answer = await this.#network.send(label, { ...request, key: key.text } as Request);
      if (answer.kind === 'gone') return answer;
      if (answer.kind === 'done' || answer.code !== 'unauthorized') {
        this.#wasGood(key, refused);
        return answer;
      }
      refused.push(key);
    }
    this.isRefused = true;
    return answer;
  }

  /** Keys older than a good key are over, and so are keys refused before it. */
  #wasGood(key: HeldKey, refused: readonly HeldKey[]): void {
    this.isRefused = false;
    const at = this.#keys.indexOf(key);
    if (at < 0) return;
    const rest = this.#keys.slice(at).filter((one) => !refused.includes(one));
    this.#keys.splice(0, this.#keys.length, ...rest);
    this.#lastGood = key;
  }

  async #awake(): Promise<void> {
    while (this.#asleepUntil > this.#world.nowMs && !this.#world.isCalm) {
      await this.#world.sleep(this.#asleepUntil - this.#world.nowMs);
    }
  }

  async #pause(ms: number): Promise<void> {
    await this.#world.sleep(ms);
  }
}

interface HeartbeatBody {
  readonly cancel_command_ids?: readonly string[];
  readonly pending_jobs?: number;
}

export const keyIdOf = (key: string): string => present(parseKey(key), 'a key').keyId;

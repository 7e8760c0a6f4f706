// One history of several uploads of one analysis, made from a seed: they are handed in, processed
// in any order, interrupted at any committed step, resumed after others came between, or fail.
// Whenever one was processed, interleaving-checks.ts asserts what must hold. Called by
// interleavings.test.ts.

import assert from 'node:assert/strict';
import { limits } from '@muster/contract';
import type { RunnerCaller } from '../../../src/keys/authenticate.ts';
import type { TenantId } from '../../../src/lib/ids.ts';
import { present } from '../../../src/lib/assert.ts';
import { type Random, randomOf } from '../../generate/random.ts';
import { type Branch, BRANCHES, sarifOfScan, type Scan, scanOf } from './interleaved-scans.ts';
import {
  assertHolds,
  type Conclusions,
  conclusionsOf,
  type HandedIn,
} from './interleaving-checks.ts';
import {
  Crash,
  giveBack,
  newCaller,
  newRunnerOf,
  type Point,
  postpone,
  receiptOf,
  receive,
  type Stage,
  workOnce,
} from './scene.ts';
import { snapshotOf } from './snapshot.ts';

const REPOSITORY = 'https://github.com/acme/interleaved';

/** Later than all leases end: an upload that waits for so long waits until it is told to go on. */
const LATER_MS = 100_000 * limits.uploadLeaseMs;

/** A third would be the last of limits.uploadAttemptsMax if none made progress. */
const CRASHES_MAX = 2;

/** About as many points of a kind as an upload passes here: few crashes come too late to happen. */
const POINTS_MAX: ReadonlyMap<Point, number> = new Map([
  ['checkpoint', 14],
  ['before commit', 20],
]);

/** Where a worker dies: at this point of its kind, or the first one after it. */
interface Death {
  readonly point: Point;
  readonly index: number;
}

interface Upload extends HandedIn {
  /** For the log. */
  readonly name: string;
  /** Each upload has its own runner, so that none waits for another's turn. */
  readonly caller: RunnerCaller;
  isBegun: boolean;
  crashes: number;
  foreseen: Conclusions | null;
  state: HandedIn['state'];
}

/**
 * Plays the history of a seed in a tenant of its own. An error names the seed and all steps so far.
 */
export async function playInterleaving(stage: Stage, seed: number): Promise<void> {
  const { tenantId } = await newCaller(stage);
  const interleaving = new Interleaving(stage, tenantId, randomOf(seed));
  try {
    await interleaving.play();
  } catch (error) {
    const story = `CRASH_SEED=${seed}: ${interleaving.log.join('; ')}`;
    throw new Error(`${story}\n${(error as Error).message}`, { cause: error });
  }
}

class Interleaving {
  readonly log: string[] = [];
  readonly #stage: Stage;
  readonly #tenantId: TenantId;
  readonly #random: Random;
  readonly #uploads: Upload[] = [];

  constructor(stage: Stage, tenantId: TenantId, random: Random) {
    this.#stage = stage;
    this.#tenantId = tenantId;
    this.#random = random;
  }

  async play(): Promise<void> {
    const random = this.#random;
    await this.#finish(await this.#handIn(['main']));
    const count = random.pick([2, 3, 4]);
    for (let handedIn = 0; handedIn < count; handedIn += 1) {
      await this.#handIn(random.pick([['main'], ['feature'], BRANCHES]));
      while (random.chance(2 / 3)) await this.#goOn();
    }
    while (this.#waiting.length > 0) await this.#goOn();
    // The next scan puts everything right.
    await this.#finish(await this.#handIn(BRANCHES));
    const ids = this.#uploads.map(({ id }) => id);
    const { leftOver } = await snapshotOf(this.#stage.database, this.#tenantId, ids);
    assert.deepEqual(leftOver, [], 'left over');
  }

  get #waiting(): Upload[] {
    return this.#uploads.filter(({ state }) => state === 'waiting');
  }

  /** Receives an upload, which waits until it is told to go on. */
  async #handIn(branches: readonly Branch[]): Promise<Upload> {
    const stage = this.#stage;
    // The ids of uploads sort by their arrival.
    stage.clock.advance(1);
    const caller = await newRunnerOf(stage, this.#tenantId);
    const scan: Scan = scanOf(this.#random, branches);
    const id = await receive(stage, caller, 'sarif', sarifOfScan(scan, REPOSITORY));
    await postpone(stage, caller, id, LATER_MS);
    const name = `${this.#uploads.length} (${[...scan.keys()].join(', ')})`;
    const start = { isBegun: false, crashes: 0, foreseen: null, state: 'waiting' } as const;
    const upload: Upload = { name, id, caller, scan, ...start };
    this.#uploads.push(upload);
    this.log.push(`${name} handed in`);
    return upload;
  }

  /** One step of one waiting upload: to its end, or to the death of its worker. */
  async #goOn(): Promise<void> {
    const random = this.#random;
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    const upload = random.pick(waiting);
    if (upload.crashes > 0 && random.chance(0.1)) await this.#setAside(upload);
    else if (upload.crashes < CRASHES_MAX && random.chance(0.6)) await this.#interrupt(upload);
    else await this.#finish(upload);
  }

  async #finish(upload: Upload): Promise<void> {
    assert.equal(await this.#work(upload, null), 'processed');
  }

  /**
   * Kills the worker, unless the upload ends before. Then the upload waits until the leases of its
   * scopes have ended.
   */
  async #interrupt(upload: Upload): Promise<void> {
    if (!upload.isBegun) upload.foreseen = await this.#foresee(upload);
    const point = this.#random.pick([...POINTS_MAX.keys()]);
    const index = this.#random.below(POINTS_MAX.get(point) ?? 1);
    const outcome = await this.#work(upload, { point, index });
    assert.ok(outcome === 'processed' || outcome === 'crashed', outcome);
  }

  /**
   * The words of the receipt if the upload were processed now. A dry run tells it, which is a
   * newer upload of one round: that makes no difference while there is one branch and no newer
   * upload has begun.
   */
  async #foresee({ id, scan }: Upload): Promise<Conclusions | null> {
    const isNewest = this.#uploads.every((other) => !other.isBegun || other.id < id);
    if (scan.size > 1 || !isNewest) return null;
    const stage = this.#stage;
    const caller = await newRunnerOf(stage, this.#tenantId);
    const document = sarifOfScan(scan, REPOSITORY);
    const dryRun = await receive(stage, caller, 'sarif', document, { dryRun: true });
    const work = await workOnce(stage, () => {});
    assert.equal(work?.upload.id, dryRun, 'another one was claimed');
    return conclusionsOf(await receiptOf(stage, caller, dryRun));
  }

  /** Fails the upload, as if it had been tried too often without progress. */
  async #setAside(upload: Upload): Promise<void> {
    await this.#stage.database
      .tenant(this.#tenantId)
      .updateTable('upload')
      .set((eb) => ({ attempt: eb('progress_attempt', '+', limits.uploadAttemptsMax) }))
      .where('tenant_id', '=', this.#tenantId)
      .where('id', '=', upload.id)
      .execute();
    assert.equal(await this.#work(upload, null), 'failed');
  }

  async #work(upload: Upload, death: Death | null): Promise<string> {
    const stage = this.#stage;
    await postpone(stage, upload.caller, upload.id, 0);
    upload.isBegun = true;
    for (const other of this.#uploads) if (other !== upload) other.foreseen = null;
    let died = '';
    const work = await workOnce(stage, (point, index, step) => {
      // After that checkpoint there is nothing left to do.
      if (point !== death?.point || index < death.index || step === 'finished') return;
      died = ` at ${point} ${index}${step === null ? '' : `, ${step}`}`;
      throw new Crash();
    });
    const { upload: claimed, outcome } = present(work, 'an upload');
    this.log.push(`${upload.name} ${outcome}${died}`);
    assert.equal(claimed.id, upload.id, 'another one was claimed');
    if (outcome === 'processed' || outcome === 'failed') upload.state = outcome;
    if (outcome === 'processed') {
      const ground = { database: stage.database, tenantId: this.#tenantId };
      await assertHolds(ground, upload, this.#uploads);
    }
    if (outcome === 'crashed') {
      upload.crashes += 1;
      await giveBack(stage, claimed, 'fault');
      await postpone(stage, upload.caller, upload.id, LATER_MS);
      stage.clock.advance(limits.uploadLeaseMs + 1000);
    }
    return outcome;
  }
}

// Whatever point a worker dies at, and however often, the upload ends as if no worker had died:
// with the same findings and the same receipt. Each seed is a codebase seen three times (defects
// come, change, go, come back). It is processed once with crashes, on a file with its writer
// thread, and once without, in memory, for the comparison. CRASH_SEED=n plays one seed again.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Random, randomOf } from '../../generate/random.ts';
import { ctisOf, sarifOf, sightsOf, type Size } from '../../generate/reports.ts';
import {
  Crash,
  giveBack,
  newCaller,
  openStage,
  openStageInMemory,
  POINTS,
  type Point,
  receive,
  RETURNS,
  type Stage,
  type Watch,
  workOnce,
} from './scene.ts';
import { type Snapshot, snapshotOf } from './snapshot.ts';

const SEEDS = 100;
const SEEDS_OF_THE_DEAD = 20;
const CRASHES_MAX = 2; // A third would be the last of limits.uploadAttemptsMax.

const only = process.env['CRASH_SEED'];
const seeds = (count: number): number[] =>
  only === undefined ? Array.from({ length: count }, (_, seed) => seed) : [Number(only)];

/** Several places, each in one batch or none. */
const SMALL: Size = { defectsMin: 1, defectsMax: 30, placesMax: 4 };
/** One place in several batches of limits.ingestBatchItems: a crash leaves it half written. */
const LARGE: Size = { defectsMin: 300, defectsMax: 550, placesMax: 1 };

interface Report {
  readonly format: 'sarif' | 'ctis';
  readonly document: unknown;
}

function reportsOf(random: Random): Report[] {
  const format = random.chance(0.7) ? 'sarif' : 'ctis';
  const size = random.chance(0.15) ? LARGE : SMALL;
  const sights = sightsOf(random, random.pick([2, 3]), size);
  const tell = format === 'sarif' ? sarifOf : ctisOf;
  return sights.map((sight) => ({ format, document: tell(random, sight) }));
}

let stage: Stage;
let quiet: Stage;
before(async () => {
  stage = await openStage();
  quiet = await openStageInMemory();
});
after(async () => {
  await stage.close();
  await quiet.close();
});

/** How often each kind of point was passed: the crashes are chosen among them. */
type Passed = Map<Point, number>;

interface Told {
  readonly snapshot: Snapshot;
  /** One for each report. */
  readonly passed: readonly Passed[];
}

async function tellUndisturbed(reports: readonly Report[]): Promise<Told> {
  const caller = await newCaller(quiet);
  const ids: string[] = [];
  const passed: Passed[] = [];
  for (const { format, document } of reports) {
    ids.push(await receive(quiet, caller, format, document));
    const counts: Passed = new Map();
    await workOnce(quiet, (point, index) => void counts.set(point, index + 1));
    passed.push(counts);
  }
  return { snapshot: await snapshotOf(quiet.database, caller.tenantId, ids), passed };
}

async function tellWithCrashes(
  reports: readonly Report[],
  passed: readonly Passed[],
  random: Random,
): Promise<{ snapshot: Snapshot; crashes: string[] }> {
  const caller = await newCaller(stage);
  const ids: string[] = [];
  const crashes: string[] = [];
  for (const [number, { format, document }] of reports.entries()) {
    ids.push(await receive(stage, caller, format, document));
    let left = 1 + random.below(CRASHES_MAX);
    while (true) {
      const point = random.pick(POINTS);
      const at = random.below(passed[number]?.get(point) ?? 1);
      const dies = left > 0;
      const work = await workOnce(stage, (here, index) => {
        if (dies && here === point && index === at) throw new Crash();
      });
      if (work?.outcome !== 'crashed') break;
      left -= 1;
      const how = random.pick(RETURNS);
      crashes.push(`report ${number}: ${point} ${at}, ${how}`);
      await giveBack(stage, work.upload, how);
    }
  }
  const snapshot = await snapshotOf(stage.database, caller.tenantId, ids);
  return { snapshot, crashes };
}

function assertSame(actual: Snapshot, expected: Snapshot, story: string): void {
  for (const part of Object.keys(expected) as (keyof Snapshot)[]) {
    const missing = expected[part].filter((line) => !actual[part].includes(line)).slice(0, 3);
    const extra = actual[part].filter((line) => !expected[part].includes(line)).slice(0, 3);
    const detail = `${story}\n${part} differ: missing ${missing.join('\n')}\nextra ${extra.join('\n')}`;
    assert.ok(same(actual[part], expected[part]), detail);
  }
}

const same = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((line, index) => line === other[index]);

test('a worker that dies at any point costs nothing and doubles nothing', async () => {
  for (const seed of seeds(SEEDS)) {
    const random = randomOf(seed);
    const reports = reportsOf(random);
    const { snapshot, passed } = await tellUndisturbed(reports);
    const told = await tellWithCrashes(reports, passed, random);
    const story = `CRASH_SEED=${seed}: ${told.crashes.join('; ')}`;
    assertSame(told.snapshot, snapshot, story);
    assert.deepEqual(told.snapshot.leftOver, [], story);
    assert.ok(
      told.snapshot.receipts.every((line) => /"state":"(processed|refused)"/.test(line)),
      story,
    );
  }
});

/** The work of the worker that takes over; null: none had to. */
interface Successor {
  work: ReturnType<typeof workOnce> | null;
}

/**
 * After the chosen commit the lease of this worker ends, and another worker finishes the upload.
 */
function overtaken(at: number, successor: Successor): Watch {
  return async (here, index) => {
    if (successor.work !== null || here !== 'after commit' || index !== at) return;
    stage.clock.advance(LONG_MS);
    successor.work = workOnce(stage, () => {});
    await successor.work;
  };
}

/** Longer than every lease and every pause. */
const LONG_MS = 3_600_000;

async function tellOvertaken(
  reports: readonly Report[],
  passed: readonly Passed[],
  random: Random,
  story: string,
): Promise<Snapshot> {
  const caller = await newCaller(stage);
  const ids: string[] = [];
  for (const [number, { format, document }] of reports.entries()) {
    ids.push(await receive(stage, caller, format, document));
    const at = random.below(Math.max(1, (passed[number]?.get('after commit') ?? 1) - 1));
    const successor: Successor = { work: null };
    let work = await workOnce(stage, overtaken(at, successor));
    if (successor.work !== null) {
      // The first worker learns that it lost the upload, perhaps from another of its batches; the
      // second one finishes the upload.
      const outcomes = [work?.outcome, (await successor.work)?.outcome];
      assert.deepEqual(outcomes, ['lost', 'processed'], `${story}, report ${number} at ${at}`);
    }
    while (work?.outcome === 'requeued') {
      stage.clock.advance(LONG_MS);
      work = await workOnce(stage, () => {});
    }
  }
  return await snapshotOf(stage.database, caller.tenantId, ids);
}

test('a worker that was thought dead and comes back changes nothing that is seen', async () => {
  for (const seed of seeds(SEEDS_OF_THE_DEAD)) {
    const random = randomOf(1000 + seed);
    const reports = reportsOf(random);
    const { snapshot, passed } = await tellUndisturbed(reports);
    const story = `CRASH_SEED=${seed}`;
    const told = await tellOvertaken(reports, passed, random, story);
    assertSame({ ...told, leftOver: [] }, { ...snapshot, leftOver: [] }, story);
  }
});

test('a worker that was thought dead and comes back holds no scope of an ended upload', async () => {
  for (const seed of seeds(SEEDS_OF_THE_DEAD)) {
    const random = randomOf(1000 + seed);
    const reports = reportsOf(random).slice(0, 1);
    const { passed } = await tellUndisturbed(reports);
    const told = await tellOvertaken(reports, passed, random, `CRASH_SEED=${seed}`);
    assert.deepEqual(told.leftOver, [], `CRASH_SEED=${seed}`);
  }
});
